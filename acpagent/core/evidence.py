"""Evidence: what a turn changed, checked and was permitted, as data that any room can read, show and store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

VERSION = 1

Status = Literal["verified", "partially_verified", "unverified", "blocked"]
Operation = Literal["created", "modified", "deleted", "renamed", "unknown"]
Source = Literal["tool_write", "tool_edit", "shell", "delegated_editor", "mcp", "unknown"]
CommandStatus = Literal["passed", "failed", "skipped", "running", "unknown"]
CheckStatus = Literal["passed", "failed", "skipped", "not_run"]
Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """How a file stands at the end of a turn against its beginning. `path` as people write it; `added` and `removed`
    are lines, None where they cannot be counted: a `binary` file, or one too large."""

    path: str
    operation: Operation
    source: Source
    added: int | None = None
    removed: int | None = None
    binary: bool = False
    old_path: str | None = None
    mutation_ids: tuple[str, ...] = ()
    verified: bool = False


@dataclass(frozen=True, slots=True)
class RanCommand:
    """A command line that was run. `output_digest` is of what the model read of its output."""

    id: str
    command: str
    status: CommandStatus
    tool_call_id: str
    exit_code: int | None = None
    duration_ms: int | None = None
    verification_kind: str | None = None
    output_digest: str | None = None
    output_preview: str | None = None


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A check, as it was last run. `reason` is a code that says why it counts for no more than it does."""

    id: str
    label: str
    status: CheckStatus
    verification_kind: str | None = None
    command_id: str | None = None
    command: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Approval:
    """How a call came to be allowed or not. `decision` is the person's choice, `auto` where nobody had to be asked."""

    tool_call_id: str
    tool_name: str
    decision: str
    approved: bool
    approval_kind: Literal["command", "tool"]
    approval_value: str
    description: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Risk:
    """Something to know before the work is relied on. `message` is a code of the catalogue."""

    id: str
    kind: str
    severity: Severity
    message: str
    evidence_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """An event of the ledger that others point to."""

    id: str
    kind: Literal["inspect", "mutation", "verification", "diagnostic"]
    status: Literal["success", "failure", "active", "resolved", "unverified"]
    tool_call_id: str


@dataclass(frozen=True, slots=True)
class Claim:
    """What the model signed off, and what shows it."""

    id: str
    claim: str
    status: Literal["supported", "unsupported", "unverified"]
    evidence_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewAction:
    """What the person decided about a change that was put to them."""

    id: str
    type: Literal["accept_file", "reject_file"]
    status: Literal["recorded"]
    actor: Literal["user"]
    target: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class DiffTotals:
    """Lines of all changed files together. `truncated`: some could not be counted."""

    file_count: int = 0
    added: int = 0
    removed: int = 0
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Metrics:
    """What the turn took: calls of the model, and tokens."""

    model_calls: int = 0
    input: int = 0
    output: int = 0


@dataclass(frozen=True, slots=True)
class Bundle:
    """The evidence of one turn. `created_at` in ISO 8601, UTC."""

    session_id: str
    turn_id: str
    status: Status
    created_at: str
    summary: str = ""
    changed_files: tuple[ChangedFile, ...] = ()
    diff: DiffTotals = DiffTotals()
    commands: tuple[RanCommand, ...] = ()
    checks: tuple[CheckRun, ...] = ()
    approvals: tuple[Approval, ...] = ()
    claims: tuple[Claim, ...] = ()
    risks: tuple[Risk, ...] = ()
    review_actions: tuple[ReviewAction, ...] = ()
    evidence: tuple[Reference, ...] = ()
    metrics: Metrics = Metrics()
    version: int = VERSION


_PARTS: Mapping[str, type[Any]] = {
    "changed_files": ChangedFile,
    "commands": RanCommand,
    "checks": CheckRun,
    "approvals": Approval,
    "claims": Claim,
    "risks": Risk,
    "review_actions": ReviewAction,
    "evidence": Reference,
}
_WHOLE: Mapping[str, type[Any]] = {"diff": DiffTotals, "metrics": Metrics}


def to_data(value: Any) -> Any:
    """Plain data with the names that others know, such as `changedFiles`; what is unknown is left out."""
    if is_dataclass(value):
        found = ((_camel(field.name), getattr(value, field.name)) for field in fields(value))
        return {name: to_data(item) for name, item in found if item is not None}
    return [to_data(item) for item in value] if isinstance(value, tuple) else value


def from_data(data: Mapping[str, Any]) -> Bundle:
    """The inverse of `to_data` for a bundle. Raises KeyError or TypeError on other data."""
    if not isinstance(data, Mapping):
        raise TypeError(f"no mapping: {type(data).__name__}")
    plain: dict[str, Any] = {}
    for field in fields(Bundle):
        name, value = field.name, data.get(_camel(field.name))
        if value is None:
            continue
        if name in _PARTS:
            plain[name] = tuple(_read(_PARTS[name], item) for item in value)
        else:
            plain[name] = _read(_WHOLE[name], value) if name in _WHOLE else value
    return Bundle(**plain)


def _read(kind: type[Any], data: Mapping[str, Any]) -> Any:
    if not isinstance(data, Mapping):
        raise TypeError(f"no mapping: {type(data).__name__}")
    known = {_camel(field.name): field.name for field in fields(kind)}
    listed = {known[name]: tuple(item) if isinstance(item, list) else item for name, item in data.items()}
    return kind(**listed)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
