"""The slash commands that extensions bring: each makes a prompt for the model, or has something said to the person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from acpagent.core import capsule
from acpagent.core.blocks import Block, Text
from acpagent.core.capsule import CapsuleFault
from acpagent.core.catalogue import ENGLISH, Phrase, say
from acpagent.core.events import Command
from acpagent.core.forms import Answer, Form
from acpagent.core.phrases import told, why
from acpagent.core.scope import Cancelled, Scope
from acpagent.extensions import commandfiles, skills
from acpagent.extensions.commandfiles import CommandFile
from acpagent.extensions.plugin_host import Action, PluginHost
from acpagent.extensions.skills import Skill
from acpagent.extensions.speech import SidecarFault
from acpagent.mcp_client.faults import ServerFault
from acpagent.runtime.session import capsules, slash
from acpagent.runtime.session.equipment import Kit

if TYPE_CHECKING:
    from acpagent.mcp_client.prompts import PromptCommand

SKILL = "skill:"
CAPSULE = "capsule"
_LOADS = frozenset({"load", "open"})


class CommandFault(Exception):
    """A command that could not be carried out; the text is for the person."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a command may use while it is worked out: `limit` bounds the bytes of what it brings, `language` is spoken
    with the person. `home` is acpagent's folder, `cwd` the session's."""

    scope: Scope
    limit: int
    question: Callable[[Form], Answer] | None = None
    language: str = ENGLISH
    home: str = ""
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class Meant:
    """What a command stands for: `blocks` for the model, or `said` to the person and nothing for the model."""

    blocks: tuple[Block, ...] = ()
    said: str = ""


@dataclass(frozen=True, slots=True)
class ModelCommand:
    """`work_out` takes the words after the name. It may wait for a server or a program. Raises `CommandFault`,
    `Cancelled`."""

    listed: Command
    work_out: Callable[[str, Use], Meant]


def loads_capsule(words: str) -> bool:
    """Whether the words after `/capsule` ask to load one, which is for the model."""
    return slash.parted(words)[0].lower() in _LOADS


def _load_capsule(words: str, use: Use) -> Meant:
    """What a capsule says, as context of the person's prompt."""
    try:
        named = slash.split(slash.parted(words)[1])
        found = capsules.named(" ".join(named), use.home, use.cwd)
    except CapsuleFault as fault:
        raise _unused(fault.code, use) from None
    except ValueError:
        raise _unused("command_quotes", use) from None
    except OSError as error:
        raise CommandFault(Phrase("command_failed", cause=why(error))) from None
    return Meant((Text(capsule.prompt(found)),))


def _unused(code: str, use: Use) -> CommandFault:
    return CommandFault(f"{say(code, {}, use.language)}\n\n{slash.usage(CAPSULE, use.language)}")


_LOAD_CAPSULE = ModelCommand(Command(CAPSULE, ""), _load_capsule)


class ModelCommands:
    """The commands of a loadout by name; of two with one name the first counts. Frozen once made."""

    def __init__(self, commands: Iterable[ModelCommand] = ()) -> None:
        self._commands: dict[str, ModelCommand] = {CAPSULE: _LOAD_CAPSULE}
        for command in commands:
            self._commands.setdefault(command.listed.name, command)

    def listed(self) -> tuple[Command, ...]:
        """Those of extensions: ours is listed with the commands that need no model."""
        return tuple(self._commands[name].listed for name in sorted(self._commands) if name != CAPSULE)

    def find(self, blocks: Sequence[Block]) -> Callable[[Use], Meant] | None:
        """What works a prompt out that begins with one of the commands; its other blocks stay."""
        written = slash.read(blocks)
        if written is None or written.indented:
            return None
        command = self._commands.get(written.name) or self._commands.get(written.name.lower())
        if command is None:
            return None
        words, place = written.words, written.place

        def work_out(use: Use) -> Meant:
            meant = command.work_out(words, use)
            if not meant.blocks:
                return meant
            return replace(meant, blocks=(*blocks[:place], *meant.blocks, *blocks[place + 1 :]))

        return work_out


NO_COMMANDS = ModelCommands()


def of_kit(kit: Kit) -> ModelCommands:
    """All that a kit brings: command files, skills, prompts of servers, actions of plugins."""
    return ModelCommands(_of_kit(kit))


def _of_kit(kit: Kit) -> Iterator[ModelCommand]:
    found = kit.found.extensions
    yield from (_of_file(command) for command in found.commands)
    yield from (_of_skill(skill, kit.set_aside) for skill in found.skills if skill.for_person)
    yield from (_of_prompt(prompt) for prompt in kit.servers.prompts())
    yield from (_of_action(action, kit.plugins) for action in kit.plugins.actions())


def _of_file(command: CommandFile) -> ModelCommand:
    def work_out(words: str, use: Use) -> Meant:
        return Meant((Text(commandfiles.expanded(command, words)),))

    return ModelCommand(Command(command.name, command.description, command.hint), work_out)


def _of_skill(skill: Skill, set_aside: set[str]) -> ModelCommand:
    def work_out(words: str, use: Use) -> Meant:
        set_aside.discard(skill.name)  # the person wants it again
        return Meant((Text(skills.invoked(skill, words)),))

    return ModelCommand(Command(SKILL + skill.name, skill.description, skill.hint or "..."), work_out)


def _of_prompt(prompt: PromptCommand) -> ModelCommand:
    def work_out(words: str, use: Use) -> Meant:
        try:
            return Meant(prompt.get(words, use.limit, use.scope, use.question))
        except ServerFault as fault:
            raise CommandFault(told(fault)) from None

    return ModelCommand(Command(prompt.name, prompt.description or prompt.name, prompt.hint), work_out)


def _of_action(action: Action, plugins: PluginHost) -> ModelCommand:
    def work_out(words: str, use: Use) -> Meant:
        try:
            done = say("action_done", {"label": action.label}, use.language)
            return Meant(said=plugins.run_action(action.command, words, use.scope) or done)
        except (SidecarFault, LookupError) as fault:
            raise CommandFault(Phrase("action_failed", cause=told(fault))) from None
        except Cancelled:  # said to the person, like all that comes of it: the model never hears of it
            return Meant(said=f"{action.label}: cancelled.")

    return ModelCommand(Command(action.command, action.description, action.hint), work_out)
