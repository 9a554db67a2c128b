"""The connection behind a client: the agent's process, the wire, and who gets what comes in."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acpagent.client.callbacks import Callbacks, Handler, Handlers, Permission, Question
from acpagent.client.faults import AgentEnded, AgentFault
from acpagent.client.files import Files
from acpagent.client.process import STOP_SECONDS, Process
from acpagent.client.terminals import Terminals
from acpagent.client.updates import text_of, view
from acpagent.core.faults import Fault
from acpagent.wire.codes import INTERNAL_ERROR, METHOD_NOT_FOUND, NOT_FOUND
from acpagent.wire.driver import Driver

if TYPE_CHECKING:
    from acpagent.client.session import Session
    from acpagent.wire.messages import Notification, Request
    from acpagent.wire.pending import Answer

# How long the reader may take over what an agent wrote before it ended, and the death of one that is lost.
_GRACE = 1.0

# Where the agent says that it has a method; the others it must have.
_OFFERED_AT: dict[str, tuple[str, str]] = {
    "logout": ("auth", "logout"),
    "session/close": ("sessionCapabilities", "close"),
    "session/delete": ("sessionCapabilities", "delete"),
    "session/list": ("sessionCapabilities", "list"),
    "session/resume": ("sessionCapabilities", "resume"),
}


class Connection:
    """Owns the process and the driver, and `_lock`, a leaf, over the table of live sessions.

    The receiver of the driver: `on_...` run on the reader thread.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | None,
        env: Mapping[str, str] | None,
        on_stderr: Callable[[str], object] | None,
        permission: Permission | None,
        question: Question | None,
        handlers: Mapping[str, Handler],
        files: Files | None,
        terminals: bool,
    ) -> None:
        self.capabilities: dict[str, Any] = {}
        self.terminals = Terminals(self.find) if terminals else None
        self.callbacks = Callbacks(self, permission, question, self._offered(handlers, files))
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._reader: int | None = None
        self._ready = threading.Event()
        self.process = Process(command, cwd=cwd, env=env, on_stderr=on_stderr, on_exit=self._exited)
        self.driver = Driver(self.process.read_fd, self.process.write_fd, self, name="acpagent client")
        self.driver.start()
        self._ready.set()

    def _offered(self, handlers: Mapping[str, Handler], files: Files | None) -> Handlers:
        """What answers the agent; the program's own handlers win."""
        offered = Handlers()
        if files is not None:
            offered.slow |= {method: self._of_session(handler) for method, handler in files.handlers().items()}
        if self.terminals is not None:
            offered.slow |= self.terminals.handlers()
            offered.quick |= self.terminals.quick_handlers()
            offered.undo["terminal/create"] = self.terminals.take_back
        for method, handler in handlers.items():
            offered.slow[method] = handler
            offered.quick.pop(method, None)
            offered.undo.pop(method, None)
        return offered

    def _of_session(self, handler: Handler) -> Handler:
        def answer(params: dict[str, Any]) -> Any:
            if self.find(text_of(params, "sessionId") or "") is None:
                raise Fault(NOT_FOUND, "unknown session")
            return handler(params)

        return answer

    # -- requests to the agent

    def call(
        self,
        method: str,
        params: dict[str, Any] | None,
        timeout: float | None,
        then: Callable[[Answer], None] | None = None,
    ) -> Any:
        """Send a request and wait for its result, for which null is {}. `then` sees the answer first, on the
        reader thread, before anything that the agent sent after it.

        Raises `AgentFault`, `AgentEnded`, `TimeoutError`; a request given up is cancelled.
        """
        self.check_thread()
        arrived = threading.Event()
        answers: list[Answer] = []

        def on_answer(answer: Answer) -> None:
            answers.append(answer)
            try:
                if then is not None:
                    then(answer)
            finally:
                arrived.set()

        id = self.driver.call(method, params, on_answer)
        if not arrived.wait(timeout):
            if self.driver.abandon(id):
                self.driver.notify("$/cancel_request", {"requestId": id})
                raise TimeoutError(f"the agent has not answered {method} in time")
            arrived.wait()  # the answer is being handled at this moment
        result = self.result(answers[0])
        return {} if result is None else result

    def result(self, answer: Answer) -> Any:
        """The result of an answer. Raises `AgentFault`, or `AgentEnded` for a lost one."""
        if answer.lost:
            raise self.ended()
        if answer.error is not None:
            error = answer.error
            raise AgentFault(error["code"], error["message"], error.get("data"))
        return answer.result

    def ended(self) -> AgentEnded:
        """What to raise when the agent is gone. Waits a moment for its exit code and last words."""
        gone = self.process.ended.wait(_GRACE)
        return AgentEnded(self.process.exit_code, self.process.stderr_tail(_GRACE if gone else 0.0))

    def offers(self, method: str) -> bool:
        """Whether the agent said that it has an optional method: a marker of any value but null and false."""
        if method == "session/load":
            return self.capabilities.get("loadSession") is True
        group, name = _OFFERED_AT[method]
        found = self.capabilities.get(group)
        return isinstance(found, dict) and found.get(name) not in (None, False)

    def require(self, method: str) -> None:
        """Raises `AgentFault` (-32601) for a method that the agent does not offer, without asking it."""
        if not self.offers(method):
            raise AgentFault(METHOD_NOT_FOUND, f"this agent does not offer {method}")

    def check_thread(self) -> None:
        """Raises `RuntimeError` on the reader thread, where waiting for the agent would last for ever."""
        if threading.get_ident() == self._reader:
            raise RuntimeError("on_update must not wait for the agent; hand the work to another thread")

    # -- sessions

    def add(self, session: Session) -> None:
        with self._lock:
            self._sessions[session.id] = session

    def forget(self, session: Session) -> None:
        with self._lock:
            if self._sessions.get(session.id) is session:
                del self._sessions[session.id]
        if self.terminals is not None:
            self.terminals.end_session(session.id)

    def find(self, id: str) -> Session | None:
        with self._lock:
            return self._sessions.get(id)

    # -- what comes in

    def on_request(self, request: Request) -> None:
        self.callbacks.receive(request)

    def on_notification(self, notification: Notification) -> None:
        params = notification.params
        if not isinstance(params, dict):
            return
        if notification.method == "session/update":
            self._update(params)
        elif notification.method == "$/cancel_request":
            self.callbacks.take_back(params.get("requestId"))

    def on_end(self, reason: str) -> None:
        self.callbacks.withdraw_all()
        if self.terminals is not None:
            self.terminals.end_all()

    def _update(self, params: dict[str, Any]) -> None:
        session = self.find(text_of(params, "sessionId") or "")
        update = params.get("update")
        if session is not None and isinstance(update, dict):
            self._reader = threading.get_ident()
            session.receive(view(update))

    # -- the end

    def close(self, seconds: float = STOP_SECONDS) -> None:
        """Close the agent's stdin, hear it out, and end it if it does not end by itself."""
        self.driver.end_output()
        self.process.stop(seconds)
        self.driver.ended.wait(_GRACE)
        self.driver.finish(time.monotonic() + _GRACE)
        if self.terminals is not None:
            self.terminals.wait()

    def _exited(self) -> None:
        # A process that left the group may hold stdout open still; the agent itself says nothing more.
        self._ready.wait()
        if not self.driver.ended.wait(_GRACE):
            self.driver.stop_reading()


def missing(method: str, field: str) -> AgentFault:
    """The fault for a result that lacks what it must have."""
    return AgentFault(INTERNAL_ERROR, f"the agent's answer to {method} has no {field}")
