"""Requests to the client, and waiting for their answers within a scope."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from acpagent.core.scope import Cancelled, Scope
from acpagent.wire.driver import Driver
from acpagent.wire.pending import Answer

Late = Callable[[Answer], None]


class Unanswered(Exception):
    """The client did not answer in time; the request was withdrawn."""


class _Wait:
    """An answer that somebody waits for. `lock`, the session's, guards it."""

    __slots__ = ("answer", "given_up", "late", "scope")

    def __init__(self, scope: Scope, late: Late | None) -> None:
        self.scope = scope
        self.late = late
        self.answer: Answer | None = None
        self.given_up = False

    def take(self, answer: Answer) -> None:
        """On the reader thread."""
        with self.scope.lock:
            self.answer = answer
            too_late = self.given_up
            self.scope.changed.notify_all()
        if too_late and self.late is not None:
            self.late(answer)

    def give_up(self) -> Answer | None:
        """Nobody waits any longer. The answer that came all the same, if it did; a later one goes to `late`."""
        with self.scope.lock:
            self.given_up = True
            return self.answer


class Asking:
    """Asks one session's questions; `address` is the client's id for it. Every wait is on the scope's condition, so
    that answers, a cancel and the end of the connection wake it alike."""

    def __init__(self, address: str, driver: Driver) -> None:
        self.address = address
        self._driver = driver

    def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        scope: Scope,
        timeout: float | None = None,
        late: Late | None = None,
    ) -> Answer:
        """Send a request and wait for its answer, `timeout` seconds at most.

        Raises `Cancelled` or `Unanswered`; the request is then withdrawn (CAN-08), and an answer that comes all the
        same goes to `late`, or is dropped.
        """
        wait = _Wait(scope, late)
        self._driver.wait_room(scope)
        with scope.open():  # no request leaves once a cancel was read (CAN-07)
            call_id = self._driver.call(method, self._addressed(params), wait.take)
        try:
            if scope.wait_for(lambda: wait.answer is not None, timeout):
                assert wait.answer is not None
                return wait.answer
        except Cancelled:
            self._withdraw(call_id, wait)
            raise
        self._withdraw(call_id, wait)
        raise Unanswered

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a request whose answer does not matter; allowed after a cancel, for cleaning up."""
        self._driver.call(method, self._addressed(params), None)

    def _addressed(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {"sessionId": self.address, **params}

    def _withdraw(self, call_id: int, wait: _Wait) -> None:
        """An answer read in this very moment counts as late: it is here already, or on its way to `take`."""
        answer = wait.give_up()
        if answer is not None:
            if wait.late is not None:
                wait.late(answer)
        elif self._driver.abandon(call_id, wait.late):
            self._driver.notify("$/cancel_request", {"requestId": call_id})
