"""What several threads asked of one session and all that was said of it, in order, and what is wrong with that."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.agent import Message

TURN_KINDS = {
    "agent_message_chunk",
    "agent_thought_chunk",
    "user_message_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
}
OPENERS = ("load", "resume")
SWITCH = "switch"  # a kind of prompt that shows the past of another session
CLOSERS = ("close", "delete")
FINAL = ("completed", "failed")
_TAG = re.compile(r"\bt\d+x\d+\b")  # a notice may have one in it, but does not begin with it


@dataclass
class Cancel:
    """What ends turns: `of` a prompt alone, or of all. `read` is when it was known to have been read, 0 before."""

    at: int
    of: Sent | None
    read: int = 0


@dataclass
class Sent:
    """A request. `at`, `written` and `answered` count what happened in the session: it was about to be sent, it was
    sent, the response came; 0 before."""

    name: str
    kind: str
    tag: str
    at: int
    request_id: int | None = None
    written: int = 0
    answered: int = 0
    response: Message = field(default_factory=dict)
    withdrawn: bool = False

    @property
    def answer(self) -> str:
        """A stop reason, an error code, `queued` or `done`."""
        if "error" in self.response:
            return str(self.response["error"]["code"])
        result = self.response.get("result") or {}
        return str(result.get("stopReason") or ("queued" if result.get("queued") else "done"))

    @property
    def taken(self) -> bool:
        return bool(self.answered) and "result" in self.response


class SessionLog:
    """Filled by the threads that send and by the one that receives; `changed`, a leaf, guards it."""

    def __init__(self, session: str = "") -> None:
        self.session = session
        self.changed = threading.Condition()
        self.sent: list[Sent] = []
        self.story: list[str] = []
        self.problems: list[str] = []
        self.options: Message = {}  # id to value, as last told in an update
        self.live: dict[str, str] = {}  # what was shown while no load was under way: message id to text
        self.replayed: dict[str, str] = {}  # the same of the last load
        self.shown_at: dict[str, int] = {}  # when a message of those began
        self.mixed: set[str] = set()  # ids of messages that may be of either
        self.reports = False  # servers may be reported on at any time
        self.calm = False  # nothing is done at the same time any more
        self.questions: list[Message] = []
        self.cancels: list[Cancel] = []
        self._calls: dict[str, tuple[str, str]] = {}  # id to tag and status
        self._clock = 0

    def begin(self, name: str, kind: str = "", tag: str = "") -> Sent:
        """Note a request, before it is sent."""
        with self.changed:
            sent = Sent(name, kind, tag, self._tick(f"> {name} {kind} {tag}"))
            self.sent.append(sent)
            if name == "load":
                self.replayed = {}
            return sent

    def end(self, sent: Sent, response: Message) -> None:
        with self.changed:
            sent.response = response
            sent.answered = self._tick(f"< {sent.name} {sent.tag}: {sent.answer} {response.get('error', '')}")
            if sent.name in CLOSERS and sent.taken and not self.calm:
                self.options = {}  # closing forgets what was answered and waited for the end of a turn
            self.changed.notify_all()

    def note(self, what: str) -> int:
        """Note something else that a client does."""
        with self.changed:
            return self._tick(what)

    def written(self, sent: Sent, request_id: int) -> None:
        """Note that a request is on its way."""
        with self.changed:
            sent.request_id, sent.written = request_id, self._tick(f"  {sent.name} {sent.tag} is sent")

    def cancel(self, how: str = "cancel", of: Sent | None = None) -> Cancel:
        """Note what may end a turn early, before it is sent."""
        with self.changed:
            cancel = Cancel(self._tick(f"> {how}"), of)
            self.cancels.append(cancel)
            return cancel

    def read(self, cancel: Cancel) -> None:
        """Note that it was read, for what was sent after it is answered."""
        with self.changed:
            cancel.read = self._tick(f"< the cancel of {cancel.at} was read")

    def problem(self, text: str) -> None:
        with self.changed:
            self._problem(text)

    def take(self, message: Message) -> None:
        """What the agent says or asks."""
        with self.changed:
            if message["method"] == "session/update":
                self._update(message["params"]["update"])
            elif message["method"] == "session/request_permission":
                self._tick(f"< asks {message['params']['toolCall']['toolCallId']}")
                if not self._open("prompt"):
                    self._problem("asked while no prompt was running")
                self.questions.append(message)
            self.changed.notify_all()

    def wait(self, seconds: float) -> list[Sent]:
        """Until everything is answered; what is not."""
        with self.changed:
            self.changed.wait_for(lambda: not self.unanswered(), seconds)
            return self.unanswered()

    def unanswered(self) -> list[Sent]:
        return [sent for sent in self.sent if not sent.answered]

    def _tick(self, what: str) -> int:
        self._clock += 1
        self.story.append(f"{self._clock:4} {what}")
        return self._clock

    def _problem(self, text: str) -> None:
        self.problems.append(text)
        self._tick(f"!!! {text}")

    def _open(self, *names: str) -> list[Sent]:
        return [sent for sent in self.sent if sent.name in names and not sent.answered]

    # Updates.

    def _update(self, update: Message) -> None:
        kind = update["sessionUpdate"]
        self._tick(f"< {kind} {_shown(update)}")
        if self._is_gone():
            self._problem(f"{kind} after the session was closed")
        if kind == "config_option_update":
            self.options = {option["id"]: option["currentValue"] for option in update["configOptions"]}
        elif kind in TURN_KINDS:
            self._of_turn(kind, update)

    def _is_gone(self) -> bool:
        """Whether a close was answered and nothing opened the session since, or is about to."""
        closed = max((sent.answered for sent in self.sent if sent.name in CLOSERS and sent.taken), default=0)
        openers = [sent for sent in self.sent if sent.name in OPENERS]
        return bool(closed) and not any(
            not sent.answered or (sent.taken and sent.answered > closed) for sent in openers
        )

    def _of_turn(self, kind: str, update: Message) -> None:
        prompts = self._open("prompt")
        openers = self._open(*OPENERS) or [sent for sent in prompts if sent.kind == SWITCH]
        if self.reports and str(update.get("messageId")).startswith("notice_"):
            return
        if not prompts and not openers:
            self._problem(f"{kind} while no prompt was running")
        tag = self._tag_of(kind, update)
        if not openers and tag and tag not in [sent.tag for sent in prompts] and self._answered(tag):
            self._problem(f"{kind} of {tag} after its response")
        if kind.endswith("message_chunk"):  # the model has no thoughts, and those of acpagent are for the moment
            self._chunk(update, bool(prompts), bool(openers))

    def _answered(self, tag: str) -> bool:
        return any(sent.tag == tag and sent.name == "prompt" for sent in self.sent)

    def _tag_of(self, kind: str, update: Message) -> str:
        """The prompt that it is of, where it can be told."""
        if not kind.startswith("tool_call"):
            found = _TAG.match(update["content"].get("text", "")) if kind == "agent_message_chunk" else None
            return found[0] if found else ""
        found = _TAG.search(json.dumps(update.get("rawInput")))
        known = self._calls.get(update["toolCallId"], (found[0] if found else "", ""))
        said = set(update) - {"sessionUpdate", "toolCallId", "_meta"}  # of its end it is told by itself
        if kind == "tool_call_update" and known[1] in FINAL and said:
            self._problem(f"a call that was {known[1]} was changed")
        self._calls[update["toolCallId"]] = known[0], update.get("status", known[1])
        return known[0]

    def _chunk(self, update: Message, live: bool, loading: bool) -> None:
        id, text = update["messageId"], update["content"].get("text", "")
        if live and loading:
            self.mixed.add(id)
        side = self.replayed if loading else self.live
        if not loading:
            self.shown_at.setdefault(id, self._clock)
        side[id] = side.get(id, "") + text


def cancelled(sent: Sent, cancel: Cancel) -> bool:
    """Whether it had been sent before the cancel was, and was answered after that had been read (CAN-01)."""
    return bool(cancel.read) and 0 < sent.written < cancel.at and sent.answered > cancel.read


def overlapping(sent: Sent, others: Iterable[Sent]) -> bool:
    """Whether another of them was under way at a time at which `sent` was."""
    return any(
        other is not sent and other.at < sent.answered and (not other.answered or other.answered > sent.at)
        for other in others
    )


def _shown(update: Message) -> str:
    if "content" in update and isinstance(update["content"], dict):
        return repr(update["content"].get("text", ""))
    if "configOptions" in update:
        return " ".join(option["currentValue"] for option in update["configOptions"])
    if "toolCallId" in update:
        return f"{update['toolCallId']} {update.get('status', '')} {update.get('title', '')}"
    return str(update.get("currentModeId", ""))


def values(result: Any) -> Message:
    """The options that the answer to an opening or a change lists."""
    return {option["id"]: option["currentValue"] for option in result["configOptions"]}
