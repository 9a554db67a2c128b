"""History entries: the append-only record of a session. One list serves the model and the replay.

Nothing is ever removed; what must not reach the model again is tombstoned by a later entry.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from acpagent.core import blocks, evidence, phrases, toolcalls
from acpagent.core.blocks import Block
from acpagent.core.events import Stop, Usage
from acpagent.core.evidence import Bundle
from acpagent.core.toolcalls import PlanEntry, ToolCall

VERSION = 1


@dataclass(frozen=True, slots=True)
class TurnOpened:
    turn_id: str


@dataclass(frozen=True, slots=True)
class UserSaid:
    """What the person sent, and `text`: what the model reads of it (links resolved, facts of the day added)."""

    turn_id: str
    message_id: str
    blocks: tuple[Block, ...]
    text: str
    steer: bool = False


@dataclass(frozen=True, slots=True)
class HostSaid:
    """What acpagent said to the model so that it goes on in the same prompt; for the model alone, never shown."""

    turn_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of an assistant message or thought. Pieces with one `message_id` join in order."""

    turn_id: str
    message_id: str
    role: Literal["assistant", "thought"]
    text: str


@dataclass(frozen=True, slots=True)
class ReplyKept:
    """What the model named `model` wants back with the reply it just gave; only its provider can read `data`."""

    turn_id: str
    model: str
    data: str


@dataclass(frozen=True, slots=True)
class CallMade:
    """A call of the model, `arguments` as it wrote them; `round` numbers the model call within the turn."""

    turn_id: str
    call_id: str
    provider_id: str
    name: str
    arguments: str
    round: int


@dataclass(frozen=True, slots=True)
class CallSettled:
    """The call's final snapshot for the person, and the text the model reads."""

    turn_id: str
    call: ToolCall
    text: str


@dataclass(frozen=True, slots=True)
class PlanSet:
    turn_id: str
    entries: tuple[PlanEntry, ...]


@dataclass(frozen=True, slots=True)
class UsageSet:
    """After a model call: tokens in the window (`estimated` if the server did not count), the session's cost so far."""

    turn_id: str
    used: int
    size: int
    cost: float | None
    currency: str
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class TurnClosed:
    """How the turn ended: a stop, or `fault` (a sentence) when it was answered with an error."""

    turn_id: str
    stop: Stop | None
    usage: Usage
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """Something acpagent said to the person; not for the model. Rendered anew at replay."""

    turn_id: str
    level: Literal["info", "warning", "error"]
    code: str
    params: Mapping[str, Any] = field(default_factory=dict)
    message_id: str = ""


@dataclass(frozen=True, slots=True)
class Permitted:
    """A receipt of one question about a call, or of its refusal without one: neither for the model nor shown at replay.

    `outcome` is the person's choice (`once`, `deny` ...), `cancelled` where they closed the question, `nobody` where
    nobody answered it, `refused` where a rule forbids the call, `barred` where the mode does and `hook` where a hook
    does. `subject` names what it was about, `argv` the words of a single static command; `rule` is the one that was
    offered or that forbids; `waited_ms` is how long the person took.
    """

    turn_id: str
    call_id: str
    tool: str
    subject: str
    outcome: str
    argv: tuple[str, ...] = ()
    rule: str = ""
    reason: str = ""
    waited_ms: int = 0


@dataclass(frozen=True, slots=True)
class EvidenceSet:
    """The evidence of a turn, and the seal of its receipt; not for the model."""

    turn_id: str
    message_id: str
    bundle: Bundle
    seal: str


# `brief`: nothing may change until the objective brief is accepted. The last three are ends.
GoalPhase = Literal["brief", "working", "complete", "blocked", "stopped"]


@dataclass(frozen=True, slots=True)
class GoalSet:
    """How the session's goal stands from here on. `objective`: in the person's words; `rounds` of work begun so far."""

    turn_id: str
    goal_id: str
    objective: str
    phase: GoalPhase
    rounds: int = 0


# Why a conversation was summarised: it came near the end of the window, did not fit it, or the person asked for it.
CompactionTrigger = Literal["threshold", "overflow", "person"]


