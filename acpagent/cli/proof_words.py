"""Receipts in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from acpagent.core.bounds import one_line
from acpagent.core.evidence import Approval, Bundle, ChangedFile, CheckRun
from acpagent.runtime.evidence.receipts import Receipt

_COMMAND = 100
PROBLEMS = {
    "proof_damaged": "it has been changed or is damaged: {detail}",
    "proof_gap": "the receipt before it (number {detail}) is missing",
    "proof_missing": "a receipt of this session is missing; its seal was {detail}",
    "proof_renamed": "it is the receipt of {detail}, under another name",
    "proof_replaced": "the session remembers another seal: it has been replaced",
    "proof_unlinked": "number {detail} does not follow the receipt before it: one of the two has been replaced",
}
_REASONS = {
    "check_aborted": "it was ended before it finished",
    "check_failed_together": "the command line failed as a whole; which of its checks did is not known",
    "check_in_background": "it ran in the background, so that its end is not known",
    "check_masked": "the exit status of the line is not that of the check: a pipe, `|| true` or what follows hides it",
    "check_missing": "nothing was run that checks the changes",
    "check_not_found": "the program was not found",
    "check_ran_nothing": "it ran no test",
    "check_timed_out": "it took too long and was ended",
}
_CHECKS = {"passed": "passed", "failed": "failed", "skipped": "does not count", "not_run": "was not run"}
_DECISIONS = {
    "auto": "allowed by the settings, nobody was asked",
    "once": "allowed by you, this once",
    "session": "allowed by you for the session",
    "repo": "allowed by you for the repository",
    "full": "allowed by you, with full access from then on",
    "deny": "refused",
}
_CLAIMS = {
    "supported": "a check that passed shows it",
    "unsupported": "what it quotes did not pass",
    "unverified": "nothing that was run shows it",
}
_RISKS = {
    "risk_active_diagnostic": "a call failed and was not made good",
    "risk_failed_check": "a check failed",
    "risk_skipped_check": "a check counts for nothing",
    "risk_unknown_changed_files": "not all that was changed could be seen",
    "risk_unverified_changes": "there are changes that no check has seen",
}


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    style: str | None = None


def line(turn: str, session: str, receipt: Receipt | None) -> str:
    """A receipt in one line."""
    if receipt is None:
        return f"{turn}  damaged  {session}"
    bundle, diff = receipt.bundle, receipt.bundle.diff
    files = f"{diff.file_count} file{'s' * (diff.file_count != 1)} +{diff.added} -{diff.removed}"
    return f"{turn}  {bundle.created_at[:19]}  {status(bundle)}  {files}  {session}"


def status(bundle: Bundle) -> str:
    return bundle.status.replace("_", " ")


def explained(bundle: Bundle) -> Iterator[Line]:
    """A receipt in sentences."""
    yield Line(f"{bundle.turn_id} of session {bundle.session_id}, {bundle.created_at}: {status(bundle)}", "bold")
    yield from _part("Why", why(bundle))
    yield from _part("What was changed", [_file(file) for file in bundle.changed_files] or ["nothing"])
    yield from _part("What was checked", [_check(check) for check in bundle.checks] or ["nothing"])
    yield from _part("What was permitted", [_approval(one) for one in bundle.approvals] or ["nothing had to be"])
    if bundle.claims:
        signed = [f"{one_line(claim.claim, 300)}: {_CLAIMS[claim.status]}" for claim in bundle.claims]
        yield from _part("What was signed off", signed)
    if bundle.risks:
        yield from _part("What to know", list(dict.fromkeys(_RISKS.get(one.message, one.kind) for one in bundle.risks)))


def why(bundle: Bundle) -> list[str]:
    """Why the status is what it is."""
    if bundle.status == "blocked":
        return ["the work was reported as blocked"]
    reasons = _about_changes(bundle)
    wanting = [claim for claim in bundle.claims if claim.status != "supported"]
    if wanting:
        reasons.append(f"{len(wanting)} of {len(bundle.claims)} sign-offs are not shown by a check that passed")
    return reasons


def _about_changes(bundle: Bundle) -> list[str]:
    failed = [check for check in bundle.checks if check.status == "failed"]
    if not bundle.changed_files:
        return ["no file is other than before", *(f"{_check(check)}" for check in failed)]
    open_files = [file.path for file in bundle.changed_files if not file.verified]
    reasons = []
    if open_files:
        reasons.append(f"no check that passed has seen the last change of: {', '.join(open_files)}")
    else:
        reasons.append("a check that passed, or a reading of what is for readers, has seen each file as it is now")
    reasons += [_check(check) for check in bundle.checks if check.status in ("failed", "not_run")]
    return reasons


def _part(head: str, lines: list[str]) -> Iterator[Line]:
    yield Line(head, "bold")
    yield from (Line(f"  {text}") for text in lines)


def _file(file: ChangedFile) -> str:
    lines = f"+{file.added} -{file.removed}"
    if file.added is None:
        lines = "binary" if file.binary else "too large to count"
    name = file.path if file.old_path is None else f"{file.old_path} -> {file.path}"
    return f"{name}: {file.operation}, {lines}; {'checked' if file.verified else 'not checked'} as it is now"


def _check(check: CheckRun) -> str:
    command = f" `{one_line(check.command, _COMMAND)}`" if check.command else ""
    reason = f": {_REASONS.get(check.reason, check.reason)}" if check.reason else ""
    return f"{check.label}{command} {_CHECKS[check.status]}{reason}"


def _approval(one: Approval) -> str:
    rule = f" (rule {one.description})" if one.description else ""
    reason = f": {one.reason}" if one.reason else ""
    return f"{one.tool_name} `{one_line(one.approval_value, _COMMAND)}`: {_DECISIONS[one.decision]}{rule}{reason}"
