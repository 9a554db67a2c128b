"""What the evidence of a turn comes to: which checks still stand, how far the work is verified, and what is at risk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from acpagent.core.evidence import ChangedFile, CheckRun, Claim, Risk, Severity, Status
from acpagent.runtime.evidence.ledger import Ran

LABELS = {"test": "Tests", "lint": "Lint", "types": "Typecheck", "build": "Build"}


def standing(ran: Sequence[Ran]) -> list[Ran]:
    """The checks that count: of one that was run again only the last run, and none that did not pass before another of
    its kind did."""
    last = {run.check.command: position for position, run in enumerate(ran)}
    passes: dict[str, int] = {}
    for position, run in enumerate(ran):
        if run.status == "passed":
            passes[run.check.kind] = position
    return [
        run
        for position, run in enumerate(ran)
        if last[run.check.command] == position and (run.status == "passed" or passes.get(run.check.kind, -1) < position)
    ]


def status(
    files: Sequence[ChangedFile],
    checks: Sequence[CheckRun],
    risks: Iterable[Risk],
    claims: Sequence[Claim],
    ran: bool,
    blocked: bool = False,
) -> Status:
    """`ran`: a check really ran that saw some of what was changed; it passed or failed."""
    if blocked:
        return "blocked"
    return _downgraded(_of_work(files, checks, risks, ran), claims)


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
