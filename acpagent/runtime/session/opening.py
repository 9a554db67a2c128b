"""Opening a session: a new one, or one from the store, with or without showing its past."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from acpagent.core.catalogue import Phrase
from acpagent.core.events import Notice, UsageChanged
from acpagent.core.faults import Fault, TheirFault
from acpagent.core.history import Compacted, Entry, Rewound, TurnClosed, UsageSet
from acpagent.core.host import Host
from acpagent.core.paths import Roots
from acpagent.core.phrases import told
from acpagent.core.scope import Scope
from acpagent.mcp_client.faults import SpecError
from acpagent.mcp_client.spec import ServerSpec, merged, read
from acpagent.runtime.session import replay
from acpagent.runtime.session.equipment import Equipment, Kit
from acpagent.runtime.session.keep import Keep, RowWriter
from acpagent.runtime.session.loadout import CONTROLS, Loadout, Needs
from acpagent.runtime.session.services import Services
from acpagent.runtime.session.works import Opening
from acpagent.runtime.turn.branches import live
from acpagent.runtime.turn.conversation import Conversation
from acpagent.runtime.turn.journal import Journal
from acpagent.store import entries, sessions
from acpagent.store.contents import Contents
from acpagent.store.sessions import SessionRow
from acpagent.wire import codes


@dataclass(frozen=True, slots=True)
class Opener:
    """Runs openings of one session on its worker. `wake` rouses the turn when storing failed; `equip` makes the
    session's equipment, which whoever runs the opening ends if it fails."""

    session_id: str
    services: Services
    host: Host
    wake: Callable[[], None]
    equip: Callable[[str], Equipment]

    def new(self, opening: Opening) -> Keep:
        """A session nobody has heard of. Raises `Fault`."""
        check_directory(opening.cwd)
        self.services.refresh()
        self.services.leases.take(self.session_id)
        stamp = sessions.now()
        settings = dict(self.services.defaults)
        row = SessionRow(
            self.session_id, opening.cwd, None, stamp, stamp, opening.directories, settings,
            cwd_resolved=sessions.resolve(opening.cwd),
        )  # fmt: skip
        servers = read_servers(opening.servers)
        equipment, kit = self._start(row.cwd, servers)
        self._ready(equipment, kit, opening)
        loadout = self.services.build_loadout(settings, Needs(self.host.asks, kit))
        return self._keep(row, loadout, settings, equipment, servers, stored=False)

    def stored(self, opening: Opening) -> tuple[Keep, list[Entry]]:
        """A session of the store, mended where a killed process left it broken. Raises `Fault`."""
        services = self.services
        row = find_row(services, self.session_id)
        check_home(row, opening.cwd)
        check_directory(row.cwd)
        services.refresh()
        services.leases.take(self.session_id)
        try:
            row = replace(find_row(services, self.session_id), directories=opening.directories)
            servers = read_servers(opening.servers)
            equipment, kit = self._start(row.cwd, servers)
            past = entries.read(services.store, self.session_id)
            self._ready(equipment, kit, opening)
            settings = {**services.defaults, **row.settings}
            loadout, lost = self._loadout(settings, kit)
            keep = self._keep(replace(row, settings=settings), loadout, settings, equipment, servers, stored=True)
            services.store.apply(sessions.set_directories(row.id, opening.directories))
            mended = replay.mend(past)
            keep.learn(counted := live(past))
            keep.record(*mended)
            keep.hooks.source = "resume"
            keep.recall(counted)
            keep.cost, keep.tokens = last_cost(past), tokens_of(past)
            keep.set_barrier()
        except BaseException:
            services.leases.release(self.session_id)
            raise
        if lost:
            self.host.emit(Notice("warning", "model_gone", {"model": lost, "instead": loadout.model}))
        return keep, [*past, *mended]

    def _start(self, cwd: str, servers: tuple[ServerSpec, ...]) -> tuple[Equipment, Kit]:
        """Start what extends the session; servers come up while the rest is done. It is adopted at once, so that it
        ends with the equipment, whatever becomes of the opening."""
        equipment = self.equip(cwd)
        kit = equipment.prepare(self.services.find(cwd, servers))
        equipment.adopt(kit)
        return equipment, kit

    def _ready(self, equipment: Equipment, kit: Kit, opening: Opening) -> None:
        """Raises `Cancelled`."""
        assert opening.scope is not None
        equipment.wait(kit, opening.scope)
        equipment.tell_problems(kit.found)

    def _loadout(self, settings: dict[str, str], kit: Kit) -> tuple[Loadout, str | None]:
        """The saved axes' loadout, or with the default model where the saved one is gone; and the lost model."""
        needs = Needs(self.host.asks, kit)
        try:
            return self.services.build_loadout(settings, needs), None
        except Fault as fault:
            if fault.code != codes.INVALID_PARAMS:
                raise
            lost = settings.get("model")
            settings["model"] = self.services.defaults["model"]
            return self.services.build_loadout(settings, needs), lost

    def _keep(
        self,
        row: SessionRow,
        loadout: Loadout,
        settings: dict[str, str],
        equipment: Equipment,
        servers: tuple[ServerSpec, ...],
        stored: bool,
    ) -> Keep:
        roots = Roots(row.cwd, row.directories)
        gate = self.services.make_gate(roots)
        gate.approval = settings["tool_approval"]
        self.host.speak(settings["language"])
        writer = RowWriter(self.services.store, row, stored)
        journal = Journal(writer.submit, self.wake)
        controls = {name: settings[name] for name in CONTROLS if name in settings}
        conversation, contents = Conversation(loadout.provider), Contents(self.services.home, row.id)
        keep = Keep(writer, roots, gate, loadout, conversation, journal, controls, equipment, servers, contents)
        keep.set_barrier()
        return keep


