"""Plays a script: a conversation in, what the pretended model does out, beat by beat."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from acpagent.core.catalogue import Phrase
from acpagent.core.events import Usage
from acpagent.core.model import CallDelta, Finished, TextDelta, ThoughtDelta, UsageReport
from acpagent.providers.script import Count, Drop, Fail, Finish, MakeCall, Say, Stall, Wait
from acpagent.providers.usage import estimate

if TYPE_CHECKING:
    from acpagent.providers.script import Reason, Script, Step

Beat = TextDelta | ThoughtDelta | CallDelta | UsageReport | Finished | Wait | Fail | Drop | Stall

UNSCRIPTED = Fail(400, Phrase("model_script_over"))


class Player:
    """One script being played, by any number of threads.

    Its lock, a leaf, guards the count of tries of calls that fail a limited number of times.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self._lock = threading.Lock()
        self._tries: dict[tuple[int, ...], int] = {}

    def play(self, newest_first: Iterable[Mapping[str, Any]], count: int, letters: int) -> Iterator[Beat]:
        """What answers a conversation of `count` chat messages and `letters` letters in all.

        Ends with `Finished` unless the reply fails.
        """
        chosen = self.script.choose(newest_first)
        if chosen is None:
            yield UNSCRIPTED
            return
        turn, number = chosen
        reply = _Reply(count, letters, lambda step, times: self._still(times, (turn, number, count, step)))
        yield from reply.beats(self.script.turns[turn].reply(number))

    def _still(self, times: int, place: tuple[int, ...]) -> bool:
        """Whether what happens for the first `times` tries at `place` happens in this one."""
        with self._lock:
            self._tries[place] = self._tries.get(place, 0) + 1
            return self._tries[place] <= times


class _Reply:
    """One reply being played."""

    def __init__(self, count: int, letters: int, still: Callable[[int, int], bool]) -> None:
        self._count = count
        self._letters = letters
        self._still = still
        self._calls = 0
        self._said = self._thought = 0
        self._counted = False
        self._reason: Reason | None = None

    def beats(self, steps: tuple[Step, ...]) -> Iterator[Beat]:
        for place, step in enumerate(steps):
            match step:
                case Fail(times=times) | Drop(times=times) | Stall(times=times):
                    if self._still(place, times):
                        yield step
                        return
                case Say():
                    yield from self._say(step)
                case MakeCall():
                    yield from self._call(step)
                case Count(usage):
                    self._counted = True
                    yield UsageReport(usage)
                case Wait():
                    yield step
                case Finish(reason):
                    self._reason = reason
        yield from self._end()

    def _say(self, step: Say) -> Iterator[Beat]:
        for turn in range(step.times):
            if turn and step.every:
                yield Wait(step.every)
            for piece in _pieces(step.text, step.chunk):
                if step.thought:
                    self._thought += len(piece)
                    yield ThoughtDelta(piece)
                else:
                    self._said += len(piece)
                    yield TextDelta(piece)

    def _call(self, step: MakeCall) -> Iterator[Beat]:
        index, self._calls = self._calls, self._calls + 1
        first, *more = _pieces(step.arguments, step.chunk) or [""]
        self._said += len(step.tool) + len(step.arguments)
        # Unique within the conversation, and the same when it is played again.
        yield CallDelta(index, f"call_{self._count}_{index}", step.tool, first)
        for piece in more:
            yield CallDelta(index, arguments=piece)

    def _end(self) -> Iterator[Beat]:
        if not self._counted:
            thought = estimate(self._thought)
            yield UsageReport(Usage(estimate(self._letters), 0, estimate(self._said) + thought, thought))
        yield Finished(self._reason or ("calls" if self._calls else "stop"))


def _pieces(text: str, size: int) -> list[str]:
    if not size:
        return [text] if text else []
    return [text[start : start + size] for start in range(0, len(text), size)]
