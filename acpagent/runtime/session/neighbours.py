"""What a command of one session may do with the others."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from acpagent.core.catalogue import Phrase
from acpagent.core.faults import Fault, TheirFault
from acpagent.core.scope import Cancelled, Scope
from acpagent.runtime.session.works import Opening
from acpagent.store.sessions import SessionRow
from acpagent.wire import codes

if TYPE_CHECKING:
    from acpagent.mcp_client.spec import ServerSpec
    from acpagent.runtime.session.registry import Registry
    from acpagent.runtime.session.session import Session

_PAGES = 20  # of sessions that are looked through


class Neighbours:
    """One per turn of a session. `left`: the client's id for the session stands for another one from here on."""

    def __init__(self, registry: Registry, session: Session, servers: tuple[ServerSpec, ...]) -> None:
        self._registry = registry
        self._session = session
        self._servers = servers
        self.left = False

    def listed(self, cwd: str) -> list[SessionRow]:
        rows: list[SessionRow] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            page, cursor = self._registry.page(cwd, cursor)
            rows += page
            if cursor is None:
                break
        return rows

    def named(self, written: str) -> str:
        return self._registry.addresses.resolve(written)

    def is_live(self, session_id: str) -> bool:
        session = self._registry.find(session_id)
        return session is not None and session.is_open

    def close(self, session_id: str, scope: Scope) -> bool:
        session = self._registry.find(session_id)
        if session is None or not session.is_open:
            return False
        answer = Awaited()
        session.close(answer)
        answer.wait(scope)
        return True

    def delete(self, session_id: str, scope: Scope) -> None:
        answer = Awaited()
        session = self._registry.find(session_id)
        if session is not None and session.delete(answer):
            answer.wait(scope)
            return
        while not self._registry.erase_stored(session_id):  # opened meanwhile
            session = self._registry.find(session_id)
            if session is not None and session.delete(answer):
                answer.wait(scope)
                return

    def continue_as(self, row: SessionRow, scope: Scope) -> None:
        """The past is shown within the prompt that asked for it, for clients that look for no updates after it. Raises
        `Fault`, for one that was opened meanwhile as well, and `Cancelled`."""
        leaving = self._registry.find(row.id)
        if leaving is not None and leaving.is_open:
            raise TheirFault(codes.INVALID_REQUEST, Phrase("session_being_opened"))
        if leaving is not None:  # it is being closed
            ended = Awaited()
            leaving.close(ended)
            ended.wait(scope)
        answer, told = Awaited(), self._session.controls()
        address = self._session.host.address
        self._registry.begin(row.id, Opening("load", row.cwd, row.directories, self._servers, answer), address)
        try:
            answer.wait(scope)
            with self._registry.addressing, scope.open():
                move = self._registry.leave(self._session, row.id)
                was_told = self._session.controls() != told
            self._registry.addresses.keep(move)
        except (Cancelled, Fault):
            self._come_back(row.id)
            raise
        self._session.leave()
        self.left = True
        opened = self._registry.find(row.id)
        if was_told and opened is not None:  # of the session that is left, after the other had told of its own
            opened.show()

    def _come_back(self, session_id: str) -> None:
        """Nothing came of it: the other session is closed again, and what was shown of it gives way to what is so."""
        opened = self._registry.find(session_id)
        if opened is not None:
            ended = Awaited()
            opened.close(ended)
            ended.wait(Scope())
            self._session.show()


class Awaited:
    """A reply that a turn waits for."""

    def __init__(self) -> None:
        self._answered = threading.Event()
        self._fault: Fault | None = None

    def done(self, outcome: Any) -> None:
        self._answered.set()

    def fail(self, fault: Fault) -> None:
        self._fault = fault
        self._answered.set()

    def wait(self, scope: Scope) -> None:
        """Raises the `Fault` that it was answered with, or `Cancelled`."""
        take_back = scope.add_closer(self._answered.set)
        self._answered.wait()
        take_back()
        scope.check()
        if self._fault is not None:
            raise self._fault


class Caught:
    """A reply to what is answered within the call."""

    def __init__(self) -> None:
        self.fault: Fault | None = None

    def done(self, outcome: Any) -> None:
        pass

    def fail(self, fault: Fault) -> None:
        self.fault = fault
