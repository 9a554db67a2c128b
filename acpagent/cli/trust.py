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
from acpagent.cli.terminal import Terminal
from acpagent.config import locate
from acpagent.core.bounds import printable
from acpagent.extensions import trust
from acpagent.extensions.trust import Standing
from acpagent.store.database import Store
from acpagent.store.trust import Approvals

_EPILOG = """\
Nothing that a project brings runs before you trust it, and nothing after a byte of it has changed. What you trust is
the present state: MCP servers, hooks, commands, skills, and the files of the project that these name.

exit codes: 0 done (of `status`: trusted, or nothing to trust), 1 failed (of `status`: not trusted), 2 wrong usage
"""
_STATES = {
    "nothing_to_trust": "brings nothing that would have to be trusted",
    "untrusted": "is not trusted: nothing of what it brings is used",
    "trusted": "is trusted as it is now",
    "changed": "has changed since it was trusted: nothing of what it brings is used",
}


def run(words: Sequence[str]) -> int:
    """Run the command. Returns its exit code, see `--help`."""
    return agent.dispatched(make_parser(), list(words) or ["status"])


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acpagent trust",
        description="Show, approve or revoke what a project brings. Without a command: status.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, about, command in (
        ("status", "whether a project is trusted, and what it brings", _status),
        ("approve", "trust a project as it is now", _approve),
        ("revoke", "trust a project no more", _revoke),
    ):
        one = commands.add_parser(name, help=about, allow_abbrev=False)
        one.add_argument("dir", metavar="DIR", nargs="?", default=".", help="the project (default: this directory)")
        if command is _approve:
            one.add_argument("--fingerprint", metavar="TEXT", help="approve without asking what `status` showed so")
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
            return complain("nothing was approved", FAILED)
        standing = trust.approve(folder, home, approvals, seen)
    sys.stdout.write(f"{printable(standing.project.root)} {_STATES[standing.status]}\n")
    return OK if standing.trusted else FAILED


def _revoke(options: argparse.Namespace) -> int:
    folder = _folder(options)
    with _approvals() as approvals:
        trust.revoke(folder, approvals)
    sys.stdout.write(f"{printable(folder)} is trusted no more\n")
    return OK


def _asked(standing: Standing) -> str | None:
    """What the person saw, if they say yes to it. Only a person at a terminal can be asked. Raises `UsageError`."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "there is nobody to ask; look at what is listed, and then say"
            f" `acpagent trust approve --fingerprint {trust.short(standing.project)}`"
        )
    sys.stdout.write("Trust exactly this? Type yes: ")
    sys.stdout.flush()
    return standing.project.fingerprint if sys.stdin.readline().strip().lower() == "yes" else None


def _folder(options: argparse.Namespace) -> str:
    folder = os.path.realpath(options.dir)
    if not os.path.isdir(folder):
        raise UsageError(f"{printable(options.dir)} is no directory")
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
    terminal.line(f"{printable(project.root)} {_STATES[standing.status]}", "bold")
    if project.refusal is not None:
        terminal.line(f"it cannot be trusted at all: {project.refusal}")
    if project.files:
        terminal.line(f"fingerprint {trust.short(project)}" + (f", trusted {standing.since}" if standing.since else ""))
    for path in standing.changes:
        terminal.line(f"  not as it was approved: {printable(path)}")
    for line in trust.contents(project):
        terminal.line(f"  {printable(line)}")
