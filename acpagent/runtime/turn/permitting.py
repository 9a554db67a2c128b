"""Permission for one call: the gate's verdict, the question to the person, and the receipt of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from acpagent.core import bounds
from acpagent.core.catalogue import Phrase
from acpagent.core.events import Notice
from acpagent.core.history import Entry, Permitted
from acpagent.core.host import Choice, Decision, Host, PermissionAsk
from acpagent.core.scope import Cancelled, Scope
from acpagent.core.toolcalls import Proposal, Tool, ToolCall, ToolResult

BARRED = "plan_mode_blocked"  # the fact of a result that the mode refused
_SUBJECT_BYTES = 4000


class Verdict(Protocol):
    """What the gate says of a proposal."""

    @property
    def action(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def rule(self) -> str: ...
    @property
    def choices(self) -> tuple[Choice, ...]: ...
    @property
    def barred(self) -> bool: ...
    @property
    def argv(self) -> tuple[str, ...]: ...


class Gate(Protocol):
    """Judges proposals; one per session."""

    def judge(self, tool_name: str, proposal: Proposal) -> Verdict: ...
    def barred(self, tool: Tool, proposal: Proposal) -> str:
        """Why a call must not act after all, looked at right before it does; or nothing."""

    def grant_session(self, rule: str) -> None: ...
    def grant_repository(self, rule: str) -> None:
        """Returns once it is stored. Raises `Fault`."""


@dataclass(frozen=True, slots=True)
class Stricter:
    """The verdict of a hook or a plugin, which keeps back more than the gate does. Nothing of it can be remembered."""

    reason: str
    argv: tuple[str, ...]
    action: str = "ask"
    rule: str = ""
    choices: tuple[Choice, ...] = ("deny", "once")
    barred: bool = False


@dataclass(frozen=True, slots=True)
class Permitting:
    """Asks for the calls of one turn, on the session worker. `allow_everything` makes the session yolo."""

    turn_id: str
    scope: Scope
    host: Host
    gate: Gate
    record: Callable[[Entry], None]
    tell: Callable[[Notice], None]
    allow_everything: Callable[[], None]

    def denied(self, call: ToolCall, subject: str, verdict: Verdict) -> ToolResult:
        """The result of a call that the gate refuses."""
        if verdict.barred:
            return self.barred(call, subject, verdict.reason)
        self._keep(call, subject, "refused", verdict)
        return ToolResult(Phrase("call_not_allowed", reason=verdict.reason), failed=True)

    def barred(self, call: ToolCall, subject: str, reason: str) -> ToolResult:
        """The result of a call that the mode refuses."""
        self.record(Permitted(self.turn_id, call.id, call.name, _cut(subject), "barred"))
        return ToolResult(reason, failed=True, facts={BARRED: True})

    def stopped(self, call: ToolCall, subject: str, reason: str) -> ToolResult:
        """The result of a call that a hook refuses."""
        self.record(Permitted(self.turn_id, call.id, call.name, _cut(subject), "hook", reason=reason))
        return ToolResult(Phrase("call_hook_refuses", reason=reason), failed=True)

    def ask(self, call: ToolCall, subject: str, verdict: Verdict, cwd: str) -> ToolResult | None:
        """Put a call to the person and wait as long as it takes; None if it may run. Anything but an offered yes is a
        no (PERM-06).

        Raises `Cancelled` if the turn is, or the person closes the question (PERM-05); `Fault` if the yes cannot be
        stored.
        """
        asked_at = time.monotonic()
        question = PermissionAsk(call, verdict.choices, verdict.rule, verdict.reason, verdict.argv, cwd)
        try:
            decision = self.host.permit(question, self.scope)
        except Cancelled:
            decision = Decision(None, cancelled=True)
        choice = decision.choice if decision.choice in verdict.choices else None
        outcome = "cancelled" if decision.cancelled else choice or "nobody"
        self._keep(call, subject, outcome, verdict, round((time.monotonic() - asked_at) * 1000))
        if decision.cancelled:
            raise Cancelled
        if choice is None or choice == "deny":
            return ToolResult(Phrase("call_refused" if choice else "call_unanswered"), failed=True)
        self._remember(choice, verdict.rule)
        return None

    def overtaken(self, call: ToolCall, subject: str, before: Verdict, after: Verdict) -> ToolResult | None:
        """Whether a yes still speaks of the call: a question may be open for minutes, in which links, rules and files
        change. What the mode refuses is looked at right before the call acts."""
        if after.action == "allow" or after.barred:
            return None
        if after.action == "ask" and before.action == "ask" and before.reason == after.reason:
            return None
        self._keep(call, subject, "refused", after)
        return ToolResult(Phrase("call_overtaken", reason=after.reason), failed=True)

    def _remember(self, choice: Choice, rule: str) -> None:
        if choice == "session":
            self.gate.grant_session(rule)
        elif choice == "repo":
            self.gate.grant_repository(rule)
        elif choice == "full":
            self.allow_everything()
            self.tell(Notice("warning", "approval_yolo"))

    def _keep(self, call: ToolCall, subject: str, outcome: str, verdict: Verdict, waited_ms: int = 0) -> None:
        argv, rule, reason = verdict.argv, verdict.rule, verdict.reason
        self.record(Permitted(self.turn_id, call.id, call.name, _cut(subject), outcome, argv, rule, reason, waited_ms))


def _cut(subject: str) -> str:
    return bounds.cut(subject, _SUBJECT_BYTES).text
