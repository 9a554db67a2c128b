"""What happens in a session, as frozen and complete snapshots: no session id, no time, no wire spelling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from acpagent.core.blocks import Block
from acpagent.core.evidence import Bundle
from acpagent.core.toolcalls import PlanEntry, ToolCall

Role = Literal["user", "assistant", "thought"]
Stop = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
Level = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more model calls. `cached` were found in the provider's cache and `written` put into it, both
    part of `input`; `thought` is part of `output`."""

    input: int = 0
    cached: int = 0
    output: int = 0
    thought: int = 0
    written: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.cached + other.cached,
            self.output + other.output,
            self.thought + other.thought,
            self.written + other.written,
        )


@dataclass(frozen=True, slots=True)
class TurnStarted:
    turn_id: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """`stop` is None when the turn ended with `fault`, a sentence for a person."""

    turn_id: str
    stop: Stop | None
    usage: Usage
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a message; appends to what `message_id` already holds (MSG-01)."""

    message_id: str
    role: Role
    block: Block


@dataclass(frozen=True, slots=True)
class ToolChanged:
    call: ToolCall


@dataclass(frozen=True, slots=True)
class PlanChanged:
    entries: tuple[PlanEntry, ...]


@dataclass(frozen=True, slots=True)
class UsageChanged:
    """`used` and `size` in tokens of the model's window; `cost` cumulative for the session (USE-03). `estimated`: the
    model's server did not count `used`."""

    used: int
    size: int
    cost: float | None = None
    currency: str = "USD"
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model that can be chosen: `id` is `provider/model`."""

    id: str
    provider: str


@dataclass(frozen=True, slots=True)
class Controls:
    """One snapshot of every control: `values` by name, as requested, and what can be chosen where that is not the
    same in every session. `efforts` are those of the requested model, empty if it has none."""

    values: dict[str, str]
    models: tuple[ModelChoice, ...] = ()
    efforts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ControlsChanged:
    """One snapshot renders modes and options, so that they cannot drift apart. `announce` False: the answer that
    follows says it."""

    controls: Controls
    announce: bool = True


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    description: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class CommandsChanged:
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class TitleChanged:
    """`title` None: the session has none yet. `updated_at` in ISO 8601, UTC."""

    title: str | None
    updated_at: str


@dataclass(frozen=True, slots=True)
class CompactionChanged:
    """The conversation is being summarised, or was. `before` and `after` in tokens; both, the summary and `by_model`
    are set at the end alone, `error` where it failed. A completed one by itself is a whole report (COMP-02)."""

    compaction_id: str
    status: Literal["in_progress", "completed", "failed", "cancelled"]
    trigger: str
    before: int = 0
    after: int = 0
    summary: str = ""
    by_model: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class SummaryChunk:
    """A piece of a summary while it is written; the end of the compaction has all of it, perhaps in other words."""

    compaction_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something acpagent says to the person: a code of `core.catalogue` with its parameters. `message_id` is
    empty where it is not stored, so that it need not stay the same."""

    level: Level
    code: str
    params: dict[str, Any] = field(default_factory=dict)
    message_id: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceReady:
    """The evidence of a turn that changed or checked something, at its end; `seal` is that of its receipt."""

    bundle: Bundle
    message_id: str
    seal: str = ""


SurfaceKind = Literal["status", "card", "notification", "form"]


@dataclass(frozen=True, slots=True)
class Surface:
    """Something a plugin shows, as it stands; what has the same `surface` takes its place. `payload` fits the shape of
    its kind in the plugins' schema. `generation` counts the reloads of the session. `instance` tells one showing of a
    form from the next. Not stored, so not replayed."""

    plugin: str
    surface: str
    generation: int
    kind: SurfaceKind
    payload: Mapping[str, Any] = field(hash=False)
    instance: str = ""


Event = (
    TurnStarted
    | TurnEnded
    | Chunk
    | ToolChanged
    | PlanChanged
    | UsageChanged
    | ControlsChanged
    | CommandsChanged
    | TitleChanged
    | CompactionChanged
    | SummaryChunk
    | Notice
    | EvidenceReady
    | Surface
)
