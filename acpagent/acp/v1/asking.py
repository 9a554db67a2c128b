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


class Asking:
    """Asks one session's questions. Every wait is on the scope's condition, so that answers, a cancel and the end
    of the connection wake it alike."""

    def __init__(self, session_id: str, driver: Driver) -> None:
        self._session_id = session_id
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
        answers: list[Answer] = []

        def on_answer(answer: Answer) -> None:
            with scope.lock:
                answers.append(answer)
                scope.changed.notify_all()

        with scope.open():  # no request leaves once a cancel was read (CAN-07)
            call_id = self._driver.call(method, self._addressed(params), on_answer)
        try:
            if scope.wait_for(lambda: bool(answers), timeout):
                return answers[0]
        except Cancelled:
            self._withdraw(call_id, answers, late)
            raise
        self._withdraw(call_id, answers, late)
        raise Unanswered

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a request whose answer does not matter; allowed after a cancel, for cleaning up."""
        self._driver.call(method, self._addressed(params), None)

    def _addressed(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {"sessionId": self._session_id, **params}

    def _withdraw(self, call_id: int, answers: list[Answer], late: Late | None) -> None:
        """Nobody waits any longer. An answer that was read in the same moment counts as late."""
        if self._driver.abandon(call_id, late):
            self._driver.notify("$/cancel_request", {"requestId": call_id})
        elif late is not None and answers:
            late(answers[0])
