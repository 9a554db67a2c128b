"""What a check of `acpagent doctor` finds, and what all checks are given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from acpagent.cli.spoken import spoken
from acpagent.config.settings import Settings

Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line. `advice` says what to do; whatever is not `ok` has some."""

    level: Level
    subject: str
    text: str
    advice: str = ""


@dataclass(slots=True)
class Case:
    """What is looked at. `settings` is None as long as no check has read them, and where they cannot be used.

    `trace` names the file for the trace of the agent that is started; `stderr` is what that said.
    """

    home: str
    offline: bool = False
    trace: str | None = None
    settings: Settings | None = None
    stderr: str = ""


class Check(Protocol):
    def __call__(self, case: Case) -> Iterator[Finding]: ...


def ok(subject: str, text: str) -> Finding:
    return Finding("ok", subject, spoken(text))


def warn(subject: str, text: str, advice: str) -> Finding:
    return Finding("warn", subject, spoken(text), spoken(advice))


def fail(subject: str, text: str, advice: str) -> Finding:
    return Finding("fail", subject, spoken(text), spoken(advice))
