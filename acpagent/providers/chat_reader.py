"""Reads the answer of a chat completion without I/O: JSON payloads in, model events out."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from acpagent.core.events import Usage
from acpagent.core.model import CallDelta, Finished, ModelEvent, TextDelta, ThoughtDelta, UsageReport
from acpagent.providers.chat_errors import Told, read_error

Reason = Literal["stop", "calls", "length", "refusal"]

# Every other word ends the answer normally.
_REASONS: dict[str, Reason] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
    "safety": "refusal",
}
_FAILURES = frozenset({"error", "insufficient_system_resource"})


class Unreadable(Exception):
    """The payload is not what a chat completion consists of."""


class ChatReader:
    """Reads one answer. Tolerates what servers get wrong in calls: no index, no id, one index for all."""

    def __init__(self) -> None:
        self.done = False  # the server said that nothing follows
        self._reason: Reason | None = None
        self._refused = False
        self._usage: Usage | None = None
        self._calls: list[_Call] = []
        self._numbers: dict[int | str, int] = {}  # the server's index -> place in `_calls`

    @property
    def complete(self) -> bool:
        """Whether the answer is whole: its end after this is no loss."""
        return self.done or self._reason is not None

    def take(self, payload: bytes) -> list[ModelEvent]:
        """Events of one payload. Raises `Told` for an error, `Unreadable` for what is no answer at all."""
        if payload.strip() == b"[DONE]":
            self.done = True
            return []
        try:
            value = json.loads(payload)
        except (ValueError, RecursionError):
            raise Unreadable from None
        if told := read_error(value):
            raise told
        if not isinstance(value, dict):
            raise Unreadable
        self._take_usage(value.get("usage"))
        choices = value.get("choices")
        if not isinstance(choices, list) or not choices:
            return []
        choice = choices[0]
        if not isinstance(choice, dict):
            raise Unreadable
        events = self._delta(choice.get("delta") or choice.get("message"))
        self._take_reason(choice.get("finish_reason"))
        return events

    def end(self) -> list[ModelEvent]:
        """What a whole answer ends with: its usage, if the server counted, and why the model stopped."""
        reason = self._reason or "stop"
        if self._refused:
            reason = "refusal"
        elif reason == "stop" and self._calls:
            reason = "calls"
        usage: list[ModelEvent] = [] if self._usage is None else [UsageReport(self._usage)]
        return [*usage, Finished(reason)]

    def _take_reason(self, reason: Any) -> None:
        if not isinstance(reason, str) or not reason:
            return
        if reason in _FAILURES:
            raise Told(f"it stopped with {reason}", status=503)
        self._reason = _REASONS.get(reason.lower(), "stop")

    def _take_usage(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        cached = _inner(usage, "prompt_tokens_details", "cached_tokens") or _count(
            usage.get("prompt_cache_hit_tokens")
        )
        thought = _inner(usage, "completion_tokens_details", "reasoning_tokens")
        taken, made = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
        self._usage = Usage(taken, min(cached, taken), made, min(thought, made))

    def _delta(self, delta: Any) -> list[ModelEvent]:
        if not isinstance(delta, dict):
            return []
        events: list[ModelEvent] = []
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str) and thought:
            events.append(ThoughtDelta(thought))
        events += _content(delta.get("content"))
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refused = True
            events.append(TextDelta(refusal))
        calls = delta.get("tool_calls")
        for part in calls if isinstance(calls, list) else []:
            if isinstance(part, dict):
                events.append(self._call(part, part.get("function")))
        if isinstance(delta.get("function_call"), dict):
            events.append(self._call({"index": "function_call"}, delta["function_call"]))
        return events

    def _call(self, part: Mapping[str, Any], function: Any) -> CallDelta:
        function = function if isinstance(function, dict) else {}
        provider_id, name = _word(part.get("id")), _word(function.get("name"))
        arguments = function.get("arguments") or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        number = self._number(part.get("index"), provider_id, name)
        if number == len(self._calls):
            provider_id = provider_id or f"call_{os.urandom(9).hex()}"
            self._calls.append(_Call(provider_id, name))
            return CallDelta(number, provider_id, name, arguments)
        call = self._calls[number]
        late = name if call.name is None else None
        call.name = call.name or name
        return CallDelta(number, None, late, arguments)

    def _number(self, index: Any, provider_id: str | None, name: str | None) -> int:
        """Our number of the call that a fragment belongs to; that of the next one if it begins a call.

        A fragment begins a call if its index is new, or if it has a name where the call so far there has one
        and another id: some servers give every call the index 0. An id alone begins none: some give each
        fragment a new one. Without index and id a name begins a call.
        """
        unnumbered = not isinstance(index, int | str)
        number = len(self._calls) - 1 if unnumbered else self._numbers.get(index, -1)
        if number >= 0 and name is not None and self._calls[number].name is not None:
            begins = unnumbered if provider_id is None else provider_id != self._calls[number].provider_id
            number = -1 if begins else number
        if number < 0:
            number = len(self._calls)
        if not unnumbered:
            self._numbers[index] = number
        return number


class _Call:
    """What is known of a call so far."""

    __slots__ = ("name", "provider_id")

    def __init__(self, provider_id: str, name: str | None) -> None:
        self.provider_id = provider_id
        self.name = name


def _content(content: Any) -> Sequence[ModelEvent]:
    """Text, or a list of parts of which some are thoughts."""
    if isinstance(content, str):
        return [TextDelta(content)] if content else []
    events: list[ModelEvent] = []
    for part in content if isinstance(content, list) else []:
        if not isinstance(part, dict):
            continue
        if isinstance(part.get("text"), str) and part["text"]:
            events.append(TextDelta(part["text"]))
        thoughts = part.get("thinking")
        for thought in thoughts if isinstance(thoughts, list) else [{"text": thoughts}]:
            if isinstance(thought, dict) and isinstance(thought.get("text"), str) and thought["text"]:
                events.append(ThoughtDelta(thought["text"]))
    return events


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _inner(usage: Mapping[str, Any], name: str, key: str) -> int:
    details = usage.get(name)
    return _count(details.get(key)) if isinstance(details, Mapping) else 0
