"""A real session on a stage: its crew works as it is cued, and everything seen is checked as it happens.

What goes wrong on another thread is collected in `Stage.problems`, and fails the test at its end.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, Literal

from acpagent.core.blocks import Block, Text
from acpagent.core.events import Chunk, CommandsChanged, Controls, ControlsChanged, Event, Notice, TitleChanged
from acpagent.core.faults import Fault, OurFault, TheirFault
from acpagent.core.reply import Reply
from acpagent.core.scope import Cancelled, Scope
from acpagent.runtime.session.session import Session
from acpagent.runtime.session.works import (
    Opened,
    Opening,
    Outcome,
    Rebuild,
    Rebuilt,
    Teardown,
    TornDown,
    Turn,
    TurnOutcome,
    Work,
)
from tests.runtime.bench import spell

DEADLINE = 20.0
# How a work ends: `raise` breaks it, `bow` ends a cancelled turn by an exception.
Cue = Literal["ok", "fault", "raise", "bow"]
_numbers = itertools.count(1)


class Answered:
    """A reply that is answered once, under the session lock. `sent`: the verb it was given to has returned.
    `wanted` is the only right answer from some time on."""

    def __init__(self, stage: Stage, kind: str, name: str) -> None:
        self.stage, self.kind, self.name = stage, kind, name
        self.answer: str | None = None
        self.wanted: str | None = None
        self.sent = False
        self.answered = threading.Event()

    def wait(self) -> str | None:
        """What it is answered with."""
        self.answered.wait(DEADLINE)
        return self.answer

    def done(self, outcome: Any) -> None:
        self._answer(spell(outcome))

    def fail(self, fault: Fault) -> None:
        self._answer(str(fault.code))

    def _answer(self, answer: str) -> None:
        if not self.stage.session.lock._is_owned():  # type: ignore[attr-defined]
            self.stage.problem(f"{self.name} was answered without the session lock")
        if self.answer is not None:
            self.stage.problem(f"{self.name} was answered {self.answer} and {answer}")
        self.stage.note(f"{self.name}: {answer}")
        self.answer = answer
        self.answered.set()


class Stage:
    """A session, its host and its crew. `cue` lets one work go on; after `finale` none waits any more."""

    asks: Literal["form", "choice", "none"] = "none"
    language = "en"
    address = ""
    files = None
    shell = None
    make = Session

    def __init__(self, first: Literal["new", "load", "resume"] = "new") -> None:
        self.id = f"stage-{next(_numbers)}"
        self.changed = threading.Condition()
        self.problems: list[str] = []
        self.seen: list[str] = []
        self.replies: list[Answered] = []
        self.taken: list[str] = []
        self.unused: list[str] = []
        self.reported: list[str] = []
        self.erased: list[bool] = []
        self.broken: set[str] = set()  # prompts whose turn failed
        self.shown: dict[str, str] | None = None
        self._cues: deque[Cue] = deque()
        self._over = False
        self._working: Work | None = None
        opening = Opening(first, "/", (), (), self.reply("open"))
        self.session = self.make(self.id, opening, {"model": "a", "effort": "low"}, lambda _: self, lambda _: self)

    # For the test.

    def reply(self, kind: str) -> Answered:
        with self.changed:
            reply = Answered(self, kind, f"{kind}{len(self.replies)}")
            self.replies.append(reply)
            return reply

    def prompt(self) -> Answered:
        reply = self.reply("prompt")
        self.session.prompt((Text(reply.name),), reply)
        reply.sent = True
        return reply

    def steer(self) -> Answered:
        reply = self.reply("steer")
        self.session.steer((Text(reply.name),), reply)
        reply.sent = True
        return reply

    def cue(self, cue: Cue = "ok") -> None:
        with self.changed:
            self._cues.append(cue)
            self.changed.notify_all()

    def finale(self) -> None:
        """From here on every work ends well without being cued."""
        with self.changed:
            self._over = True
            self._cues.clear()
            self.changed.notify_all()

    def await_work(self, kind: type[Any]) -> None:
        """Wait until a work of this kind runs."""
        with self.changed:
            assert self.changed.wait_for(lambda: isinstance(self._working, kind), DEADLINE), str(self)

    def rest(self) -> None:
        """Wait until the session's thread has ended, which it does when there is no work left."""
        deadline = time.monotonic() + DEADLINE
        while left := [thread for thread in threading.enumerate() if thread.name == f"acpagent-{self.id}"]:
            left[0].join(deadline - time.monotonic())
            assert not left[0].is_alive(), f"the session's thread is stuck in {self._working}\n{self}"
        assert self.session.machine.record.work is None, f"work without a thread\n{self}"

    def check(self) -> None:
        assert not self.problems, f"{self.problems[0]}\n{self}"

    def __str__(self) -> str:
        return "\n".join(self.seen)

    # The host.

    def speak(self, language: str) -> None:
        self.language = language

    def move(self, address: str) -> None:
        self.address = address

    def emit(self, event: Event) -> None:
        if isinstance(event, Chunk):
            spoken = next(reply for reply in self.replies if reply.name == event.message_id)
            if spoken.answer is not None:
                self.problem(f"an update of {spoken.name} followed its response")
        elif isinstance(event, Notice) and event.code == "steer_unused":
            self.unused.append(event.params["text"])
        elif isinstance(event, ControlsChanged):
            self.shown = event.controls.values
        self.note(f"  {event}")

    def wait_room(self, scope: Scope) -> None: ...
    def permit(self, ask: Any, scope: Scope) -> Any: ...
    def question(self, form: Any, scope: Scope) -> Any: ...

    # The crew.

    def run(self, work: Work) -> Outcome:
        if self._working is not None:
            self.problem(f"{work} began while {self._working} ran")
        with self.changed:
            self._working = work
            self.changed.notify_all()
        self.note(f"  begin {type(work).__name__}")
        try:
            return self.act(work)
        finally:
            self.note(f"  end {type(work).__name__}")
            self._working = None

    def controls(self, axes: dict[str, str]) -> Controls:
        return Controls(axes)

    def fit(self, axes: dict[str, str]) -> dict[str, str]:
        return axes

    def refusal(self, axis: str, value: str, axes: dict[str, str]) -> None:
        return None

    def adjust(self, changed: Mapping[str, str], reply: Reply | None) -> None:
        """Nothing to store: answered at once."""
        assert reply is not None
        reply.done(self.controls(self.session.machine.record.requested()))

    def commands(self) -> CommandsChanged:
        return CommandsChanged(())

    def title(self) -> TitleChanged:
        return TitleChanged(None, "")

    def submit(self, form: str, values: Mapping[str, Any]) -> None:
        raise LookupError(form)

    def is_local(self, blocks: tuple[Block, ...]) -> bool:
        return False

    def after_work(self) -> None: ...

    def observe(self, event: str, state: str) -> None:
        self.note(f"{event} -> {state}")

    def report(self, what: str, error: BaseException) -> None:
        self.reported.append(what)
        if not isinstance(error, OnPurpose | Cancelled):
            self.problem(f"{what}: {error!r}")

    def act(self, work: Work) -> Outcome:
        if isinstance(work, Turn):
            return self._turn(work)
        scope = work.scope if isinstance(work, Opening) else None
        cue = self._await_cue(scope)
        if cue == "raise":
            raise OnPurpose
        if isinstance(work, Teardown):
            self.erased.append(work.erase)
            return TornDown()
        if isinstance(work, Rebuild):
            failed = OurFault("it broke") if cue == "fault" else None
            return Rebuilt(failed if work.axes else None, failed if work.reload else None, lambda: None)
        if scope is not None and scope.cancelled:
            return Opened(Fault(-32800, "the session was closed"))
        return Opened(TheirFault(-32002, "no such session")) if cue == "fault" else Opened(install=lambda: None)

    def _turn(self, turn: Turn) -> TurnOutcome:
        name = _words(turn.request.blocks)
        try:
            self._speak(name)
            self._await_cue(turn.scope)
            self._take(turn.take())
            self._speak(name)
            cue = self._await_cue(turn.scope)
            self._speak(name)
        except Cancelled:
            cue = "bow"
        if cue == "raise":
            self.broken.add(name)
            raise OnPurpose
        if cue == "bow" and turn.scope.cancelled:
            raise Cancelled
        if cue == "fault":
            self.broken.add(name)
            with turn.scope.lock:
                left, turn.sealed = turn.take(), True
            self.unused += map(_words, left)
            return TurnOutcome("end_turn", fault=OurFault("it broke"))
        while steers := turn.take_or_seal():
            self._take(steers)
        self._speak(name)
        return TurnOutcome("cancelled" if turn.scope.cancelled else "end_turn")

    def _speak(self, name: str) -> None:
        self.emit(Chunk(name, "assistant", Text("...")))

    def _take(self, steers: list[tuple[Block, ...]]) -> None:
        self.taken += map(_words, steers)

    def _await_cue(self, scope: Scope | None) -> Cue:
        """Wait for a cue, a cancel or the finale. Raises `Cancelled` if it is too late to begin."""
        forget = scope.add_closer(self._poke) if scope is not None else lambda: None
        with self.changed:
            came = self.changed.wait_for(
                lambda: bool(self._cues) or self._over or (scope is not None and scope.cancelled), DEADLINE
            )
            cue = self._cues.popleft() if self._cues else "ok"
        forget()
        if not came:
            self.problem("work was never cued")
        return cue

    def _poke(self) -> None:
        if self.session.lock._is_owned():  # type: ignore[attr-defined]
            self.problem("a closer was run under the session lock")
        with self.changed:
            self.changed.notify_all()

    # Records of what is seen; a list's append needs no lock.

    def problem(self, text: str) -> None:
        self.problems.append(text)
        self.note(f"PROBLEM {text}")

    def note(self, text: str) -> None:
        self.seen.append(text)


class OnPurpose(Exception):
    """A work that breaks because it was cued to."""


def _words(blocks: tuple[Block, ...]) -> str:
    return " ".join(block.text for block in blocks if isinstance(block, Text))
