"""A model with a window: it works through long conversations, counts what it is sent, and refuses what is too much."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from typing import Any, Literal

from acpagent.providers.script import Stall, Wait
from tests import messages_dialect
from tests.model_server import Raw, Request

Message = dict[str, Any]
Summaries = Literal["good", "empty", "stall", "fail", "calls"]
LETTERS_PER_TOKEN = 4
_STEP = re.compile(r"step (\d+)")
SUMMARY = (
    "Task: work through the steps. State: the steps so far are done, in order. Next step: the one that is asked for."
)


class LongModel:
    """To be served, in either API. A prompt `step N` makes it do what `plan[N]` says, or else read a file; what it does
    ends with a text. `seen` are the messages of the last conversation that it was sent, `faults` what was wrong with
    any."""

    def __init__(
        self, window: int, plan: Mapping[int, Message | str] = {}, summaries: Summaries = "good", filling: int = 600
    ) -> None:
        self.window, self.plan, self.summaries, self.filling = window, plan, summaries, filling
        self.faults: list[str] = []
        self.seen: list[Message] = []
        self.refused = 0
        self.summarised = 0
        self.largest = 0
        self.summary_bodies: list[Message] = []
        self.asked_for_summary = threading.Event()
        self.real_window = window
        self.signed, self.spoken = False, 0

    def __call__(self, request: Request) -> Raw:
        self.signed = request.path.endswith("/v1/messages")
        messages = read(request)
        tokens = len(request.raw) // LETTERS_PER_TOKEN
        is_summary = messages[0]["content"].startswith("You write the summary")
        if tokens > self.real_window:
            self.refused += 1
            return self._refusal(tokens)
        if self.signed and (fault := wrong_in(request.body)):
            self.faults.append(fault)
        if is_summary:
            return self._summary(request.body, tokens)
        self.largest = max(self.largest, tokens)
        if (fault := fault_in(messages)) is not None:
            self.faults.append(fault)
        self.seen = messages
        return self._step(messages, tokens)

    def _refusal(self, tokens: int) -> Raw:
        said = f"This model's maximum context length is {self.real_window} tokens"
        told: Message = {"error": {"message": said}}
        if self.signed:
            said = f"prompt is too long: {tokens} tokens > {self.real_window} maximum"
            told = {"type": "error", "error": {"type": "invalid_request_error", "message": said}}
        return Raw([json.dumps(told).encode()], 400, {"Content-Type": "application/json"})

    def speak(self, parts: list[Any], tokens: int) -> Raw:
        """An answer of texts, waits and calls, in the API that is spoken."""
        self.spoken += 1
        return signed(parts, tokens, self.spoken) if self.signed else spoken(parts, tokens)

    def _summary(self, body: Message, tokens: int) -> Raw:
        self.summarised += 1
        self.summary_bodies.append(body)
        self.asked_for_summary.set()
        if body.get("tools"):
            self.faults.append("a summary was asked for with tools")
        if self.summaries == "stall":
            return Raw([b": wait\n\n", Stall()])
        if self.summaries == "fail":
            return Raw([b'{"error": {"message": "no"}}'], 400, {"Content-Type": "application/json"})
        if self.summaries == "calls":
            return self.speak([{"tool": "read_file", "args": {"path": "x"}}], tokens)
        return self.speak([SUMMARY if self.summaries == "good" else ""], tokens)

    def _step(self, messages: list[Message], tokens: int) -> Raw:
        last = next(at for at in range(len(messages) - 1, -1, -1) if _STEP.search(_text(messages[at])))
        number = int(_STEP.findall(_text(messages[last]))[-1])
        if messages[-1]["role"] == "tool" or not isinstance(self.plan.get(number, {}), dict):
            words = self.plan.get(number)
            said = words if isinstance(words, str) else f"Step {number} is done. " + "word " * (self.filling // 5)
            return self.speak([said], tokens)
        call = self.plan.get(number) or {"tool": "read_file", "args": {"path": "long.txt"}}
        return self.speak([f"Working on step {number}. ", call], tokens)


def read(request: Request) -> list[Message]:
    """The conversation as chat completions have it, the system's message first."""
    if not request.path.endswith("/v1/messages"):
        messages: list[Message] = request.body["messages"]
        return messages
    system = "".join(block["text"] for block in request.body["system"])
    return [{"role": "system", "content": system}, *request.messages]


