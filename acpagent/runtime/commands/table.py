"""The slash commands that acpagent answers by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from acpagent.core import bounds
from acpagent.core.blocks import Block, Text
from acpagent.core.events import Command
from acpagent.runtime.commands import mcp, permissions, project_trust, reload, skill
from acpagent.runtime.session.services import CommandDesk, LocalAnswer


@dataclass(frozen=True, slots=True)
class LocalCommand:
    """One command: `answer` takes the words after its name, and gives the text that the person reads. `hidden` gives
    the words as they may be kept."""

    name: str
    description: str
    answer: Callable[[str, CommandDesk], str]
    hint: str | None = None
    hidden: Callable[[str], str] = str


class CommandTable:
    """The commands, and the answers to prompts that are one of them."""

    def __init__(self) -> None:
        commands = (
            LocalCommand("help", "Show what acpagent can do here", self._help),
            LocalCommand("permissions", permissions.DESCRIPTION, permissions.answer, permissions.HINT),
            LocalCommand("reload", reload.DESCRIPTION, reload.answer),
            LocalCommand("mcp", mcp.DESCRIPTION, mcp.answer, mcp.HINT, mcp.hidden),
            LocalCommand("skill", skill.DESCRIPTION, skill.answer, skill.HINT),
            LocalCommand("project-trust", project_trust.DESCRIPTION, project_trust.answer, project_trust.HINT),
        )
        self._commands = {command.name: command for command in commands}

    def listed(self) -> tuple[Command, ...]:
        return tuple(Command(each.name, each.description, each.hint) for each in self._commands.values())

    def find(self, blocks: tuple[Block, ...]) -> LocalAnswer | None:
        """What answers if the first text block begins with one of the commands (CMD-04); an unknown one goes to the
        model as text (CMD-05), and so does a path (CMD-06)."""
        found = self._read(blocks)
        if found is None:
            return None
        command, words = found
        return lambda desk: command.answer(words, desk)

    def kept(self, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        found = self._read(blocks)
        if found is None:
            return blocks
        command, words = found
        written = Text(f"/{command.name} {command.hidden(words)}".strip())
        return (written, *(block for block in blocks if not isinstance(block, Text)))

    def _read(self, blocks: tuple[Block, ...]) -> tuple[LocalCommand, str] | None:
        text = next((block.text for block in blocks if isinstance(block, Text)), "")
        name, *rest = text.split(maxsplit=1) or [""]
        command = self._commands.get(name[1:]) if name.startswith("/") else None
        return None if command is None else (command, rest[0].strip() if rest else "")

    def _help(self, words: str, desk: CommandDesk) -> str:
        commands = (*self.listed(), *desk.commands)
        lines = [f"- `/{command.name}`: {bounds.one_line(command.description, 200)}" for command in commands]
        return "\n".join(
            [
                "acpagent reads, edits and runs code in this workspace. Ask for what you want done; edits and commands"
                " ask before they happen, unless you allowed them.",
                "",
                "Commands:",
                *lines,
                "",
                "Name a file with `@path` to show it to the model. What else begins with `/` goes to the model.",
            ]
        )
