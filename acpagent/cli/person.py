"""Who answers the agent's questions: the person at the terminal, or nobody."""

from __future__ import annotations

import sys
import termios
from typing import Any

from acpagent.cli import filling
from acpagent.cli.show import View
from acpagent.cli.spoken import say
from acpagent.cli.terminal import Terminal
from acpagent.client.permission import Option, PermissionRequest, chosen
from acpagent.client.questions import QuestionRequest
from acpagent.config import locate


class Person:
    """Asks on stdin, by number. Enter, the end of input, and anything that is no number on offer refuse."""

    def __init__(self, view: View) -> None:
        self._view = view
        # Where stdout goes to a file, the question must not.
        self._terminal = view.terminal if sys.stdout.isatty() else Terminal(sys.stderr)

    def decide(self, request: PermissionRequest) -> Option | None:
        """The option that the person chose; None refuses."""
        self._view.question(request, self._terminal)
        refusal = chosen(None, request.options)
        number = request.options.index(refusal) + 1 if refusal else 0
        _forget_typed_ahead()
        self._terminal.write(f"  1-{len(request.options)} [{number}]: ", "yellow")
        answer = sys.stdin.readline()
        self._terminal.entered()
        if not answer.endswith("\n"):
            self._terminal.line()
        option = _picked(answer, request.options) or refusal
        self._view.answered(option, self._terminal)
        return option

    def fill(self, request: QuestionRequest) -> dict[str, Any] | None:
        """What the person filled in; None declines."""
        self._view.form(request, self._terminal)
        _forget_typed_ahead()
        return filling.fill(request, self._terminal)

    def advise(self) -> None:
        """Nothing to add: whoever was asked knows."""


class Nobody:
    """Refuses and declines, and says so."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._refused = False

    def decide(self, request: PermissionRequest) -> None:
        """Refuse."""
        self._refused = True
        self._view.refused(request)

    def fill(self, request: QuestionRequest) -> None:
        """Decline."""
        self._view.declined(request)

    def advise(self) -> None:
        """How to allow what was refused."""
        if self._refused:
            sys.stderr.write(f"acpagent: {say('run_refused', path=locate.config_file(locate.home()))}\n")


def _picked(answer: str, options: list[Option]) -> Option | None:
    answer = answer.strip()
    number = int(answer) if answer.isascii() and answer.isdigit() and len(answer) < 4 else 0
    return options[number - 1] if 0 < number <= len(options) else None


def _forget_typed_ahead() -> None:
    """Keys hit before the question was there answer nothing."""
    try:
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except (termios.error, OSError, ValueError):
        pass
