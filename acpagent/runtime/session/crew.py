"""The crew of one session: who runs which kind of work on its worker thread."""

from __future__ import annotations

import time
from collections.abc import Callable

from acpagent.core.blocks import Block
from acpagent.core.events import CommandsChanged, ControlsChanged, TitleChanged
from acpagent.core.faults import Fault
from acpagent.core.history import Entry
from acpagent.core.paths import Roots
from acpagent.core.scope import Cancelled
from acpagent.runtime.session.keep import Keep, settings_of
from acpagent.runtime.session.loadout import AXES, Loadout
from acpagent.runtime.session.opening import Opener, check_directory, check_home, find_row, show
from acpagent.runtime.session.services import Services
from acpagent.runtime.session.session import Session
from acpagent.runtime.session.turns import TurnRunner
from acpagent.runtime.session.works import (
    Opened,
    Opening,
    Outcome,
    Rebuild,
    Rebuilt,
    Teardown,
    TornDown,
    Turn,
    TurnOutcome,
    Work,
)
from acpagent.store import entries, sessions
from acpagent.wire import codes

# What closing a session may take; whatever is not let go of by then dies with the process.
TEARDOWN_SECONDS = 4.0


class SessionCrew:
    """`keep` is made by the first opening and swapped in under the session lock."""

    def __init__(self, session: Session, services: Services) -> None:
        self._session = session
        self._services = services
        self.keep: Keep | None = None
        self._runners: dict[type[Work], Callable[..., Outcome]] = {
            Opening: self._open,
            Turn: self._run_turn,
            Rebuild: self._rebuild,
            Teardown: self._tear_down,
        }

    def run(self, work: Work) -> Outcome:
        return self._runners[type(work)](work)

    def controls(self, axes: dict[str, str]) -> ControlsChanged:
        return ControlsChanged({**axes, **(self.keep.controls if self.keep else {})})

    def commands(self) -> CommandsChanged:
        return CommandsChanged(self._services.commands.listed())

    def title(self) -> TitleChanged:
        row = self._keep().row
        return TitleChanged(row.title, row.updated_at)

    def is_local(self, blocks: tuple[Block, ...]) -> bool:
        return self._services.commands.answer(blocks) is not None

    def observe(self, event: str, state: str) -> None:
        if self._services.observe is not None:
            self._services.observe(self._session.id, event, state)

    def report(self, what: str, error: BaseException) -> None:
        self._services.report(what, error)

    def adjust(self, name: str, value: str) -> None:
        """Set a control that needs no rebuild. Under the session lock."""
        assert self.keep is not None
        self.keep.controls[name] = value
        if name == "tool_approval":
            self.keep.gate.approval = value
        self._save_settings()

    # The work.

    def _open(self, opening: Opening) -> Opened:
        session = self._session
        assert opening.scope is not None
        try:
            if not opening.first:
                return self._open_again(opening)
            opener = Opener(session.id, self._services, session.host, self._wake)
            past: list[Entry] = []
            if opening.kind == "new":
                keep = opener.new(opening)
            else:
                keep, past = opener.stored(opening)
            if opening.kind == "load":
                show(session.host, past, opening.scope)
            return Opened(install=lambda: self._install(keep))
        except Fault as fault:
            self._give_up()
            return Opened(fault)
        except Cancelled:
            self._give_up()
            return Opened(Fault(codes.CANCELLED, "the session was closed"))

    def _give_up(self) -> None:
        if self.keep is None:
            self._release()

    def _install(self, keep: Keep) -> None:
        self.keep = keep
        record, settings = self._session.machine.record, keep.row.settings
        record.active = {axis: settings[axis] for axis in AXES} | {"model": keep.loadout.model}
        self._session.host.emit(self.controls(record.requested()))

    def _open_again(self, opening: Opening) -> Opened:
        """A live session takes the request's roots; what is stored is shown again if it was loaded."""
        keep = self._keep()
        check_home(keep.row, opening.cwd)
        check_directory(opening.cwd)
        if keep.writer.stored:  # else there is no past yet
            find_row(self._services, self._session.id)
            self._services.store.submit(sessions.set_directories(self._session.id, opening.directories))
            if opening.kind == "load":
                assert opening.scope is not None
                show(self._session.host, entries.read(self._services.store, self._session.id), opening.scope)
        roots = Roots(keep.row.cwd, opening.directories)

        def install() -> None:
            keep.roots = keep.gate.roots = roots
            keep.writer.change(directories=opening.directories)
            self._session.host.emit(self.controls(self._session.machine.record.requested()))

        return Opened(install=install)

    def _run_turn(self, turn: Turn) -> TurnOutcome:
        session = self._session
        runner = TurnRunner(self._services, self._keep(), session.host, self._allow_everything)
        return runner.run(turn)

    def _allow_everything(self) -> None:
        """The person chose `full`: the session is yolo from here on."""
        self._session.adjust(lambda: self.adjust("tool_approval", "yolo"), None)

    def _rebuild(self, rebuild: Rebuild) -> Rebuilt:
        """Axes and reload together; if that fails, the axes alone, then the reload alone."""
        active = dict(self._session.machine.record.active)
        loadout, fault = self._try_build({**active, **rebuild.axes})
        axes_fault = fault if rebuild.axes else None
        reload_fault = fault if rebuild.reload else None
        if fault is not None and rebuild.axes and rebuild.reload:
            loadout, reload_fault = self._try_build(active)
        if loadout is None:
            return Rebuilt(axes_fault, reload_fault)
        return Rebuilt(axes_fault, reload_fault, lambda: self._swap(loadout))

    def _try_build(self, axes: dict[str, str]) -> tuple[Loadout | None, Fault | None]:
        try:
            return self._services.build_loadout(axes), None
        except Fault as fault:
            return None, fault

    def _swap(self, loadout: Loadout) -> None:
        keep = self._keep()
        keep.loadout.provider.close()
        keep.loadout = loadout
        keep.conversation.rebind(loadout.provider)
        self._save_settings(model=loadout.model)

    def _tear_down(self, teardown: Teardown) -> TornDown:
        """End jobs, store what is left, free connections and the lease; erase last, if the session is being deleted.
        A job that will not die in time is left to the end of the process."""
        deadline = time.monotonic() + TEARDOWN_SECONDS
        try:
            if self.keep is not None:
                self.keep.jobs.stop()
                self.keep.loadout.provider.close()
                if not teardown.erase:
                    self.keep.journal.commit(TEARDOWN_SECONDS)
            if teardown.erase:
                self._services.leases.take(self._session.id)  # ours already, unless teardown runs again to erase
                self._services.store.apply(sessions.erase(self._session.id))
        except Fault as fault:
            return TornDown(fault)
        finally:
            if self.keep is not None:
                self.keep.jobs.close(deadline)
            self._release()
        return TornDown()

    def _release(self) -> None:
        try:
            self._services.leases.release(self._session.id)
        except Fault as fault:
            self._services.report("letting a session go; the end of the process will", fault)

    def _keep(self) -> Keep:
        assert self.keep is not None, "work before the opening was done"
        return self.keep

    def _save_settings(self, **changed: str) -> None:
        keep, axes = self._keep(), self._session.machine.record.active
        keep.writer.set_settings(settings_of({**axes, **changed}, keep.controls))

    def _wake(self) -> None:
        with self._session.lock:
            work = self._session.machine.record.work
            if isinstance(work, Turn):
                work.scope.changed.notify_all()
