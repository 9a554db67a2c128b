"""Reads an answer of Anthropic messages without I/O: JSON payloads of its events in, model events out."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from acpagent.core.events import Usage
from acpagent.core.model import CallDelta, Finished, Kept, ModelEvent, Reason, TextDelta, ThoughtDelta, UsageReport
from acpagent.providers import anthropic_keeping
from acpagent.providers.chat_errors import Told, read_error
from acpagent.providers.reader import AnswerReader, Unreadable, count, decoded, inner
from acpagent.providers.surrogates import Joiner, repair

# Every other word ends the answer normally.
_REASONS: dict[str, Reason] = {
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "pause_turn": "paused",
}


@dataclass(slots=True)
class Block:
    """A block of the answer so far: what it says, or the arguments of its call. `number` counts calls."""

    kind: Literal["text", "thinking", "redacted", "call"]
    text: list[str] = field(default_factory=list)
    signature: str = ""
    number: int = 0
    whole: str = ""  # a call's arguments, if they came with its beginning
    joiner: Joiner = field(default_factory=Joiner)

    def add(self, text: str) -> str:
        """Take a piece; what can be passed on."""
        piece = self.joiner.take(text)
        self.text.append(piece)
        return piece


class AnthropicReader(AnswerReader):
    """Reads one answer."""

    def __init__(self) -> None:
        super().__init__()
        self._reason: Reason | None = None
        self._usage: dict[str, Any] = {}
        self._blocks: list[Block] = []
        self._open: dict[Any, Block] = {}  # by the server's index
        self._calls = 0

    @property
    def complete(self) -> bool:
        return self.done or self._reason is not None

    def take(self, payload: bytes) -> list[ModelEvent]:
        value = decoded(payload)
        kind = value.get("type")
        if kind == "error" or (kind is None and "error" in value):
            raise read_error(value) or Told("")
        if kind == "message_start":
            self._take_usage(_mapping(value.get("message")).get("usage"))
        elif kind == "content_block_start":
            return self._begin(value.get("index"), _mapping(value.get("content_block")))
        elif kind == "content_block_delta":
            return self._continue(value.get("index"), _mapping(value.get("delta")))
        elif kind == "content_block_stop":
            return self._finish(value.get("index"))
        elif kind == "message_delta":
            self._take_usage(value.get("usage"))
            self._take_reason(_mapping(value.get("delta")).get("stop_reason"))
        elif kind == "message_stop":
            self.done = True
        elif kind == "message":
            return self._whole(value)
        elif not isinstance(kind, str):
            raise Unreadable
        return []

    def end(self) -> list[ModelEvent]:
        reason = self._reason or "stop"
        if reason == "stop" and self._calls:
            reason = "calls"
        kept = anthropic_keeping.write(self._blocks)
        return [*self._report(), *([Kept(kept)] if kept else []), Finished(reason)]

    def _whole(self, message: Mapping[str, Any]) -> list[ModelEvent]:
        """An answer in one piece."""
        events: list[ModelEvent] = []
        for index, block in enumerate(message.get("content") or ()):
            events += self._begin(index, _mapping(block))
            events += self._finish(index)
        self._take_usage(message.get("usage"))
        self._take_reason(message.get("stop_reason") or "end_turn")
        self.done = True
        return events

    def _begin(self, index: Any, content: Mapping[str, Any]) -> list[ModelEvent]:
        kind = content.get("type")
        if kind == "text":
            return self._say(self._add(index, Block("text")), _text(content, "text"))
        if kind == "thinking":
            block = self._add(index, Block("thinking", signature=_text(content, "signature")))
            return self._say(block, _text(content, "thinking"))
        if kind == "redacted_thinking":
            self._add(index, Block("redacted", signature=_text(content, "data")))
        elif kind == "tool_use":
            return [self._call(index, content)]
        return []

    def _add(self, index: Any, block: Block) -> Block:
        self._blocks.append(block)
        self._open[index] = block
        return block

    def _call(self, index: Any, content: Mapping[str, Any]) -> CallDelta:
        made = content.get("input")
        block = self._add(index, Block("call", number=self._calls))
        block.whole = json.dumps(made, ensure_ascii=False) if made else ""
        self._calls += 1
        provider_id = repair(_text(content, "id")) or f"call_{os.urandom(9).hex()}"
        return CallDelta(block.number, provider_id, repair(_text(content, "name")))

    def _continue(self, index: Any, delta: Mapping[str, Any]) -> list[ModelEvent]:
        block = self._open.get(index)
        if block is None:
            return []  # of a kind that means nothing to us
        kind = delta.get("type")
        if kind == "text_delta":
            return self._say(block, _text(delta, "text"))
        if kind == "thinking_delta":
            return self._say(block, _text(delta, "thinking"))
        if kind == "signature_delta":
            block.signature += _text(delta, "signature")
        elif kind == "input_json_delta" and (piece := block.add(_text(delta, "partial_json"))):
            return [CallDelta(block.number, arguments=piece)]
        return []

    def _finish(self, index: Any) -> list[ModelEvent]:
        block = self._open.pop(index, None)
        if block is None or block.kind != "call" or "".join(block.text) or not block.whole:
            return []
        return [CallDelta(block.number, arguments=block.add(block.whole))]

    def _say(self, block: Block, text: str) -> list[ModelEvent]:
        piece = block.add(text)
        if not piece:
            return []
        return [ThoughtDelta(piece) if block.kind == "thinking" else TextDelta(piece)]

    def _take_reason(self, reason: Any) -> None:
        if isinstance(reason, str) and reason:
            self._reason = _REASONS.get(reason, "stop")

    def _take_usage(self, usage: Any) -> None:
        """Counts are of the whole answer so far, so that later ones replace earlier ones."""
        self._usage |= {key: value for key, value in _mapping(usage).items() if value is not None}

    def _report(self) -> list[ModelEvent]:
        found = self._usage
        cached, written = count(found.get("cache_read_input_tokens")), count(found.get("cache_creation_input_tokens"))
        taken, made = count(found.get("input_tokens")) + cached + written, count(found.get("output_tokens"))
        if not taken and not made:
            return []
        thought = inner(found, "output_tokens_details", "thinking_tokens")
        return [UsageReport(Usage(taken, cached, made, min(thought, made), written))]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Mapping[str, Any], key: str) -> str:
    text = value.get(key)
    return text if isinstance(text, str) else ""
