"""What the sessions of one process share, handed in by the composition root."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from acpagent.config.shown import Shown
from acpagent.core.blocks import Block
from acpagent.core.catalogue import say
from acpagent.core.events import Command, Controls
from acpagent.core.history import Compacted, Entry
from acpagent.core.memory import Memory
from acpagent.core.paths import Roots
from acpagent.core.rules import Rule
from acpagent.core.scope import Scope
from acpagent.extensions.discovery import Extensions
from acpagent.extensions.trust import Approvals
from acpagent.mcp_client.pool import Pool
from acpagent.mcp_client.spec import ServerSpec
from acpagent.permission.rules import Rules
from acpagent.runtime.session.equipment import Found
from acpagent.runtime.session.loadout import Loadout, Needs
from acpagent.runtime.session.offer import Offer
from acpagent.runtime.turn.permitting import Gate
from acpagent.store.database import Store
from acpagent.store.leases import Leases
from acpagent.store.sessions import SessionRow

if TYPE_CHECKING:
    from acpagent.runtime.session.rewinding import Point
    from acpagent.runtime.session.upkeep import Budget
    from acpagent.runtime.turn.summarise import Written


class SessionGate(Gate, Protocol):
    """The gate with what a session sets of it, and what a person is shown."""

    approval: Any
    roots: Roots
    read_only: bool
    rules: Rules

    @property
    def session_rules(self) -> tuple[Rule, ...]: ...
    @property
    def repository_rules(self) -> tuple[Rule, ...]: ...
    def clear(self) -> None:
        """Forget what was granted. Raises `Fault`."""


@dataclass(frozen=True, slots=True)
class Stats:
    """What is known of a session. `tokens`: used in all; `cost`: None where no price is known."""

    row: SessionRow
    entries: int
    tokens: int
    jobs: int
    cost: float | None = None
    currency: str = "USD"


class Neighbours(Protocol):
    """The other sessions, as a command of one may use them. All may raise `Fault`; what waits raises `Cancelled`."""

    def listed(self, cwd: str) -> list[SessionRow]:
        """Those of a folder, newest first, the session itself among them."""

    def named(self, written: str) -> str:
        """The session that an id of the client's stands for."""

    def is_live(self, session_id: str) -> bool: ...
    def close(self, session_id: str, scope: Scope) -> bool:
        """False if it is not open here."""

    def delete(self, session_id: str, scope: Scope) -> None: ...
    def continue_as(self, row: SessionRow, scope: Scope) -> None:
        """Open a stored session under the id that the client has for this one, and show its past; this one is closed
        behind the prompt."""


class Upkeep(Protocol):
    """What a command may do for the memory of its session, and see of it."""

    def compact(self, instructions: str) -> Compacted | None:
        """Summarise the conversation now; None where there is nothing to summarise, or a hook is against it. Raises
        `Cancelled`."""

    def ask(self, system: str, text: str) -> Written:
        """Ask the model in use, outside the conversation and without tools; an answer that is late or cut short is
        empty. Raises `Fault` where it cannot be asked, by the session's budget as well, and `Cancelled`."""

    def points(self) -> list[Point]:
        """Where the session can be rewound to, oldest first. Raises `Fault`."""

    def rewind(self, point: Point, with_files: bool) -> list[str]:
        """Go on from before a turn; the files that were brought back. Raises `Fault` and `restoring.Blocked`, and then
        nothing has changed."""

    def budget(self) -> Budget: ...


@dataclass(frozen=True, slots=True)
class CommandDesk:
    """What a local command may use of its session. `controls` are the values as they are now; `set_controls` changes
    mode or approval, from the next judgement on. `commands` are those that extensions bring. `reload` has the session
    find and read everything anew once the command is done; `tell` says something before that. `approvals` is where it
    is kept which projects are trusted. `requested` are the controls as they will be; `configure` asks for another value
    of an axis, which a rebuild behind the prompt brings (raises `Fault`). `settings` are in force with a model.
    `past` is the timed record of a stored session (raises `Fault`); `set_aside` names the skills that the model is not
    to have in this one. `knowledge` is what the session knows, as a briefing and in lists; `hide` takes secrets out of
    a text."""

    session_id: str
    gate: SessionGate
    controls: Mapping[str, str]
    set_controls: Callable[[Mapping[str, str]], None]
    cwd: str
    home: str
    approvals: Approvals
    extensions: Extensions
    servers: Pool
    commands: tuple[Command, ...]
    reload: Callable[[], None]
    tell: Callable[[str], None]
    scope: Scope
    requested: Callable[[], Controls]
    configure: Callable[[str, str], None]
    neighbours: Neighbours
    stats: Callable[[], Stats]
    past: Callable[[str], list[tuple[str, Entry]]]
    set_aside: set[str]
    settings: Callable[[str], Shown]
    memory: Memory
    upkeep: Upkeep
    knowledge: Callable[[], tuple[str, Mapping[str, object]]]
    hide: Callable[[str], str]

    @property
    def language(self) -> str:
        return self.controls["language"]

    def say(self, code: str, **params: Any) -> str:
        """The sentence for a code of the catalogue, in the language that is spoken by now."""
        return say(code, params, self.language)


# Answers a prompt which is a local command: the text that the person reads.
LocalAnswer = Callable[[CommandDesk], str]


class LocalCommands(Protocol):
    """Slash commands that acpagent answers by itself."""

    def listed(self, language: str) -> tuple[Command, ...]: ...
    def find(self, blocks: tuple[Block, ...], claimed: bool) -> LocalAnswer | None:
        """What answers a prompt that is a local command, or was meant to be one; None if it is for the model.
        `claimed`: an extension has a command of that name. Without effect."""

    def kept(self, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        """A prompt as it may be stored: no secret that a local command was given stays in it."""


# session id, event, the state it led to; called under the session lock, so it must not block.
Observer = Callable[[str, str, str], None]


@dataclass(slots=True)
class Credentials:
    """Whether the provider turned the stored key away the last time it was used."""

    rejected: bool = False


@dataclass(slots=True)
class Services:
    """`build_loadout` raises `Fault` where an axis names what is not configured or has no key. `find` looks for
    what extends a session in a folder, beside the servers that its client named; it may raise `Fault`. `offer` says
    what the axes can be set to. `memory` are the notes of repositories, `settings` those in force with a model, and
    `hide` takes secrets out of a text, `hide_own` acpagent's own alone. `defaults` are the axes and controls of a
    new session. `report` notes an unexpected failure, `observe` sees every event of a session's machine. `hidden_env`
    names variables that no command may see. `refresh` reads the configuration again if it has changed, and raises
    `Fault` where it cannot be used."""

    store: Store
    leases: Leases
    home: str
    approvals: Approvals
    build_loadout: Callable[[Mapping[str, str], Needs], Loadout]
    find: Callable[[str, tuple[ServerSpec, ...]], Found]
    offer: Offer
    make_gate: Callable[[Roots], SessionGate]
    commands: LocalCommands
    memory: Memory
    settings: Callable[[str], Shown]
    hide: Callable[[str], str]
    hide_own: Callable[[str], str]
    defaults: Mapping[str, str]
    report: Callable[[str, BaseException], None]
    observe: Observer | None = None
    hidden_env: frozenset[str] = frozenset()
    refresh: Callable[[], None] = lambda: None
    credentials: Credentials = field(default_factory=Credentials)
