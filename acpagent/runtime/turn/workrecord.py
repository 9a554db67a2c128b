"""What must outlive every summary of a conversation, read off the history and not left to a model: what the person
wants, what was decided, which files and commands there were, and what is still open."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from acpagent.core import bounds
from acpagent.core.blocks import Text
from acpagent.core.bounds import one_line
from acpagent.core.history import (
    CallSettled,
    Entry,
    GoalSet,
    Permitted,
    PlanSet,
    Said,
    Tombstone,
    UserSaid,
)
from acpagent.core.toolcalls import PlanEntry, ToolCall
from acpagent.runtime.turn import plan
from acpagent.runtime.turn.goal import OPEN_PHASES
from acpagent.runtime.turn.noted import Noted

_SENTENCE_LETTERS, _LINE_LETTERS, _PLAN_LETTERS = 300, 200, 1_500
_PROMPT_BYTES = 4_000
_QUESTIONS = frozenset({"ask", "ask_user"})
_COMMANDS = "bash"
_CHANGES = {"edit": "changed", "delete": "deleted", "move": "moved"}
_SENTENCES = re.compile(r"(?<=[.!?;。！？；])\s*|\n+")
# Words by which a person limits or demands something, and by which somebody decides; not all of them, but those that
# are worth their place. The model's own summary has what they miss.
_DEMANDS = re.compile(
    r"\b(must|never|always|don'?t|do not|does not|cannot|only|without|avoid|ensure|make sure|has to|have to|should"
    r"|forbidden|not allowed|at most|at least|prefer|keep|leave|constraint|require[ds]?|no longer|remember)\b"
    r"|\b(нельзя|никогда|всегда|только|обязательно|долж\w+|нужно|надо|избегай\w*|без|помни\w*|не)\b"
    r"|必须|不要|不得|不能|禁止|只能|始终|务必|记住|避免",
    re.IGNORECASE,
)
_DECISIONS = re.compile(
    r"\b(decid\w*|decision|chose|chosen|choose|agreed|instead of|rather than|go(?:ing)? with|settled on"
    r"|(?:we|I)(?:'ll| will) use|let'?s use)\b"
    r"|\b(реш(?:ил|ен|ено|ение|или)\w*|выбра\w+|договор\w+|вместо)\b|决定|选择|采用|改用",
    re.IGNORECASE,
)


class WorkRecord:
    """The fold, fed entry by entry by the session worker. Its size is bounded however long the session is. `prompt` is
    the newest one, by the id `prompt_id`."""

    def __init__(self) -> None:
        self.requests, self.demands = Noted(2, 10), Noted(40, 40)
        self.decisions, self.refusals = Noted(30, 40), Noted(5, 10)
        self.files, self.commands = Noted(40, 80), Noted(20, 40)
        self.todo: tuple[PlanEntry, ...] = ()
        self.goal: GoalSet | None = None
        self.plan = self.prompt = self.prompt_id = ""
        self._message: list[Said] = []
        self._table: dict[type[Any], Callable[[Any], None]] = {
            UserSaid: self._hear,
            CallSettled: self._settle,
            PlanSet: self._take_todo,
            GoalSet: self._take_goal,
            Permitted: self._take_answer,
            Tombstone: self._forget,
        }

    def feed(self, entries: Iterable[Entry]) -> None:
        """Take entries in the order they happened."""
        for entry in entries:
            if isinstance(entry, Said):
                self._say(entry)
                continue
            self._end_message()
            take = self._table.get(type(entry))
            if take is not None:
                take(entry)

    def open_steps(self) -> list[PlanEntry]:
        """What of the todo list is not completed."""
        return [entry for entry in self.todo if entry.status != "completed"]

    def end_message(self) -> None:
        """What was said last is complete."""
        self._end_message()

    def _hear(self, entry: UserSaid) -> None:
        """A local command has nothing in it for the model, nor for the record."""
        if not entry.text:
            return
        said = "\n".join(block.text for block in entry.blocks if isinstance(block, Text))
        if not entry.steer:
            self.prompt, self.prompt_id = bounds.cut(said, _PROMPT_BYTES).text, entry.message_id
        if line := one_line(said, _SENTENCE_LETTERS):
            self.requests.add(entry.turn_id, entry.message_id, line)
        for sentence in _sentences(said):
            if _DEMANDS.search(sentence):
                self.demands.add(entry.turn_id, sentence, sentence)
            if _DECISIONS.search(sentence):
                self.decisions.add(entry.turn_id, sentence, f"{sentence} (the person)")

    def _say(self, entry: Said) -> None:
        if self._message and self._message[0].message_id != entry.message_id:
            self._end_message()
        if entry.role == "assistant":
            self._message.append(entry)

    def _end_message(self) -> None:
        if not self._message:
            return
        turn_id, said = self._message[0].turn_id, "".join(piece.text for piece in self._message)
        self._message = []
        for sentence in _sentences(said):
            if _DECISIONS.search(sentence):
                self.decisions.add(turn_id, sentence, sentence)

    def _settle(self, entry: CallSettled) -> None:
        call = entry.call
        if call.name == _COMMANDS:
            self._note_command(entry)
        elif call.name in _QUESTIONS and call.status == "completed":
            words = one_line(f"{call.title}: {entry.text}", _SENTENCE_LETTERS)
            self.decisions.add(entry.turn_id, call.id, f"{words} (the person's answer)")
        elif call.name == plan.TOOL:
            said = "\n".join(item.text for item in call.content[:1] if isinstance(item, Text))
            state = "approved" if call.status == "completed" else "not approved"
            self.plan = f"({state}) {said[:_PLAN_LETTERS]}"
        elif call.kind in _CHANGES and call.status == "completed":
            for path in _places(call):
                self.files.add(entry.turn_id, path, f"{path} ({_CHANGES[call.kind]})")

    def _note_command(self, entry: CallSettled) -> None:
        call = entry.call
        line = call.raw_input.get("command") if isinstance(call.raw_input, dict) else None
        if isinstance(line, str) and line.strip():
            told = one_line(line, _LINE_LETTERS)
            self.commands.add(entry.turn_id, told, f"`{told}`: {_outcome(entry)}")

    def _take_todo(self, entry: PlanSet) -> None:
        self.todo = entry.entries

    def _take_goal(self, entry: GoalSet) -> None:
        self.goal = entry if entry.phase in OPEN_PHASES else None

    def _take_answer(self, entry: Permitted) -> None:
        if entry.outcome == "deny" and entry.tool != plan.TOOL:
            words = one_line(f"{entry.tool}: {entry.subject}", _LINE_LETTERS)
            self.refusals.add(entry.turn_id, words, words)

    def _forget(self, entry: Tombstone) -> None:
        for part in (self.requests, self.demands, self.decisions, self.refusals):
            part.forget(entry.turn_id)


def _sentences(text: str) -> Iterable[str]:
    return (line for part in _SENTENCES.split(text) if (line := one_line(part, _SENTENCE_LETTERS)))


def _outcome(entry: CallSettled) -> str:
    """How a command ended, and the last line that it said."""
    facts = entry.call.facts
    if facts.get("timed_out"):
        how = "timed out"
    elif isinstance(facts.get("exit_code"), int):
        how = f"exit {facts['exit_code']}"
    else:
        how = "failed" if entry.call.status == "failed" else "ended"
    last = next((line for line in reversed(entry.text.splitlines()) if line.strip()), "")
    return f"{how}; {one_line(last, 120)}" if last else how


def _places(call: ToolCall) -> list[str]:
    return list(dict.fromkeys(place.path for place in call.locations)) or [call.title]
