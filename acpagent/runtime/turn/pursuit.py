"""The pursuit of a goal in one prompt: a brief, then round after round, until an end that the history keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from acpagent.core.bounds import one_line
from acpagent.core.events import Notice
from acpagent.core.faults import Fault
from acpagent.core.history import Entry, GoalPhase, GoalSet
from acpagent.core.toolcalls import GoalReport, ToolRefusal
from acpagent.runtime.turn import words
from acpagent.runtime.turn.goal import Goals
from acpagent.runtime.turn.hostcall import HostCalls
from acpagent.runtime.turn.mode import GOAL, Mode
from acpagent.runtime.turn.speaker import new_id
from acpagent.runtime.turn.stop import STOPS, End, leaves_no_trace

TOOL = "start_goal"
OBJECTIVE_CHARACTERS = 4000
REASON_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class Bounds:
    """`calls`: model calls in one prompt; `idle_rounds`: rounds in a row without progress; `tokens` of the session,
    None for no limit."""

    calls: int
    idle_rounds: int
    tokens: int | None


@dataclass(frozen=True, slots=True)
class Spent:
    """Model calls of this prompt, tokens of the session."""

    calls: int
    tokens: int


@dataclass(slots=True)
class Pursuit:
    """A follow-up, made for a turn that begins in goal mode. Runs on the session worker but for `report`. The goal is
    changed under the session lock, by `record`, which feeds `goals`. `spent_up`: why the session's budget allows no
    more, None where it does."""

    turn_id: str
    goals: Goals
    mode: Mode
    approval: Callable[[], str]
    calls: HostCalls
    record: Callable[[Entry], None]
    tell: Callable[[Notice], None]
    spent: Callable[[], Spent]
    bounds: Bounds
    spent_up: Callable[[], Notice | None] = lambda: None
    _goal_id: str = ""
    _report: GoalReport | None = None
    _idle: int = 0
    _told: bool = False

    def begin(self, objective: str) -> tuple[str, tuple[Notice, ...]]:
        """Take up the paused goal, or make one of the person's words; what the model is told before them, and what the
        person is. Empty if the person has left the mode by now."""
        with self.mode.lock:
            if self.mode.read() != GOAL:
                return "", ()
            goal = self.goals.current
            if goal is None:
                self.record(GoalSet(self.turn_id, new_id("goal"), objective[:OBJECTIVE_CHARACTERS], "brief"))
                assert self.goals.current is not None
                self._goal_id, self.goals.pursued = self.goals.current.goal_id, True
                return words.GOAL, ()
            self._goal_id, self.goals.pursued = goal.goal_id, True
        self.goals.take_progress()
        told = Notice("info", "goal_resumed", {"objective": words.short(goal.objective), "rounds": goal.rounds})
        return words.resumed(goal.objective, goal.phase == "working"), (told,)

    def report(self, report: GoalReport) -> str:
        """What the model says of the goal by its tool, on a tool helper thread; the answer to it. The last report
        before the model stops counts. Raises `ToolRefusal`."""
        with self.mode.lock:
            goal, self._report = self._goal(), None
            if goal is None:
                raise ToolRefusal(words.NO_GOAL)
            if report.status == "complete" and goal.phase == "brief":
                raise ToolRefusal(words.BRIEF_FIRST)
            if report.status == "complete" and (left := self.goals.unfinished()):
                raise ToolRefusal(words.unfinished(left))
            self._report = report
        return words.REPORTED[report.status]

    def after(self, text: str) -> str | None:
        """The model stopped: the goal ends, pauses, or goes on with what this says."""
        with self.mode.lock:
            goal = self._goal()
            report, self._report = self._report, None
        if goal is None:
            return None
        if report is not None and report.status == "blocked":
            reason = one_line(report.note, REASON_CHARACTERS) or "?"
            return self._end(goal, "blocked", Notice("warning", "goal_blocked", {"reason": reason}))
        if goal.phase == "brief":
            return self._after_brief(goal, text)
        return self._after_round(goal, report)

    def close(self, end: End, fault: Fault | None) -> None:
        """The turn is over. A cancel stops the goal; what else ends a turn early leaves it paused, and if that was the
        one that began it, no trace of it where the turn leaves none."""
        if not self._goal_id:
            return
        with self.mode.lock:
            self.goals.pursued = False
            if fault is None and end == "cancelled":
                self.mode.leave(GOAL)  # a session that closes takes no change: its goal is there when it is loaded
            goal = self._goal()
        if self._told or leaves_no_trace(None if fault else STOPS[end], fault):
            return
        if goal is None:
            self.tell(Notice("info", "goal_stopped"))
        elif fault is not None or end != "finished":
            self.tell(Notice("info", "goal_paused"))

    def _goal(self) -> GoalSet | None:
        """The goal of this turn while it is pursued. Under the session lock."""
        goal = self.goals.current
        pursued = goal is not None and goal.goal_id == self._goal_id and self.mode.read() == GOAL
        return goal if pursued else None

    def _after_brief(self, goal: GoalSet, text: str) -> str | None:
        if not text.strip():
            self._idle += 1
            return words.NO_BRIEF if self._idle < self.bounds.idle_rounds else self._stall(goal)
        if self.approval() == "ask":
            said = self.calls.ask(TOOL, text)
            if said == "deny":
                return self._end(goal, "stopped", Notice("info", "goal_refused"))
            if said == "nobody":
                return self._pause(Notice("warning", "goal_unanswered"))
        else:
            self.tell(Notice("info", "goal_accepted", {"approval": self.approval()}))
        if not self._advance(goal, "working"):
            return None
        self._idle = 0
        self.goals.take_progress()  # what was read for the brief is no work
        return words.accepted(self._budget())

    def _after_round(self, goal: GoalSet, report: GoalReport | None) -> str | None:
        self._idle = 0 if self.goals.take_progress() else self._idle + 1
        left = self.goals.unfinished()
        if report is not None and report.status == "complete" and not left:
            return self._end(goal, "complete", Notice("info", "goal_complete", {"rounds": goal.rounds}))
        spent = self.spent()
        if (told := self.spent_up()) is not None:
            self.tell(told)
            return self._pause(Notice("info", "goal_paused"))
        if self._idle >= self.bounds.idle_rounds:
            return self._stall(goal)
        if spent.calls < self.bounds.calls and not self._advance(goal, "working"):
            return None  # without a call left no round begins; the loop ends by its limit
        return words.next_round(goal.rounds + 1, goal.objective, self._budget(), self._notes(report, left))

    def _notes(self, report: GoalReport | None, left: list[str]) -> list[str]:
        notes = []
        if report is not None and report.status == "complete":
            notes.append(words.unfinished(left))
        elif report is not None and report.note:
            notes.append(words.intended(report.note))
        if self._idle:
            notes.append(words.idle(self._idle, self.bounds.idle_rounds))
        return notes

    def _advance(self, goal: GoalSet, phase: GoalPhase) -> bool:
        """Begin the next round, unless the person has left the mode."""
        with self.mode.lock:
            if self._goal() is None:
                return False
            self.record(replace(goal, turn_id=self.turn_id, phase=phase, rounds=goal.rounds + 1))
        spent, bounds = self.spent(), self.bounds
        params = {"round": goal.rounds + 1, "calls": max(0, bounds.calls - spent.calls), "limit": bounds.calls}
        if bounds.tokens is None:
            self.tell(Notice("info", "goal_round", params))
        else:
            params |= {"tokens": max(0, bounds.tokens - spent.tokens), "token_limit": bounds.tokens}
            self.tell(Notice("info", "goal_round_tokens", params))
        return True

    def _end(self, goal: GoalSet, phase: GoalPhase, notice: Notice) -> str | None:
        """The goal is over, and with it the mode, before the prompt is answered: nothing more is said to the model."""
        with self.mode.lock:
            if self._goal() is None:
                return None
            self.record(replace(goal, turn_id=self.turn_id, phase=phase))
            self.mode.leave(GOAL)
        return self._pause(notice)

    def _stall(self, goal: GoalSet) -> str | None:
        return self._end(goal, "stopped", Notice("warning", "goal_stalled", {"rounds": self._idle}))

    def _pause(self, notice: Notice) -> str | None:
        self._told = True
        self.tell(notice)
        return None

    def _budget(self) -> str:
        spent, bounds = self.spent(), self.bounds
        tokens = None if bounds.tokens is None else max(0, bounds.tokens - spent.tokens)
        return words.budget(max(0, bounds.calls - spent.calls), tokens)