def wrong_in(body: Message) -> str:
    """What the real server would not take of a request with messages: a call without its result, a thought that is not
    signed, too many marks of what is to be cached."""
    marks = json.dumps(body).count('"cache_control"')
    return messages_dialect.problem(body) or ("" if 0 < marks <= 4 else f"{marks} marks of the cache")


def spoken(parts: list[Any], tokens: int) -> Raw:
    """An answer of texts, waits and calls."""
    pieces: list[bytes | Wait] = []
    reason, letters = "stop", 0
    for index, part in enumerate(parts):
        if isinstance(part, Wait):
            pieces.append(part)
        elif isinstance(part, str):
            letters += len(part)
            pieces.append(chunk({"content": part}))
        else:
            reason = "tool_calls"
            function = {"name": part["tool"], "arguments": json.dumps(part["args"])}
            called = {"index": 0, "id": f"c{index}", "type": "function", "function": function}
            pieces.append(chunk({"tool_calls": [called]}))
    pieces.append(chunk({}, reason))
    usage = {"prompt_tokens": tokens, "completion_tokens": letters // LETTERS_PER_TOKEN + 1}
    pieces.append(b"data: %b\n\n" % json.dumps({"choices": [], "usage": usage}).encode())
    return Raw([*pieces, b"data: [DONE]\n\n"])


def signed(parts: list[Any], tokens: int, number: int) -> Raw:
    """An answer of texts, waits and calls as messages, a signed thought before them."""
    told = Told()
    told.event({"type": "message_start", "message": {"role": "assistant", "usage": {"input_tokens": tokens}}})
    thought = f"Thought {number}."
    told.block({"type": "thinking", "thinking": "", "signature": ""}, {"thinking": thought})
    for index, part in enumerate(parts):
        if isinstance(part, Wait):
            told.pieces.append(part)
        elif isinstance(part, str):
            told.block({"type": "text", "text": ""}, {"text": part} if part else {})
        else:
            made = {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": part["tool"], "input": {}}
            told.block(made, {"partial_json": json.dumps(part["args"])})
    calls = any(isinstance(part, dict) for part in parts)
    letters = sum(len(part) for part in parts if isinstance(part, str))
    usage = {"output_tokens": letters // LETTERS_PER_TOKEN + 1}
    reason = {"stop_reason": "tool_use" if calls else "end_turn"}
    told.event({"type": "message_delta", "delta": reason, "usage": usage})
    told.event({"type": "message_stop"})
    return Raw(told.pieces)


_DELTAS = {"thinking": "thinking_delta", "text": "text_delta", "partial_json": "input_json_delta"}


class Told:
    """Events of messages, as they are sent."""

    def __init__(self) -> None:
        self.pieces: list[bytes | Wait] = []
        self._blocks = 0

    def event(self, value: Message) -> None:
        self.pieces.append(b"event: %b\ndata: %b\n\n" % (value["type"].encode(), json.dumps(value).encode()))

    def block(self, begun: Message, delta: Message) -> None:
        at = {"index": self._blocks}
        self._blocks += 1
        self.event({"type": "content_block_start", **at, "content_block": begun})
        for key, value in delta.items():
            self.event({"type": "content_block_delta", **at, "delta": {"type": _DELTAS[key], key: value}})
            if key == "thinking":
                sign = {"type": "signature_delta", "signature": messages_dialect.signature(value)}
                self.event({"type": "content_block_delta", **at, "delta": sign})
        self.event({"type": "content_block_stop", **at})


def chunk(delta: Message, reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: %b\n\n" % json.dumps({"choices": [choice]}).encode()


def fault_in(messages: list[Message]) -> str | None:
    """What is wrong with a conversation: a call without its result behind it, or a result without its call."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if not waiting or waiting.pop(0) != message["tool_call_id"]:
                return f"a result without its call: {message}"
        elif waiting:
            return f"calls without results: {waiting}"
        waiting = waiting or [call["id"] for call in message.get("tool_calls") or ()]
    return f"calls without results: {waiting}" if waiting else None


def _text(message: Message) -> str:
    if message["role"] != "user":
        return ""
    content = message["content"]
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)
