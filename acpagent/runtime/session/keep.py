"""What a session keeps across turns and rebuilds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from acpagent.core.history import Compacted, Entry, GoalSet, HostSaid, Rewound, Tombstone, UsageSet, UserSaid
from acpagent.core.jobs import Jobs
from acpagent.core.paths import Roots
from acpagent.mcp_client.spec import ServerSpec
from acpagent.runtime.evidence.account import Account
from acpagent.runtime.evidence.ledger import Ledger
from acpagent.runtime.evidence.witness import Witness
from acpagent.runtime.session.equipment import Equipment, Kit
from acpagent.runtime.session.loadout import AXES, CONTROLS, COST_LIMIT, NO_LIMIT, TOKEN_LIMIT, Loadout
from acpagent.runtime.session.services import SessionGate
from acpagent.runtime.turn.conversation import Conversation
from acpagent.runtime.turn.goal import Goals
from acpagent.runtime.turn.hooking import HookMemory
from acpagent.runtime.turn.journal import Journal
from acpagent.runtime.turn.meter import Meter
from acpagent.runtime.turn.mode import ToldMode, read_only
from acpagent.runtime.turn.spending import Ceiling
from acpagent.runtime.turn.workrecord import WorkRecord
from acpagent.store import entries, sessions
from acpagent.store.contents import Contents
from acpagent.store.database import Store, Write, together
from acpagent.store.faults import StoreFault
from acpagent.store.sessions import SessionRow


class RowWriter:
    """Writes a session's entries; the first write makes its row, so that a session never prompted leaves nothing
    behind (SESS-21). `stored` is set by the store's callback.

    The lock, a leaf, keeps what is set while the first write is under way from falling between row and store.
    """

    def __init__(self, store: Store, row: SessionRow, stored: bool) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._begun = stored
        self.row = row
        self.stored = stored

    def submit(self, batch: Sequence[Entry], then: Callable[[BaseException | None], None]) -> None:
        """Queue the entries for the store's writer."""

        def written(fault: BaseException | None) -> None:
            self.stored = self.stored or fault is None
            then(fault)

        with self._lock:
            writes: list[Write] = [] if self.stored else [sessions.save_new(self.row)]
            writes.append(entries.append(self.row.id, batch))
            self._store.submit(together(*writes), written)
            self._begun = True

    def change(self, **fields: Any) -> None:
        """Change the row that the first write will store."""
        with self._lock:
            self.row = replace(self.row, **fields)

    def set_settings(self, settings: Mapping[str, str], then: Callable[[BaseException | None], None]) -> None:
        """Change the settings, in the store as well once the row is on its way there. `then` is called once that is
        committed, from the store's thread, or at once where nothing is to be written or the store takes nothing."""
        error: BaseException | None = None
        with self._lock:
            self.row = replace(self.row, settings=settings)
            if self._begun:
                try:
                    self._store.submit(sessions.set_settings(self.row.id, settings), then)
                    return
                except StoreFault as fault:
                    error = fault
        then(error)


