"""What a client has on screen once it has taken a turn's updates: tool calls put together from their parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.agent import Message

MOVES = {
    "pending": {"in_progress", "completed", "failed"},
    "in_progress": {"completed", "failed"},
    "completed": set(),
    "failed": set(),
}
FINAL = ("completed", "failed")
# What the answer to a load or resume says.
OPENED = {"modes", "configOptions"}


@dataclass
class Call:
    """One call. `first` is its `tool_call`, `later` are its `tool_call_update`s, `now` is what they add up to; `end` is
    what was said of its end once it was over."""

    first: Message
    now: Message
    later: list[Message] = field(default_factory=list)
    end: Message | None = None

    @property
    def id(self) -> str:
        return str(self.first["toolCallId"])

    @property
    def statuses(self) -> list[str]:
        """Each status it had, in order."""
        return [update["status"] for update in (self.first, *self.later) if "status" in update]

    @property
    def status(self) -> str:
        return str(self.now["status"])

    @property
    def text(self) -> str:
        return text_of(self.now)

    @property
    def diff(self) -> Message:
        """Its one diff."""
        (diff,) = diffs(self.now)
        return diff

    @property
    def soba(self) -> Message:
        meta: Message = self.now["_meta"]["soba"]
        return meta


def calls_in(updates: Iterable[Message]) -> list[Call]:
    """The calls of some updates, in the order they were reported.

    Raises AssertionError where no client could follow: an update of an unknown call (TOOL-04), a call reported
    twice (TOOL-02), a move out of a final status (TOOL-05).
    """
    calls: dict[str, Call] = {}
    for update in updates:
        if update["sessionUpdate"] == "tool_call":
            assert update["toolCallId"] not in calls, f"reported twice: {update}"
            calls[update["toolCallId"]] = Call(update, dict(update))
        elif update["sessionUpdate"] == "tool_call_update":
            assert update["toolCallId"] in calls, f"never reported: {update}"
            _take(calls[update["toolCallId"]], update)
    return list(calls.values())


def call_in(updates: Iterable[Message]) -> Call:
    """The one call of some updates."""
    (call,) = calls_in(updates)
    return call


def _take(call: Call, update: Message) -> None:
    before = call.status
    if before in FINAL and set(update) == {"sessionUpdate", "toolCallId", "_meta"} and call.end is None:
        call.end = update["_meta"]["soba"]
        assert call.end["evidence"]["phase"] == "end"
        assert call.end["evidence"]["status"] == before
        return
    assert before not in FINAL, f"{before}, and then {update}"
    assert update.get("status", before) in {before, *MOVES[before]}, f"from {before} to {update['status']}"
    call.later.append(update)
    call.now |= update


def text_of(call: Message) -> str:
    """The text of a call's content."""
    wrapped = [item["content"] for item in call.get("content", ()) if item["type"] == "content"]
    return "\n".join(block["text"] for block in wrapped if block["type"] == "text")


def diffs(call: Message) -> list[Message]:
    return [item for item in call.get("content", ()) if item["type"] == "diff"]


def says(text: str) -> list[Message]:
    """A reply of the scripted model that is this text."""
    return [{"text": text}]


def calls(tool: str, **args: Any) -> Message:
    """A step of the scripted model: a call."""
    return {"call": {"tool": tool, "args": args}}


def turn(prompt: str, *replies: Any, **more: Any) -> Message:
    """A turn of a script: for prompts with this in them, a step or a list of steps for each model call."""
    listed = [reply if isinstance(reply, list) else [reply] for reply in replies]
    return {"prompt": prompt, "replies": listed} | more
