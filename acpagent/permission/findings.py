"""What is found out about one step of a command line while it is judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Level = Literal["reads", "acts", "reaches"]
LEVELS: tuple[Level, ...] = ("reads", "acts", "reaches")


@dataclass(slots=True)
class Finding:
    """Only ever rises: the reason is that of the highest level. `reads`, `writes` and `hosts` keep their order."""

    level: Level = "reads"
    reason: str = ""
    reads: dict[str, None] = field(default_factory=dict)
    writes: dict[str, None] = field(default_factory=dict)
    hosts: dict[str, None] = field(default_factory=dict)
    prefix: tuple[str, ...] | None = None
    words: tuple[str, ...] = ()
    opaque: bool = False  # a shell gets text that was not read
    lost: bool = False  # it uses files of which no word tells
    named: dict[str, None] = field(default_factory=dict)  # what a program that is not known may do anything with

    def rise(self, level: Level, reason: str) -> None:
        if LEVELS.index(level) > LEVELS.index(self.level):
            self.level, self.reason = level, reason