def show(host: Host, past: list[Entry], scope: Scope) -> None:
    """Replay at the speed the client reads. Raises `Cancelled` when the session is closed meanwhile; nothing is shown
    once that was answered."""
    usage = None
    for event in replay.events(past):
        if isinstance(event, UsageChanged):
            usage = event
            continue
        with scope.open():
            host.emit(event)
        host.wait_room(scope)
    if usage is not None:
        with scope.open():
            host.emit(usage)


def read_servers(written: Iterable[Any]) -> tuple[ServerSpec, ...]:
    """The servers that a client names, or named before. Raises -32602 for one that cannot be used (SESS-11)."""
    try:
        return merged([one if isinstance(one, ServerSpec) else read(one, Phrase("mcp_client")) for one in written])
    except SpecError as error:
        raise TheirFault(codes.INVALID_PARAMS, Phrase("parameter", name="mcpServers", cause=told(error))) from None


def last_cost(past: list[Entry]) -> float | None:
    """What the session had cost when it was last used."""
    spent = (entry for entry in reversed(past) if isinstance(entry, UsageSet | Compacted | Rewound))
    return next((entry.cost for entry in spent if entry.cost is not None), None)


def tokens_of(past: list[Entry]) -> int:
    """What the session has used in all its model calls."""
    counted = [entry for entry in past if isinstance(entry, UsageSet | Compacted)]
    turns = {entry.turn_id for entry in counted}
    beside = [entry.usage for entry in past if isinstance(entry, TurnClosed) and entry.turn_id not in turns]
    calls = sum(entry.used if isinstance(entry, UsageSet) else entry.tokens for entry in counted)
    return calls + sum(usage.input + usage.output for usage in beside)


def preface(cwd: str) -> str:
    """The facts of the day, said once before a session's first words and never in the system prompt."""
    return f"[Today is {date.today().isoformat()}. Working directory: {cwd}. System: {platform.system()}.]"


def find_row(services: Services, session_id: str) -> SessionRow:
    """The stored session, or -32002 (LOAD-07)."""
    row = sessions.get(services.store, session_id)
    if row is None:
        raise TheirFault(codes.NOT_FOUND, Phrase("session_unknown"))
    return row


def check_home(row: SessionRow, cwd: str) -> None:
    """Raise -32602 if a session is to be opened in another folder than its own."""
    if sessions.resolve(cwd) != row.cwd_resolved:
        raise _bad_folder(Phrase("session_other_folder", cwd=row.cwd))


def check_directory(cwd: str) -> None:
    """Raise -32602 if `cwd` is no directory that can be entered (SESS-04)."""
    if not os.path.isdir(cwd):
        raise _bad_folder(Phrase("session_no_folder"))
    if not os.access(cwd, os.R_OK | os.X_OK):
        raise _bad_folder(Phrase("session_folder_unreadable"))


def _bad_folder(cause: Phrase) -> TheirFault:
    return TheirFault(codes.INVALID_PARAMS, Phrase("parameter", name="cwd", cause=cause))
