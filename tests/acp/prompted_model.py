"""A model that does what the prompt says, and checks that whatever it is asked is a conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from acpagent.providers.script import Stall, Wait
from tests.model_server import Raw, Request

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    tool: str
    args: Message


_QUESTION = {"header": "{}", "question": "Which?", "options": [{"label": "red"}, {"label": "blue"}]}
# What a prompt `KIND:TAG` makes the model do, call after call; the last is for all further calls. A text names the tag.
Step = str | Wait | Stall | Call
REPLIES: dict[str, list[list[Step]]] = {
    "say": [["{} one ", "{} two"]],
    "slow": [["{} a ", Wait(0.01), "{} b ", Wait(0.01), "{} c ", Wait(0.01), "{} d"]],
    "read": [["{} reads ", Call("read_file", {"path": "{}.txt"})], ["{} read"]],
    "edit": [["{} edits ", Call("write_file", {"path": "{}.txt", "content": "{}"})], ["{} edited"]],
    "run": [["{} runs ", Call("bash", {"command": "touch {}.run"})], ["{} ran"]],
    "sleep": [["{} sleeps ", Call("bash", {"command": "touch {}.run; sleep 60"})], ["{} slept"]],
    "job": [["{} starts ", Call("bash", {"command": "touch {}.run; sleep 60", "background": True})], ["{} started"]],
    "ask": [["{} asks ", Call("ask", {"questions": [_QUESTION]})], ["{} asked"]],
    "note": [["{} notes ", Call("todo_write", {"todos": [{"content": "{}", "status": "in_progress"}]})], ["{} noted"]],
    "finish": [["{} briefs"], ["{} finishes ", Call("update_goal", {"status": "complete", "note": "{}"})], ["{} ends"]],
    "pid": [["{} calls ", Call("mcp__s__pid", {})], ["{} called"]],
    "stall": [["{} stalls ", Stall()]],
    "refuse": [["{} refuses "]],
    "fail": [[]],
}
_WANTED = re.compile(rf"\b({'|'.join(REPLIES)}):(\w+)\Z")
_CONVERSATION = re.compile(r"\bt\d+(?=x\d+\b)")
_SUMMARISED = "[The conversation up to here no longer fits"
_SUMMARY_ASKED = "Write the summary."
_SUMMARY = "What was said and done so far is known, and goes on from here as if all of it had been read. " * 2
_ROLES = ("system", "user", "assistant", "tool")
_REASONS = {"refuse": "content_filter"}


class PromptedModel:
    """To be served. `faults` are what was wrong with the conversations it was shown."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._seen: dict[str, list[Message]] = {}  # the last of each conversation
        self._rewound: dict[str, int] = {}  # how often each may begin anew

    def may_rewind(self, conversation: str) -> None:
        """It is about to be asked to go back to its beginning; `t7` is the conversation of prompts like `say:t7x1`."""
        self._rewound[conversation] = self._rewound.get(conversation, 0) + 1

    def __call__(self, request: Request) -> Raw:
        messages = request.body["messages"]
        if str(messages[-1]["content"]).endswith(_SUMMARY_ASKED):
            return Raw(_pieces([_SUMMARY], "", len(messages), None))
        fault = fault_in(messages) or self._break_in(messages)
        if fault is not None:
            self.faults.append(f"{fault}: {json.dumps(messages)[-1500:]}")
        kind, tag, count = wanted(messages)
        if kind == "fail":
            body = json.dumps({"error": {"message": f"{tag} fails"}}).encode()
            return Raw([body], 400, {"Content-Type": "application/json"})
        reply = REPLIES[kind][min(count, len(REPLIES[kind]) - 1)]
        return Raw(_pieces(reply, tag, len(messages), _REASONS.get(kind)))

    def _break_in(self, messages: list[Message]) -> str | None:
        """Each request of a conversation begins with the one before (one that was given up may come late), but for a
        refused prompt, which leaves no trace, a new summary, and a rewinding that was asked for."""
        found = _CONVERSATION.search(json.dumps(messages))
        if found is None:
            return None
        before, messages = self._seen.get(found[0], []), messages[1:]  # the first follows the work mode
        self._seen[found[0]] = messages
        shared = min(len(before), len(messages))
        if before[:shared] == messages[:shared] or "refuse:" in json.dumps(before):
            return None
        if str(messages[0]["content"]).startswith(_SUMMARISED) and messages[0] != before[0]:
            return None
        if self._rewound.get(found[0]):
            self._rewound[found[0]] -= 1
            return None
        return f"does not go on with {json.dumps(before)[-1500:]}"


def wanted(messages: list[Message]) -> tuple[str, str, int]:
    """What is to be done under which tag, and how many replies there were to that."""
    count = 0
    for message in reversed(messages):
        if message["role"] == "assistant":
            count += 1
        found = _WANTED.findall(message["content"]) if message["role"] == "user" else None
        if found:
            return *found[-1], count
    return "say", "nothing", 0


def _pieces(reply: list[Step], tag: str, count: int, reason: str | None) -> Iterator[bytes | Wait | Stall]:
    calls = 0
    for step in reply:
        if isinstance(step, Call):
            function = {"name": step.tool, "arguments": json.dumps(step.args).replace("{}", tag)}
            call = {"index": calls, "id": f"call_{count}_{calls}", "type": "function", "function": function}
            yield _event({"tool_calls": [call]})
            calls += 1
        elif isinstance(step, str):
            yield _event({"content": step.replace("{}", tag)})
        else:
            yield step
    yield _event({}, reason or ("tool_calls" if calls else "stop"))
    yield b"data: [DONE]\n\n"


def _event(delta: Message, reason: str | None = None) -> bytes:
    chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    return b"data: %b\n\n" % json.dumps(chunk).encode()


def fault_in(messages: list[Message]) -> str | None:
    """Why a server would refuse these messages: every call has its one result right behind it, and nothing else has."""
    if not messages or messages[0]["role"] != "system" or messages[-1]["role"] not in ("user", "tool"):
        return f"roles {[message['role'] for message in messages]}"
    open_calls: list[str] = []
    for place, message in enumerate(messages):
        role = message["role"]
        if role not in _ROLES or (role == "system") != (place == 0):
            return f"message {place} is of {role}"
        if role == "tool":
            if message["tool_call_id"] not in open_calls:
                return f"message {place} is a result of no open call"
            open_calls.remove(message["tool_call_id"])
        elif open_calls:
            return f"message {place} stands before the results of {open_calls}"
        if role == "assistant":
            open_calls = [call["id"] for call in message.get("tool_calls", ())]
            if len(set(open_calls)) < len(open_calls) or not (open_calls or message.get("content")):
                return f"message {place} says nothing, or has two calls of one id"
        elif role == "user" and not message["content"]:
            return f"message {place} is empty"
    return f"no results of {open_calls}" if open_calls else None
