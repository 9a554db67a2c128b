"""`acpagent trust`: whether what a project brings may be used: its servers, hooks, commands and skills."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from acpagent.cli import agent
from acpagent.cli.agent import UsageError, complain
from acpagent.cli.main import FAILED, OK
from acpagent.cli.spoken import say, spoken
from acpagent.cli.terminal import Terminal
from acpagent.config import locate
from acpagent.core.bounds import printable
from acpagent.extensions import trust
from acpagent.extensions.trust import Standing
from acpagent.store.database import Store
from acpagent.store.trust import Approvals


def run(words: Sequence[str]) -> int:
    """Run the command. Returns its exit code, see `--help`."""
    return agent.dispatched(make_parser(), list(words) or ["status"])


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acpagent trust",
        description=say("trust_help"),
        epilog=say("epilog_trust"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, about, command in (
        ("status", say("trust_help_status"), _status),
        ("approve", say("trust_help_approve"), _approve),
        ("revoke", say("trust_help_revoke"), _revoke),
    ):
        one = commands.add_parser(name, help=about, allow_abbrev=False)
        one.add_argument("dir", metavar="DIR", nargs="?", default=".", help=say("trust_help_dir"))
        if command is _approve:
            one.add_argument("--fingerprint", metavar="TEXT", help=say("trust_help_fingerprint"))
        one.set_defaults(command=command)
    return parser


def _status(options: argparse.Namespace) -> int:
    with _approvals() as approvals:
        standing = trust.look(_folder(options), locate.home(), approvals)
    _show(standing)
    return OK if standing.status in ("trusted", "nothing_to_trust") else FAILED


def _approve(options: argparse.Namespace) -> int:
    folder, home = _folder(options), locate.home()
    with _approvals() as approvals:
        standing = trust.look(folder, home, approvals)
        _show(standing)
        if standing.status in ("trusted", "nothing_to_trust"):
            return OK
        if standing.project.refusal is not None:
            return FAILED
        seen = options.fingerprint or _asked(standing)
        if seen is None:
            return complain(say("trust_not_approved"), FAILED)
        standing = trust.approve(folder, home, approvals, seen)
    sys.stdout.write(f"{_state(standing)}\n")
    return OK if standing.trusted else FAILED


def _revoke(options: argparse.Namespace) -> int:
    folder = _folder(options)
    with _approvals() as approvals:
        trust.revoke(folder, approvals)
    sys.stdout.write(say("trust_no_more", path=printable(folder)))
    return OK


def _asked(standing: Standing) -> str | None:
    """What the person saw, if they say yes to it. Only a person at a terminal can be asked. Raises `UsageError`."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(say("trust_nobody", fingerprint=trust.short(standing.project)))
    sys.stdout.write(say("trust_ask"))
    sys.stdout.flush()
    return standing.project.fingerprint if sys.stdin.readline().strip().lower() in say("trust_yes").split() else None


def _state(standing: Standing) -> str:
    return say(f"trust_is_{standing.status}", path=printable(standing.project.root))


def _folder(options: argparse.Namespace) -> str:
    folder = os.path.realpath(options.dir)
    if not os.path.isdir(folder):
        raise UsageError(say("trust_no_directory", path=printable(options.dir)))
    return folder


@contextmanager
def _approvals() -> Iterator[Approvals]:
    store = Store(locate.store_file(locate.home()))
    try:
        yield Approvals(store)
    finally:
        store.close()


def _show(standing: Standing) -> None:
    terminal = Terminal(sys.stdout)
    project = standing.project
    terminal.line(_state(standing), "bold")
    if project.refusal is not None:
        terminal.line(say("trust_refused", cause=spoken(project.refusal)))
    if project.files:
        terminal.line(
            say(
                "trust_shown_since" if standing.since else "trust_shown",
                fingerprint=trust.short(project),
                since=standing.since,
            )
        )
    for path in standing.changes:
        terminal.line(say("trust_differs", path=printable(path)))
    for line in trust.contents(project):
        terminal.line(f"  {printable(spoken(line))}")
