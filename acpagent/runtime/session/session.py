"""A session: one lock, one machine, at most one worker thread, and exactly the machine's verbs. It does no I/O."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from acpagent.core.blocks import Block
from acpagent.core.catalogue import Phrase
from acpagent.core.events import CommandsChanged, Controls, ControlsChanged, Event, Notice, TitleChanged
from acpagent.core.faults import Fault, OurFault, TheirFault
from acpagent.core.host import Host
from acpagent.core.reply import Reply
from acpagent.core.scope import Scope, run_closers
from acpagent.runtime.session.machine import Record, SessionMachine, failed
from acpagent.runtime.session.works import (
    Answer,
    CancelScope,
    Effect,
    Opening,
    Outcome,
    PromptRequest,
    Report,
    Run,
    Turn,
    Work,
)

if TYPE_CHECKING:
    from acpagent.core.scope import Closer


class Crew(Protocol):
    """Who does a session's work, on its worker thread; and what a session says of itself."""

    def run(self, work: Work) -> Outcome:
        """Do the work. Raising is allowed: the work then failed for that reason."""

    def controls(self, axes: dict[str, str]) -> Controls: ...
    def fit(self, axes: dict[str, str]) -> dict[str, str]:
        """The axes made to agree with each other."""

    def refusal(self, axis: str, value: str, axes: dict[str, str]) -> TheirFault | None:
        """Why an axis cannot take a value, given the axes requested."""

    def adjust(self, changed: Mapping[str, str], reply: Reply | None) -> None:
        """Set controls that need no rebuild, emit and answer once that is stored. Under the session lock."""

    def commands(self) -> CommandsChanged: ...
    def title(self) -> TitleChanged: ...
    def after_work(self) -> None:
        """Work was done and answered; called on the worker, with no lock."""

    def submit(self, form: str, values: Mapping[str, Any]) -> None:
        """Never blocks. Raises LookupError, ValueError."""

    def is_local(self, blocks: tuple[Block, ...]) -> bool:
        """Whether a prompt is answered without the model: its turn is born sealed."""

    def observe(self, event: str, state: str) -> None:
        """The machine took or refused an event and is in this state now."""

    def report(self, what: str, error: BaseException) -> None:
        """Note an unexpected failure for whoever looks for its cause."""


