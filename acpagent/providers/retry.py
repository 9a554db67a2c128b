"""Trying a model call again when it failed before anything was shown."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acpagent.core.catalogue import Phrase
from acpagent.core.model import (
    CallDelta,
    ModelEvent,
    ProviderFault,
    Retrying,
    TextDelta,
    ThoughtDelta,
)
from acpagent.providers.failures import FailedTry, says

if TYPE_CHECKING:
    from acpagent.core.scope import Scope

Attempt = Callable[[], Iterator[Sequence[ModelEvent]]]


@dataclass(frozen=True, slots=True)
class Policy:
    """How often and how patiently: `tries` in all, `base` seconds before the second one, doubling from there;
    a server may ask for up to `longest` seconds."""

    tries: int = 4
    base: float = 0.5
    longest: float = 60.0

    def wait(self, failed: int, after: float | None) -> float | None:
        """Seconds to wait after `failed` tries; None if another one is pointless."""
        if failed >= self.tries or (after is not None and after > self.longest):
            return None
        if after is not None:
            return after
        return float(self.base * 2 ** (failed - 1) * random.uniform(0.75, 1.25))


def retried(attempt: Attempt, scope: Scope, policy: Policy) -> Iterator[Sequence[ModelEvent]]:
    """What `attempt()` yields, begun anew after each `FailedTry` failure that came before any output.

    Yields `Retrying` (its `attempt` is the number of the try to come) before each wait. Raises `Cancelled`,
    or `ProviderFault`: that of the last failure, or kind `broken` once there was output, which stays.
    """
    failed = 0
    while True:
        shown = False
        try:
            for batch in attempt():
                shown = shown or any(isinstance(event, TextDelta | ThoughtDelta | CallDelta) for event in batch)
                yield batch
            return
        except FailedTry as failure:
            scope.check()
            if shown:
                raise _cut(failure) from None
            failed += 1
            seconds = policy.wait(failed, failure.after) if failure.again else None
            if seconds is None:
                raise _given_up(failure, policy) from None
            again = Retrying(failed + 1, policy.tries, seconds, failure.cause)
        yield (again,)
        scope.pause(seconds)


def _cut(failure: FailedTry) -> ProviderFault:
    return ProviderFault("broken", says(failure.who, Phrase("model_cut_in_the_middle", cause=failure.cause)))


def _given_up(failure: FailedTry, policy: Policy) -> ProviderFault:
    if failure.after is None or failure.after <= policy.longest:
        return failure.fault
    asked = Phrase("model_asks_to_wait", message=failure.fault.message, seconds=f"{failure.after:.0f}")
    return ProviderFault(failure.fault.kind, asked)
