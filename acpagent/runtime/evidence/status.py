"""What the evidence of a turn comes to: which checks still stand, how far the work is verified, and what is at risk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from acpagent.core.evidence import ChangedFile, CheckRun, Claim, Risk, Severity, Status
from acpagent.runtime.evidence.ledger import Ran

LABELS = {"test": "Tests", "lint": "Lint", "typecheck": "Typecheck", "build": "Build"}
INSPECTIONS = {"diff_inspection": "Diff inspection", "manual_inspection": "Manual inspection"}


def standing(ran: Sequence[Ran], changes: Iterable[int] = ()) -> list[Ran]:
    """The checks that count: of one that was run again only the last run; and one that did not pass only as long as no
    other of its kind did, if it failed with something changed in between: `changes` are the times of all changes."""
    times = sorted(changes)
    last = {run.check.key: position for position, run in enumerate(ran)}
    return [
        run
        for position, run in enumerate(ran)
        if last[run.check.key] == position and not any(_makes_good(other, run, times) for other in ran[position + 1 :])
    ]


def _makes_good(later: Ran, run: Ran, times: Sequence[int]) -> bool:
    if run.status == "passed" or later.status != "passed" or later.check.kind != run.check.kind:
        return False
    return run.status != "failed" or any(run.covers < time <= later.covers for time in times)


def status(
    files: Sequence[ChangedFile],
    checks: Sequence[CheckRun],
    risks: Iterable[Risk],
    claims: Sequence[Claim],
    ran: bool,
    blocked: bool = False,
    blind: bool = False,
) -> Status:
    """`ran`: a check really ran that saw some of what was changed; it passed or failed. `blind`: something may have
    been changed that neither acpagent nor a check has seen."""
    if blocked:
        return "blocked"
    found = _of_work(files, checks, risks, ran)
    if blind and found == "verified":
        found = "partially_verified" if ran or files else "unverified"
    return _downgraded(found, claims)


def _of_work(files: Sequence[ChangedFile], checks: Sequence[CheckRun], risks: Iterable[Risk], ran: bool) -> Status:
    if not files:
        return "partially_verified" if any(risk.severity == "error" for risk in risks) else "verified"
    unverified = [file for file in files if not file.verified]
    wanting = [check for check in checks if check.status in ("failed", "not_run")]
    if not unverified and not wanting:
        return "verified"
    return "partially_verified" if ran else "unverified"


def _downgraded(found: Status, claims: Sequence[Claim]) -> Status:
    """Claims that nothing shows take from what is verified."""
    supported = [claim for claim in claims if claim.status == "supported"]
    if len(supported) == len(claims) or found == "unverified":
        return found
    return "partially_verified" if supported else "unverified"


def risks(
    files: Sequence[ChangedFile], checks: Sequence[CheckRun], diagnostics: Sequence[str], complete: bool
) -> tuple[Risk, ...]:
    """What to know before the work is relied on. `diagnostics` are ids of failures that nothing has made good."""
    found: list[tuple[str, Severity, str, tuple[str, ...]]] = []
    for check in checks:
        if check.status == "failed":
            found.append(("failed_check", "error", "risk_failed_check", (check.id,)))
        elif check.status in ("skipped", "not_run") and check.command_id is not None:
            found.append(("skipped_check", "warning", "risk_skipped_check", (check.id,)))
    unverified = [file for file in files if not file.verified]
    if unverified:
        ids = tuple(dict.fromkeys(id for file in unverified for id in file.mutation_ids))
        found.append(("unverified_changes", "warning", "risk_unverified_changes", ids))
    if not complete:
        found.append(("unknown_changed_files", "warning", "risk_unknown_changed_files", ()))
    found += [("active_diagnostic", "info", "risk_active_diagnostic", (one,)) for one in diagnostics]
    return tuple(Risk(f"risk_{number}", *row) for number, row in enumerate(found, 1))
