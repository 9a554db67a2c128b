"""What the agent asks of the client: a table from method to handler, and each request answered once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from acpagent.client.permission import PermissionRequest, chosen, outcome
from acpagent.client.questions import DISMISSED, QuestionRequest, filled
from acpagent.client.updates import text_of
from acpagent.core.faults import Fault
from acpagent.wire.codes import (
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    NOT_FOUND,
)
from acpagent.wire.pending import id_key

if TYPE_CHECKING:
    from acpagent.client.connection import Connection
    from acpagent.client.session import Session
    from acpagent.wire.messages import Request

Permission = Callable[[PermissionRequest], object]
Question = Callable[[QuestionRequest], object]
Handler = Callable[[dict[str, Any]], Any]

_PERMISSION = "session/request_permission"
_QUESTION = "elicitation/create"


class Ask:
    """A request of the agent that waits for a callback."""

    __slots__ = ("id", "method", "params", "session_id", "withdrawn")

    def __init__(self, id: Any, method: str, params: dict[str, Any]) -> None:
        self.id = id
        self.method = method
        self.params = params
        self.session_id = text_of(params, "sessionId")
        self.withdrawn = threading.Event()


class Handlers:
    """Functions from params to result that answer methods of the agent, in a table each.

    Those of `slow` run on a thread of their own for each request. Those of `quick` never block and run where requests
    are read, so in the order in which they were asked. `undo` gets the result of a slow one that came when nobody
    wanted it any longer.
    """

    __slots__ = ("quick", "slow", "undo")

    def __init__(self) -> None:
        self.slow: dict[str, Handler] = {}
        self.quick: dict[str, Handler] = {}
        self.undo: dict[str, Callable[[Any], None]] = {}


class Callbacks:
    """Answers the agent's requests, every one exactly once, whoever comes first: callback or withdrawal.

    Each request that can take time runs on a daemon thread of its own, so that a person who takes their time keeps
    nothing from being read. A `Fault` that a handler raises is answered with its code, anything else with -32603. Owns
    `_lock`, a leaf, over what waits.
    """

    def __init__(
        self, connection: Connection, permission: Permission | None, question: Question | None, handlers: Handlers
    ) -> None:
        self._connection = connection
        self._permission = permission
        self._question = question
        self._begin: dict[str, Callable[[Ask], None]] = {}
        if question is not None:
            self._begin[_QUESTION] = self._begin_question
        self._begin |= dict.fromkeys(handlers.quick, self._begin_quick)
        self._begin |= dict.fromkeys(handlers.slow, self._begin_handler)
        self._begin[_PERMISSION] = self._begin_permission
        self._handlers = handlers.quick | handlers.slow
        self._undo = handlers.undo
        self._lock = threading.Lock()
        self._waiting: dict[Hashable, Ask] = {}

    # -- on the reader thread

    def receive(self, request: Request) -> None:
        """Begin to answer a request. Raises `Fault` for what can be refused at once."""
        begin = self._begin.get(request.method)
        if begin is None:
            raise Fault(METHOD_NOT_FOUND, f"this client has no method {request.method[:80]}")
        params = request.params if isinstance(request.params, dict) else {}
        begin(Ask(request.id, request.method, params))

    def take_back(self, request_id: Any) -> None:
        """The agent no longer wants the answer to its request."""
        with self._lock:
            ask = self._waiting.get(id_key(request_id))
        if ask is not None:
            self.withdraw(ask)

    def _begin_permission(self, ask: Ask) -> None:
        if ask.session_id is None or not isinstance(ask.params.get("options"), list):
            raise Fault(INVALID_PARAMS, "params: sessionId and options are required")
        session = self._connection.find(ask.session_id)
        if session is None:
            raise Fault(NOT_FOUND, "unknown session", {"sessionId": ask.session_id})
        self._wait_for(ask)
        if session.cancelling:
            self.withdraw(ask)  # asked before the agent read the cancel (CAN-06)
        elif self._permission is None:
            self._answer_permission(ask, session, None)
        else:
            self._spawn(ask, lambda: self._ask_person(ask, session))

    def _begin_question(self, ask: Ask) -> None:
        if ask.params.get("mode") != "form" or not isinstance(ask.params.get("requestedSchema"), dict):
            raise Fault(INVALID_PARAMS, "params.mode: this client shows forms only; requestedSchema is required")
        session = self._connection.find(ask.session_id) if ask.session_id is not None else None
        if session is None and ask.params.get("requestId") is None:
            raise Fault(NOT_FOUND, "unknown session", {"sessionId": ask.session_id})
        self._wait_for(ask)
        if session is not None and session.cancelling:
            self.withdraw(ask)  # asked before the agent read the cancel (CAN-06)
        else:
            self._spawn(ask, lambda: self._ask_form(ask, session))

    def _begin_handler(self, ask: Ask) -> None:
        self._wait_for(ask)
        self._spawn(ask, lambda: self._handle(ask))

    def _begin_quick(self, ask: Ask) -> None:
        self._wait_for(ask)
        self._handle(ask)

    def _spawn(self, ask: Ask, work: Callable[[], None]) -> None:
        try:
            threading.Thread(target=work, name=f"acpagent client: {ask.method}", daemon=True).start()
        except RuntimeError:  # no further thread can be had
            self._settle(ask)
            raise

    # -- on the request's own thread

    def _ask_person(self, ask: Ask, session: Session) -> None:
        request = PermissionRequest(session, ask.params, ask.withdrawn, lambda: self.withdraw(ask))
        answer: object = None
        try:
            if self._permission is not None:
                answer = self._permission(request)
        except Exception:
            answer = None
        finally:
            self._answer_permission(ask, session, answer)

    def _answer_permission(self, ask: Ask, session: Session, answer: object) -> None:
        options = PermissionRequest(session, ask.params, ask.withdrawn, lambda: None).options
        if self._settle(ask):
            self._connection.driver.respond(ask.id, outcome(chosen(answer, options)))

    def _ask_form(self, ask: Ask, session: Session | None) -> None:
        """A callback that raises is nobody who could have declined."""
        assert self._question is not None
        request = QuestionRequest(session, ask.params, ask.withdrawn, lambda: self.withdraw(ask))
        answer = DISMISSED
        try:
            answer = filled(self._question(request))
        except Exception:
            answer = DISMISSED
        finally:
            if self._settle(ask):
                self._connection.driver.respond(ask.id, answer)

    def _handle(self, ask: Ask) -> None:
        driver = self._connection.driver
        try:
            result = self._handlers[ask.method](ask.params)
        except Fault as fault:
            if self._settle(ask):
                driver.refuse(ask.id, fault.code, fault.message, fault.data)
        except Exception as fault:
            if self._settle(ask):
                driver.refuse(ask.id, INTERNAL_ERROR, f"the client's handler failed ({type(fault).__name__})")
        else:
            if self._settle(ask):
                driver.respond(ask.id, result)
            elif ask.method in self._undo:
                self._undo[ask.method](result)

    # -- from any thread

    def withdraw(self, ask: Ask) -> None:
        """Answer in the callback's stead, whose own answer is dropped."""
        if not self._settle(ask):
            return
        ask.withdrawn.set()
        if ask.method == _PERMISSION:
            self._connection.driver.respond(ask.id, outcome(None))
        elif ask.method == _QUESTION and _QUESTION not in self._handlers:
            self._connection.driver.respond(ask.id, DISMISSED)
        else:
            self._connection.driver.refuse(ask.id, CANCELLED, "cancelled")

    def withdraw_all(self, session_id: str | None = None) -> None:
        """Withdraw whatever waits, of one session or of all."""
        with self._lock:
            asks = list(self._waiting.values())
        for ask in asks:
            if session_id is None or ask.session_id == session_id:
                self.withdraw(ask)

    def _wait_for(self, ask: Ask) -> None:
        with self._lock:
            self._waiting[id_key(ask.id)] = ask

    def _settle(self, ask: Ask) -> bool:
        """True for the one who may answer."""
        with self._lock:
            if self._waiting.get(id_key(ask.id)) is not ask:
                return False
            del self._waiting[id_key(ask.id)]
            return True