class Session:
    """The verbs may be called from any thread; each takes the lock once and blocks on nothing else.

    `lock` is the session's only lock, re-entrant; a turn's condition is built on it. The worker thread starts after
    the event that gave it work, and ends when `_next_work` finds none: an idle session has no thread.
    """

    def __init__(
        self,
        session_id: str,
        opening: Opening,
        axes: dict[str, str],
        make_host: Callable[[threading.RLock], Host],
        make_crew: Callable[[Session], Crew],
    ) -> None:
        self.id = session_id
        self.lock = threading.RLock()
        self.host = make_host(self.lock)
        opening.scope = Scope(self.lock)
        self._worker: threading.Thread | None = None
        self._crew = make_crew(self)
        self.machine = SessionMachine(Record(axes, opening, self._crew.fit), self._new_turn)

    def start(self) -> None:
        """Begin the opening that the session was made with."""
        with self.lock:
            starting = self._claim_worker()
        self._start_worker(starting)

    # The verbs.

    def prompt(self, blocks: tuple[Block, ...], reply: Reply, address: str = "") -> None:
        """What the turn has to say goes to `address`, if that is given (TURN-20)."""
        self._offer("prompt", reply, request=PromptRequest(blocks, reply, address))

    def steer(self, blocks: tuple[Block, ...], reply: Reply) -> None:
        self._offer("steer", reply, blocks=blocks, reply=reply)

    def cancel(self) -> None:
        self._offer("cancel", None)

    def configure(self, axis: str, value: str, reply: Reply) -> None:
        """Change an axis that a loadout is built from. A value that it cannot have is -32602 (CONF-05)."""
        self._offer("configure", reply, check=lambda: self._refusal(axis, value), axis=axis, value=value, reply=reply)

    def adjust(self, changed: Mapping[str, str], reply: Reply | None) -> None:
        """Change controls that need no rebuild."""
        self._offer("adjust", reply, apply=lambda: self._crew.adjust(changed, reply))

    def reload(self, reply: Reply) -> None:
        self._offer("reload", reply, reply=reply)

    def submit(self, form: str, values: Mapping[str, Any]) -> None:
        """Hand in a form that a plugin shows, by the id of that showing; no event of the machine. Raises LookupError
        for one that is not waiting, ValueError for values that do not fit it."""
        self._crew.submit(form, values)

    def reopen(self, opening: Opening) -> None:
        """Load or resume while the session is live."""
        opening.first, opening.scope = False, Scope(self.lock)
        self._offer("reopen", opening.reply, opening=opening)

    def withdraw(self, reply: Reply) -> None:
        """The request that `reply` answers is no longer wanted."""
        self._offer("withdraw", None, reply=reply)

    def close(self, reply: Reply | None) -> None:
        self._offer("close", reply, reply=reply)

    def delete(self, reply: Reply) -> bool:
        """Close, and erase what is stored as teardown's last step. False, and nothing answered, once closed."""
        return self._offer("close", None, reply=reply, erase=True)

    @property
    def is_open(self) -> bool:
        """Whether the session takes part in anything but closing."""
        with self.lock:
            return self.machine.state_id not in ("closing", "closed")

    @property
    def is_closed(self) -> bool:
        """Whether it is over. Seen with the lock alone: what its end answers is then queued, so that nobody is told
        that the session is gone before those are who wait for it."""
        with self.lock:
            return self.machine.state_id == "closed"

    def leave(self) -> None:
        """The turn that runs has gone on in another session: with its answer this one closes."""
        with self.lock:
            self.machine.record.left = True

    def controls(self) -> Controls:
        """The controls as they are requested now."""
        with self.lock:
            return self._controls()

    def show(self) -> None:
        """Tell the outside anew what it was told last: controls, title and commands."""
        with self.lock:
            for effect in (Effect.CONTROLS, Effect.TITLE, Effect.COMMANDS):
                self.host.emit(self._event(effect))

    # One road for all of them.

    def _offer(
        self, event: str, refused: Reply | None, check: Callable[[], Fault | None] = lambda: None, **arguments: Any
    ) -> bool:
        with self.lock:
            fault = (check() if self.is_open else None) or self.machine.offer(event, **arguments)
            self._crew.observe(event if fault is None else f"{event} (refused)", self.machine.state_id)
            if fault is not None and refused is not None:
                refused.fail(fault)
            closers = self._carry_out()
            starting = self._claim_worker()
        run_closers(closers)
        self._start_worker(starting)
        return fault is None

    def _refusal(self, axis: str, value: str) -> TheirFault | None:
        return self._crew.refusal(axis, value, self.machine.record.requested())

    def _carry_out(self) -> list[Closer]:
        """Do what the machine asked for, in order, in the critical section of the event itself. What fails against
        its promise is reported, and keeps nothing after it from being done."""
        closers: list[Closer] = []
        for effect in self.machine.take_effects():
            try:
                if isinstance(effect, CancelScope):
                    closers += effect.scope.cancel()
                elif isinstance(effect, Answer):
                    self._answer(effect)
                elif isinstance(effect, Run):
                    effect.install()
                else:
                    self.host.emit(self._event(effect))
            except Exception as error:
                self._crew.report("a session's answer", error)
        return closers

    def _event(self, effect: Effect | Report) -> Event:
        if isinstance(effect, Report):
            return Notice("warning", effect.code, effect.params)
        if effect is Effect.CONTROLS:
            return ControlsChanged(self._controls())
        return self._crew.title() if effect is Effect.TITLE else self._crew.commands()

    def _answer(self, effect: Answer) -> None:
        if effect.fault is not None:
            effect.reply.fail(effect.fault)
        elif effect.outcome is Effect.CONTROLS:
            effect.reply.done(self._controls())
        else:
            effect.reply.done(effect.outcome)

    def _controls(self) -> Controls:
        return self._crew.controls(self.machine.record.requested())

    def _new_turn(self, request: PromptRequest) -> Turn:
        if request.address:
            self.host.move(request.address)
        return Turn(request, Scope(self.lock), sealed=self._crew.is_local(request.blocks))

    # The worker.

    def _claim_worker(self) -> threading.Thread | None:
        if self.machine.record.work is None or self._worker is not None:
            return None
        self._worker = threading.Thread(target=self._work, name=f"acpagent-{self.id}", daemon=True)
        return self._worker

    def _start_worker(self, worker: threading.Thread | None) -> None:
        """What can fail happens after the event: a thread that cannot start is work that failed."""
        if worker is None:
            return
        try:
            worker.start()
        except RuntimeError as error:
            self._work_done(OurFault(Phrase("no_thread", cause=str(error))), worker)

    def _work(self) -> None:
        while (work := self._next_work()) is not None:
            try:
                outcome: Outcome | Fault = self._crew.run(work)
            except Fault as fault:
                outcome = fault
            except Exception as error:
                self._crew.report(f"a session's {type(work).__name__.lower()}", error)
                outcome = OurFault(Phrase("internal_error", kind=type(error).__name__))
            self._work_done(outcome)
            try:
                self._crew.after_work()
            except Exception as error:  # our own mistake: the session still takes work
                self._crew.report("what follows a session's work", error)

    def _next_work(self) -> Work | None:
        with self.lock:
            if self.machine.record.work is None:
                self._worker = None
            return self.machine.record.work

    def _work_done(self, outcome: Outcome | Fault, unstarted: threading.Thread | None = None) -> None:
        """The work ended, or failed with a fault; if its thread never started, the next work gets another."""
        with self.lock:
            if unstarted is not None:
                self._worker = None
            work = self.machine.record.work
            if isinstance(outcome, Fault) and work is not None:
                outcome = failed(work, outcome)
            self.machine.send("work_done", outcome=outcome)
            self._crew.observe("work_done", self.machine.state_id)
            closers = self._carry_out()
            starting = self._claim_worker()
        run_closers(closers)
        self._start_worker(starting)
