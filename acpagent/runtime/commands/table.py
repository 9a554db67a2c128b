"""The slash commands that acpagent answers by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from acpagent.core import bounds
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
from acpagent.runtime.commands.elsewhere import ELSEWHERE, OTHER_WORDS
from acpagent.runtime.session import slash
from acpagent.runtime.session.model_commands import CAPSULE, SKILL, loads_capsule
from acpagent.runtime.session.services import CommandDesk, LocalAnswer


@dataclass(frozen=True, slots=True)
class LocalCommand:
    """One command: `answer` takes the words after its name, and gives the text that the person reads; it may raise
    `Refused` and `Fault`. `hidden` gives the words as they may be kept. What it is about and how it is used is in the
    catalogue."""

    name: str
    answer: Callable[[str, CommandDesk], str]
    hidden: Callable[[str], str] = str

    def hides(self, words: str) -> bool:
        """Whether there is something in the words that is neither kept nor shown to the model."""
        return self.hidden(words) != words


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
        return tuple(Command(name, slash.about(name, language), slash.hint(name, language)) for name in self._commands)

    def find(self, blocks: tuple[Block, ...], claimed: bool) -> LocalAnswer | None:
        """What answers if the first text begins with one of the commands (CMD-04), with one that belongs to a terminal,
        or with what is nearly one of ours and nobody else's. Any other goes to the model as text (CMD-05), and so does
        a path (CMD-06), and what begins with a blank, but no secret ever does."""
        written = slash.read(blocks)
        if written is None:
            return None
        name, words = written.name.lower(), written.words
        meant = self._meant(name)
        if written.indented and (meant is None or not self._commands[meant].hides(words)):
            return None
        if name == CAPSULE and loads_capsule(words):
            return None  # that makes a prompt
        if name in self._commands:
            return lambda desk: _answer(self._commands[name], words, desk)
        return None if claimed else self._explained(name, meant)

    def _explained(self, name: str, meant: str | None) -> LocalAnswer | None:
        """What is said of a word that is no command here, if that is worth saying."""
        if name in ELSEWHERE:
            return lambda desk: desk.say(ELSEWHERE[name], command=f"/{name}")
        if name.startswith(SKILL):
            return lambda desk: skill.missing(name.removeprefix(SKILL), desk)
        instead = OTHER_WORDS.get(name, meant)
        return (
            None if instead is None else lambda desk: desk.say("command_near", written=f"/{name}", meant=f"/{instead}")
        )

    def _meant(self, name: str) -> str | None:
        """The command of ours with that name, or with nearly that name."""
        return name if name in self._commands else near.nearest(name, self._commands)

    def kept(self, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        written = slash.read(blocks)
        meant = None if written is None else self._meant(written.name.lower())
        if written is None or meant is None or not self._commands[meant].hides(written.words):
            return blocks
        shown = Text(f"/{written.name.lower()} {self._commands[meant].hidden(written.words)}")
        return (shown, *(block for block in blocks if not isinstance(block, Text)))

    def _help(self, words: str, desk: CommandDesk) -> str:
        asked = slash.parted(words)[0].removeprefix("/")
        if asked.lower() in self._commands:
            return slash.usage(asked.lower(), desk.language)
        brought = [command for command in desk.commands if command.name == asked]
        if brought:
            return f"`/{asked}{f' {brought[0].hint}' if brought[0].hint else ''}`: {brought[0].description}"
        commands = (*self.listed(desk.language), *desk.commands)
        lines = [f"- `/{command.name}`: {bounds.one_line(command.description, 200)}" for command in commands]
        unknown = [desk.say("help_unknown", name=bounds.one_line(asked, 40)), ""] if asked else []
        return "\n".join([*unknown, desk.say("help_head"), "", *lines, "", desk.say("help_tail")])


def _answer(command: LocalCommand, words: str, desk: CommandDesk) -> str:
    try:
        return command.answer(words, desk)
    except Refused as refused:
        return f"{desk.say(refused.code, **refused.params)}\n\n{slash.usage(command.name, desk.language)}"
    except Fault as fault:
        return desk.say("command_failed", cause=fault.message)
