"""The session machine on a bench: events and what comes of them, both as short texts.

Events: `prompt p1`, `steer hint s1`, `cancel`, `configure model=b c1`, `adjust a1`, `reload r1`, `reopen load o2`,
`withdraw p1`, `close x1`, `delete x1`; the last word names the reply. The first opening's reply is `o1`. What the
work itself does: `seal`, and `done`, with one or more of `fault`, `axes-fault`, `reload-fault` where it fails.

What comes of one: `p1: end_turn`, `c1: model=b`, `r1: -32603`, `cancel scope`, `install`, `apply`, `title`,
`commands`, `controls model=b`, `report reload_failed (it broke)`, joined by `; `.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from acpagent.core.blocks import Text
from acpagent.core.events import Controls, Usage
from acpagent.core.faults import Fault, OurFault, TheirFault
from acpagent.core.scope import Scope
from acpagent.runtime.session.machine import Record, SessionMachine
from acpagent.runtime.session.works import (
    Answer,
    CancelScope,
    Effect,
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
)

SPENT = Usage(input=7)


class NamedReply:
    """Holds what it was answered with; a second answer is an error."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.answer: str | None = None
        self.outcome: Any = None
        self.fault: Fault | None = None

    def done(self, outcome: Any) -> None:
        self.outcome = outcome
        self._answered(spell(outcome))

    def fail(self, fault: Fault) -> None:
        self.fault = fault
        self._answered(str(fault.code))

    def _answered(self, answer: str) -> None:
        assert self.answer is None, f"{self.name} was answered {self.answer}, now {answer}"
        self.answer = answer


def spell(outcome: Any) -> str:
    """An outcome as one word."""
    if isinstance(outcome, TurnOutcome):
        return outcome.stop
    if isinstance(outcome, Controls):
        return _axes(outcome.values)
    if isinstance(outcome, Queued):
        return "queued" if outcome.queued else "reloaded"
    return "done"


def _axes(values: dict[str, str]) -> str:
    return " ".join(f"{axis}={value}" for axis, value in sorted(values.items()))


class Bench:
    """A machine with one axis, `model`, active `a`; carries effects out as a session does."""

    def __init__(self, script: str = "") -> None:
        self.replies: dict[str, NamedReply] = {}
        self.opening = Opening("new", "/", (), (), self.reply("o1"), scope=Scope())
        self.record = Record({"model": "a"}, self.opening)
        self.machine = SessionMachine(self.record, lambda request: Turn(request, Scope()))
        for step in filter(None, script.split("; ")):
            self.do(step)

    @property
    def state(self) -> str:
        return self.machine.state_id

    def reply(self, name: str) -> NamedReply:
        return self.replies.setdefault(name, NamedReply(name))

    def do(self, step: str) -> str:
        """One event; returns what came of it."""
        verb, *words = step.split(" ")
        return "; ".join(getattr(self, f"_{verb}")(*words))

    # The events.

    def _prompt(self, name: str) -> list[str]:
        return self._offer("prompt", name, request=PromptRequest((Text(name),), self.reply(name)))

    def _steer(self, text: str, name: str) -> list[str]:
        return self._offer("steer", name, blocks=(Text(text),), reply=self.reply(name))

    def _cancel(self) -> list[str]:
        return self._offer("cancel", None)

    def _configure(self, change: str, name: str) -> list[str]:
        axis, value = change.split("=")
        return self._offer("configure", name, axis=axis, value=value, reply=self.reply(name))

    def _adjust(self, name: str) -> list[str]:
        return self._offer("adjust", name, apply=_marked("apply"))

    def _reload(self, name: str) -> list[str]:
        return self._offer("reload", name, reply=self.reply(name))

    def _reopen(self, kind: Any, name: str) -> list[str]:
        opening = Opening(kind, "/", (), (), self.reply(name), first=False, scope=Scope())
        return self._offer("reopen", name, opening=opening)

    def _withdraw(self, name: str) -> list[str]:
        return self._offer("withdraw", None, reply=self.reply(name))

    def _close(self, name: str) -> list[str]:
        return self._offer("close", name, reply=self.reply(name))

    def _delete(self, name: str) -> list[str]:
        return self._offer("close", name, reply=self.reply(name), erase=True)

    # What the work does.

    def _seal(self) -> list[str]:
        assert isinstance(self.record.work, Turn)
        self.record.work.sealed = True
        return []

    def _leave(self) -> list[str]:
        self.record.left = True
        return []

    def _done(self, *faults: str) -> list[str]:
        self.machine.send("work_done", outcome=self._outcome(set(faults)))
        return self.carry_out()

    def _outcome(self, faults: set[str]) -> Outcome:
        work, fault = self.record.work, OurFault("it broke") if faults else None
        if isinstance(work, Turn):
            return TurnOutcome("end_turn", SPENT, fault)
        if isinstance(work, Opening):
            broken = TheirFault(-32002, "no such session") if fault else None
            return Opened(broken) if broken else Opened(None, _marked("install"), _marked("discard"))
        if isinstance(work, Rebuild):
            parts = [fault if part in faults else None for part in ("axes-fault", "reload-fault")]
            works = (work.axes and not parts[0]) or (work.reload and not parts[1])
            return Rebuilt(*parts, _marked("install") if works else None)
        assert work is None or isinstance(work, Teardown)
        return TornDown(fault)

    # Effects, as a session carries them out.

    def _offer(self, event: str, name: str | None, **arguments: Any) -> list[str]:
        fault = self.machine.offer(event, **arguments)
        if fault is None:
            return self.carry_out()
        assert name is not None
        assert not self.machine.effects, "a refused event left effects"
        self.reply(name).fail(fault)
        return [f"{name}: {fault.code}"]

    def carry_out(self) -> list[str]:
        return [self._effect(effect) for effect in self.machine.take_effects()]

    def _effect(self, effect: Any) -> str:
        if isinstance(effect, Answer):
            reply = effect.reply
            assert isinstance(reply, NamedReply)
            if effect.fault is not None:
                reply.fail(effect.fault)
            elif effect.outcome is Effect.CONTROLS:
                reply.done(Controls(self.record.requested()))
            else:
                reply.done(effect.outcome)
            return f"{reply.name}: {reply.answer}"
        if isinstance(effect, CancelScope):
            effect.scope.cancel()
            return "cancel scope"
        if isinstance(effect, Run):
            effect.install()
            return effect.install.__name__
        if isinstance(effect, Report):
            return f"report {effect.code} ({', '.join(effect.params.values())})"
        if effect is Effect.CONTROLS:
            return f"controls {_axes(self.record.requested())}"
        return "title" if effect is Effect.TITLE else "commands"


def _marked(name: str) -> Callable[[], None]:
    def run() -> None:
        pass

    run.__name__ = name
    return run
