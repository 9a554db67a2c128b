"""`acpagent run`: one prompt in one folder, shown as it happens."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from acpagent.cli import agent
from acpagent.cli.agent import CANCELLED, STOPPED, UsageError
from acpagent.cli.lines import JsonView
from acpagent.cli.main import FAILED, OK
from acpagent.cli.person import Nobody, Person
from acpagent.cli.show import TurnView
from acpagent.cli.spoken import say
from acpagent.cli.terminal import Terminal
from acpagent.cli.watch import Watch
from acpagent.client.faults import AgentFault

_EXITS = {
    "end_turn": OK,
    "max_tokens": STOPPED,
    "max_turn_requests": STOPPED,
    "refusal": STOPPED,
    "cancelled": CANCELLED,
}


def run(words: Sequence[str]) -> int:
    """Run the command. Returns its exit code, see `--help`."""
    options = make_parser().parse_args(words)
    return agent.guarded(lambda: _run(options))


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acpagent run",
        description=say("run_about"),
        epilog=say("epilog_run", kind="sessionUpdate", stop="stopReason", session="sessionId"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("prompt", metavar="PROMPT", help=say("run_prompt"))
    parser.add_argument("--cwd", metavar="DIR", default=".", help=say("run_cwd"))
    parser.add_argument("--model", metavar="MODEL", help=say("run_model"))
    parser.add_argument("--json", action="store_true", help=say("run_json"))
    return parser


def _run(options: argparse.Namespace) -> int:
    text = _prompt(options.prompt)
    if not text.strip():
        raise UsageError(say("run_empty"))
    if not os.path.isdir(options.cwd):
        raise UsageError(say("run_no_folder", path=options.cwd))
    cwd = os.path.abspath(options.cwd)
    flags = ["--model", options.model] if options.model else []
    return _as_json(text, cwd, flags) if options.json else _for_a_person(text, cwd, flags)


def _for_a_person(text: str, cwd: str, flags: list[str]) -> int:
    view = TurnView(Terminal(sys.stdout), cwd)
    someone = Person(view) if sys.stdin.isatty() else Nobody(view)
    watch = Watch(view, someone.decide, someone.fill)
    with agent.running(flags, watch.permission, question=watch.question) as client:
        try:
            stop = watch.run(client.open(cwd), text)
        finally:
            view.end()
    view.end(stop)
    someone.advise()
    return _EXITS.get(stop, FAILED)


def _as_json(text: str, cwd: str, flags: list[str]) -> int:
    view = JsonView(cwd)
    someone = Person(view) if sys.stdin.isatty() else Nobody(view)
    watch = Watch(view, someone.decide, someone.fill)
    try:
        with agent.running(flags, watch.permission, question=watch.question) as client:
            session = client.open(cwd)
            stop = watch.run(session, text)
            view.result(watch.response, session.id)
    except AgentFault as fault:
        view.fault(fault)
        raise
    someone.advise()
    return _EXITS.get(stop, FAILED)


def _prompt(given: str) -> str:
    """The text of the prompt. Bytes that are no UTF-8 are replaced: they could not be sent."""
    data = sys.stdin.buffer.read() if given == "-" else os.fsencode(given)
    return data.decode("utf-8", "replace")
