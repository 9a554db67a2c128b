"""The agent's end of a connection: its state, and each message's way to whoever handles it.

On the path to the `initialize` answer: everything but that answer is imported when first needed.
"""

from __future__ import annotations

import threading

from acpagent.acp.v1 import initialize
from acpagent.core.catalogue import spoken
from acpagent.core.faults import Fault, TheirFault
from acpagent.wire import codes
from acpagent.wire.driver import Driver
from acpagent.wire.pending import id_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from acpagent.acp.v1.initialize import TerminalLogin
    from acpagent.acp.v1.methods import Methods
    from acpagent.config.startup import Startup
    from acpagent.wire.messages import Notification, Request

    MakeMethods = Callable[["Connection"], Methods]

# What a request may do in each state of the connection, in the style of h11: state -> (initialize, other requests).
FRESH, READY, CLOSING = "fresh", "ready", "closing"
_ALLOWED: dict[str, tuple[bool, bool]] = {
    FRESH: (True, False),
    READY: (True, True),
    CLOSING: (False, False),
}
_REFUSED: dict[str, str] = {
    FRESH: "send `initialize` first",
    CLOSING: "the agent is shutting down",
}


class Connection:
    """Receives for the driver, on its reader thread. Owns `state` and the table of requests in work, both under one
    leaf lock.

    `make_methods` builds the runtime and the method table; it runs once, on whichever thread comes first.
    """

    def __init__(self, startup: Startup, login: TerminalLogin, make_methods: MakeMethods) -> None:
        self.startup = startup
        self._login = login
        self.driver: Driver
        self.abilities = initialize.ClientAbilities()
        self.logged_out = False
        self.state = FRESH
        self._make_methods = make_methods
        self._methods: Methods | None = None
        self._making = threading.Lock()
        self._lock = threading.Lock()
        self._withdraw: dict[Any, Callable[[], None]] = {}
        self.answered_initialize = threading.Event()
        self.answered_more = threading.Event()  # any other request

    def attach(self, driver: Driver) -> None:
        """The driver this connection answers through."""
        self.driver = driver

    # What the driver calls, on its reader thread.

    def on_request(self, request: Request) -> None:
        """Answer, or hand on to who will. A `Fault` raised here is the answer."""
        may_initialize, may_ask = _ALLOWED[self.state]
        if request.method == "initialize" and may_initialize:
            self._initialize(request)
        elif not may_ask:
            raise TheirFault(codes.INVALID_REQUEST, _REFUSED[self.state])  # RPC-22
        else:
            try:
                self.methods().request(request)
            except BaseException as error:
                self._forget(request.id, self._withdrawal(request.id))
                if isinstance(error, Fault):
                    error.message = spoken(error.message, self.language)
                raise

    def on_notification(self, notification: Notification) -> None:
        """Notifications are never answered, whatever is wrong with them (RPC-10)."""
        if notification.method == "$/cancel_request":
            self._cancel_request(notification.params)
        elif self.state == READY:
            self.methods().notification(notification)

    def on_end(self, reason: str) -> None:
        self.state = CLOSING

    # What the method table uses.

    def in_work(self, request_id: Any, withdraw: Callable[[], None]) -> None:
        """A request is being worked on; `withdraw` is what `$/cancel_request` for it does (CAN-17)."""
        with self._lock:
            self._withdraw[id_key(request_id)] = withdraw

    def respond(self, request_id: Any, result: Any) -> None:
        """Answer a request. It can be withdrawn until the answer is queued: nobody who says so in time is ignored."""
        withdraw = self._withdrawal(request_id)
        self.driver.respond(request_id, result)
        self._forget(request_id, withdraw)
        self.answered_more.set()

    @property
    def language(self) -> str:
        """What is spoken where no session says another."""
        return self.startup.language

    def refuse(self, request_id: Any, fault: Fault, language: str = "") -> None:
        """Answer a request with a fault, in a language that is not that of the connection if it is given."""
        withdraw = self._withdrawal(request_id)
        self.driver.refuse(request_id, fault.code, spoken(fault.message, language or self.language), fault.data)
        self._forget(request_id, withdraw)
        self.answered_more.set()

    def methods(self) -> Methods:
        """The method table, built at first need."""
        with self._making:
            if self._methods is None:
                self._methods = self._make_methods(self)
            return self._methods

    def shut_down(self, deadline: float) -> None:
        """Cancel turns, let go of everything, say what is still to be said; done by `deadline` (monotonic)."""
        self.state = CLOSING
        if self._methods is not None:
            self._methods.shut_down(deadline)
        self.driver.finish(deadline)

    def _initialize(self, request: Request) -> None:
        """Again is fine: the new abilities apply from here on (RPC-25)."""
        self.abilities = initialize.read(request.params)
        self.driver.respond(request.id, self._told())
        self.state = READY
        self.answered_initialize.set()

    def _told(self) -> dict[str, Any]:
        return initialize.answer(self.startup.images, self.abilities, self._login, self.startup.language)

    def _cancel_request(self, params: Any) -> None:
        """Unknown, finished or malformed: nothing happens (CAN-18)."""
        request_id = params.get("requestId") if isinstance(params, dict) else None
        if request_id is None or isinstance(request_id, (dict, list)):
            return
        withdraw = self._withdrawal(request_id)
        if withdraw is not None:
            withdraw()

    def _withdrawal(self, request_id: Any) -> Callable[[], None] | None:
        with self._lock:
            return self._withdraw.get(id_key(request_id))

    def _forget(self, request_id: Any, withdraw: Callable[[], None] | None) -> None:
        """The request is answered, unless another has its id by now."""
        with self._lock:
            if self._withdraw.get(id_key(request_id)) is withdraw:
                self._withdraw.pop(id_key(request_id), None)
