"""The mode of a session as its turns see it: normal, plan or goal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from acpagent.core.history import Entry, GoalSet, HostSaid, UserSaid
from acpagent.runtime.turn import words

NORMAL, PLAN, GOAL = "normal", "plan", "goal"


def read_only(mode: str, goal: GoalSet | None) -> bool:
    """Whether a session may change nothing: while it plans, and in goal mode until the brief is accepted. `goal` is the
    one that is not ended, if there is one; without it the mode is armed and waits for a prompt."""
    return mode == PLAN or (mode == GOAL and (goal is None or goal.phase == "brief"))


@dataclass(frozen=True, slots=True)
class Mode:
    """What a turn may do with the mode, which the person can change at any moment under `lock`, the session's."""

    lock: threading.RLock
    read: Callable[[], str]
    change: Callable[[str], None]

    def leave(self, mode: str) -> None:
        """Back to normal, unless the person has left it already."""
        with self.lock:
            if self.read() == mode:
                self.change(NORMAL)


class ToldMode:
    """What the model was last told of the mode: who was told to change nothing must hear that this is over."""

    def __init__(self) -> None:
        self.mode = NORMAL

    def feed(self, entries: Iterable[Entry]) -> None:
        """Take entries in the order they happened."""
        for entry in entries:
            if isinstance(entry, UserSaid | HostSaid):
                self.mode = next((mode for mark, mode in _MARKS.items() if mark in entry.text), self.mode)
            elif isinstance(entry, GoalSet) and entry.phase in ("complete", "blocked"):
                self.mode = NORMAL


_MARKS = {words.PLAN_HEAD: PLAN, words.GOAL_HEAD: GOAL, words.OFF_HEAD: NORMAL, words.APPROVED_HEAD: NORMAL}


def marker(mode: str, told: str) -> str:
    """What comes before the person's words in a prompt, or nothing. The goal has more to say (`pursuit.Pursuit`)."""
    if mode == PLAN:
        return words.PLAN
    return words.off(told) if mode == NORMAL and told != NORMAL else ""
