"""The session's state machine: every cell of the table in docs/session-machine.md, and nothing else.

Actions change state and the record beside it; they never raise and do no I/O. What must happen outside (an answer,
a cancel) is left in `effects`, which the session carries out in the same critical section. Every `send` is made
under the session lock: the library loses wake-ups and exceptions between threads otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from statemachine import State, StateMachine
from statemachine.exceptions import TransitionNotAllowed

from acpagent.core.catalogue import Phrase
from acpagent.core.faults import Fault, OurFault, TheirFault
from acpagent.core.reply import Reply
from acpagent.runtime.session.works import (
    Answer,
    CancelScope,
    Effect,
    Effects,
    Held,
    Opened,
    Opening,
    Outcome,
    PromptRequest,
    Queued,
    Rebuild,
    Rebuilt,
    Report,
    Run,
    Teardown,
    TornDown,
    Turn,
    TurnOutcome,
    Work,
)
from acpagent.wire import codes

BUSY, BAD_PARAMS, GONE = codes.INVALID_REQUEST, codes.INVALID_PARAMS, codes.NOT_FOUND

# What a refused event is answered with. An event that no transition takes and no row names is our own bug.
REFUSALS: dict[tuple[str, str], int] = {
    ("prompt", "prompting"): BUSY,
    ("prompt", "rebuilding"): BUSY,
    ("prompt", "reload_queued"): BUSY,
    ("prompt", "closing"): GONE,
    ("prompt", "closed"): GONE,
    ("steer", "idle"): BUSY,
    ("steer", "prompting"): BUSY,
    ("steer", "rebuilding"): BUSY,
    ("steer", "reload_queued"): BUSY,
    ("steer", "closing"): BAD_PARAMS,
    ("steer", "closed"): BAD_PARAMS,
    ("configure", "rebuilding"): GONE,
    ("configure", "closing"): GONE,
    ("configure", "closed"): GONE,
    ("adjust", "rebuilding"): GONE,
    ("adjust", "closing"): GONE,
    ("adjust", "closed"): GONE,
    ("reload", "rebuilding"): BAD_PARAMS,
    ("reload", "closing"): BAD_PARAMS,
    ("reload", "closed"): BAD_PARAMS,
    ("reopen", "prompting"): BUSY,
    ("reopen", "rebuilding"): BUSY,
    ("reopen", "reload_queued"): BUSY,
    ("reopen", "closing"): BUSY,
    ("reopen", "closed"): GONE,
    ("close", "closed"): GONE,
}

_WORDS: dict[str, str] = {
    "prompt": "session_prompt_running",
    "steer": "session_no_prompt",
    "reopen": "session_busy",
}


def refusal(event: str, state: str) -> TheirFault:
    """The fault that answers `event` refused in `state`. Raises KeyError for a cell the table does not refuse."""
    code = REFUSALS[event, state]
    return TheirFault(code, Phrase(_WORDS[event] if code == BUSY else "session_not_open"))


@dataclass(slots=True)
class Record:
    """What the machine remembers beside its state. `active` holds the axes the loadout in use was built with. `fit`
    makes axes agree with each other: the effort must be one that the model has. `left`: the turn that runs goes on in
    another session, and nothing can be asked of this one any more."""

    active: dict[str, str]
    work: Work | None
    fit: Callable[[dict[str, str]], dict[str, str]] = dict
    axes: dict[str, str] = field(default_factory=dict)
    reload: bool = False
    waiting: PromptRequest | None = None
    closers: list[Reply] = field(default_factory=list)
    erase: bool = False
    opened: bool = False
    left: bool = False

    def settled(self, axis: str) -> str | None:
        """The axis's value once the work that runs has succeeded."""
        if isinstance(self.work, Rebuild) and not self.work.abandoned:
            return self.work.axes.get(axis, self.active.get(axis))
        return self.active.get(axis)

    def requested(self) -> dict[str, str]:
        """Every axis as last asked for, which is what clients are shown."""
        running = self.work.axes if isinstance(self.work, Rebuild) and not self.work.abandoned else {}
        return self.fit({**self.active, **running, **self.axes})

    def active_after(self, outcome: Outcome) -> dict[str, str]:
        """What `active` will be once the work that ended so is concluded."""
        work = self.work
        if isinstance(work, Rebuild) and not work.abandoned and isinstance(outcome, Rebuilt):
            instead = {"model": outcome.gone[1]} if outcome.gone else {}
            return self.fit({**self.active, **({} if outcome.axes_fault else work.axes), **instead})
        return self.active

    def drop_settled(self) -> None:
        """Forget pending axes that lead nowhere, the rebuild they were meant to undo having failed."""
        self.axes = {axis: value for axis, value in self.axes.items() if self.active.get(axis) != value}


