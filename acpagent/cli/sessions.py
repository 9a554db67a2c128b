"""`acpagent sessions`: what is stored. Listing and deleting is asked of an agent process like any editor would."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from datetime import datetime

from acpagent.cli import agent, past
from acpagent.cli.agent import UsageError, complain
from acpagent.cli.main import FAILED, OK
from acpagent.cli.markdown import Page
from acpagent.cli.show import TurnView
from acpagent.cli.spoken import say, spoken
from acpagent.cli.terminal import Terminal, columns, fitted, short_path
from acpagent.client.faults import AgentFault
from acpagent.client.session import SessionInfo
from acpagent.config import locate
from acpagent.core.bounds import one_line

_HEADER = ("sessions_id", "sessions_updated", "sessions_folder", "sessions_titled")
_TITLE = 80


def run(words: Sequence[str]) -> int:
    """Run the command. Returns its exit code, see `--help`."""
    return agent.dispatched(make_parser(), words)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acpagent sessions",
        description=say("sessions_about_all"),
        epilog=say("epilog_sessions"),
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    listing = commands.add_parser("list", help=say("sessions_help_list"), allow_abbrev=False)
    listing.add_argument("--cwd", metavar="DIR", help=say("sessions_help_cwd"))
    listing.add_argument("--json", action="store_true", help=say("help_json"))
    listing.set_defaults(command=_list)
    showing = commands.add_parser("show", help=say("sessions_help_show"), allow_abbrev=False)
    showing.add_argument("--json", action="store_true", help=say("sessions_help_json"))
    showing.set_defaults(command=_show_one)
    exporting = commands.add_parser("export", help=say("sessions_help_export"), allow_abbrev=False)
    exporting.add_argument("--format", choices=("md", "json"), default="md", help=say("sessions_help_format"))
    exporting.add_argument("--output", metavar="FILE", help=say("sessions_help_output"))
    exporting.set_defaults(command=_export)
    for parser_of_one in (showing, exporting):
        parser_of_one.add_argument("id", metavar="ID", help=say("sessions_help_id"))
    deleting = commands.add_parser("delete", help=say("sessions_help_delete"), allow_abbrev=False)
    deleting.add_argument("id", metavar="ID", help=say("sessions_help_delete_id"))
    deleting.set_defaults(command=_delete)
    return parser


def _list(options: argparse.Namespace) -> int:
    with agent.running() as client:
        found = list(client.sessions(options.cwd))
    if options.json:
        rows = [{"id": one.id, "updated": one.updated_at, "cwd": one.cwd, "title": one.title} for one in found]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
    elif found:
        _show(found)
    else:
        sys.stdout.write(f"{say('sessions_none_here' if options.cwd else 'sessions_none_stored')}\n")
    return OK


def _show_one(options: argparse.Namespace) -> int:
    found = past.read(locate.home(), options.id)
    if options.json:
        sys.stdout.write(_as_json(found))
        return OK
    terminal = Terminal(sys.stdout)
    terminal.line(f"{found.row.id}  {_local(found.row.updated_at)}  {short_path(found.row.cwd)}", "dim")
    past.show(found, TurnView(terminal, found.row.cwd))
    return OK


def _export(options: argparse.Namespace) -> int:
    found = past.read(locate.home(), options.id)
    text = _as_json(found) if options.format == "json" else Page(found).text()
    if options.output is None:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        return OK
    if os.path.lexists(options.output):
        raise UsageError(say("sessions_output_there", path=options.output))
    with open(options.output, "x", encoding="utf-8", errors="replace") as file:
        file.write(text)
    return OK


def _as_json(found: past.Past) -> str:
    return json.dumps(found.as_json(), indent=2) + "\n"


def _show(found: list[SessionInfo]) -> None:
    terminal = Terminal(sys.stdout)
    rows = [tuple(say(code) for code in _HEADER), *map(_row, found)]
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
        ids = [one.id for one in client.sessions()]
        if options.id not in ids:
            meant = next((id for id in ids if options.id and id.startswith(options.id)), None)
            code = "sessions_no_session" if meant is None else "sessions_whole_id"
            raise UsageError(say(code, id=meant or options.id))
        try:
            client.delete(options.id)
        except AgentFault as fault:
            return complain(say("sessions_not_deleted", cause=spoken(fault.message)), FAILED)
    sys.stdout.write(say("sessions_done", id=options.id))
    return OK
