"""Opening a session: a new one, or one from the store, with or without showing its past."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date

from acpagent.core.events import Notice, UsageChanged
from acpagent.core.faults import Fault, TheirFault
from acpagent.core.history import Entry, UsageSet
from acpagent.core.host import Host
from acpagent.core.paths import Roots
from acpagent.core.scope import Scope
from acpagent.runtime.session import replay
from acpagent.runtime.session.keep import Keep, RowWriter
from acpagent.runtime.session.loadout import CONTROLS, Loadout, Needs
from acpagent.runtime.session.services import Services
from acpagent.runtime.session.works import Opening
from acpagent.runtime.turn.conversation import Conversation
from acpagent.runtime.turn.journal import Journal
from acpagent.store import entries, sessions
from acpagent.store.sessions import SessionRow
from acpagent.wire import codes


@dataclass(frozen=True, slots=True)
class Opener:
    """Runs openings of one session on its worker. `wake` rouses the turn when storing failed."""

    session_id: str
    services: Services
    host: Host
    wake: Callable[[], None]

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
        loadout = self.services.build_loadout(settings, Needs(self.host.asks))
        return self._keep(row, loadout, settings, stored=False)

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
            past = entries.read(services.store, self.session_id)
            settings = {**services.defaults, **row.settings}
            loadout, lost = self._loadout(settings)
            keep = self._keep(replace(row, settings=settings), loadout, settings, stored=True)
            services.store.submit(sessions.set_directories(row.id, opening.directories))
            mended = replay.mend(past)
            keep.learn(past)
            for entry in mended:
                keep.record(entry)
            keep.hooks.source = "resume"
            keep.spoken = bool(keep.conversation.messages())
            keep.cost, keep.tokens = last_cost(past), tokens_of(past)
            keep.set_barrier()
        except BaseException:
            services.leases.release(self.session_id)
            raise
        if lost:
            self.host.emit(Notice("warning", "model_gone", {"model": lost, "instead": loadout.model}))
        return keep, [*past, *mended]

    def _loadout(self, settings: dict[str, str]) -> tuple[Loadout, str | None]:
        """The saved axes' loadout, or with the default model where the saved one is gone; and the lost model."""
        needs = Needs(self.host.asks)
        try:
            return self.services.build_loadout(settings, needs), None
        except Fault as fault:
            if fault.code != codes.INVALID_PARAMS:
                raise
            lost = settings.get("model")
            settings["model"] = self.services.defaults["model"]
            return self.services.build_loadout(settings, needs), lost

    def _keep(self, row: SessionRow, loadout: Loadout, settings: dict[str, str], stored: bool) -> Keep:
        roots = Roots(row.cwd, row.directories)
        gate = self.services.make_gate(roots)
        gate.approval = settings["tool_approval"]
        writer = RowWriter(self.services.store, row, stored)
        journal = Journal(writer.submit, self.wake)
        controls = {name: settings[name] for name in CONTROLS if name in settings}
        keep = Keep(writer, roots, gate, loadout, Conversation(loadout.provider), journal, controls)
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


def last_cost(past: list[Entry]) -> float | None:
    """What the session had cost when it was last used."""
    costs = [entry.cost for entry in past if isinstance(entry, UsageSet) and entry.cost is not None]
    return costs[-1] if costs else None


def tokens_of(past: list[Entry]) -> int:
    """What the session has used in all its model calls."""
    return sum(entry.used for entry in past if isinstance(entry, UsageSet))


def preface(cwd: str) -> str:
    """The facts of the day, said once before a session's first words and never in the system prompt."""
    return f"[Today is {date.today().isoformat()}. Working directory: {cwd}. System: {platform.system()}.]"


def find_row(services: Services, session_id: str) -> SessionRow:
    """The stored session, or -32002 (LOAD-07)."""
    row = sessions.get(services.store, session_id)
    if row is None:
        raise TheirFault(codes.NOT_FOUND, "there is no such session")
    return row


def check_home(row: SessionRow, cwd: str) -> None:
    """Raise -32602 if a session is to be opened in another folder than its own."""
    if sessions.resolve(cwd) != row.cwd_resolved:
        raise TheirFault(codes.INVALID_PARAMS, f"params.cwd: this session belongs to {row.cwd}; open it there")


def check_directory(cwd: str) -> None:
    """Raise -32602 if `cwd` is no directory that can be entered (SESS-04)."""
    if not os.path.isdir(cwd):
        raise TheirFault(codes.INVALID_PARAMS, "params.cwd: no such directory; give an existing folder")
    if not os.access(cwd, os.R_OK | os.X_OK):
        raise TheirFault(codes.INVALID_PARAMS, "params.cwd: the folder cannot be read; check its permissions")
