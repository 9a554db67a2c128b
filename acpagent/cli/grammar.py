"""Every word that the command line takes, read off the parsers of its commands."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass, field
from importlib import import_module

from acpagent.cli import editors
from acpagent.cli.choice import known_providers
from acpagent.cli.main import COMMANDS
from acpagent.cli.spoken import say
from acpagent.config import work_modes

# What a value is by its name in the usage, where no choices are listed: words that only this machine knows.
_KINDS = {"DIR": "folders", "FILE": "files", "ID": "sessions", "PLUGIN": "plugins"}
_HELP = re.compile(r"^  (--[a-z-]+)(?: ([A-Z]+))? {2,}(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Value:
    """What may stand in a place: some of `words`, or a `kind` of thing: folders, files, models, sessions."""

    words: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """`value` is None for an option that takes none."""

    flag: str
    about: str
    value: Value | None = None


@dataclass(slots=True)
class Command:
    """`path` are the words that lead to it; `value` is what its own words are."""

    path: tuple[str, ...]
    about: str
    options: list[Option] = field(default_factory=list)
    value: Value = Value()
    commands: list[Command] = field(default_factory=list)


def general() -> tuple[Option, ...]:
    """What every command and the whole take."""
    return Option("--help", say("usage_what")), Option("--version", say("usage_version"))


def commands() -> list[Command]:
    """All commands, each with its options."""
    return [_command(name, module, say(f"usage_{name}")) for name, module in COMMANDS.items()]


def _command(name: str, module: str, about: str) -> Command:
    if name == "acp":
        return _acp(about)
    parser: argparse.ArgumentParser = import_module(module).make_parser()
    return _parsed((name,), about, parser)


def _acp(about: str) -> Command:
    """The one without a parser of that kind; what it says of itself is read instead."""
    found = Command(("acp",), about)
    for flag, name, text in _HELP.findall(say("acp_help")):
        value = Value(work_modes.NAMES) if name == "PROFILE" else Value(kind="models") if name else None
        found.options.append(Option(flag, text, value))
    return found


def _parsed(path: tuple[str, ...], about: str, parser: argparse.ArgumentParser) -> Command:
    found = Command(path, about)
    for action in parser._actions:
        if action.help == argparse.SUPPRESS:
            continue
        if isinstance(action, argparse._SubParsersAction):
            abouts = {choice.dest: choice.help or "" for choice in action._choices_actions}
            found.commands = [_parsed((*path, name), abouts[name], one) for name, one in action.choices.items()]
        elif action.option_strings:
            value = None if action.nargs == 0 else _value(path, action)
            found.options.append(Option(action.option_strings[-1], action.help or "", value))
        else:
            found.value = _value(path, action)
    return found


def _value(path: tuple[str, ...], action: argparse.Action) -> Value:
    name = action.metavar if isinstance(action.metavar, str) else ""
    if action.choices:
        return Value(tuple(map(str, action.choices)))
    if path == ("editors",):
        return Value(tuple(editors.load()))
    if path == ("setup",) and name == "NAME":
        return Value(tuple(known_providers()))
    if path == ("run",) and name == "MODEL":
        return Value(kind="models")
    return Value(kind=_KINDS.get(name, ""))
