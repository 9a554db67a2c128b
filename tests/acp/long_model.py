"""A model with a window: it works through long conversations, counts what it is sent, and refuses what is too much."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from typing import Any, Literal

from acpagent.providers.script import Stall, Wait
from tests.model_server import Raw, Request

Message = dict[str, Any]
Summaries = Literal["good", "empty", "stall", "fail", "calls"]
LETTERS_PER_TOKEN = 4
_STEP = re.compile(r"step (\d+)")
SUMMARY = (
    "Task: work through the steps. State: the steps so far are done, in order. Next step: the one that is asked for."
)


class LongModel:
    """To be served. A prompt `step N` makes it do what `plan[N]` says, or else read a file; what it does ends with a
    text. `seen` are the messages of the last conversation that it was sent, `faults` what was wrong with any."""

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

    def __call__(self, request: Request) -> Raw:
        messages = request.body["messages"]
        tokens = len(request.raw) // LETTERS_PER_TOKEN
        is_summary = messages[0]["content"].startswith("You write the summary")
        if tokens > self.real_window:
            self.refused += 1
            text = f"This model's maximum context length is {self.real_window} tokens"
            return Raw([json.dumps({"error": {"message": text}}).encode()], 400, {"Content-Type": "application/json"})
        if is_summary:
            return self._summary(request.body, tokens)
        self.largest = max(self.largest, tokens)
        if (fault := fault_in(messages)) is not None:
            self.faults.append(fault)
        self.seen = messages
        return self._step(messages, tokens)

    def _summary(self, body: Message, tokens: int) -> Raw:
        self.summarised += 1
        self.summary_bodies.append(body)
        self.asked_for_summary.set()
        if body.get("tools"):
            self.faults.append("a summary was asked for with tools")
        if self.summaries == "stall":
            return Raw([chunk({"role": "assistant"}), Stall()])
        if self.summaries == "fail":
            return Raw([b'{"error": {"message": "no"}}'], 400, {"Content-Type": "application/json"})
        if self.summaries == "calls":
            return spoken([{"tool": "read_file", "args": {"path": "x"}}], tokens)
        return spoken([SUMMARY if self.summaries == "good" else ""], tokens)

    def _step(self, messages: list[Message], tokens: int) -> Raw:
        last = next(at for at in range(len(messages) - 1, -1, -1) if _STEP.search(_text(messages[at])))
        number = int(_STEP.findall(_text(messages[last]))[-1])
        if messages[-1]["role"] == "tool" or not isinstance(self.plan.get(number, {}), dict):
            words = self.plan.get(number)
            said = words if isinstance(words, str) else f"Step {number} is done. " + "word " * (self.filling // 5)
            return spoken([said], tokens)
        call = self.plan.get(number) or {"tool": "read_file", "args": {"path": "long.txt"}}
        return spoken([f"Working on step {number}. ", call], tokens)


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
