"""One end of a JSON-RPC connection, without any I/O: bytes in, events out; a message in, bytes out.

Symmetric: agent and client are the same class. What happens to the bytes is the driver's business.
"""

from __future__ import annotations

import threading

from acpagent.wire.codes import INVALID_REQUEST
from acpagent.wire.framing import LINE_LIMIT, Framer, Oversize
from acpagent.wire.messages import Malformed, Notification, Request, Response, encode, parse
from acpagent.wire.pending import Answer, Call, Inbound, Outbound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Check = Callable[[dict[str, Any], str | None], None]


class Answered:
    """A response arrived for `call`, or the connection ended first (`answer.lost`)."""

    __slots__ = ("answer", "call")

    def __init__(self, call: Call, answer: Answer) -> None:
        self.call = call
        self.answer = answer


class Refusal:
    """What came in was no acceptable request; `data` is the answer to send, `told` what it says. `oversize`: it was
    longer than the limit, and is lost."""

    __slots__ = ("data", "oversize", "told")

    def __init__(self, data: bytes, told: str, oversize: bool = False) -> None:
        self.data = data
        self.told = told
        self.oversize = oversize


# Letters of an error's message, at most.
_MESSAGE_LIMIT = 499

Event = Request | Notification | Answered | Refusal


class Peer:
    """Framing, envelopes and the tables of requests in flight.

    `feed` and `eof` belong to one thread; the rest may be called from any. The one lock guards the two
    tables and is a leaf: nothing is called while it is held. `check`, if given, sees each outgoing
    message with the method it is about (a response's is its request's) before it is encoded, and
    raises where the message is made; `trace` sees each line that came in.
    """

    def __init__(
        self,
        *,
        check: Check | None = None,
        trace: Callable[[bytes], None] | None = None,
        limit: int = LINE_LIMIT,
    ) -> None:
        self._framer = Framer(limit)
        self._limit = limit
        self._check = check
        self._trace = trace
        self._lock = threading.Lock()
        self._inbound = Inbound()
        self._outbound = Outbound()
        self._over = False

    # -- what comes in

    def feed(self, data: bytes) -> Iterator[Event]:
        """The events of `data`, one at a time: each is decided when it is asked for, so that what the
        handling of one event answered no longer counts as in flight for the next."""
        for line in self._framer.feed(data):
            event = self._receive(line)
            if event is not None:
                yield event

    def eof(self) -> Iterator[Event]:
        """The stream is complete: the unterminated last line (TRN-11), then what `lose` gives."""
        for line in self._framer.finish():
            event = self._receive(line)
            if event is not None:
                yield event
        yield from self.lose()

    def lose(self) -> Iterator[Event]:
        """No answer can come any more: every call that somebody waits for is answered as lost."""
        with self._lock:
            self._over = True
            calls = self._outbound.take_all()
        for call in calls:
            if not call.abandoned:
                yield Answered(call, Answer(lost=True))

    def _receive(self, line: bytes | Oversize) -> Event | None:
        if isinstance(line, Oversize):
            return self._refusal(None, INVALID_REQUEST, f"the line is longer than {self._limit} bytes", oversize=True)
        if self._trace is not None:
            self._trace(line)
        message = parse(line)
        if isinstance(message, Request):
            return self._begin(message)
        if isinstance(message, Response):
            return self._match(message)
        if isinstance(message, Malformed):
            return self._refusal(None, message.code, message.message)
        return message

    def _begin(self, request: Request) -> Event:
        with self._lock:
            fresh = self._inbound.begin(request.id, request.method)
        if fresh:
            return request
        # RPC-27: the newcomer is refused, the older request keeps its right to an answer.
        return self._refusal(request.id, INVALID_REQUEST, "id: a request with this id is still in flight")

    def _match(self, response: Response) -> Event | None:
        with self._lock:
            call = self._outbound.finish(response.id)
        if call is None:
            return None
        return Answered(call, Answer(response.result, response.error))

    def _refusal(self, id: Any, code: int, message: str, oversize: bool = False) -> Refusal:
        return Refusal(self._line(_error(id, code, message, None), None), f"{code} {message}", oversize)

    # -- what goes out

    def respond(self, id: Any, result: Any) -> bytes:
        """The response to a request in flight. Raises `RuntimeError` if it was answered already."""
        return self._settle(id, {"jsonrpc": "2.0", "id": id, "result": result})

    def refuse(self, id: Any, code: int, message: str, data: Any = None) -> bytes:
        """The error response to a request in flight. Raises `RuntimeError` if it was answered already."""
        return self._settle(id, _error(id, code, message, data))

    def notify(self, method: str, params: Any = None) -> bytes:
        """A notification; without `params` the field is left out."""
        message = {"jsonrpc": "2.0", "method": method}
        return self._line(_with_params(message, params), method)

    def call(self, method: str, params: Any, on_answer: Callable[[Answer], None] | None) -> tuple[int, bytes | None]:
        """A request's id and line. Once the connection is over there is a line only for what needs no answer: a peer
        that sends nothing more may read on, and learn what it can let go of."""
        with self._lock:
            id = self._outbound.mint()
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
        data = self._line(_with_params(message, params), method)
        with self._lock:
            if self._over:
                return id, data if on_answer is None else None
            if on_answer is not None:
                self._outbound.begin(Call(id, method, on_answer))
        return id, data

    def abandon(self, id: int, late: Callable[[Answer], None] | None = None) -> bool:
        """The caller waits no longer: a late answer goes to `late`, or nowhere; a lost one goes nowhere.
        False if the answer is in already, and then it went or is going to its handler."""
        with self._lock:
            return self._outbound.abandon(id, late)

    def owed(self) -> int:
        """How many requests of the peer are not answered yet."""
        with self._lock:
            return len(self._inbound)

    def _settle(self, id: Any, message: dict[str, Any]) -> bytes:
        with self._lock:
            method = self._inbound.method(id)
        if method is not None:
            # Before the id is taken out: a message that fails here leaves the request answerable.
            data = self._line(message, method)
            with self._lock:
                if self._inbound.finish(id):
                    return data
        raise RuntimeError("a request is answered exactly once, and this one is not in flight")

    def _line(self, message: dict[str, Any], method: str | None) -> bytes:
        if self._check is not None:
            self._check(message, method)
        return encode(message)


def _with_params(message: dict[str, Any], params: Any) -> dict[str, Any]:
    if params is not None:
        message["params"] = params
    return message


def _error(id: Any, code: int, message: str, data: Any) -> dict[str, Any]:
    """One line of bounded length, whatever path or cause it names (RPC-16)."""
    line = " ".join(message.split())
    error = {"code": code, "message": line if len(line) <= _MESSAGE_LIMIT else f"{line[: _MESSAGE_LIMIT - 3]}..."}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": id, "error": error}