@dataclass(slots=True)
class Keep:
    """Made by the opening. Touched by the session worker alone, except `loadout`, `controls` and the goal, which
    change under the session lock, and `jobs`, which look after themselves. `client_servers` are those that the
    client named. `tokens`: used by the session in all; `told_context`: what of the context the model knows."""

    writer: RowWriter
    roots: Roots
    gate: SessionGate
    loadout: Loadout
    conversation: Conversation
    journal: Journal
    controls: dict[str, str]
    equipment: Equipment
    client_servers: tuple[ServerSpec, ...]
    contents: Contents
    cost: float | None = None
    tokens: int = 0
    spoken: bool = False
    jobs: Jobs = field(default_factory=Jobs)
    goals: Goals = field(default_factory=Goals)
    told_mode: ToldMode = field(default_factory=ToldMode)
    ledger: Ledger = field(default_factory=Ledger)
    hooks: HookMemory = field(default_factory=HookMemory)
    told_context: str = ""
    work: WorkRecord = field(default_factory=WorkRecord)
    meter: Meter = field(default_factory=Meter)
    witness: Witness = field(init=False)

    def __post_init__(self) -> None:
        self.witness = Witness.of(self.roots)

    def save(self, axes: Mapping[str, str], then: Callable[[BaseException | None], None] = lambda error: None) -> None:
        """Store the axes beside the controls; `then` as with `RowWriter.set_settings`."""
        self.writer.set_settings(settings_of(axes, self.controls), then)

    @property
    def row(self) -> SessionRow:
        """The session's row as it is or will be stored."""
        return self.writer.row

    def record(self, *happened: Entry) -> None:
        """Entries happened: what is kept in memory and the store both learn of them, the latter of all at once."""
        self.learn(happened)
        self.journal.add(*happened)
        if any(isinstance(entry, GoalSet | Tombstone) for entry in happened):
            self.set_barrier()

    def learn(self, past: Sequence[Entry]) -> None:
        """What happened is known to the model's view and to those who follow goal, mode and work."""
        for fold in (self.conversation, self.goals, self.told_mode, self.ledger, self.work, self.witness.account):
            fold.feed(past)

    def recall(self, past: Sequence[Entry]) -> None:
        """What of the facts that are told once the model still reads, and how full its window is. Of entries that were
        learnt."""
        told = since_summary(past)
        texts = [entry.text for entry in told if isinstance(entry, UserSaid | HostSaid)]
        self.spoken = bool(texts) if len(told) < len(past) else bool(self.conversation.messages())
        context = self.context
        self.told_context = context if any(context in text for text in texts) else ""
        counted = next((entry for entry in reversed(told) if isinstance(entry, UsageSet | Rewound)), None)
        if isinstance(counted, UsageSet) and not counted.estimated:
            self.meter.recall(counted.used, self.prefix + self.conversation.letters)

    def begin_anew(self, past: Sequence[Entry]) -> None:
        """The session goes on from these entries and no others. With the session lock held."""
        self.conversation = Conversation(self.loadout.provider)
        self.goals, self.told_mode, self.ledger, self.work = Goals(), ToldMode(), Ledger(), WorkRecord()
        self.witness.account = Account()
        self.meter.forget()
        self.learn(past)
        self.recall(past)
        if self.goals.current is not None and self.controls["mode"] != "goal":
            self.mode_was_set()  # the mode was left since
        self.set_barrier()

    @property
    def ceiling(self) -> Ceiling:
        """What the session may use: what the person set for it, or else what the settings say."""
        limits, tokens, cost = self.loadout.limits, self.controls[TOKEN_LIMIT], self.controls[COST_LIMIT]
        return Ceiling(
            limits.session_tokens if not tokens else None if tokens == NO_LIMIT else int(tokens),
            limits.session_cost if not cost else None if cost == NO_LIMIT else float(cost),
        )

    @property
    def context(self) -> str:
        """What the model is told once of what extends the session."""
        return self.equipment.kit.context(self.loadout.tools)

    @property
    def prefix(self) -> int:
        """Letters of what stands before the messages of every request."""
        return len(self.loadout.system) + len(self.loadout.tool_list)

    def take(self, loadout: Loadout, kit: Kit) -> None:
        """Use another loadout, and the kit that it was built with. Under the session lock."""
        self.loadout.provider.close()
        before, self.loadout = self.loadout.model, loadout
        self.equipment.adopt(kit)
        self.gate.rules = loadout.rules
        self.conversation.rebind(loadout.provider)
        if loadout.model != before:
            self.meter = Meter()

    def mode_was_set(self) -> None:
        """The person set the mode, perhaps to what it was: a goal may end by it. Under the session lock."""
        ended = self.goals.follow(self.controls["mode"])
        if ended is not None:
            self.journal.add(ended)
        self.set_barrier()

    def set_barrier(self) -> None:
        """Let nothing change while the mode says so."""
        self.gate.read_only = read_only(self.controls["mode"], self.goals.current)


def since_summary(past: Sequence[Entry]) -> list[Entry]:
    """What came after the last summary, without turns that leave no trace."""
    begin = next((at for at in range(len(past), 0, -1) if isinstance(past[at - 1], Compacted)), 0)
    buried = {entry.turn_id for entry in past[begin:] if isinstance(entry, Tombstone)}
    return [entry for entry in past[begin:] if entry.turn_id not in buried]


def settings_of(axes: Mapping[str, str], controls: Mapping[str, str]) -> dict[str, str]:
    """The axes and controls as stored with the session."""
    return {name: value for name, value in {**axes, **controls}.items() if name in (*AXES, *CONTROLS)}