class SessionMachine(StateMachine):
    """idle, prompting, rebuilding, reload_queued, closing, closed; born in `rebuilding` with an Opening."""

    idle = State()
    prompting = State()
    rebuilding = State(initial=True)
    reload_queued = State()
    closing = State()
    closed = State()

    prompt = (
        idle.to(prompting, on="start_turn")
        | prompting.to.itself(internal=True, cond="may_wait", on="let_wait")
        | rebuilding.to.itself(internal=True, cond="may_wait", on="let_wait")
        | reload_queued.to.itself(internal=True, cond="may_wait", on="let_wait")
    )
    steer = prompting.to.itself(internal=True, cond="turn_is_open", on="take_steer") | reload_queued.to.itself(
        internal=True, cond="turn_is_open", on="take_steer"
    )
    cancel = (
        idle.to.itself(internal=True)
        | prompting.to.itself(internal=True, on="cancel_work")
        | rebuilding.to.itself(internal=True, on="cancel_work")
        | reload_queued.to.itself(internal=True, on="cancel_work")
        | closing.to.itself(internal=True)
        | closed.to.itself(internal=True)
    )
    configure = (
        idle.to(rebuilding, cond="changes_axis", on="rebuild_axis")
        | idle.to.itself(internal=True, on="answer_controls")
        | prompting.to.itself(internal=True, on="queue_axis")
        | rebuilding.to.itself(internal=True, cond="is_opened", on="queue_axis")
        | reload_queued.to.itself(internal=True, on="queue_axis")
    )
    adjust = (
        idle.to.itself(internal=True, on="apply_control")
        | prompting.to.itself(internal=True, on="apply_control")
        | rebuilding.to.itself(internal=True, cond="is_opened", on="apply_control")
        | reload_queued.to.itself(internal=True, on="apply_control")
    )
    reload = (
        idle.to(rebuilding, on="rebuild_all")
        | prompting.to(reload_queued, on="queue_reload")
        | rebuilding.to(reload_queued, cond="is_opened", on="queue_reload")
        | reload_queued.to.itself(internal=True, on="queue_reload")
    )
    reopen = idle.to(rebuilding, on="open_again")
    work_done = (
        prompting.to(closing, cond="is_left", on="finish_and_close")
        | prompting.to(rebuilding, cond="axes_wait", on="hold_and_rebuild")
        | prompting.to(prompting, cond="prompt_waits", on="finish_and_start_turn")
        | prompting.to(idle, on="finish")
        | rebuilding.to(closed, cond="opening_failed", on="fail_opening")
        | rebuilding.to(rebuilding, cond="axes_wait", on="finish_and_rebuild")
        | rebuilding.to(prompting, cond="prompt_waits", on="finish_and_start_turn")
        | rebuilding.to(idle, on="finish")
        | reload_queued.to(closing, cond="is_left", on="finish_and_close")
        | reload_queued.to(rebuilding, on="hold_and_rebuild")
        | closing.to(closed, cond="all_torn_down", on="finish_closing")
        | closing.to.itself(internal=True, on="tear_down_next")
    )
    withdraw = (
        prompting.to.itself(internal=True, on="withdraw_request")
        | rebuilding.to(closing, cond="withdraws_opening", on="close_down")
        | rebuilding.to.itself(internal=True, on="withdraw_request")
        | reload_queued.to.itself(internal=True, on="withdraw_request")
        | idle.to.itself(internal=True)
        | closing.to.itself(internal=True)
        | closed.to.itself(internal=True)
    )
    close = (
        idle.to(closing, on="close_down")
        | prompting.to(closing, on="close_down")
        | rebuilding.to(closing, on="close_down")
        | reload_queued.to(closing, on="close_down")
        | closing.to.itself(internal=True, on="join_closing")
    )

    def __init__(self, record: Record, new_turn: Callable[[PromptRequest], Turn]) -> None:
        self.record = record
        self.effects: Effects = []
        self._new_turn = new_turn
        super().__init__()

    @property
    def state_id(self) -> str:
        """The state's name."""
        return str(next(iter(self.configuration_values)))

    def offer(self, event: str, **arguments: Any) -> TheirFault | None:
        """Send an event that a peer asked for; None if it was taken, else the fault to answer with.

        The caller holds the session lock.
        """
        try:
            self.send(event, **arguments)
        except TransitionNotAllowed:
            return refusal(event, self.state_id)
        return None

    def take_effects(self) -> Effects:
        """What the last event asks the session to do, in order."""
        effects, self.effects = self.effects, []
        return effects

    # Conditions: pure questions to the record.

    def may_wait(self) -> bool:
        """No other prompt waits, and the turn, if one runs, was cancelled."""
        work = self.record.work
        return self.record.waiting is None and (not isinstance(work, Turn) or work.scope.cancelled)

    def turn_is_open(self) -> bool:
        """A turn runs that is neither sealed nor cancelled."""
        work = self.record.work
        return isinstance(work, Turn) and not work.sealed and not work.scope.cancelled

    def is_opened(self) -> bool:
        """The first opening is done."""
        return self.record.opened

    def changes_axis(self, axis: str, value: str) -> bool:
        """The value differs from the active one."""
        return self.record.active.get(axis) != value

    def axes_wait(self, outcome: Outcome) -> bool:
        """Values wait that differ from those active after the work."""
        active = self.record.active_after(outcome)
        return any(active.get(axis) != value for axis, value in self.record.axes.items())

    def prompt_waits(self) -> bool:
        """A prompt waits."""
        return self.record.waiting is not None

    def opening_failed(self, outcome: Outcome) -> bool:
        """The first opening failed."""
        work = self.record.work
        return isinstance(work, Opening) and work.first and isinstance(outcome, Opened) and outcome.fault is not None

    def is_left(self) -> bool:
        """The client's id stands for another session by now."""
        return self.record.left

    def all_torn_down(self) -> bool:
        """Teardown has run, erasing if asked to."""
        work = self.record.work
        return isinstance(work, Teardown) and work.erase == self.record.erase

    def withdraws_opening(self, reply: Reply) -> bool:
        """It is the request of the first opening."""
        work = self.record.work
        return isinstance(work, Opening) and work.first and work.reply is reply

    # Actions: change the record, leave effects.

    def start_turn(self, request: PromptRequest) -> None:
        """Start the turn."""
        self.record.work = self._new_turn(request)

    def let_wait(self, request: PromptRequest) -> None:
        """The prompt waits."""
        self.record.waiting = request

    def take_steer(self, blocks: Any, reply: Reply) -> None:
        """The turn takes the guidance; answer."""
        work = self.record.work
        assert isinstance(work, Turn)
        work.steers.append(blocks)
        self.effects.append(Answer(reply))

    def cancel_work(self) -> None:
        """Cancel the turn, answer a held response and a waiting prompt `cancelled`; a rebuild goes on."""
        work = self.record.work
        if isinstance(work, Turn) and not work.scope.cancelled:
            self.effects.append(CancelScope(work.scope))
        if isinstance(work, Rebuild) and work.held is not None:
            self._answer_turn(work.held.reply, TurnOutcome("cancelled", work.held.outcome.usage))
            work.held = None
        self._cancel_waiting()

    def apply_control(self, apply: Callable[[], None]) -> None:
        """Apply at once; the controls and the answer follow once it is stored."""
        self.effects.append(Run(apply))

    def answer_controls(self, reply: Reply) -> None:
        """Answer with the requested values."""
        self.effects.append(Answer(reply, Effect.CONTROLS))

    def queue_axis(self, axis: str, value: str, reply: Reply) -> None:
        """One value per axis waits, the last wins; set back to where the running work leads, none does. Answer."""
        if self.record.requested().get(axis) != value:
            if self.record.settled(axis) == value:
                self.record.axes.pop(axis, None)
            else:
                self.record.axes[axis] = value
            self.effects.append(Effect.CONTROLS)
        self.answer_controls(reply)

    def rebuild_axis(self, axis: str, value: str, reply: Reply) -> None:
        """Rebuild; the answer follows the swap, -32603 if it fails."""
        self.record.work = Rebuild({axis: value}, axis_replies=[reply])

    def rebuild_all(self, reply: Reply) -> None:
        """Rebuild; the answer follows the swap, -32603 if it fails."""
        self.record.work = Rebuild({}, reload=True, reload_replies=[reply])

    def queue_reload(self, reply: Reply) -> None:
        """The reload waits for the work that runs; answer so."""
        self.record.reload = True
        self.effects.append(Answer(reply, Queued(True)))

    def open_again(self, opening: Opening) -> None:
        """Open again with the roots of the request."""
        self.record.work = opening

    def hold_and_rebuild(self, outcome: Outcome) -> None:
        """Hold the response of a turn that was not cancelled, answer for other work, then rebuild."""
        work, held = self.record.work, None
        if isinstance(work, Turn) and isinstance(outcome, TurnOutcome) and not work.scope.cancelled:
            self._report_unused(work)
            held = Held(work.request.reply, outcome)
        else:
            self._conclude(outcome)
        self._next_rebuild(held)

    def finish_and_rebuild(self, outcome: Outcome) -> None:
        """Answer for the work, then rebuild."""
        self._conclude(outcome)
        self._next_rebuild(None)

    def finish_and_start_turn(self, outcome: Outcome) -> None:
        """Answer for the work, then start the waiting prompt."""
        self._conclude(outcome)
        request, self.record.waiting = self.record.waiting, None
        assert request is not None
        self.start_turn(request)

    def finish(self, outcome: Outcome) -> None:
        """Answer for the work."""
        self._conclude(outcome)
        self.record.work = None

    def finish_and_close(self, outcome: Outcome) -> None:
        """Answer for the work, discard what is queued, tear down."""
        self._conclude(outcome)
        self.record.axes.clear()
        self.record.reload = False
        self._cancel_waiting()
        self.record.work = Teardown(self.record.erase)

    def fail_opening(self, outcome: Outcome) -> None:
        """Answer with the fault, a waiting prompt -32002."""
        self._conclude(outcome)
        if self.record.waiting is not None:
            waiting, self.record.waiting = self.record.waiting, None
            self.effects.append(Answer(waiting.reply, fault=TheirFault(GONE, Phrase("session_not_opened"))))
        self.record.work = None

    def withdraw_request(self, reply: Reply) -> None:
        """Cancel that request alone: a prompt is answered `cancelled`, others -32800, their work abandoned."""
        work, waiting = self.record.work, self.record.waiting
        if waiting is not None and waiting.reply is reply:
            self._cancel_waiting()
        elif isinstance(work, Turn) and work.request.reply is reply:
            if not work.scope.cancelled:
                self.effects.append(CancelScope(work.scope))
        elif isinstance(work, Rebuild):
            self._withdraw_from(work, reply)
        elif isinstance(work, Opening) and work.reply is reply:
            self._abort_opening(work)

    def _withdraw_from(self, work: Rebuild, reply: Reply) -> None:
        if work.held is not None and work.held.reply is reply:
            self._answer_turn(reply, TurnOutcome("cancelled", work.held.outcome.usage))
            work.held = None
        elif reply in work.axis_replies or reply in work.reload_replies:
            work.abandoned = True
            work.axis_replies.clear()
            work.reload_replies.clear()
            self.record.drop_settled()
            self.effects.append(_withdrawn(reply))
            if work.axes:
                self.effects.append(Effect.CONTROLS)

    def close_down(self, reply: Reply | None, erase: bool = False) -> None:
        """Cancel the work, discard what is queued, answer what waits, tear down."""
        record, work = self.record, self.record.work
        record.axes.clear()
        record.reload = False
        if isinstance(work, Turn) and not work.scope.cancelled:
            self.effects.append(CancelScope(work.scope))
        elif isinstance(work, Rebuild):
            self._discard_rebuild(work)
        elif isinstance(work, Opening):
            if reply is work.reply:
                reply = None  # who withdraws an opening is answered for it, and waits for no close
            self._abort_opening(work)
        self._cancel_waiting()
        self.join_closing(reply, erase)
        if work is None:
            record.work = Teardown(record.erase)

    def _abort_opening(self, work: Opening) -> None:
        """Cancel an opening that runs; whatever it brings is not taken."""
        assert work.scope is not None
        self.effects.append(CancelScope(work.scope))
        work.abandoned = True
        if work.reply is not None:
            self.effects.append(_withdrawn(work.reply))
            work.reply = None

    def join_closing(self, reply: Reply | None, erase: bool = False) -> None:
        """Answer with the others once the session is closed."""
        self.record.erase = self.record.erase or erase
        if reply is not None:
            self.record.closers.append(reply)

    def tear_down_next(self, outcome: Outcome) -> None:
        """Answer a turn `cancelled`, let go of what an opening or a rebuild made, then tear down."""
        work = self.record.work
        if isinstance(work, Turn):
            assert isinstance(outcome, TurnOutcome)
            self._report_unused(work)
            self._answer_turn(work.request.reply, TurnOutcome("cancelled", outcome.usage))
        elif isinstance(work, Opening | Rebuild):
            self._conclude(outcome)
        self.record.work = Teardown(self.record.erase)

    def finish_closing(self, outcome: Outcome) -> None:
        """Answer everybody who asked to close."""
        fault = outcome.fault if isinstance(outcome, TornDown) else None
        self.record.work = None
        self.effects += [Answer(reply, fault=fault) for reply in self.record.closers]
        self.record.closers.clear()

    # How each kind of work is concluded.

    def _conclude(self, outcome: Outcome) -> None:
        work = self.record.work
        if isinstance(work, Turn):
            assert isinstance(outcome, TurnOutcome)
            # The stop reason is decided here, where the response is queued: a cancel read before wins (CAN-01).
            cancelled = work.scope.cancelled
            self._report_unused(work)
            self._answer_turn(work.request.reply, TurnOutcome("cancelled", outcome.usage) if cancelled else outcome)
        elif isinstance(work, Opening):
            assert isinstance(outcome, Opened)
            self._conclude_opening(work, outcome)
        elif isinstance(work, Rebuild):
            assert isinstance(outcome, Rebuilt)
            self._conclude_rebuild(work, outcome)

    def _conclude_opening(self, work: Opening, outcome: Opened) -> None:
        if work.abandoned:
            if outcome.discard is not None:
                self.effects.append(Run(outcome.discard))
            return
        if outcome.fault is None:
            self.record.opened = True
            if outcome.install is not None:
                self.effects.append(Run(outcome.install))
        if work.reply is not None:
            self.effects.append(Answer(work.reply, Effect.CONTROLS, outcome.fault))
        if outcome.fault is None:
            self.effects += [Effect.TITLE, Effect.COMMANDS]

    def _conclude_rebuild(self, work: Rebuild, outcome: Rebuilt) -> None:
        """First the notice and the options, then the held response, then the other answers, then commands."""
        if work.abandoned:
            if outcome.discard is not None:
                self.effects.append(Run(outcome.discard))
            return
        if outcome.install is not None:
            self.effects.append(Run(outcome.install))
        self.record.active = self.record.active_after(outcome)
        self.record.drop_settled()
        axes_fault, reload_fault = _ours(outcome.axes_fault), _ours(outcome.reload_fault)
        for code, fault, replies in (
            ("controls_not_changed", axes_fault, work.axis_replies),
            ("reload_failed", reload_fault, work.reload_replies),
        ):
            if fault is not None and not replies:
                self.effects.append(Report(code, {"cause": fault.message}))
        if outcome.gone:
            self.effects.append(Report("model_gone", dict(zip(("model", "instead"), outcome.gone, strict=True))))
        if work.axes or outcome.gone:
            # The snapshot is taken when the effect runs, after `work` is gone: it shows what is active now.
            self.effects.append(Effect.CONTROLS)
        self._release(work)
        for reply in work.axis_replies:
            self.effects.append(Answer(reply, Effect.CONTROLS, axes_fault))
        for reply in work.reload_replies:
            self.effects.append(Answer(reply, Queued(False), reload_fault))
        self.effects.append(Effect.COMMANDS)

    def _release(self, work: Rebuild) -> None:
        if work.held is not None:
            self._answer_turn(work.held.reply, work.held.outcome)
            work.held = None

    def _discard_rebuild(self, work: Rebuild) -> None:
        work.abandoned = True
        if work.held is not None:
            self._answer_turn(work.held.reply, TurnOutcome("cancelled", work.held.outcome.usage))
            work.held = None
        self.effects += [_withdrawn(reply) for reply in work.axis_replies + work.reload_replies]
        work.axis_replies.clear()
        work.reload_replies.clear()

    def _next_rebuild(self, held: Held | None) -> None:
        record = self.record
        record.work = Rebuild(record.axes, record.reload, held=held)
        record.axes, record.reload = {}, False

    def _report_unused(self, turn: Turn) -> None:
        """Guidance that a turn took in and broke before using it is shown, never dropped."""
        for blocks in turn.steers:
            words = " ".join(getattr(block, "text", None) or "[attachment]" for block in blocks)
            self.effects.append(Report("steer_unused", {"text": words}))
        turn.steers.clear()

    def _cancel_waiting(self) -> None:
        if self.record.waiting is not None:
            waiting, self.record.waiting = self.record.waiting, None
            self._answer_turn(waiting.reply, TurnOutcome("cancelled"))

    def _answer_turn(self, reply: Reply, outcome: TurnOutcome) -> None:
        self.effects.append(Answer(reply, outcome, outcome.fault))


def _withdrawn(reply: Reply) -> Answer:
    return Answer(reply, fault=Fault(codes.CANCELLED, Phrase("request_cancelled")))


def _ours(fault: Fault | None) -> OurFault | None:
    """A rebuild's failure is ours whatever it was: the request for it was in order."""
    return None if fault is None else OurFault(fault.message, fault.data)


def failed(work: Work, fault: Fault) -> Outcome:
    """The outcome of work that broke before it could say how it ended."""
    if isinstance(work, Turn):
        return TurnOutcome("end_turn", fault=fault)
    if isinstance(work, Opening):
        return Opened(fault)
    if isinstance(work, Rebuild):
        return Rebuilt(fault if work.axes else None, fault if work.reload else None)
    return TornDown(fault)
