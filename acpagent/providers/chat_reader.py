"""Reads the answer of a chat completion without I/O: JSON payloads in, model events out."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from acpagent.core.events import Usage
from acpagent.core.model import CallDelta, Finished, ModelEvent, Reason, TextDelta, ThoughtDelta, UsageReport
from acpagent.providers.chat_errors import Told, read_error
from acpagent.providers.chat_keeping import Keeping
from acpagent.providers.reader import DONE, AnswerReader, Unreadable, count, decoded, inner
from acpagent.providers.surrogates import Joiner, repair

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


class ChatReader(AnswerReader):
    """Reads one answer. Tolerates what servers get wrong in calls: no index, no id, one index for all."""

    def __init__(self) -> None:
        super().__init__()
        self._keeping = Keeping()
        self._reason: Reason | None = None
        self._refused = False
        self._usage: Usage | None = None
        self._said = Joiner()
        self._thought = Joiner()
        self._calls: list[_Call] = []
        self._numbers: dict[int | str, int] = {}  # the server's index -> place in `_calls`

    @property
    def complete(self) -> bool:
        return self.done or self._reason is not None

    def take(self, payload: bytes) -> list[ModelEvent]:
        if payload.strip() == DONE:
            self.done = True
            return []
        value = decoded(payload)
        if told := read_error(value):
            raise told
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
        reason = self._reason or "stop"
        if self._refused:
            reason = "refusal"
        elif reason == "stop" and self._calls:
            reason = "calls"
        usage: list[ModelEvent] = [] if self._usage is None else [UsageReport(self._usage)]
        return [*usage, *self._keeping.end(), Finished(reason)]

    def _take_reason(self, reason: Any) -> None:
        if not isinstance(reason, str) or not reason:
            return
        if reason in _FAILURES:
            raise Told(f"it stopped with {reason}", status=503)
        self._reason = _REASONS.get(reason.lower(), "stop")

    def _take_usage(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        cached = inner(usage, "prompt_tokens_details", "cached_tokens") or count(usage.get("prompt_cache_hit_tokens"))
        written = inner(usage, "prompt_tokens_details", "cache_write_tokens")
        thought = inner(usage, "completion_tokens_details", "reasoning_tokens")
        taken, made = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
        if taken or made:  # some servers send zeros until they have counted
            self._usage = Usage(taken, min(cached, taken), made, min(thought, made), min(written, taken))

    def _delta(self, delta: Any) -> list[ModelEvent]:
        if not isinstance(delta, dict):
            return []
        events: list[ModelEvent] = []
        self._keeping.take_details(delta.get("reasoning_details"))
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
        self._keeping.take_extra(number, part.get("extra_content"))
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