@dataclass(frozen=True, slots=True)
class Compacted:
    """What the model reads of everything before the message that `kept_from` names (empty: of everything) is `summary`
    from here on. `kept_from` is the id of a message, or of the first call of a reply without words.

    `before` and `after`: tokens in the window, of `size`. `by_model`: the model wrote it. `tokens` is what that took,
    `cost` the session's so far. `results`: letters that each result of a call may have in what is kept; 0 for all.
    """

    turn_id: str
    compaction_id: str
    summary: str
    kept_from: str
    before: int
    after: int
    size: int
    trigger: CompactionTrigger
    by_model: bool
    tokens: int = 0
    cost: float | None = None
    currency: str = "USD"
    results: int = 0


@dataclass(frozen=True, slots=True)
class FileKept:
    """A file that a call changed. `before` and `after` are the digests of its contents, None where there was no file;
    what `before` names is stored. `mode` is that of the file before. `lost`: why it cannot be brought back."""

    turn_id: str
    path: str
    before: str | None
    after: str | None
    mode: int | None = None
    lost: str = ""


@dataclass(frozen=True, slots=True)
class Rewound:
    """The session is as it was before the turn `to_turn`: everything from there to this entry's own turn is a branch
    that was left. `files`: those that were brought back. `used`: tokens in the window of `size`, the session's cost."""

    turn_id: str
    to_turn: str
    files: tuple[str, ...]
    used: int
    size: int
    cost: float | None
    currency: str


@dataclass(frozen=True, slots=True)
class Tombstone:
    """The turn named leaves no trace in what the model reads."""

    turn_id: str


Entry = (
    TurnOpened
    | UserSaid
    | HostSaid
    | Said
    | ReplyKept
    | CallMade
    | CallSettled
    | PlanSet
    | UsageSet
    | TurnClosed
    | Told
    | Permitted
    | EvidenceSet
    | GoalSet
    | Compacted
    | FileKept
    | Rewound
    | Tombstone
)


def _user(entry: UserSaid) -> dict[str, Any]:
    said = [blocks.to_data(block) for block in entry.blocks]
    data = {"turn": entry.turn_id, "message": entry.message_id, "blocks": said, "text": entry.text}
    return data | ({"steer": True} if entry.steer else {})


def _read_user(data: dict[str, Any]) -> UserSaid:
    said = tuple(blocks.from_data(block) for block in data["blocks"])
    return UserSaid(data["turn"], data["message"], said, data["text"], data.get("steer", False))


def _settled(entry: CallSettled) -> dict[str, Any]:
    return {"turn": entry.turn_id, "call": toolcalls.call_to_data(entry.call), "text": entry.text}


def _told(entry: Told) -> dict[str, Any]:
    return {"turn": entry.turn_id} | {name: phrases.to_data(getattr(entry, name)) for name in _TOLD}


def _read_told(data: dict[str, Any]) -> Told:
    return Told(
        data["turn"], data["level"], data["code"], phrases.from_data(data["params"]), data.get("message_id", "")
    )


def _read_permitted(data: dict[str, Any]) -> Permitted:
    plain = {name: data[name] for name in _PERMITTED}
    return Permitted(data["turn"], **plain | {"argv": tuple(data["argv"])})


def _usage(entry: UsageSet) -> dict[str, Any]:
    data = {"turn": entry.turn_id} | {name: getattr(entry, name) for name in _USAGE}
    return data | ({"estimated": True} if entry.estimated else {})


def _read_usage(data: dict[str, Any]) -> UsageSet:
    plain = {name: data[name] for name in _USAGE}
    return UsageSet(data["turn"], **plain, estimated=data.get("estimated", False))


def _compacted(entry: Compacted) -> dict[str, Any]:
    data = {"turn": entry.turn_id} | {name: getattr(entry, name) for name in _COMPACTED}
    return data | ({"results": entry.results} if entry.results else {})


def _read_compacted(data: dict[str, Any]) -> Compacted:
    plain = {name: data[name] for name in _COMPACTED}
    return Compacted(data["turn"], **plain, results=data.get("results", 0))


def _read_rewound(data: dict[str, Any]) -> Rewound:
    plain = {name: data[name] for name in _REWOUND}
    return Rewound(data["turn"], **plain | {"files": tuple(data["files"])})


def _plan(entry: PlanSet) -> dict[str, Any]:
    return {"turn": entry.turn_id, "entries": [[e.content, e.priority, e.status] for e in entry.entries]}


