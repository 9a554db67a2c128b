"""A stored session as a Markdown page."""

from __future__ import annotations

import re
from collections.abc import Iterator

from acpagent.cli.diff import unified
from acpagent.cli.past import Past, spoken
from acpagent.cli.show import Call
from acpagent.cli.spoken import say
from acpagent.client.updates import MessageChunk, PlanUpdate, ToolUpdate, Update
from acpagent.core.bounds import clean, one_line

_HEADINGS = {"user": "You", "assistant": "acpagent", "thought": "acpagent"}
_BOXES = {"completed": "[x]", "in_progress": "[ ]", "pending": "[ ]"}


class Page:
    """The page as it grows. A heading is written when somebody else begins to speak."""

    def __init__(self, past: Past) -> None:
        self._past = past
        self._parts: list[str] = []
        self._speaker = ""

    @staticmethod
    def _end(status: str | None) -> str:
        return f" ({say('page_failed')})" if status == "failed" else ""

    def text(self) -> str:
        """The whole page."""
        row = self._past.row
        facts = [say("page_folder", cwd=row.cwd), say("page_times", begun=row.created_at, used=row.updated_at)]
        model = row.settings.get("model")
        facts += [say("page_model", model=model)] if model else []
        self._parts = [
            f"# {one_line(row.title or say('page_title'), 200)}",
            say("page_session", id=row.id, facts=", ".join(facts)),
        ]
        for message in _messages(self._past.updates):
            if isinstance(message[0], MessageChunk):
                self._message([chunk for chunk in message if isinstance(chunk, MessageChunk)])
            elif isinstance(message[0], ToolUpdate):
                self._call(message[0])
            elif isinstance(message[0], PlanUpdate):
                self._plan(message[0])
        return "\n\n".join(part for part in self._parts if part) + "\n"

    def _message(self, chunks: list[MessageChunk]) -> None:
        role = chunks[0].role
        joint = "\n\n" if role == "user" else ""
        text = clean(joint.join(spoken(chunk.block) for chunk in chunks)).strip()
        if not text:
            return
        self._heading(_HEADINGS[role])
        self._parts.append("\n".join(f"> {line}".rstrip() for line in text.split("\n")) if role == "thought" else text)

    def _call(self, update: ToolUpdate) -> None:
        call = Call(update.id)
        call.learn(update)
        if call.kind == "think" and call.status != "failed":
            return  # what it brings is the plan, which is shown by itself
        self._heading("acpagent")
        self._parts.append(f"**{_escaped(call.title)}**{self._end(call.status)}")
        for diff in call.diffs:
            old, new = diff.get("oldText"), diff.get("newText")
            lines = unified(old if isinstance(old, str) else None, new if isinstance(new, str) else "")
            shown = [text if kind == "@" else f"{kind}{text}" for kind, text in lines]
            self._parts.append(_fenced(f"`{one_line(str(diff.get('path', '')), 200)}`", "\n".join(shown), "diff"))
        output = "\n".join(call.lines).strip("\n")
        if output and (call.kind == "execute" or call.status == "failed"):
            self._parts.append(_fenced("", output))

    def _plan(self, update: PlanUpdate) -> None:
        self._heading("acpagent")
        lines = [
            f"- {_BOXES.get(str(entry.get('status')), '[ ]')} {one_line(str(entry.get('content', '')), 300)}"
            for entry in update.entries
        ]
        self._parts.append("\n".join(lines))

    def _heading(self, speaker: str) -> None:
        if speaker != self._speaker:
            self._parts.append(f"## {speaker}")
            self._speaker = speaker


def _messages(updates: tuple[Update, ...]) -> Iterator[list[Update]]:
    """Updates with the chunks of one message together."""
    message: list[Update] = []
    for update in updates:
        if message and not (isinstance(update, MessageChunk) and _same(message[0], update)):
            yield message
            message = []
        message.append(update)
    if message:
        yield message


def _same(one: Update, other: MessageChunk) -> bool:
    return isinstance(one, MessageChunk) and (one.role, one.message_id) == (other.role, other.message_id)


def _fenced(before: str, text: str, language: str = "") -> str:
    """A code block, with a fence that is longer than any inside it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{before}\n\n{fence}{language}\n{text}\n{fence}".lstrip("\n")


def _escaped(title: str) -> str:
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", title)
