"""The slash commands that acpagent answers by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from acpagent.core import bounds, catalogue
from acpagent.core.blocks import Block, Text
from acpagent.core.events import Command
from acpagent.core.faults import Fault
from acpagent.runtime.commands import (
    budget,
    capsule,
    compact,
    config,
    lang,
    mcp,
    memory,
    near,
    permissions,
    plan,
    project_trust,
    reasoning,
    reload,
    rewind,
    session,
    sessions,
    skill,
)
from acpagent.runtime.commands.arguments import Refused
from acpagent.runtime.commands.elsewhere import ELSEWHERE
from acpagent.runtime.session.services import CommandDesk, LocalAnswer


@dataclass(frozen=True, slots=True)
class LocalCommand:
    """One command: `answer` takes the words after its name, and gives the text that the person reads; it may raise
    `Refused` and `Fault`. `hidden` gives the words as they may be kept. What it is about and how it is used is in the
    catalogue."""

    name: str
    answer: Callable[[str, CommandDesk], str]
    hidden: Callable[[str], str] = str

    def about(self, language: str) -> str:
        return catalogue.say(self._code, {}, language)

    def hint(self, language: str) -> str | None:
        code = f"{self._code}_usage"
        return catalogue.say(code, {}, language) if catalogue.knows(code) else None

    def how(self, language: str) -> str | None:
        """More than fits in a hint."""
        code = f"{self._code}_how"
        return catalogue.say(code, {}, language) if catalogue.knows(code) else None

    @property
    def _code(self) -> str:
        return f"command_{self.name.replace('-', '_')}"


class CommandTable:
    """The commands, and the answers to prompts that are one of them."""

    def __init__(self) -> None:
        commands = (
            LocalCommand("compact", compact.answer),
            LocalCommand("rewind", rewind.answer),
            LocalCommand("session", session.answer),
            LocalCommand("sessions", sessions.answer),
            LocalCommand("capsule", capsule.answer),
            LocalCommand("memory", memory.answer),
            LocalCommand("auto-compact", compact.answer_auto),
            LocalCommand("budget", budget.answer),
            LocalCommand("config", config.answer),
            LocalCommand("reasoning", reasoning.answer),
            LocalCommand("lang", lang.answer),
            LocalCommand("permissions", permissions.answer),
            LocalCommand("plan", plan.answer),
            LocalCommand("skill", skill.answer),
            LocalCommand("project-trust", project_trust.answer),
            LocalCommand("mcp", mcp.answer, mcp.hidden),
            LocalCommand("reload", reload.answer),
            LocalCommand("help", self._help),
        )
        self._commands = {command.name: command for command in commands}

    def listed(self, language: str) -> tuple[Command, ...]:
        return tuple(Command(each.name, each.about(language), each.hint(language)) for each in self._commands.values())

    def find(self, blocks: tuple[Block, ...], claimed: bool) -> LocalAnswer | None:
        """What answers if the first text block begins with one of the commands (CMD-04), with one that belongs to a
        terminal, or with what is nearly one of ours and nobody else's. Any other goes to the model as text (CMD-05),
        and so does a path (CMD-06)."""
        name, words = _read(blocks)
        command = self._commands.get(name)
        if name == "capsule" and words.partition(" ")[0].lower() in capsule.LOADS:
            return None  # that makes a prompt
        if command is not None:
            return lambda desk: _answer(command, words, desk)
        if claimed or not name:
            return None
        if name in ELSEWHERE:
            return lambda desk: desk.say(ELSEWHERE[name], command=f"/{name}")
        meant = near.nearest(name, self._commands)
        return None if meant is None else lambda desk: desk.say("command_near", written=f"/{name}", meant=f"/{meant}")

    def kept(self, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        name, words = _read(blocks)
        command = self._commands.get(name) or self._commands.get(near.nearest(name, self._commands) or "")
        if command is None:
            return blocks
        written = Text(f"/{name} {command.hidden(words)}".strip())
        if command.hidden(words) == words:
            return blocks
        return (written, *(block for block in blocks if not isinstance(block, Text)))

    def _help(self, words: str, desk: CommandDesk) -> str:
        asked = words.split(maxsplit=1)[0].removeprefix("/").lower() if words.strip() else ""
        if asked in self._commands:
            return _usage(self._commands[asked], desk.language)
        commands = (*self.listed(desk.language), *desk.commands)
        lines = [f"- `/{command.name}`: {bounds.one_line(command.description, 200)}" for command in commands]
        return "\n".join([desk.say("help_head"), "", *lines, "", desk.say("help_tail")])


def _answer(command: LocalCommand, words: str, desk: CommandDesk) -> str:
    try:
        return command.answer(words, desk)
    except Refused as refused:
        said = desk.say(refused.code, **refused.params)
        return f"{said}\n\n{_usage(command, desk.language)}"
    except Fault as fault:
        return desk.say("command_failed", cause=fault.message)


def _usage(command: LocalCommand, language: str) -> str:
    hint = command.hint(language)
    lines = [f"`/{command.name}{f' {hint}' if hint else ''}`: {command.about(language)}"]
    how = command.how(language)
    return "\n".join([*lines, "", how] if how else lines)


def _read(blocks: tuple[Block, ...]) -> tuple[str, str]:
    """The name of a command in small letters and the words after it; no name where there is none."""
    text = next((block.text for block in blocks if isinstance(block, Text)), "")
    name, *rest = text.split(maxsplit=1) or [""]
    found = near.NAME.fullmatch(name)
    return (name[1:].lower(), rest[0].strip() if rest else "") if found else ("", "")
