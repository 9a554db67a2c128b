"""What the sessions of one process share, handed in by the composition root."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from acpagent.core.blocks import Block
from acpagent.core.events import Command
from acpagent.core.paths import Roots
from acpagent.runtime.session.loadout import Loadout
from acpagent.runtime.turn.toolrun import Gate
from acpagent.store.database import Store
from acpagent.store.leases import Leases


class SessionGate(Gate, Protocol):
    """The gate with what a session sets of it."""

    approval: Any
    roots: Roots


class LocalCommands(Protocol):
    """Slash commands that acpagent answers by itself."""

    def listed(self) -> tuple[Command, ...]: ...
    def answer(self, blocks: tuple[Block, ...]) -> str | None:
        """The text that answers a prompt which is a local command; None if it is for the model."""


# session id, event, the state it led to; called under the session lock, so it must not block.
Observer = Callable[[str, str, str], None]


@dataclass(slots=True)
class Limits:
    """Bounds of one session's work: seconds, bytes, model calls."""

    turn_requests: int
    command_seconds: float
    output_bytes: int


@dataclass(slots=True)
class Credentials:
    """Whether the provider turned the stored key away the last time it was used."""

    rejected: bool = False


@dataclass(slots=True)
class Services:
    """`build_loadout` raises `Fault` where an axis names what is not configured or has no key. `defaults` are the
    axes and controls of a new session. `report` notes an unexpected failure, `observe` sees every event of a
    session's machine. `hidden_env` names variables that no command may see.
    `refresh` reads the configuration again if it has changed."""

    store: Store
    leases: Leases
    build_loadout: Callable[[Mapping[str, str]], Loadout]
    make_gate: Callable[[Roots], SessionGate]
    commands: LocalCommands
    limits: Limits
    defaults: Mapping[str, str]
    report: Callable[[str, BaseException], None]
    observe: Observer | None = None
    hidden_env: frozenset[str] = frozenset()
    refresh: Callable[[], None] = lambda: None
    credentials: Credentials = field(default_factory=Credentials)
