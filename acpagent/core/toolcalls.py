"""Tools and their calls: what a tool is, what it proposes, what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from acpagent.core import blocks, phrases
from acpagent.core.blocks import Block

if TYPE_CHECKING:
    from acpagent.core.forms import Answer, Form
    from acpagent.core.host import HostFiles, HostShell
    from acpagent.core.jobs import Jobs
    from acpagent.core.live import LiveOutput
    from acpagent.core.paths import Roots
    from acpagent.core.scope import Scope

Kind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]
Status = Literal["pending", "in_progress", "completed", "failed"]
# Of the session itself: `plan` is what it keeps as its plan, `question` is asking the person, `job` is looking at what
# it started and was allowed to start, `end_job` is ending that. Of the repository's notes: `memory` keeps one, `recall`
# looks at them.
EffectKind = Literal["read", "write", "execute", "network", "plan", "question", "job", "end_job", "memory", "recall"]

# Where a call may go from each status; h11's way of writing a machine down (TOOL-05).
STATUS_MOVES: dict[Status, frozenset[Status]] = {
    "pending": frozenset({"in_progress", "completed", "failed"}),
    "in_progress": frozenset({"completed", "failed"}),
    "completed": frozenset(),
    "failed": frozenset(),
}


@dataclass(frozen=True, slots=True)
class Location:
    """A place an editor can follow: absolute `path`, 1-based `line`."""

    path: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Diff:
    """A change to one file: absolute `path`; `old` is None only for a file that did not exist (DIFF-01)."""

    path: str
    old: str | None
    new: str


@dataclass(frozen=True, slots=True)
class TerminalRef:
    """A terminal the client shows; the id belongs to the host's shell."""

    terminal_id: str


