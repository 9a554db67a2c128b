"""The goal of a session: what its history says of it, and what counts as progress towards it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace

from acpagent.core.history import CallMade, CallSettled, Entry, GoalSet, PlanSet, Tombstone
from acpagent.core.toolcalls import PlanEntry

# Calls that keep books about the work and are none.
BOOKKEEPING = frozenset({"update_goal", "todo_write"})
OPEN_PHASES = frozenset({"brief", "working"})


class Goals:
    """The fold, fed entry by entry by the session worker. `current`, the goal that is not ended, changes under the
    session lock, because the person can leave the mode at any moment; so does `pursued`: whether a turn works on it.
    A goal that no turn works on is paused and waits for a prompt.
    """

    def __init__(self) -> None:
        self.current: GoalSet | None = None
        self.pursued = False
        self.progressed = False
        self._began_in = ""
        self._plan: tuple[PlanEntry, ...] = ()
        self._open_calls: dict[str, bytes] = {}
        self._done: set[bytes] = set()

    def feed(self, entries: Iterable[Entry]) -> None:
        """Take entries in the order they happened; with the session lock held for a `GoalSet`."""
        for entry in entries:
            if isinstance(entry, GoalSet):
                self._set(entry)
            elif isinstance(entry, CallMade):
                if entry.name not in BOOKKEEPING:
                    self._open_calls[entry.call_id] = _digest(entry)
            elif isinstance(entry, CallSettled):
                self._settle(entry)
            elif isinstance(entry, PlanSet):
                self._keep_plan(entry.entries)
            elif isinstance(entry, Tombstone) and self.current is not None and entry.turn_id == self._began_in:
                self.current = None  # the prompt that was its objective leaves no trace

    def follow(self, mode: str) -> GoalSet | None:
        """The person set the mode, perhaps to what it was. A goal that this ends, by another mode or by arming a new
        one while it is paused, as the entry that says so. Under the session lock."""
        goal = self.current
        if goal is None or (mode == "goal" and self.pursued):
            return None
        self.current = None
        return replace(goal, phase="stopped")

    def unfinished(self) -> list[str]:
        """The entries of the todo list that are still open."""
        return [entry.content for entry in self._plan if entry.status != "completed"]

    def take_progress(self) -> bool:
        """Whether something came of the work since this was asked last: a call succeeded that did not succeed before,
        letter by letter, or an entry of the todo list was completed."""
        progressed, self.progressed = self.progressed, False
        return progressed

    def _set(self, entry: GoalSet) -> None:
        known = self.current is not None and self.current.goal_id == entry.goal_id
        if entry.phase in OPEN_PHASES:
            if not known:
                self._began_in, self._done, self.progressed = entry.turn_id, set(), False
            self.current = entry
        elif known:
            self.current = None

    def _settle(self, entry: CallSettled) -> None:
        digest = self._open_calls.pop(entry.call.id, None)
        if digest is None or entry.call.status != "completed" or digest in self._done:
            return
        self.progressed = True
        self._done.add(digest)

    def _keep_plan(self, entries: tuple[PlanEntry, ...]) -> None:
        open_before = set(self.unfinished())
        if any(entry.status == "completed" and entry.content in open_before for entry in entries):
            self.progressed = True
        self._plan = entries


def _digest(made: CallMade) -> bytes:
    """What makes two calls the same, however their arguments are spaced or ordered."""
    try:
        arguments = json.dumps(json.loads(made.arguments), sort_keys=True)
    except (ValueError, RecursionError):
        arguments = made.arguments
    return hashlib.sha256(f"{made.name}\0{arguments}".encode("utf-8", "surrogatepass")).digest()
