"""Putting the evidence of a turn together, from the ledger, the account of the turn, and what stands of both."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from acpagent.core import bounds
from acpagent.core.blocks import Text
from acpagent.core.events import Usage
from acpagent.core.evidence import (
    Approval,
    Bundle,
    ChangedFile,
    CheckRun,
    Claim,
    CommandStatus,
    DiffTotals,
    Metrics,
    RanCommand,
    Reference,
    ReviewAction,
)
from acpagent.core.history import CallSettled, Permitted
from acpagent.core.paths import Roots
from acpagent.core.toolcalls import ToolCall
from acpagent.runtime.evidence import ledger as ledgers
from acpagent.runtime.evidence import status as statuses
from acpagent.runtime.evidence.account import Account
from acpagent.runtime.evidence.ledger import SHELL_TOOL, SIGN_OFF_TOOL, Ledger, Ran

COMMAND_CHARACTERS, SUMMARY_CHARACTERS, PREVIEW_CHARACTERS = 2000, 500, 500
READ_CHARACTERS = 16_384  # of what is shortened
MOST_ROWS = 200
# What a person said to a question, and what stands for a refusal without one.
_ALLOWED = frozenset({"once", "session", "repo", "full"})
_WENT: dict[str, Literal["success", "failure"]] = {"passed": "success", "failed": "failure"}


@dataclass(frozen=True, slots=True)
class Session:
    """What a bundle says of where it comes from. `hide` takes secrets out of a text; what is cut is hidden before,
    for half of a secret looks like none. `running` are the jobs that run."""

    id: str
    roots: Roots
    now: Callable[[], str]
    hide: Callable[[str], str] = lambda text: text
    running: frozenset[str] = frozenset()

    def line(self, text: str, most: int) -> str:
        """A text in one line."""
        return bounds.one_line(self.hide(text[:READ_CHARACTERS]), most)

    def start(self, text: str, most: int) -> str:
        """The beginning of a text."""
        return self.hide(text[:READ_CHARACTERS])[:most]


def assemble(account: Account, ledger: Ledger, session: Session, usage: Usage) -> Bundle | None:
    """The evidence of the turn; None for one that neither changed nor checked anything."""
    ledger.read(session.roots)
    calls = {entry.call.id for entry in account.settled}
    ran = [run for run in ledger.ran if run.call_id in calls]
    mutated = [entry for entry in account.settled if _changed(entry.call, account)]
    started = _jobs(account.settled, started=True)
    if not mutated and not ran and account.complete and session.running.isdisjoint(started):
        return None
    files = _files(account, ledger, session.roots)
    standing = statuses.standing(ran, ledger.changes)
    checks = _checks(standing, files, ledger, session)
    claims = _claims(account.settled, ledger, session)
    diagnostics = _diagnostics(account.settled, ran)
    unseen_jobs = {job for job in _jobs(account.settled) if job in session.running or job not in started}
    complete = account.complete and not unseen_jobs
    risks = statuses.risks(tuple(files.values()), checks, diagnostics, complete)
    counts = any(run.status in ("passed", "failed") and _saw(run, files, ledger) for run in standing)
    return Bundle(
        session_id=session.id,
        turn_id=account.turn_id,
        status=statuses.status(
            tuple(files.values()),
            checks,
            risks,
            claims,
            counts,
            account.blocked,
            ledger.blind() or (not files and not ran and not complete),
        ),
        created_at=session.now(),
        summary=session.line(account.last_words, SUMMARY_CHARACTERS),
        changed_files=tuple(files.values())[:MOST_ROWS],
        diff=_totals(tuple(files.values())),
        commands=_commands(account.settled, ran, session),
        checks=checks,
        approvals=_approvals(account, session)[:MOST_ROWS],
        claims=claims,
        risks=risks,
        review_actions=_reviews(account, session.roots),
        evidence=_references(account, ran, diagnostics, ledger)[:MOST_ROWS],
        metrics=Metrics(account.model_calls, usage.input, usage.output),
    )


def _changed(call: ToolCall, account: Account) -> list[str]:
    """The files that a call, or the job that it started, was seen to change."""
    return list(dict.fromkeys([*ledgers.changed_paths(call), *account.paths(call.id)]))


def _jobs(settled: Sequence[CallSettled], started: bool = False) -> set[str]:
    """The jobs that the calls were about, or those alone that they started."""
    calls = [entry.call for entry in settled if "job_id" in entry.call.facts]
    return {str(call.facts["job_id"]) for call in calls if not started or call.name == SHELL_TOOL}


def _files(account: Account, ledger: Ledger, roots: Roots) -> dict[str, ChangedFile]:
    found = account.files(roots)
    return {path: replace(file, verified=ledger.verified(path)) for path, file in found.items()}


def _saw(run: Ran, files: dict[str, ChangedFile], ledger: Ledger) -> bool:
    return any(run.covers >= ledger.changed_at(path) for path in files)


def _totals(files: Sequence[ChangedFile]) -> DiffTotals:
    return DiffTotals(
        len(files),
        sum(file.added or 0 for file in files),
        sum(file.removed or 0 for file in files),
        len(files) > MOST_ROWS or any(file.added is None for file in files),
    )


def _checks(
    standing: Sequence[Ran], files: dict[str, ChangedFile], ledger: Ledger, session: Session
) -> tuple[CheckRun, ...]:
    """The reading of what is for readers is a check, too; and where nothing checked what was changed, one that was not
    run."""
    found = [
        CheckRun(
            f"check_{number}",
            statuses.LABELS[run.check.kind],
            run.status,
            run.check.kind,
            f"cmd_{run.call_id}",
            session.line(run.check.command, COMMAND_CHARACTERS),
            run.reason,
        )
        for number, run in enumerate(standing, 1)
    ]
    for kind in sorted({how for path in files if (how := ledger.inspected(path)) is not None}):
        found.append(CheckRun(f"check_{len(found) + 1}", statuses.INSPECTIONS[kind], "passed", kind))
    if not found and any(not file.verified for file in files.values()):
        found.append(CheckRun("check_1", "Command verification", "not_run", reason="check_missing"))
    return tuple(found)


def _commands(settled: Sequence[CallSettled], ran: Sequence[Ran], session: Session) -> tuple[RanCommand, ...]:
    kinds = {run.call_id: run.check.kind for run in reversed(ran)}
    lines = [entry for entry in settled if _line(entry.call) is not None]
    return tuple(_command(entry, kinds.get(entry.call.id), session) for entry in lines[:MOST_ROWS])


def _command(entry: CallSettled, kind: str | None, session: Session) -> RanCommand:
    call, facts = entry.call, entry.call.facts
    return RanCommand(
        id=f"cmd_{call.id}",
        command=session.start(_line(call) or "", COMMAND_CHARACTERS),
        status=_ended(call, session.running),
        tool_call_id=call.id,
        exit_code=facts.get("exit_code"),
        duration_ms=facts.get("duration_ms"),
        verification_kind=kind,
        output_digest="sha256:" + hashlib.sha256(entry.text.encode("utf-8", "surrogatepass")).hexdigest(),
        output_preview=session.line(_shown(entry), PREVIEW_CHARACTERS),
    )


def _shown(entry: CallSettled) -> str:
    """What the person saw of a call; what hooks add to it is for the model alone."""
    return "\n".join(item.text for item in entry.call.content if isinstance(item, Text)) or entry.text


def _line(call: ToolCall) -> str | None:
    if call.name != SHELL_TOOL or not isinstance(call.raw_input, dict):
        return None
    line = call.raw_input.get("command")
    return line if isinstance(line, str) else None


def _ended(call: ToolCall, running: frozenset[str]) -> CommandStatus:
    if "exit_code" not in call.facts:
        if "job_id" not in call.facts or call.status != "completed":
            return "skipped"
        return "running" if call.facts["job_id"] in running else "unknown"
    return "passed" if call.facts["exit_code"] == 0 and call.status == "completed" else "failed"


def _approvals(account: Account, session: Session) -> tuple[Approval, ...]:
    """Every question, every refusal without one, and what acted without anybody being asked."""
    found = {row.call_id: _approval(row, session) for row in account.permitted}
    for entry in account.settled:
        call = entry.call
        acted = ledgers.changed_paths(call) or "exit_code" in call.facts or "job_id" in call.facts
        if acted and call.id not in found:
            line = _line(call)
            value = call.title if line is None else line
            found[call.id] = Approval(
                call.id,
                call.name,
                "auto",
                True,
                "tool" if line is None else "command",
                session.start(value, COMMAND_CHARACTERS),
            )
    return tuple(found.values())


def _approval(row: Permitted, session: Session) -> Approval:
    allowed = row.outcome in _ALLOWED
    return Approval(
        tool_call_id=row.call_id,
        tool_name=row.tool,
        decision=row.outcome if allowed else "deny",
        approved=allowed,
        approval_kind="command" if row.tool == SHELL_TOOL else "tool",
        approval_value=session.start(row.subject, COMMAND_CHARACTERS),
        description=row.rule,
        reason=row.reason or ("" if row.outcome in (*_ALLOWED, "deny") else row.outcome),
    )


def _reviews(account: Account, roots: Roots) -> tuple[ReviewAction, ...]:
    """What the person decided about files that were to be changed."""
    kinds = {entry.call.id: entry.call.kind for entry in account.settled}
    found = list[ReviewAction]()
    for row in account.permitted:
        if kinds.get(row.call_id) in ("edit", "delete", "move") and row.outcome in (*_ALLOWED, "deny"):
            number = f"review_action_{len(found) + 1:04}"
            accepted = row.outcome in _ALLOWED
            found.append(
                ReviewAction(number, "accept_file" if accepted else "reject_file", "recorded", "user", row.subject)
            )
    return tuple(found)


def _claims(settled: Sequence[CallSettled], ledger: Ledger, session: Session) -> tuple[Claim, ...]:
    """What was signed off, against the checks that passed after the last change before it."""
    found: list[Claim] = []
    for entry in settled:
        if entry.call.name == SIGN_OFF_TOOL and entry.call.status == "completed":
            words = "\n".join(ledgers.listed(entry.call.raw_output, "evidence"))
            runs = [run for run in ledger.ran if ledgers.quotes_line(words, run.check.command, run.line)]
            proofs = tuple(f"ev_verification_{run.call_id}" for run in runs if run.status == "passed")
            found.append(
                Claim(
                    f"claim_{len(found) + 1}",
                    session.line(_claim(entry.call.raw_input), SUMMARY_CHARACTERS),
                    "supported" if proofs else "unsupported" if runs else "unverified",
                    tuple(dict.fromkeys(proofs)),
                )
            )
    return tuple(found)


def _claim(raw: Any) -> str:
    if not isinstance(raw, dict):
        return ""
    return ": ".join(str(raw[name]) for name in ("step", "result") if raw.get(name))


def _diagnostics(settled: Sequence[CallSettled], ran: Sequence[Ran]) -> list[str]:
    """Failed calls that no later success of the same tool makes good; checks have rows of their own."""
    checked, open_ones = {run.call_id for run in ran}, dict[str, str]()
    for entry in settled:
        call = entry.call
        if call.status == "completed":
            open_ones.pop(call.name, None)
        elif call.id not in checked:
            open_ones[call.name] = f"ev_diagnostic_{call.id}"
    return list(open_ones.values())


def _references(
    account: Account, ran: Sequence[Ran], diagnostics: Sequence[str], ledger: Ledger
) -> tuple[Reference, ...]:
    runs, found = {run.call_id: run for run in ran}, list[Reference]()
    for entry in account.settled:
        call = entry.call
        paths = _changed(call, account)
        if paths:
            fine = all(ledger.verified(path) for path in paths)
            found.append(Reference(f"ev_mutation_{call.id}", "mutation", "success" if fine else "unverified", call.id))
        if call.id in runs and runs[call.id].status in _WENT:
            went = _WENT[runs[call.id].status]
            found.append(Reference(f"ev_verification_{call.id}", "verification", went, call.id))
        elif call.kind == "read" and call.status == "completed":
            found.append(Reference(f"ev_inspect_{call.id}", "inspect", "success", call.id))
        if call.status == "failed" and call.id not in runs:
            id = f"ev_diagnostic_{call.id}"
            found.append(Reference(id, "diagnostic", "active" if id in diagnostics else "resolved", call.id))
    return tuple(found)
