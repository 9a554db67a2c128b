"""The work items a session can run, one at a time, and what each ended as.

Mutable on purpose: they are the record beside the machine, touched only under the session lock.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from acpagent.core.blocks import Block
from acpagent.core.events import Stop, Usage
from acpagent.core.faults import Fault
from acpagent.core.reply import Reply
from acpagent.core.scope import Scope


@dataclass(eq=False, slots=True)
class PromptRequest:
    """A prompt that was asked for and is not answered yet. `address`: the session's id as the client has it."""

    blocks: tuple[Block, ...]
    reply: Reply
    address: str = ""


@dataclass(eq=False, slots=True)
class Turn:
    """One prompt being worked on. `steers` waits for the next model call; `sealed` ends admission of steers."""

    request: PromptRequest
    scope: Scope
    steers: deque[tuple[Block, ...]] = field(default_factory=deque)
    sealed: bool = False

    def take_or_seal(self) -> list[tuple[Block, ...]]:
        """All queued steers, or none and the turn is sealed: from then on a steer is refused. One critical
        section, so that no steer falls between."""
        with self.scope.lock:
            taken = list(self.steers)
            self.steers.clear()
            self.sealed = not taken
            return taken

    def take(self) -> list[tuple[Block, ...]]:
        """All queued steers, the turn staying open."""
        with self.scope.lock:
            taken = list(self.steers)
            self.steers.clear()
            return taken


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """`fault` set: the prompt is answered with it, unless a cancel was read before (CAN-01)."""

    stop: Stop
    usage: Usage = field(default_factory=Usage)
    fault: Fault | None = None


@dataclass(eq=False, slots=True)
class Opening:
    """Bring a session up. `first`: nothing ran before, and a failure closes it. The session gives it its `scope`,
    which a close or withdrawal cancels; `abandoned`: by then it was asked to stop. What is stored is replayed for
    `load` alone. `address`: the id that the client has for a session that is live, if it says one."""

    kind: Literal["new", "load", "resume"]
    cwd: str
    directories: tuple[str, ...]
    servers: tuple[Any, ...]
    reply: Reply | None
    first: bool = True
    scope: Scope | None = None
    abandoned: bool = False
    address: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """What an opening brought. `install` is run under the session lock before the answer: it swaps references,
    emits what precedes the answer, and never fails. `discard` lets it all go where the opening was abandoned."""

    fault: Fault | None = None
    install: Callable[[], None] | None = None
    discard: Callable[[], None] | None = None


@dataclass(eq=False, slots=True)
class Held:
    """A prompt's response that waits for the rebuild its end caused."""

    reply: Reply
    outcome: TurnOutcome


@dataclass(eq=False, slots=True)
class Rebuild:
    """Make a new loadout beside the old one. Serves `axes` and, if set, a reload, and answers `replies`."""

    axes: dict[str, str]
    reload: bool = False
    axis_replies: list[Reply] = field(default_factory=list)
    reload_replies: list[Reply] = field(default_factory=list)
    held: Held | None = None
    abandoned: bool = False


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """`install` swaps the loadout in, `discard` lets it go where the rebuild was abandoned; None when nothing was
    built. Both run under the session lock and never fail. Each fault is None where its part succeeded. `gone`: the
    model in use, if a reload found it no longer configured, and the one that is used instead."""

    axes_fault: Fault | None = None
    reload_fault: Fault | None = None
    install: Callable[[], None] | None = None
    discard: Callable[[], None] | None = None
    gone: tuple[str, str] | None = None


@dataclass(eq=False, slots=True)
class Teardown:
    """Let go of everything; runs last. `erase`: then delete what is stored. A delete that comes too late for one
    that runs gets another."""

    erase: bool = False


@dataclass(frozen=True, slots=True)
class TornDown:
    """`fault`: what could not be let go of or erased; every closer is answered with it."""

    fault: Fault | None = None


Work = Opening | Turn | Rebuild | Teardown
Outcome = Opened | TurnOutcome | Rebuilt | TornDown


class Effect(enum.Enum):
    """Effects without arguments; the others are the small classes below."""

    CONTROLS = "emit the controls as they are requested now"
    TITLE = "emit the title"
    COMMANDS = "emit the commands"


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer `reply` with `outcome`, or with `fault`. The outcome `Effect.CONTROLS` stands for the controls as they
    are requested when the answer leaves."""

    reply: Reply
    outcome: Any = None
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class CancelScope:
    """Cancel a turn's scope; its closers run once the lock is free."""

    scope: Scope


@dataclass(frozen=True, slots=True)
class Run:
    """Run an `install` of an outcome."""

    install: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Report:
    """Tell the person: a code of the catalogue with its parameters."""

    code: str
    params: dict[str, str]


Effects = list["Effect | Answer | CancelScope | Run | Report"]


@dataclass(frozen=True, slots=True)
class Queued:
    """A reload's answer: whether it waits for the work that runs."""

    queued: bool
