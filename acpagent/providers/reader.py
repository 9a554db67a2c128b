"""What readers of streamed answers have in common, whatever the API: JSON payloads in, model events out, no I/O."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from acpagent.core.model import ModelEvent
from acpagent.providers.chat_errors import Told

DONE = b"[DONE]"


class Unreadable(Exception):
    """The payload is not what an answer consists of."""


class AnswerReader:
    """Reads one answer. `done`: the server said that nothing follows."""

    def __init__(self) -> None:
        self.done = False

    @property
    def complete(self) -> bool:
        """Whether the answer is whole: its end after this is no loss."""
        raise NotImplementedError

    def take(self, payload: bytes) -> list[ModelEvent]:
        """Events of one payload. Raises `Told` for an error, `Unreadable` for what is no answer at all."""
        raise NotImplementedError

    def end(self) -> list[ModelEvent]:
        """What a whole answer ends with: its usage, if the server counted, and why the model stopped."""
        raise NotImplementedError

    def take_all(self, payloads: Sequence[bytes]) -> tuple[list[ModelEvent], Told | Unreadable | None]:
        """Events of payloads that came together, up to the end of the answer or to a fault, which comes with them."""
        events: list[ModelEvent] = []
        for payload in payloads:
            if self.done:
                break
            try:
                events += self.take(payload)
            except (Told, Unreadable) as fault:
                return events, fault
        return events, None


def decoded(payload: bytes) -> dict[str, Any]:
    """The JSON object that a payload is. Raises `Unreadable`."""
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        raise Unreadable from None
    if not isinstance(value, dict):
        raise Unreadable
    return value


def is_whole(payload: bytes) -> bool:
    """Whether a payload is one that a lost connection did not cut."""
    try:
        json.loads(payload)
    except (ValueError, RecursionError):
        return payload.strip() == DONE
    return True


def count(value: Any) -> int:
    """A number of tokens; 0 for anything that is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def inner(usage: Mapping[str, Any], name: str, key: str) -> int:
    """The number under `key` in the mapping under `name`."""
    details = usage.get(name)
    return count(details.get(key)) if isinstance(details, Mapping) else 0
