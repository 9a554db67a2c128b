"""What is wrong with a file that somebody extends acpagent by, said so that a person can put it right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from acpagent.config.problems import ConfigError
from acpagent.core.catalogue import Phrase

Part = Literal["skill", "command", "instructions", "hook", "server", "plugin", "trust"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: the `part` of the extensions it is in, `file` (a path), `line` (from 1, or None where there is
    none), `what` is wrong and the `remedy`. `fatal`: what the file describes is not there at all; otherwise it is, but
    something of it does not count."""

    part: Part
    file: str
    line: int | None
    what: str
    remedy: str
    fatal: bool = True

    @property
    def place(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"

    @property
    def told(self) -> Phrase:
        return Phrase("problem", place=self.place, what=self.what, remedy=self.remedy)

    @property
    def short(self) -> Phrase:
        """Without the place."""
        return Phrase("model_says_remedy", message=self.what, remedy=self.remedy)

    def __str__(self) -> str:
        return self.told


def of_config(part: Part, error: ConfigError) -> tuple[Problem, ...]:
    """What made a file useless."""
    return tuple(Problem(part, one.file, one.line, one.what, one.remedy) for one in error.problems)
