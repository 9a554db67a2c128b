"""What is wrong with a file that somebody extends acpagent by, said so that a person can put it right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from acpagent.config.problems import ConfigError

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

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.what}; {self.remedy}"


def of_config(part: Part, error: ConfigError, moved: int = 0, fatal: bool = True) -> tuple[Problem, ...]:
    """What reading YAML found, `moved` lines further down in the file."""
    return tuple(
        Problem(part, one.file, None if one.line is None else one.line + moved, one.what, one.remedy, fatal)
        for one in error.problems
    )
