"""What a command line would do, as far as its text tells: one step per simple command and per writing redirection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from acpagent.core.paths import Roots
from acpagent.core.shellparse import Script

Level = Literal["reads", "acts", "reaches"]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing a command line does.

    `level`: `reads` does nothing but read inside the roots; `acts` does things but, as far as static text tells, stays
    inside the roots and off the network; `reaches` is everything else. `reason` is why, in words for a person.
    `reads` and `writes` are resolved paths (a directory stands for all that is in it). `words` are the words of the
    command that is judged (of the inner one where a wrapper such as `timeout` is taken off), empty for redirections;
    words that are not static stand as written. `prefix` are the words of a rule `Bash(npm test:*)` that is safe to
    grant for it, None if none is: a prefix rule may only cover steps that have a `prefix`.
    """

    level: Level
    reason: str = ""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    prefix: tuple[str, ...] | None = None
    hosts: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def weigh(script: Script, roots: Roots, cwd: str, home: str) -> tuple[Step, ...]:
    """The steps of a command line that would run in `cwd`. The worst of them says what the whole is."""
    return (Step("reaches", "it was not read"),)
