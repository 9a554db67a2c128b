"""Questions to a person at a terminal, one line each."""

from __future__ import annotations

import getpass
import sys
import warnings
from collections.abc import Sequence

from acpagent.cli.spoken import say
from acpagent.cli.terminal import Terminal, columns, fitted
from acpagent.core.bounds import clean


class GaveUp(Exception):
    """The person ended the input, or said so."""


class CannotHide(Exception):
    """This terminal shows what is typed."""


class Asker:
    """Asks on stdin. Every question is asked again until its answer makes sense; the end of input is `GaveUp`."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal

    def line(self, question: str, default: str = "") -> str:
        """A line of text, or the default for nothing."""
        while True:
            shown = f" [{clean(default)}]" if default else ""
            if answer := self._read(f"{question}{shown}: ") or default:
                return answer

    def perhaps(self, question: str) -> str:
        """A line of text, which may be empty."""
        return self._read(f"{question}: ")

    def yes(self, question: str, default: bool = True) -> bool:
        """A yes or a no."""
        while True:
            answer = self._read(say("ask_yes_default" if default else "ask_no_default", question=question)).lower()
            if not answer:
                return default
            for code, meant in (("ask_yes_words", True), ("ask_no_words", False)):
                if answer in say(code).split():
                    return meant

    def choose(self, rows: Sequence[tuple[str, str]], question: str = "", default: int | None = None) -> int:
        """The position of a row, by its number or its first column; rows are a name and what to say about it."""
        self._list(rows)
        question = question or say("ask_default_number")
        while True:
            shown = "" if default is None else f" [{default + 1}]"
            answer = self._read(f"{question}{shown}: ")
            if not answer and default is not None:
                return default
            found = [place for place, (name, _) in enumerate(rows) if answer.lower() == name.lower()]
            number = int(answer) if answer.isascii() and answer.isdigit() and len(answer) < 6 else 0
            if found or 0 < number <= len(rows):
                self.terminal.line()
                return found[0] if found else number - 1
            if answer:
                self.terminal.line(say("ask_number", most=len(rows)), "yellow")

    def several(self, rows: Sequence[tuple[str, str]]) -> list[int]:
        """The positions of any number of rows, by their numbers."""
        self._list(rows)
        while True:
            words = self._read(say("ask_numbers")).replace(",", " ").split()
            numbers = [int(word) if word.isascii() and word.isdigit() and len(word) < 6 else 0 for word in words]
            if all(0 < number <= len(rows) for number in numbers):
                self.terminal.line()
                return sorted({number - 1 for number in numbers})
            self.terminal.line(say("ask_numbers_again", most=len(rows)), "yellow")

    def hidden(self, question: str) -> str:
        """A line that is not shown as it is typed. Raises `CannotHide`."""
        self.terminal.finish()
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)
            try:
                answer = getpass.getpass(f"{question}: ")
            except getpass.GetPassWarning:
                raise CannotHide from None
            except EOFError:
                self.terminal.entered()
                raise GaveUp from None
        self.terminal.entered()
        return answer.strip()

    def _list(self, rows: Sequence[tuple[str, str]]) -> None:
        width = max((columns(name) for name, _ in rows), default=0)
        self.terminal.gap(0)
        for number, (name, about) in enumerate(rows, 1):
            line = f"  {number:>3}  {name}{' ' * (width - columns(name))}  {about}".rstrip()
            self.terminal.line(fitted(line, self.terminal.width) if self.terminal.live else line)

    def _read(self, question: str) -> str:
        self.terminal.write(question, "bold")
        answer = sys.stdin.readline()
        self.terminal.entered()
        if not answer.endswith("\n"):
            self.terminal.line()
            raise GaveUp
        return clean(answer).strip()