def _closed(entry: TurnClosed) -> dict[str, Any]:
    use = entry.usage
    usage = [use.input, use.cached, use.output, use.thought]
    return {"turn": entry.turn_id, "stop": entry.stop, "usage": usage, "fault": entry.fault}


def _evidence(entry: EvidenceSet) -> dict[str, Any]:
    shown = {"turn": entry.turn_id, "message": entry.message_id, "seal": entry.seal}
    return shown | {"evidence": evidence.to_data(entry.bundle)}


def _read_evidence(data: dict[str, Any]) -> EvidenceSet:
    return EvidenceSet(data["turn"], data["message"], evidence.from_data(data["evidence"]), data["seal"])


def _fields(*names: str) -> Any:
    """Writer for entries whose fields are plain data; `turn_id` is stored as `turn`."""
    return lambda entry: {"turn": entry.turn_id} | {name: getattr(entry, name) for name in names}


def _reader(kind: type[Any], *names: str) -> Any:
    return lambda data: kind(data["turn"], *(data[name] for name in names))


_CALL = ("call_id", "provider_id", "name", "arguments", "round")
_USAGE = ("used", "size", "cost", "currency")
_TOLD = ("level", "code", "params", "message_id")
_GOAL = ("goal_id", "objective", "phase", "rounds")
_COMPACTED = (
    *("compaction_id", "summary", "kept_from", "before", "after", "size"),
    *("trigger", "by_model", "tokens", "cost", "currency"),
)
_FILE = ("path", "before", "after", "mode", "lost")
_REWOUND = ("to_turn", "files", "used", "size", "cost", "currency")
_SAID = ("message_id", "role", "text")
_PERMITTED = ("call_id", "tool", "subject", "outcome", "argv", "rule", "reason", "waited_ms")

# kind stored in the database -> (class, to plain data, from plain data)
_CODECS: dict[str, tuple[type[Any], Any, Any]] = {
    "turn_opened": (TurnOpened, _fields(), _reader(TurnOpened)),
    "user": (UserSaid, _user, _read_user),
    "host_said": (HostSaid, _fields("text"), _reader(HostSaid, "text")),
    "said": (Said, _fields(*_SAID), _reader(Said, *_SAID)),
    "kept": (ReplyKept, _fields("model", "data"), _reader(ReplyKept, "model", "data")),
    "call": (CallMade, _fields(*_CALL), _reader(CallMade, *_CALL)),
    "settled": (
        CallSettled,
        _settled,
        lambda data: CallSettled(data["turn"], toolcalls.call_from_data(data["call"]), data["text"]),
    ),
    "plan": (
        PlanSet,
        _plan,
        lambda data: PlanSet(data["turn"], tuple(PlanEntry(*e) for e in data["entries"])),
    ),
    "usage": (UsageSet, _usage, _read_usage),
    "turn_closed": (
        TurnClosed,
        _closed,
        lambda data: TurnClosed(data["turn"], data["stop"], Usage(*data["usage"]), data["fault"]),
    ),
    "told": (Told, _told, _read_told),
    "evidence": (EvidenceSet, _evidence, _read_evidence),
    "permitted": (Permitted, _fields(*_PERMITTED), _read_permitted),
    "goal": (GoalSet, _fields(*_GOAL), _reader(GoalSet, *_GOAL)),
    "compacted": (Compacted, _compacted, _read_compacted),
    "file": (FileKept, _fields(*_FILE), _reader(FileKept, *_FILE)),
    "rewound": (Rewound, _fields(*_REWOUND), _read_rewound),
    "tombstone": (Tombstone, _fields(), _reader(Tombstone)),
}
_KIND_OF = {codec[0]: kind for kind, codec in _CODECS.items()}


def pack(entry: Entry) -> tuple[str, int, str]:
    """An entry as (kind, version, JSON text) for the store."""
    kind = _KIND_OF[type(entry)]
    return kind, VERSION, json.dumps(_CODECS[kind][1](entry), ensure_ascii=True, separators=(",", ":"))


def unpack(kind: str, version: int, text: str) -> Entry | None:
    """The inverse of `pack`. None for a kind or version this build does not know, or damaged data: one bad
    row must not make a session unreadable (LIST-10)."""
    codec = _CODECS.get(kind)
    if codec is None or version > VERSION:
        return None
    try:
        entry: Entry = codec[2](json.loads(text))
    except (ValueError, KeyError, TypeError):
        return None
    return entry
