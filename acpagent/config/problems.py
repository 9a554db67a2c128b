"""What is wrong with the configuration, said so that a person can put it right.

This file lies on the path to `initialize`, hence the plain slotted class.
"""

from __future__ import annotations

from acpagent.core.catalogue import Phrase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SHOWN = 8  # problems listed before the rest is only counted; more scrolls the first one away


class ConfigProblem:
    """One mistake: `file` (a path, or the name of a flag), `line` (from 1, or None where there is none),
    `what` is wrong and the `remedy`. None of them ever holds a secret."""

    __slots__ = ("file", "line", "remedy", "what")

    def __init__(self, file: str, line: int | None, what: str, remedy: str) -> None:
        self.file = file
        self.line = line
        self.what = what
        self.remedy = remedy

    @property
    def told(self) -> Phrase:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return Phrase("problem", place=place, what=self.what, remedy=self.remedy)

    def __str__(self) -> str:
        return self.told

    def __repr__(self) -> str:
        return f"ConfigProblem({str(self)!r})"


class ConfigError(Exception):
    """The configuration cannot be used. `problems` has at least one entry; the text has a line for each."""

    def __init__(self, *problems: ConfigProblem) -> None:
        super().__init__(*problems)
        self.problems = problems

    def lines(self, spoken: Callable[[str], str] = str) -> list[str]:
        """One for each problem, as `spoken` says them, and of many how many more there are."""
        lines = [problem.told for problem in self.problems[:SHOWN]]
        if len(self.problems) > SHOWN:
            lines.append(Phrase("and_more", count=len(self.problems) - SHOWN))
        return [spoken(line) for line in lines]

    def __str__(self) -> str:
        return "\n".join(self.lines())
