"""`acpagent demo`: a shipped script at work on a scratch project, through a real agent process."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence

from acpagent.cli import agent
from acpagent.cli.agent import complain
from acpagent.cli.main import FAILED, OK
from acpagent.cli.show import TurnView
from acpagent.cli.spoken import say
from acpagent.cli.terminal import Terminal
from acpagent.cli.watch import Watch
from acpagent.client.permission import Option, PermissionRequest

PROMPT = "A test of this project fails. Find out why, and repair it."

_CONFIG = {
    "providers": {"rehearsal": {"api": "scripted", "script": "demo.yaml"}},
    "tool_approval": "ask",
}
_CART = '''\
def total(prices, discount=0):
    """The sum of the prices, less a discount in percent."""
    return sum(prices) - discount
'''
_TEST = """\
import unittest

from cart import total


class TotalTest(unittest.TestCase):
    def test_full_price(self):
        self.assertEqual(total([100, 50]), 150)

    def test_discount(self):
        self.assertEqual(total([100, 50], discount=10), 135)
"""
_THINK_SECONDS = 1.2


class Scratch:
    """A folder of its own for the project, the agent's home, and a `python3` that is the one running this."""

    def __init__(self) -> None:
        # Resolved: the temporary folder may be a symlink, and paths are shown.
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="acpagent-demo-"))
        self.project = os.path.join(self.path, "project")
        self.home = os.path.join(self.path, "home")
        self._write("project/cart.py", _CART)
        self._write("project/test_cart.py", _TEST)
        self._write("home/config.yaml", json.dumps(_CONFIG))
        self._write("bin/python3", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
        os.chmod(os.path.join(self.path, "bin/python3"), 0o755)

    @property
    def env(self) -> dict[str, str]:
        """The environment of the agent. No bytecode is written: a file edited within a second could be taken
        for the old one."""
        path = os.pathsep.join((os.path.join(self.path, "bin"), os.environ.get("PATH", os.defpath)))
        return {**os.environ, "ACPAGENT_HOME": self.home, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def _write(self, name: str, text: str) -> None:
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


class StandIn:
    """Answers questions as somebody might who is watching."""

    def __init__(self, view: TurnView) -> None:
        self._view = view

    def decide(self, request: PermissionRequest) -> Option | None:
        """A command is allowed for the session, so that its second run asks nothing; anything else once."""
        terminal = self._view.terminal
        self._view.question(request, terminal)
        terminal.pause(_THINK_SECONDS)
        always = request.option("allow_always") if request.tool_call.get("kind") == "execute" else None
        option = always or request.option("allow_once")
        self._view.answered(option, terminal, say("demo_answers"))
        return option


def run(words: Sequence[str]) -> int:
    """Run the command. Returns its exit code, see `--help`."""
    options = make_parser().parse_args(words)
    return agent.guarded(lambda: _run(options))


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acpagent demo",
        description=say("demo_about"),
        epilog=say("epilog_demo"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--keep", action="store_true", help=say("demo_keep"))
    parser.add_argument("--slow", metavar="N", type=float, default=1.0, help=say("demo_slow"))
    return parser


def _run(options: argparse.Namespace) -> int:
    scratch = Scratch()
    try:
        return _play(scratch, max(0.0, options.slow))
    finally:
        if options.keep:
            sys.stdout.write(say("demo_project", path=scratch.project))
        else:
            scratch.remove()


def _play(scratch: Scratch, pace: float) -> int:
    terminal = Terminal(sys.stdout, pace)
    view = TurnView(terminal, scratch.project)
    watch = Watch(view, StandIn(view).decide, cancels=False)
    view.remark(say("demo_head"))
    view.remark(say("demo_made", path=scratch.project))
    view.prompt(PROMPT)
    terminal.pause(_THINK_SECONDS)
    with agent.running(permission=watch.permission, env=scratch.env) as client:
        try:
            stop = watch.run(client.open(scratch.project), PROMPT)
        finally:
            view.end()
    if stop != "end_turn" or not _repaired(view):
        return complain(say("demo_wrong", stop=stop), FAILED)
    _say_what_is_next(view)
    return OK


def _repaired(view: TurnView) -> bool:
    """Whether the tests failed first and passed last."""
    runs = [call for call in view.calls.values() if call.kind == "execute"]
    codes = [call.raw_output.get("exit_code") for call in runs]
    return len(runs) > 1 and codes[0] == 1 and codes[-1] == 0 and runs[-1].status == "completed"


def _say_what_is_next(view: TurnView) -> None:
    view.remark(
        say("demo_next"),
        "bold",
    )
