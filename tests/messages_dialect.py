"""The model server's other dialect: scripts played as Anthropic messages, by a server as strict as the real one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from acpagent.core.events import Usage
from acpagent.core.model import CallDelta, TextDelta, ThoughtDelta
from acpagent.providers.player import Beat, Player
from acpagent.providers.script import Fail
from tests.model_server import Stream

_REASONS = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal", "calls": "tool_use"}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def signature(thought: str) -> str:
    """What stands in for the signature of a thought."""
    return "sig-" + hashlib.sha256(thought.encode()).hexdigest()[:16]


class MessagesStream(Stream):
    """One answer, told in the events of Anthropic messages."""

    def _setup(self, body: Mapping[str, Any], number: int) -> None:
        self._id = f"msg_{number}"
        self._index = -1
        self._open = ""  # the kind of the open block, with the number of its call
        self._thought = ""

    def error(self, fail: Fail) -> dict[str, Any]:
        kind = _ERRORS.get(fail.status, "api_error" if fail.status >= 500 else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": fail.message}, "request_id": "req_1"}

    def first(self) -> None:
        usage = {"input_tokens": 0, "output_tokens": 1}
        head = {"id": self._id, "type": "message", "role": "assistant", "model": self._model, "content": []}
        self.event({"type": "message_start", "message": {**head, "stop_reason": None, "usage": usage}})
        self.event({"type": "ping"})

    def tell(self, beat: Beat) -> None:
        match beat:
            case TextDelta(text):
                self._enter("text", {"type": "text", "text": ""})
                self._delta({"type": "text_delta", "text": text})
            case ThoughtDelta(text):
                self._enter("thinking", {"type": "thinking", "thinking": "", "signature": ""})
                self._thought += text
                self._delta({"type": "thinking_delta", "thinking": text})
            case CallDelta(index, provider_id, name, arguments):
                made = {"type": "tool_use", "id": provider_id, "name": name, "input": {}}
                self._enter(f"call {index}", made)
                self._delta({"type": "input_json_delta", "partial_json": arguments})
            case _:
                raise AssertionError(beat)

    def finish(self, reason: str) -> None:
        self.begin()
        self._leave()
        usage = _usage(self._usage) if self._usage is not None else {"output_tokens": 0}
        delta = {"stop_reason": _REASONS[reason], "stop_sequence": None}
        self.event({"type": "message_delta", "delta": delta, "usage": usage})
        self.event({"type": "message_stop"})

    def event(self, value: Any) -> None:
        kind, data = value["type"].encode(), json.dumps(value, ensure_ascii=False).encode()
        self._handler.send_piece(b"event: %b\ndata: %b\n\n" % (kind, data))

    def _enter(self, kind: str, block: Mapping[str, Any]) -> None:
        if self._open != kind:
            self._leave()
            self._open, self._index = kind, self._index + 1
            self.event({"type": "content_block_start", "index": self._index, "content_block": block})

    def _leave(self) -> None:
        if self._open == "thinking":
            self._delta({"type": "signature_delta", "signature": signature(self._thought)})
        if self._open:
            self.event({"type": "content_block_stop", "index": self._index})
        self._open = self._thought = ""

    def _delta(self, delta: Mapping[str, Any]) -> None:
        self.event({"type": "content_block_delta", "index": self._index, "delta": delta})


def beats(player: Player, body: Mapping[str, Any]) -> Iterator[Beat]:
    """What the script has for this conversation, or the refusal of what the API would not take."""
    wrong = problem(body)
    if wrong:
        return iter([Fail(400, wrong)])
    messages = as_chat(body["messages"])
    letters = len(json.dumps(body, ensure_ascii=False, separators=(",", ":")))
    return player.play(reversed(messages), len(messages), letters)


def as_chat(messages: Any) -> list[dict[str, Any]]:
    """The conversation as messages of chat completions, as scripts and tests know them."""
    result: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "assistant":
            result.append(_chat_reply(message["content"]))
            continue
        for block in message["content"]:
            if block["type"] == "tool_result":
                told = {"tool_call_id": block["tool_use_id"], "content": block.get("content", "")}
                result.append({"role": "tool", **told})
            elif block["type"] == "text":
                result.append({"role": "user", "content": block["text"]})
            else:
                _add_image(result, block["source"])
    return result


def _chat_reply(blocks: Any) -> dict[str, Any]:
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    reply: dict[str, Any] = {"role": "assistant", "content": text}
    calls = [
        {"id": block["id"], "function": {"name": block["name"], "arguments": json.dumps(block["input"])}}
        for block in blocks
        if block["type"] == "tool_use"
    ]
    return reply | ({"tool_calls": calls} if calls else {})


def _add_image(result: list[dict[str, Any]], source: Mapping[str, str]) -> None:
    """An image belongs to the person's words before it, if they are the last thing."""
    url = f"data:{source['media_type']};base64,{source['data']}"
    if not result or result[-1]["role"] != "user":
        result.append({"role": "user", "content": []})
    if isinstance(result[-1]["content"], str):
        result[-1]["content"] = [{"type": "text", "text": result[-1]["content"]}]
    result[-1]["content"].append({"type": "image_url", "image_url": {"url": url}})


def problem(body: Mapping[str, Any]) -> str:
    """What the API would refuse this request for."""
    if not isinstance(body.get("max_tokens"), int):
        return "max_tokens: Field required"
    messages = body["messages"]
    if not messages or messages[0]["role"] != "user":
        return "messages: first message must use the user role"
    open_calls: set[str] = set()
    seen: set[str] = set()
    for number, message in enumerate(messages):
        if number and messages[number - 1]["role"] == message["role"]:
            return f"messages.{number}: roles must alternate"
        wrong = _wrong_blocks(message, open_calls, seen)
        if wrong:
            return f"messages.{number}: {wrong}"
    return "the last message leaves `tool_use` ids without `tool_result`" if open_calls else ""


def _wrong_blocks(message: Mapping[str, Any], open_calls: set[str], seen: set[str]) -> str:
    if not message["content"]:
        return "content must not be empty"
    results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
    if open_calls != set(results):
        return "`tool_use` ids were found without `tool_result` blocks immediately after"
    if [block["type"] for block in message["content"][: len(results)]] != ["tool_result"] * len(results):
        return "`tool_result` blocks must come first"
    open_calls.clear()
    for block in message["content"]:
        if block["type"] == "text" and not block["text"].strip():
            return "text content blocks must contain non-whitespace text"
        if block["type"] == "thinking" and block["signature"] != signature(block["thinking"]):
            return "Invalid `signature` in `thinking` block"
        if block["type"] == "tool_use":
            if block["id"] in seen:
                return "`tool_use` ids must be unique"
            seen.add(block["id"])
            open_calls.add(block["id"])
    if message["role"] == "assistant" and message["content"][-1]["type"] == "thinking":
        return "the final block in an assistant message cannot be `thinking`"
    return ""


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input - usage.cached,
        "cache_read_input_tokens": usage.cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": usage.output,
        "output_tokens_details": {"thinking_tokens": usage.thought},
    }
