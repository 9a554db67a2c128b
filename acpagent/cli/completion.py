"""`acpagent completion`: a script that teaches a shell to complete our command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from acpagent.cli import agent, shells
from acpagent.cli.grammar import commands
from acpagent.cli.main import OK
from acpagent.cli.spoken import say
from acpagent.config import locate, settings

_SESSIONS = 50


def run(words: Sequence[str]) -> int:
    """Run the command. Returns its exit code, see `--help`."""
    options = make_parser().parse_args(words)
    return agent.guarded(lambda: _run(options))


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acpagent completion",
        description=say("completion_about"),
        epilog=say("epilog_completion"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("shell", choices=tuple(shells.SCRIPTS), help=say("completion_shell"))
    parser.add_argument("--words", choices=tuple(_WORDS), help=argparse.SUPPRESS)  # what the script asks for
    return parser


def _run(options: argparse.Namespace) -> int:
    if options.words is not None:
        sys.stdout.write("".join(f"{word}\n" for word in _WORDS[options.words]() if word.isprintable()))
    else:
        sys.stdout.write(shells.SCRIPTS[options.shell](commands()))
    return OK


def _models() -> list[str]:
    return [model.id for model in settings.load(locate.home()).models]


def _sessions() -> list[str]:
    from acpagent.store import sessions
    from acpagent.store.database import Store

    path = locate.store_file(locate.home())
    if not os.path.exists(path):
        return []
    return [row.id for row in sessions.page(Store(path), size=_SESSIONS)[0]]


def _plugins() -> list[str]:
    from acpagent.extensions import plugins

    try:
        return list(plugins.read_records(locate.home()))
    except plugins.PluginError:
        return []


_WORDS: dict[str, Callable[[], list[str]]] = {"models": _models, "sessions": _sessions, "plugins": _plugins}
