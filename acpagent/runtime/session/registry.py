"""The sessions of one process: which are live, and the doors to those in the store."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from acpagent.core.catalogue import Phrase
from acpagent.core.faults import Fault, TheirFault
from acpagent.core.host import Host
from acpagent.core.reply import Reply
from acpagent.runtime.evidence import receipts
from acpagent.runtime.session.addresses import Addresses, Move
from acpagent.runtime.session.crew import SessionCrew
from acpagent.runtime.session.loadout import AXES
from acpagent.runtime.session.services import Services
from acpagent.runtime.session.session import Session
from acpagent.runtime.session.works import Opening
from acpagent.store import contents, sessions
from acpagent.store.sessions import PAGE_SIZE, SessionRow
from acpagent.wire import codes

# Makes the host of a session from its id and its lock.
MakeHost = Callable[[str, threading.RLock], Host]


class Registry:
    """Live sessions by id, under one leaf lock that is never held while a session's is taken: whether one is closed is
    looked at outside of it. What was closed once stays closed.

    `addressing` is held while a verb finds its session and is given to it, and while an id comes to stand for another
    session: so that none reaches a session that its client has left. It comes before every other lock.
    """

    def __init__(self, services: Services, make_host: MakeHost) -> None:
        self._services = services
        self._make_host = make_host
        self.addressing = threading.Lock()
        self._lock = threading.Lock()
        self._live: dict[str, tuple[Session, SessionCrew]] = {}
        self.addresses = Addresses(services.store)
        # A client's id -> the session that it stood for last, as long as that is there.
        self._left: WeakValueDictionary[str, Session] = WeakValueDictionary()
        self._erasing: set[str] = set()  # stored sessions that cannot be opened meanwhile

    def open(self, session_id: str, opening: Opening) -> None:
        """Open a session: a new one under an id of `mint_id`, a stored one, or a live one again. Raises `TheirFault`
        while it is being erased."""
        address, session_id = session_id, self.addresses.resolve(session_id)
        session = self.find(session_id)
        if session is not None:
            with session.lock:  # so that it is not closed between the look and the verb
                if not session.is_closed:
                    opening.address = address
                    session.reopen(opening)
                    return
        self.begin(session_id, opening, address)

    def find_model(self, name: str) -> str | None:
        """The id of the configured model that a name means."""
        return self._services.offer.find_model(name)

    def get(self, session_id: str) -> Session | None:
        """The session that a client's id stands for, if it was opened here and is not closed since."""
        return self.find(self.addresses.resolve(session_id))

    def find(self, session_id: str) -> Session | None:
        """The session with this very id, if it is live."""
        found = self._find(session_id)
        return found[0] if found else None

    def address(self, session_id: str) -> str:
        """The id by which the client knows a session, or can open it."""
        session = self.find(session_id)
        address = session.host.address if session is not None else ""
        return address if self.addresses.resolve(address) == session_id else self.addresses.of(session_id)

    def leave(self, session: Session, session_id: str) -> Move:
        """The client's id for a session stands for another one from here on. With `addressing` held."""
        address = session.host.address
        with self._lock:
            self._left[address] = session
        return self.addresses.move(address, session_id)

    def cancel(self, address: str) -> bool:
        """Cancel what runs under a client's id, in a session that it left just now as well, whose prompt may not be
        answered yet. False if there is no such session."""
        session = self.get(address)
        with self._lock:
            left = self._left.get(address)
        for one in (session, left):
            if one is not None:
                one.cancel()
        return session is not None

    def crew(self, session_id: str) -> SessionCrew | None:
        """The crew of a live session."""
        found = self._find(self.addresses.resolve(session_id))
        return found[1] if found else None

    def delete(self, session_id: str, reply: Reply) -> bool:
        """Delete a live session: its teardown erases it last. False if it is not live."""
        session = self.get(session_id)
        return session is not None and session.delete(reply)

    def erase(self, session_id: str) -> bool:
        """Delete a stored session; one that is unknown is fine (DEL-02). False, and nothing done, if it is live here.

        Raises `Held` while another process has it, `StoreFault`.
        """
        return self.erase_stored(self.addresses.resolve(session_id))

    def erase_stored(self, session_id: str) -> bool:
        """The same for the session with this very id."""
        before = self._known(session_id)
        if before is not None and not before[0].is_closed:
            return False
        with self._lock:
            if self._live.get(session_id) is not before:
                return False
            self._erasing.add(session_id)
        try:
            if sessions.get(self._services.store, session_id) is not None:
                self._erase(session_id)
        finally:
            with self._lock:
                self._erasing.discard(session_id)
        return True

    def _erase(self, session_id: str) -> None:
        self._services.leases.take(session_id)
        try:
            self._services.store.apply(sessions.erase(session_id))
            contents.erase(self._services.home, session_id)
            receipts.erase(self._services.home, session_id)
        finally:
            self._services.leases.release(session_id)

    def page(self, cwd: str | None, cursor: str | None) -> tuple[list[SessionRow], str | None]:
        """One page of sessions, newest first: the stored ones with a prompt, and those live here.

        Raises `BadCursor`, `StoreFault`.
        """
        resolved = None if cwd is None else sessions.resolve(cwd)
        crews = [crew for session, crew in self._all() if not session.is_closed]
        keeps = [crew.keep for crew in crews if crew.keep is not None]
        stored = [keep.row.id for keep in keeps if keep.writer.stored]
        rows, following = sessions.page(self._services.store, resolved, cursor, PAGE_SIZE, stored)
        if cursor is None:
            fresh = [keep.row for keep in keeps if not keep.writer.stored]
            rows = [row for row in fresh if resolved in (None, row.cwd_resolved)] + rows
            rows.sort(key=lambda row: row.updated_at, reverse=True)
        return rows, following

    def close_all(self, deadline: Callable[[], float]) -> bool:
        """Close every live session at once; waits until all are closed or `deadline()` seconds are gone."""
        live = [session for session, _ in self._all() if not session.is_closed]
        waiters = [_Waiter() for _ in live]
        for session, waiter in zip(live, waiters, strict=True):
            if deadline() <= 0:
                return False  # there are thousands; the end of the process lets go of the rest
            session.close(waiter)
        return all([waiter.wait(max(0.0, deadline())) for waiter in waiters])

    def begin(self, session_id: str, opening: Opening, address: str) -> None:
        """Open a session that is not live, under the id that the client has for it. Raises `TheirFault` while it is
        being erased."""
        crews: list[SessionCrew] = []

        def make_crew(session: Session) -> SessionCrew:
            crews.append(SessionCrew(session, self._services, self))
            return crews[0]

        session = Session(
            session_id,
            opening,
            {axis: self._services.defaults[axis] for axis in AXES},
            lambda lock: self._make_host(address, lock),
            make_crew,
        )
        closed = [pair for pair in self._all() if pair[0].is_closed]
        with self._lock:
            if session_id in self._erasing:
                raise TheirFault(codes.INVALID_REQUEST, Phrase("session_being_deleted"))
            self._live = {one: pair for one, pair in self._live.items() if pair not in closed}
            if session_id in self._live:
                raise TheirFault(codes.INVALID_REQUEST, Phrase("session_being_opened"))
            self._live[session_id] = (session, crews[0])
        session.start()

    def _known(self, session_id: str) -> tuple[Session, SessionCrew] | None:
        with self._lock:
            return self._live.get(session_id)

    def _find(self, session_id: str) -> tuple[Session, SessionCrew] | None:
        """Opened here and not closed since."""
        found = self._known(session_id)
        return None if found is None or found[0].is_closed else found

    def _all(self) -> list[tuple[Session, SessionCrew]]:
        with self._lock:
            return list(self._live.values())


class _Waiter:
    """A reply that somebody waits for."""

    def __init__(self) -> None:
        self._done = threading.Event()

    def done(self, outcome: Any) -> None:
        self._done.set()

    def fail(self, fault: Fault) -> None:
        self._done.set()

    def wait(self, seconds: float) -> bool:
        return self._done.wait(seconds)
