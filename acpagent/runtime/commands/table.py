"""The slash commands that acpagent answers by itself."""

from __future__ import annotations

from collections.abc import Callable

from acpagent.core.blocks import Block, Text
from acpagent.core.events import Command

_HELP = Command("help", "Show what acpagent can do here", None)


def _help(commands: tuple[Command, ...]) -> str:
    lines = [f"- `/{command.name}`: {command.description}" for command in commands]
    return "\n".join(
        [
            "acpagent reads, edits and runs code in this workspace. Ask for what you want done; edits and commands"
            " ask before they happen, unless you allowed them.",
            "",
            "Commands:",
            *lines,
            "",
            "Name a file with `@path` to show it to the model. Anything else that begins with `/` goes to the model.",
        ]
    )


class CommandTable:
    """The commands, and the answers to prompts that are one of them."""

    def __init__(self) -> None:
        self._answers: dict[str, Callable[[], str]] = {"help": lambda: _help(self.listed())}

    def listed(self) -> tuple[Command, ...]:
        return (_HELP,)

    def answer(self, blocks: tuple[Block, ...]) -> str | None:
        """The answer if the first text block begins with one of the commands (CMD-04); an unknown one goes to the
        model as text (CMD-05), and so does a path (CMD-06)."""
        text = next((block.text for block in blocks if isinstance(block, Text)), "")
        words = text.split(maxsplit=1)
        if not words or not words[0].startswith("/"):
            return None
        command = self._answers.get(words[0][1:])
        return command() if command else None
