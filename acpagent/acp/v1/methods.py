"""The method table: how each method's params are read, in which lane it runs, and who handles it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from acpagent.acp.v1 import auth, controls, decode, prompting, sessions, vendor
from acpagent.acp.v1.initialize import RELOAD_METHOD, STEER_METHOD, SUBMIT_METHOD
from acpagent.acp.v1.lane import ConnectionLane, Job
from acpagent.acp.v1.log import log
from acpagent.acp.v1.replies import Answers, Render, WireReply, unknown
from acpagent.core.faults import TheirFault
from acpagent.runtime.session.registry import Registry
from acpagent.runtime.session.session import Session
from acpagent.wire import codes
from acpagent.wire.messages import Notification, Request

# reader: answered at once; connection: I/O without a live session, on the connection's worker; session: a verb of a
# session, which must be live unless the method opens one.
Lane = Literal["reader", "connection", "session"]
Handler = Callable[["Methods", Any, Any], None]


@dataclass(frozen=True, slots=True)
class Method:
    decode: Callable[[Any], Any]
    lane: Lane
    handle: Handler


METHODS: dict[str, Method] = {
    "authenticate": Method(decode.authenticate, "connection", auth.authenticate),
    "logout": Method(decode.nothing("logout"), "reader", auth.logout),
    "session/new": Method(decode.new_session, "session", sessions.new),
    "session/load": Method(decode.load_session, "session", sessions.open_stored),
    "session/resume": Method(decode.resume_session, "session", sessions.open_stored),
    "session/list": Method(decode.list_sessions, "connection", sessions.list_page),
    "session/close": Method(decode.session_id("session/close"), "session", sessions.close),
    "session/delete": Method(decode.session_id("session/delete"), "session", sessions.delete),
    "session/prompt": Method(decode.prompt, "session", prompting.prompt),
    "session/set_mode": Method(decode.set_mode, "session", controls.set_mode),
    "session/set_model": Method(decode.set_model, "session", controls.set_model),
    "session/set_config_option": Method(decode.set_option, "session", controls.set_option),
    STEER_METHOD: Method(decode.steer, "session", vendor.steer),
    RELOAD_METHOD: Method(decode.session_id(RELOAD_METHOD), "session", vendor.reload),
    SUBMIT_METHOD: Method(decode.submit, "reader", vendor.submit),
}


class Methods:
    """The table at work on one connection."""

    def __init__(
        self,
        connection: Answers,
        registry: Registry,
        has_credentials: Callable[[], bool],
        finish: Callable[[float], None],
    ) -> None:
        """`has_credentials` says whether the start-up model could be used; `finish` closes the store."""
        self.connection = connection
        self.registry = registry
        self.has_credentials = has_credentials
        self._finish = finish
        self.lane = ConnectionLane()

    def session(self, session_id: str) -> Session:
        """The open session that the client knows by this id. Raises -32002 (RPC-26)."""
        session = self.registry.get(session_id)
        if session is None:
            raise unknown(session_id)
        return session

    def reply(self, request_id: Any, session: Session, session_id: str, render: Render) -> WireReply:
        """The answer to a request of a session, which may be withdrawn before."""
        reply = WireReply(self.connection, request_id, session_id, render, lambda: session.host.language)
        self.connection.in_work(request_id, lambda: session.withdraw(reply))
        return reply

    def request(self, request: Request) -> None:
        """Handle a request. Raises `Fault` where it is refused right away."""
        method = METHODS.get(request.method)
        if method is None:
            known = request.method in ("session/cancel", "$/cancel_request")
            why = "that is a notification; send it without an id" if known else "no such method"
            raise TheirFault(codes.METHOD_NOT_FOUND, why)  # RPC-07, RPC-08
        params = method.decode(request.params)
        if method.lane == "connection":
            self.in_lane(request.id, lambda: method.handle(self, request.id, params))
        elif method.lane == "session":
            with self.registry.addressing:
                method.handle(self, request.id, params)
        else:
            method.handle(self, request.id, params)

    def in_lane(self, request_id: Any, work: Callable[[], None]) -> None:
        """Run `work` on the connection's worker; cancelled before it began, it is answered -32800."""
        job = Job(work, lambda fault: self.connection.refuse(request_id, fault))
        self.connection.in_work(request_id, job.withdraw)
        self.lane.submit(job)

    def notification(self, notification: Notification) -> None:
        """`session/cancel`; every other notification is ignored (RPC-09), and a request without an id told of."""
        if notification.method == "session/cancel":
            with self.registry.addressing:
                prompting.cancel(self, notification.params)
        elif notification.method in METHODS:
            log(f"{notification.method} is a request and came without an id; ignored")

    def shut_down(self, deadline: float) -> None:
        """Close every session and let the lane finish meanwhile; then the store."""
        self.registry.close_all(lambda: deadline - time.monotonic())
        self.lane.close(deadline)
        self._finish(deadline)
