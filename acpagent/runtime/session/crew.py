"""The crew of one session: who runs which kind of work on its worker thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from acpagent.core.blocks import Block
from acpagent.core.catalogue import Phrase, say
from acpagent.core.events import CommandsChanged, Controls, ControlsChanged, TitleChanged
from acpagent.core.faults import Fault, OurFault, TheirFault
from acpagent.core.history import Entry
from acpagent.core.paths import Roots
from acpagent.core.phrases import told
from acpagent.core.reply import Reply
from acpagent.core.scope import Cancelled, Scope
from acpagent.extensions import hookrun
from acpagent.extensions.happening import Happening
from acpagent.extensions.hookrun import Place
from acpagent.mcp_client.spec import ServerSpec
from acpagent.runtime.evidence import receipts
from acpagent.runtime.session.equipment import Equipment, Kit, Whereabouts
from acpagent.runtime.session.keep import Keep
from acpagent.runtime.session.loadout import AXES, OFFERS, SOURCES, Needs
from acpagent.runtime.session.neighbours import Caught, Neighbours
from acpagent.runtime.session.opening import Opener, check_directory, check_home, find_row, read_servers, show
from acpagent.runtime.session.rebuild import Rebuilder
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
from acpagent.store import contents, entries, sessions
from acpagent.toolbox import sources
from acpagent.wire import codes

if TYPE_CHECKING:
    from acpagent.runtime.session.registry import Registry

# What closing a session may take; whatever is not let go of by then dies with the process.
TEARDOWN_SECONDS = 4.0
# Of that, what is left for jobs once hooks have run.
JOBS_SECONDS = 1.5


class SessionCrew:
    """`keep` is made by the first opening and swapped in under the session lock."""

    def __init__(self, session: Session, services: Services, registry: Registry) -> None:
        self._registry = registry
        self._session = session
        self._services = services
        self.keep: Keep | None = None
        self._equipment: Equipment | None = None
        self._offers = 0
        self._commands_in = ""  # the language they were last listed in
        self._runners: dict[type[Work], Callable[..., Outcome]] = {
            Opening: self._open,
            Turn: self._run_turn,
            Rebuild: self._rebuild,
            Teardown: self._tear_down,
        }

    def run(self, work: Work) -> Outcome:
        return self._runners[type(work)](work)

    def controls(self, axes: dict[str, str]) -> Controls:
        values = {**axes, **(self.keep.controls if self.keep else {})}
        return self._services.offer.controls(values)

    def fit(self, axes: dict[str, str]) -> dict[str, str]:
        return self._services.offer.fit(axes)

    def refusal(self, axis: str, value: str, axes: dict[str, str]) -> TheirFault | None:
        return self._services.offer.refusal(axis, value, axes)

    def commands(self) -> CommandsChanged:
        keep = self._keep()
        self._commands_in = keep.controls["language"]
        return CommandsChanged((*self._services.commands.listed(self._commands_in), *keep.loadout.commands.listed()))

    def title(self) -> TitleChanged:
        row = self._keep().row
        return TitleChanged(row.title, row.updated_at)

    def is_local(self, blocks: tuple[Block, ...]) -> bool:
        claimed = self.keep is not None and self.keep.loadout.commands.find(blocks) is not None
        return self._services.commands.find(blocks, claimed) is not None

    def observe(self, event: str, state: str) -> None:
        if self._services.observe is not None:
            self._services.observe(self._session.id, event, state)

    def report(self, what: str, error: BaseException) -> None:
        self._services.report(what, error)

    def adjust(self, changed: Mapping[str, str], reply: Reply | None) -> None:
        """The change holds from here on; what could not be stored is undone, unless changed again meanwhile."""
        keep = self._keep()
        before = {name: keep.controls[name] for name in changed if keep.controls[name] != changed[name]}
        self._set_controls(changed)

        def stored(error: BaseException | None) -> None:
            with self._session.lock:
                if error is not None:
                    left = {name: value for name, value in before.items() if keep.controls[name] == changed[name]}
                    self._set_controls(left)
                self._answer_adjusted(bool(before) and error is None, reply, error)

        if before:
            keep.save(self._session.machine.record.active, stored)
        else:
            stored(None)

    def _set_controls(self, changed: Mapping[str, str]) -> None:
        keep = self._keep()
        keep.controls.update(changed)
        keep.gate.approval = keep.controls["tool_approval"]
        self._session.host.speak(keep.controls["language"])
        if "mode" in changed:
            keep.mode_was_set()

    def _answer_adjusted(self, announce: bool, reply: Reply | None, error: BaseException | None) -> None:
        controls = self.controls(self._session.machine.record.requested())
        if announce:
            self._session.host.emit(ControlsChanged(controls))
        if reply is not None:
            if error is None:
                reply.done(controls)
            else:
                reply.fail(OurFault(Phrase("not_stored_undone", cause=told(error))))

    def submit(self, form: str, values: Mapping[str, Any]) -> None:
        if self.keep is None or not self._session.is_open:
            raise LookupError(form)
        self.keep.equipment.kit.plugins.submit(form, values)

    # The work.

    def _open(self, opening: Opening) -> Opened:
        session = self._session
        assert opening.scope is not None
        try:
            if not opening.first:
                return self._open_again(opening)
            opener = Opener(session.id, self._services, session.host, self._wake, self._equip)
            past: list[Entry] = []
            if opening.kind == "new":
                keep = opener.new(opening)
            else:
                keep, past = opener.stored(opening)
            if opening.kind == "load":
                show(session.host, past, opening.scope)
            return Opened(None, lambda: self._install(keep, opening.kind), keep.loadout.provider.close)
        except BaseException as error:
            self._give_up()
            if isinstance(error, Fault):
                return Opened(error)
            if isinstance(error, Cancelled):
                return Opened(Fault(codes.CANCELLED, Phrase("session_closed_meanwhile")))
            raise

    def _equip(self, cwd: str) -> Equipment:
        services, session = self._services, self._session
        where = Whereabouts(session.id, cwd, services.home, lambda: services.hidden_env)

        def roots() -> tuple[str, ...]:
            return tuple(self.keep.roots.all) if self.keep is not None else (cwd,)

        self._equipment = Equipment(where, session.host, roots, self._catch_up)
        return self._equipment

    def _give_up(self) -> None:
        if self.keep is None:
            if self._equipment is not None:
                self._equipment.close(time.monotonic() + TEARDOWN_SECONDS)
            self._release()

    def after_work(self) -> None:
        """Work is done and answered: the outside may be told more, what was replaced is let go of, and what servers
        offer by now is taken up."""
        if self.keep is not None and self._session.is_open:
            self.keep.equipment.open()
            self.keep.equipment.tidy()
            self._catch_up()
            self._rename_commands(self.keep)

    def _rename_commands(self, keep: Keep) -> None:
        """Another language is spoken since the commands were listed."""
        with self._session.lock:
            if self._session.is_open and self._commands_in not in ("", keep.controls["language"]):
                self._session.host.emit(self.commands())

    def _catch_up(self) -> None:
        """Rebuild where servers offer other things than the loadout was built with; during a turn, behind it."""
        session = self._session
        with session.lock:
            keep = self.keep
            if keep is None or keep.loadout.offers == keep.equipment.kit.servers.signature():
                return
            self._offers += 1
            session.configure(OFFERS, str(self._offers), _Unheard())

    def _install(self, keep: Keep, kind: str) -> None:
        self.keep = keep
        record, settings = self._session.machine.record, keep.row.settings
        record.active = self.fit({axis: settings[axis] for axis in AXES} | {"model": keep.loadout.model})
        self._show_controls(kind)

    def _show_controls(self, kind: str) -> None:
        """Before the answer to a load, after what it replays; the answer to new or resume tells by itself."""
        controls = self.controls(self._session.machine.record.requested())
        self._session.host.emit(ControlsChanged(controls, announce=kind == "load"))

    def _open_again(self, opening: Opening) -> Opened:
        """A live session takes the request's servers and roots; what is stored is shown again if it was loaded."""
        keep = self._keep()
        if opening.address:
            with self._session.lock:
                self._session.host.move(opening.address)  # LOAD-05
        check_home(keep.row, opening.cwd)
        check_directory(opening.cwd)
        servers = read_servers(opening.servers)
        kit = keep.equipment.prepare(self._services.find(keep.row.cwd, servers), anew=False)
        try:
            return self._opened_again(opening, kit, servers)
        except BaseException:
            self._stay(kit)
            raise

    def _opened_again(self, opening: Opening, kit: Kit, servers: tuple[ServerSpec, ...]) -> Opened:
        keep = self._keep()
        assert opening.scope is not None
        if keep.writer.stored:  # else there is no past yet
            find_row(self._services, self._session.id)
            self._services.store.apply(sessions.set_directories(self._session.id, opening.directories))
            if opening.kind == "load":
                show(self._session.host, entries.read(self._services.store, self._session.id), opening.scope)
        keep.equipment.wait(kit, opening.scope)
        active = self._session.machine.record.active
        loadout = self._services.build_loadout(active, Needs(self._session.host.asks, kit))
        keep.equipment.tell_problems(kit.found)
        roots = Roots(keep.row.cwd, opening.directories)

        def install() -> None:
            keep.take(loadout, kit)
            keep.client_servers = servers
            keep.roots = keep.gate.roots = roots
            keep.writer.change(directories=opening.directories)
            self._show_controls(opening.kind)

        def discard() -> None:
            loadout.provider.close()
            self._stay(kit)

        return Opened(None, install, discard)

    def _stay(self, kit: Kit) -> None:
        """The session stays as it is: a later opening came to nothing, and what was started for it ends."""
        keep = self._keep()
        keep.equipment.discard(kit)
        if keep.writer.stored:
            self._services.store.submit(sessions.set_directories(self._session.id, keep.row.directories))

    def _run_turn(self, turn: Turn) -> TurnOutcome:
        session, keep = self._session, self._keep()
        neighbours = Neighbours(self._registry, session, keep.client_servers)
        runner = TurnRunner(
            self._services,
            keep,
            session.host,
            lambda changed: session.adjust(changed, None),
            self._connect,
            lambda: session.reload(_Unheard()),
            self._requested,
            self._configure,
            neighbours,
        )
        return runner.run(turn)

    def _requested(self) -> Controls:
        with self._session.lock:
            return self.controls(self._session.machine.record.requested())

    def _configure(self, axis: str, value: str) -> None:
        """Ask for another value of an axis as a client does. While a turn runs it is answered at once. Raises
        `Fault`."""
        answer = Caught()
        self._session.configure(axis, value, answer)
        if answer.fault is not None:
            raise answer.fault

    def _connect(self, source: str) -> bool:
        """Ask for the tools of a source, which a rebuild after the turn brings; False if they were asked for before."""
        session = self._session
        with session.lock:
            asked_for = session.machine.record.requested()[SOURCES]
            more = sources.joined(asked_for, source)
            if more != asked_for:
                session.configure(SOURCES, more, _Unheard())
            return more != asked_for

    def _rebuild(self, rebuild: Rebuild) -> Rebuilt:
        active, asks = dict(self._session.machine.record.active), self._session.host.asks
        return Rebuilder(self._services, self._keep(), asks, active).run(rebuild)

    def _tear_down(self, teardown: Teardown) -> TornDown:
        """End jobs, store what is left, free connections and the lease; erase last, if the session is being deleted.
        A job that will not die in time is left to the end of the process."""
        deadline = time.monotonic() + TEARDOWN_SECONDS
        try:
            if self.keep is not None:
                self.keep.jobs.stop()
                self.keep.equipment.kit.plugins.notify("session.end", {})
                self.keep.equipment.end()
                self.keep.loadout.provider.close()
                if not teardown.erase:
                    self.keep.journal.commit(TEARDOWN_SECONDS)
                self._tell_hooks(self.keep, "delete" if teardown.erase else "close", deadline)
            if teardown.erase:
                self._services.leases.take(self._session.id)  # ours already, unless teardown runs again to erase
                self._services.store.apply(sessions.erase(self._session.id))
                contents.erase(self._services.home, self._session.id)
                receipts.erase(self._services.home, self._session.id)
        except Fault as fault:
            return TornDown(fault)
        finally:
            if self._equipment is not None:
                self._equipment.close(deadline)
            if self.keep is not None:
                self.keep.jobs.close(deadline)
            self._release()
        return TornDown()

    def _tell_hooks(self, keep: Keep, source: str, deadline: float) -> None:
        """The session ends, for hooks that were told that it began. What they have to say, nobody is there to read."""
        if not keep.hooks.begun:
            return
        keep.hooks.begun = False
        place = Place(keep.roots.cwd, self._services.hidden_env)
        what = Happening("SessionEnd", self._session.id, keep.roots.cwd, keep.row.prompts, source=source)
        answer = hookrun.fire(keep.loadout.hooks, what, place, Scope(), deadline - JOBS_SECONDS)
        for notice in answer.notices:
            self._services.report("a hook", OurFault(say(notice.code, notice.params)))

    def _release(self) -> None:
        try:
            self._services.leases.release(self._session.id)
        except Fault as fault:
            self._services.report("letting a session go; the end of the process will", fault)

    def _keep(self) -> Keep:
        assert self.keep is not None, "work before the opening was done"
        return self.keep

    def _wake(self) -> None:
        with self._session.lock:
            work = self._session.machine.record.work
            if isinstance(work, Turn):
                work.scope.changed.notify_all()


class _Unheard:
    """The answer to what nobody outside asked for; that it failed, the person is told."""

    def done(self, outcome: Any) -> None:
        pass

    def fail(self, fault: Fault) -> None:
        pass
