"""Plan mode at the end of the model's work: its last words are the plan, and the person decides about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from acpagent.core.events import Notice
from acpagent.runtime.turn import words
from acpagent.runtime.turn.hostcall import HostCalls
from acpagent.runtime.turn.mode import NORMAL, PLAN, Mode

TOOL = "exit_plan_mode"


@dataclass(frozen=True, slots=True)
class PlanApproval:
    """A follow-up. The question is asked in every approval mode: a plan is never approved by itself."""

    mode: Mode
    calls: HostCalls
    tell: Callable[[Notice], None]

    def after(self, text: str) -> str | None:
        """Put the plan to the person. A yes leaves plan mode and goes on in the same prompt; anything else stays."""
        if self.mode.read() != PLAN or not text.strip():
            return None
        said = self.calls.ask(TOOL, text)
        if said == "nobody":
            self.tell(Notice("warning", "plan_unanswered"))
        if said != "once":
            return None
        self.mode.leave(PLAN)
        return words.APPROVED if self.mode.read() == NORMAL else None