Content = Block | Diff | TerminalRef


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing a call would do to the world. `path` is resolved, absolute, and `below` means all that is in it, too;
    `command` is shell text; `host` is a name or address in the network, in ASCII and small letters."""

    kind: EffectKind
    path: str | None = None
    command: str | None = None
    host: str | None = None
    below: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a call would do, worked out without side effects.

    `subject` names it in a permission rule (a relative path, a command). `detail` is the tool's own: what
    `apply` needs again, the digest of the bytes it saw included. `facts` are structured details for the client.
    `note` tells the person, before the question, what title and diff do not.
    """

    title: str
    kind: Kind
    effects: tuple[Effect, ...]
    subject: str = ""
    locations: tuple[Location, ...] = ()
    diff: Diff | None = None
    detail: Any = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """One line of the plan the model keeps."""

    content: str
    priority: Literal["high", "medium", "low"] = "medium"
    status: Literal["pending", "in_progress", "completed"] = "pending"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """How a call ended. `text` is what the model reads (already bounded); `content` is what the person sees,
    empty meaning the text.

    `raw` is the structured outcome, `facts` details such as exit_code, timed_out, truncated, match_count;
    `title` and `locations` replace the proposal's when given; `plan` is set by the planning tool alone.
    """

    text: str
    failed: bool = False
    content: tuple[Content, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    title: str | None = None
    locations: tuple[Location, ...] | None = None
    plan: tuple[PlanEntry, ...] | None = None


class ToolRefusal(Exception):
    """A call that cannot be: bad arguments, a missing file, a stale base. The text is told to the model."""


@dataclass(frozen=True, slots=True)
class GoalReport:
    """What the model says of the session's goal; `note` is what it does next, did, or is blocked by."""

    status: Literal["continue", "complete", "blocked"]
    note: str


def no_goal(report: GoalReport) -> str:
    """Takes reports where no goal can be."""
    raise ToolRefusal("There is no goal.")


@dataclass(slots=True)
class ToolContext:
    """What a tool may use while it prepares or applies one call; made new for each call.

    `show` puts content before the person while the call runs and returns once it has left (TERM-08); raises
    `Cancelled`. `veto` is asked before a file is looked at, and raises `ToolRefusal` where a rule forbids the call that
    file. `seen` is what the call knows of files it looked at, by path, from `prepare` to `apply`. `jobs` are the
    session's background jobs. `judge` says what the gate says (allow, ask, deny) of one more effect that the
    call came upon. `question` asks the person, and takes as long as they do; raises `Cancelled`.
    `connect` asks for the tools of a source, which come with the next prompt; False if the session has it already.
    `report_goal` takes what the model says of the session's goal and gives the answer; it raises `ToolRefusal`.
    """

    roots: Roots
    scope: Scope
    live: LiveOutput
    command_seconds: float
    output_bytes: int
    hidden_env: frozenset[str] = frozenset()
    files: HostFiles | None = None
    shell: HostShell | None = None
    show: Callable[[tuple[Content, ...]], None] = lambda content: None
    veto: Callable[[str], None] = lambda path: None
    seen: dict[str, Any] = field(default_factory=dict)
    jobs: Jobs | None = None
    connect: Callable[[str], bool] | None = None
    judge: Callable[[Effect], str] = lambda effect: "ask"
    question: Callable[[Form], Answer] | None = None
    report_goal: Callable[[GoalReport], str] = no_goal
    session_id: str = ""
    turn_id: str = ""


class Tool(Protocol):
    """A tool the model can call, in two phases. One that does not only read, but changes nothing beyond the
    conversation either, says so by an attribute `converses` that is true."""

    name: str
    description: str
    schema: Mapping[str, Any]
    reads_only: bool
    kind: Kind

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        """Work out what the call would do. No side effects; may read. Raises `ToolRefusal`."""

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        """Do it. Re-checks what may have changed since; `ctx.scope.check()` stands right before each effect.

        Raises `ToolRefusal`, `Cancelled` or OSError.
        """


def is_harmless(tool: Tool) -> bool:
    """Whether the tool as such, whatever it is called with, can change nothing beyond the conversation: it says that it
    only reads, or that it `converses`. What says neither may do anything."""
    return tool.reads_only is True or getattr(tool, "converses", False) is True


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A complete snapshot of one call as it stands; `id` is ours and stable across load (TOOL-02)."""

    id: str
    name: str
    title: str
    kind: Kind
    status: Status
    raw_input: Any = None
    raw_output: Any = None
    locations: tuple[Location, ...] = ()
    content: tuple[Content, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


def moved(call: ToolCall, status: Status, **changes: Any) -> ToolCall:
    """The call in another status. Raises ValueError where the table has no such move: a final call stays so."""
    if status not in STATUS_MOVES[call.status]:
        raise ValueError(f"a call does not go from {call.status} to {status}")
    return replace(call, status=status, **changes)


def _content_to_data(item: Content) -> dict[str, Any]:
    if isinstance(item, Diff):
        return {"diff": [item.path, item.old, item.new]}
    if isinstance(item, TerminalRef):
        return {"terminal": item.terminal_id}
    return blocks.to_data(item)


def _content_from_data(data: dict[str, Any]) -> Content:
    if "diff" in data:
        return Diff(*data["diff"])
    if "terminal" in data:
        return TerminalRef(data["terminal"])
    return blocks.from_data(data)


def call_to_data(call: ToolCall) -> dict[str, Any]:
    """A call as plain data for the store."""
    return {
        "id": call.id,
        "name": call.name,
        "title": phrases.to_data(call.title),
        "kind": call.kind,
        "status": call.status,
        "in": call.raw_input,
        "out": call.raw_output,
        "at": [[place.path, place.line] for place in call.locations],
        "content": [phrases.to_data(_content_to_data(item)) for item in call.content],
        "facts": dict(call.facts),
    }


def call_from_data(data: dict[str, Any]) -> ToolCall:
    """The inverse of `call_to_data`. Raises KeyError or TypeError on other data."""
    return ToolCall(
        data["id"],
        data["name"],
        phrases.from_data(data["title"]),
        data["kind"],
        data["status"],
        data["in"],
        data["out"],
        tuple(Location(*place) for place in data["at"]),
        tuple(_content_from_data(phrases.from_data(item)) for item in data["content"]),
        data["facts"],
    )
