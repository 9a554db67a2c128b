"""`acpagent sessions`: what is stored, asked of an agent process like any editor would."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from datetime import datetime

from acpagent.cli import agent
from acpagent.cli.agent import complain
from acpagent.cli.main import FAILED, OK
from acpagent.cli.terminal import Terminal, columns, fitted, short_path
from acpagent.client.faults import AgentFault
from acpagent.client.session import SessionInfo
from acpagent.core.bounds import one_line

_HEADER = ("ID", "UPDATED", "FOLDER", "TITLE")
_EPILOG = "exit codes: 0 done, 1 failed, 2 wrong usage or configuration"
_TITLE = 80


def run(words: Sequence[str]) -> int:
    """Run the command. Returns its exit code, see `--help`."""
    options = _parser().parse_args(words)
    command: Callable[[argparse.Namespace], int] = options.command
    return agent.guarded(lambda: command(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acpagent sessions",
        description="List or delete stored sessions.",
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    listing = commands.add_parser("list", help="the stored sessions, newest first", allow_abbrev=False)
    listing.add_argument("--cwd", metavar="DIR", help="only sessions of this folder")
    listing.add_argument("--json", action="store_true", help="as JSON")
    listing.set_defaults(command=_list)
    deleting = commands.add_parser("delete", help="delete a session for good", allow_abbrev=False)
    deleting.add_argument("id", metavar="ID", help="its id, as `acpagent sessions list` shows it")
    deleting.set_defaults(command=_delete)
    return parser


def _list(options: argparse.Namespace) -> int:
    with agent.running() as client:
        found = list(client.sessions(options.cwd))
    if options.json:
        rows = [
            {"id": one.id, "updated": one.updated_at, "cwd": one.cwd, "title": one.title} for one in found
        ]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
    elif found:
        _show(found)
    else:
        sys.stdout.write(f"No sessions are stored{' for this folder' if options.cwd else ''}.\n")
    return OK


def _show(found: list[SessionInfo]) -> None:
    terminal = Terminal(sys.stdout)
    rows = [_HEADER, *map(_row, found)]
    widths = [max(columns(row[place]) for row in rows) for place in range(len(_HEADER) - 1)]
    for number, row in enumerate(rows):
        cells = [cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=False)]
        line = "  ".join((*cells, row[-1])).rstrip()
        terminal.line(fitted(line, terminal.width) if terminal.live else line, None if number else "bold")


def _row(session: SessionInfo) -> tuple[str, ...]:
    title = one_line(session.title or "", _TITLE)
    return one_line(session.id, 100), _local(session.updated_at or ""), short_path(session.cwd), title


def _local(stamp: str) -> str:
    """A time as people here write it; what is no time stays as it is."""
    try:
        return datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return one_line(stamp, 40)


def _delete(options: argparse.Namespace) -> int:
    """The protocol calls it no error to delete what is not there; somebody who mistyped an id wants to know."""
    with agent.running() as client:
        if options.id not in (one.id for one in client.sessions()):
            return complain(
                f"there is no session {options.id}; `acpagent sessions list` shows what there is", FAILED
            )
        try:
            client.delete(options.id)
        except AgentFault as fault:
            return complain(f"the session was not deleted: {fault.message}", FAILED)
    sys.stdout.write(f"Deleted {options.id}.\n")
    return OK
