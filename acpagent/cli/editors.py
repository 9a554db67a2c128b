"""`acpagent editors`: settings for editors, with the command of this installation, ready to be pasted."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from acpagent.cli import command
from acpagent.cli.agent import complain
from acpagent.cli.main import OK, USAGE
from acpagent.cli.spoken import say
from acpagent.cli.terminal import Terminal
from acpagent.config import document, locate

_MARK = re.compile(r"\{\{env\}\}|\{(?:command|args|env|line)\}")


class Editor:
    """One entry of `editors.yaml`."""

    def __init__(self, name: str, about: Mapping[str, Any]) -> None:
        self.name = name
        self.title: str = about["title"]
        self.where: str = about["where"]
        self.after: str = about["after"]
        self.language: str = about["language"]
        self.whole_path: bool = about.get("whole_path", False)
        self._template: str = about["settings"]

    def settings(self, words: Sequence[str], env: Mapping[str, str]) -> str:
        """The settings for an agent that is started by `words` and needs the variables `env`."""
        lines = self._template.splitlines(keepends=True)
        return "".join(_filled(line, _SPELLINGS[self.language], words, env) for line in lines)


class Spelling:
    """How a language writes texts, lists of them inside its own brackets, and variables."""

    def __init__(self, args: Callable[[Sequence[str]], str], env: Callable[[Mapping[str, str]], str]) -> None:
        self.args = args
        self.env = env


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _lua_table(env: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {_text(text)}" for name, text in env.items())


_SPELLINGS = {
    "json": Spelling(
        lambda args: json.dumps(args, ensure_ascii=False), lambda env: json.dumps(env, ensure_ascii=False)
    ),
    "lua": Spelling(lambda args: ", ".join(map(_text, args)), _lua_table),
    "elisp": Spelling(
        lambda args: " ".join(map(_text, args)),
        lambda env: " ".join(_text(f"{name}={text}") for name, text in env.items()),
    ),
    "sh": Spelling(lambda args: "", lambda env: ""),
}


def _filled(line: str, spelling: Spelling, words: Sequence[str], env: Mapping[str, str]) -> str:
    if "{{env}}" in line and not env:
        return ""
    call = ["env", *(f"{name}={text}" for name, text in env.items()), *words] if env else list(words)
    inner = spelling.env(env)
    spelled = {
        "{command}": _text(words[0]),
        "{args}": spelling.args(words[1:]),
        "{env}": inner,
        # Alone on its line it stands among others inside a table; else it is the whole of one.
        "{{env}}": f"{inner}," if line.strip() == "{{env}}" else inner,
        "{line}": shlex.quote(shlex.join(call)),
    }
    return _MARK.sub(lambda mark: spelled[mark[0]], line)


def load() -> dict[str, Editor]:
    """All editors by name."""
    found = document.read(os.path.join(os.path.dirname(__file__), "editors.yaml")).mapping()
    return {name: Editor(name, about) for name, about in found.items()}


def needed_env() -> dict[str, str]:
    """The variables without which an agent that an editor starts would look elsewhere for its home."""
    home = locate.home()
    return {} if home == locate.home({}) else {"ACPAGENT_HOME": home}


def run(words: Sequence[str]) -> int:
    """Run the command. Returns its exit code, see `--help`."""
    options = make_parser().parse_args(words)
    editors, terminal = load(), Terminal(sys.stdout)
    if options.name is None:
        _list(editors, terminal)
        return OK
    if options.name not in editors:
        return complain(say("editors_none", name=options.name, names=", ".join(editors)), USAGE)
    _show(editors[options.name], terminal, options.only)
    return OK


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acpagent editors",
        description=say("editors_about"),
        epilog=say("epilog_editors"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help=say("editors_name"))
    parser.add_argument("--only", action="store_true", help=say("editors_only"))
    return parser


def _list(editors: Mapping[str, Editor], terminal: Terminal) -> None:
    width = max(map(len, editors))
    for name, editor in editors.items():
        terminal.line(f"{name:<{width}}  {editor.title}")
    terminal.line()
    terminal.line(say("editors_how"), "dim")
    terminal.line(shlex.join([*command.lasting(), "acp"]))


def _show(editor: Editor, terminal: Terminal, only: bool) -> None:
    settings = editor.settings([*command.lasting(), "acp"], needed_env())
    if only:
        terminal.write(settings)
        return
    terminal.line(editor.title, "bold")
    terminal.say(say("editors_put_beside" if editor.language == "json" else "editors_put", where=editor.where), "dim")
    terminal.gap(1)
    terminal.write(settings)
    terminal.gap(1)
    terminal.say(editor.after, "dim")
    terminal.line()
