"""Reads the answer of a chat completion without I/O: JSON payloads in, model events out."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from acpagent.core.events import Usage
from acpagent.core.model import CallDelta, Finished, ModelEvent, TextDelta, ThoughtDelta, UsageReport
from acpagent.providers.chat_errors import Told, read_error
from acpagent.providers.surrogates import Joiner, repair

Reason = Literal["stop", "calls", "length", "refusal"]
DONE = b"[DONE]"

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
        self._said = Joiner()
        self._thought = Joiner()
        self._calls: list[_Call] = []
        self._numbers: dict[int | str, int] = {}  # the server's index -> place in `_calls`

    @property
    def complete(self) -> bool:
        """Whether the answer is whole: its end after this is no loss."""
        return self.done or self._reason is not None

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

    def take(self, payload: bytes) -> list[ModelEvent]:
        """Events of one payload. Raises `Told` for an error, `Unreadable` for what is no answer at all."""
        if payload.strip() == DONE:
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
        cached = _inner(usage, "prompt_tokens_details", "cached_tokens") or _count(usage.get("prompt_cache_hit_tokens"))
        thought = _inner(usage, "completion_tokens_details", "reasoning_tokens")
        taken, made = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
        self._usage = Usage(taken, min(cached, taken), made, min(thought, made))

    def _delta(self, delta: Any) -> list[ModelEvent]:
        if not isinstance(delta, dict):
            return []
        events: list[ModelEvent] = []
        thought = _text(delta.get("reasoning_content")) or _text(delta.get("reasoning")) or _thinking(delta)
        if thought := self._thought.take(thought):
            events.append(ThoughtDelta(thought))
        refusal = _text(delta.get("refusal"))
        self._refused = self._refused or refusal != ""
        if text := self._said.take(_text(delta.get("content")) + refusal):
            events.append(TextDelta(text))
        calls = delta.get("tool_calls")
        for part in calls if isinstance(calls, list) else []:
            if isinstance(part, dict):
                events.append(self._call(part, part.get("function")))
        if isinstance(delta.get("function_call"), dict):
            events.append(self._call({"index": "function_call"}, delta["function_call"]))
        return events

    def _call(self, part: Mapping[str, Any], function: Any) -> CallDelta:
        function = function if isinstance(function, dict) else {}
        provider_id, name = repair(_text(part.get("id"))), repair(_text(function.get("name")))
        arguments = function.get("arguments") or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        number = self._number(part.get("index"), provider_id, name)
        is_new = number == len(self._calls)
        if is_new:
            self._calls.append(_Call(provider_id or f"call_{os.urandom(9).hex()}"))
        call = self._calls[number]
        names_it = name != "" and call.name == ""
        call.name = call.name or name
        piece = call.arguments.take(arguments)
        return CallDelta(number, call.provider_id if is_new else None, name if names_it else None, piece)

    def _number(self, index: Any, provider_id: str, name: str) -> int:
        """Our number of the call that a fragment belongs to; that of the next one if it begins a call.

        A fragment begins a call if its index is new, or if it has a name where the call so far there has one
        and another id: some servers give every call the index 0. An id alone begins none: some give each
        fragment a new one. Without index and id a name begins a call.
        """
        numbered = isinstance(index, int | str)
        number = self._numbers.get(index, -1) if numbered else len(self._calls) - 1
        if number >= 0 and name and self._calls[number].name:
            begins = provider_id != self._calls[number].provider_id if provider_id else not numbered
            number = -1 if begins else number
        if number < 0:
            number = len(self._calls)
        if numbered:
            self._numbers[index] = number
        return number


def is_whole(payload: bytes) -> bool:
    """Whether a payload is one that a lost connection did not cut."""
    try:
        json.loads(payload)
    except (ValueError, RecursionError):
        return payload.strip() == DONE
    return True


class _Call:
    """What is known of a call so far."""

    __slots__ = ("arguments", "name", "provider_id")

    def __init__(self, provider_id: str) -> None:
        self.provider_id = provider_id
        self.name = ""
        self.arguments = Joiner()


def _text(content: Any) -> str:
    """A text, or those in a list of parts; empty for anything else."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(_text(part.get("text")) for part in parts if isinstance(part, dict))


def _thinking(delta: Mapping[str, Any]) -> str:
    """Thoughts that come as parts of the content."""
    parts = delta["content"] if isinstance(delta.get("content"), list) else []
    return "".join(_text(part.get("thinking")) for part in parts if isinstance(part, dict))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _inner(usage: Mapping[str, Any], name: str, key: str) -> int:
    details = usage.get(name)
    return _count(details.get(key)) if isinstance(details, Mapping) else 0
