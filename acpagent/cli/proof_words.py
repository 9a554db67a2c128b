"""Receipts in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from acpagent.cli.spoken import say
from acpagent.core import catalogue
from acpagent.core.bounds import one_line
from acpagent.core.evidence import Approval, Bundle, ChangedFile, CheckRun
from acpagent.runtime.evidence.receipts import Receipt

_COMMAND = 100


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    style: str | None = None


def line(turn: str, session: str, receipt: Receipt | None) -> str:
    """A receipt in one line."""
    if receipt is None:
        return say("proof_damaged_line", turn=turn, session=session)
    bundle, diff = receipt.bundle, receipt.bundle.diff
    files = say("proof_files", count=diff.file_count, added=diff.added, removed=diff.removed)
    return f"{turn}  {bundle.created_at[:19]}  {status(bundle)}  {files}  {session}"


def status(bundle: Bundle) -> str:
    return say(f"evidence_{bundle.status}")


def explained(bundle: Bundle) -> Iterator[Line]:
    """A receipt in sentences."""
    facts = {"turn": bundle.turn_id, "session": bundle.session_id, "at": bundle.created_at, "status": status(bundle)}
    yield Line(say("proof_head", **facts), "bold")
    yield from _part(say("proof_why"), why(bundle))
    yield from _part(say("proof_changed"), [_file(file) for file in bundle.changed_files] or [say("proof_nothing")])
    yield from _part(say("proof_checked"), [_check(check) for check in bundle.checks] or [say("proof_nothing")])
    yield from _part(say("proof_permitted"), [_approval(one) for one in bundle.approvals] or [say("proof_nothing_had")])
    if bundle.claims:
        signed = [f"{one_line(claim.claim, 300)}: {say(f'proof_claim_{claim.status}')}" for claim in bundle.claims]
        yield from _part(say("proof_signed"), signed)
    if bundle.risks:
        yield from _part(say("proof_know"), list(dict.fromkeys(_risk(one.message, one.kind) for one in bundle.risks)))


def why(bundle: Bundle) -> list[str]:
    """Why the status is what it is."""
    if bundle.status == "blocked":
        return [say("proof_blocked")]
    reasons = _about_changes(bundle)
    wanting = [claim for claim in bundle.claims if claim.status != "supported"]
    if wanting:
        reasons.append(say("proof_wanting", count=len(wanting), of=len(bundle.claims)))
    return reasons


def _about_changes(bundle: Bundle) -> list[str]:
    failed = [check for check in bundle.checks if check.status == "failed"]
    if not bundle.changed_files:
        return [say("proof_same"), *(f"{_check(check)}" for check in failed)]
    open_files = [file.path for file in bundle.changed_files if not file.verified]
    reasons = []
    if open_files:
        reasons.append(say("proof_unseen", files=", ".join(open_files)))
    else:
        reasons.append(say("proof_seen"))
    reasons += [_check(check) for check in bundle.checks if check.status in ("failed", "not_run")]
    return reasons


def _part(head: str, lines: list[str]) -> Iterator[Line]:
    yield Line(head, "bold")
    yield from (Line(f"  {text}") for text in lines)


def _file(file: ChangedFile) -> str:
    lines = f"+{file.added} -{file.removed}"
    if file.added is None:
        lines = say("evidence_lines_binary" if file.binary else "evidence_lines_uncounted")
    name = file.path if file.old_path is None else f"{file.old_path} -> {file.path}"
    code = "proof_file_checked" if file.verified else "proof_file_unchecked"
    return say(code, name=name, what=say(f"proof_file_{file.operation}"), lines=lines)


def _check(check: CheckRun) -> str:
    command = f" `{one_line(check.command, _COMMAND)}`" if check.command else ""
    reason = f": {_reason(check.reason)}" if check.reason else ""
    label = say(f"evidence_check_{check.verification_kind or 'missing'}")
    return f"{label}{command} {say(f'proof_check_{check.status}')}{reason}"


def _approval(one: Approval) -> str:
    rule = f" ({say('proof_rule', rule=one.description)})" if one.description else ""
    reason = f": {one.reason}" if one.reason else ""
    asked = f"{one.tool_name} `{one_line(one.approval_value, _COMMAND)}`"
    return f"{asked}: {say(f'proof_decision_{one.decision}')}{rule}{reason}"


def _reason(code: str) -> str:
    return say(f"proof_{code}") if catalogue.knows(f"proof_{code}") else code


def _risk(code: str, kind: str) -> str:
    return say(code) if catalogue.knows(code) else kind
