"""Replies on the wire: a request's id, and how its outcome is spelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from acpagent.core.catalogue import Phrase
from acpagent.core.faults import Fault, TheirFault
from acpagent.runtime.session.works import TurnOutcome
from acpagent.wire import codes

Render = Callable[[Any], dict[str, Any]]


class Answers(Protocol):
    """The connection, as those who answer its requests see it."""

    logged_out: bool

    def in_work(self, request_id: Any, withdraw: Callable[[], None], /) -> None: ...
    def respond(self, request_id: Any, result: Any, /) -> None: ...
    def refuse(self, request_id: Any, fault: Fault, language: str = "", /) -> None: ...


class WireReply:
    """Answers one request about a session, exactly once, under the session lock. `language` asks what is spoken in
    the session by then; empty, it is that of the connection."""

    def __init__(
        self,
        connection: Answers,
        request_id: Any,
        session_id: str,
        render: Render,
        language: Callable[[], str] = lambda: "",
    ) -> None:
        self._language = language
        self._connection = connection
        self._request_id = request_id
        self._session_id = session_id
        self._render = render

    def done(self, outcome: Any) -> None:
        self._connection.respond(self._request_id, self._render(outcome))

    def fail(self, fault: Fault) -> None:
        if fault.code == codes.NOT_FOUND:
            fault = unknown(self._session_id, fault.message)
        self._connection.refuse(self._request_id, fault, self._language())


def unknown(session_id: str, message: str = "") -> TheirFault:
    """The fault for a session that is not open here, or nowhere (RPC-26)."""
    return TheirFault(codes.NOT_FOUND, message or Phrase("session_not_open"), {"sessionId": session_id})


def nothing(outcome: Any) -> dict[str, Any]:
    """An answer that says only that it is done."""
    return {}


def stopped(outcome: TurnOutcome) -> dict[str, Any]:
    """The answer to a prompt."""
    return {"stopReason": outcome.stop}
