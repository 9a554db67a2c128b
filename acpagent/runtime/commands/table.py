"""The slash commands that acpagent answers by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from acpagent.core.blocks import Block, Text
from acpagent.core.events import Command
from acpagent.runtime.commands import permissions
from acpagent.runtime.session.services import CommandDesk, LocalAnswer


@dataclass(frozen=True, slots=True)
class LocalCommand:
    """One command: `answer` takes the words after its name, and gives the text that the person reads."""

    name: str
    description: str
    answer: Callable[[str, CommandDesk], str]
    hint: str | None = None


class CommandTable:
    """The commands, and the answers to prompts that are one of them."""

    def __init__(self) -> None:
        commands = (
            LocalCommand("help", "Show what acpagent can do here", self._help),
            LocalCommand("permissions", permissions.DESCRIPTION, permissions.answer, permissions.HINT),
        )
        self._commands = {command.name: command for command in commands}

    def listed(self) -> tuple[Command, ...]:
        return tuple(Command(each.name, each.description, each.hint) for each in self._commands.values())

    def find(self, blocks: tuple[Block, ...]) -> LocalAnswer | None:
        """What answers if the first text block begins with one of the commands (CMD-04); an unknown one goes to the
        model as text (CMD-05), and so does a path (CMD-06)."""
        text = next((block.text for block in blocks if isinstance(block, Text)), "")
        name, *rest = text.split(maxsplit=1) or [""]
        command = self._commands.get(name[1:]) if name.startswith("/") else None
        words = rest[0].strip() if rest else ""
        return None if command is None else lambda desk: command.answer(words, desk)

    def _help(self, words: str, desk: CommandDesk) -> str:
        lines = [f"- `/{command.name}`: {command.description}" for command in self._commands.values()]
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
