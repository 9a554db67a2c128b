"""A `Peer` on two file descriptors: one thread reads, one writes."""

from __future__ import annotations

import threading
import time

from acpagent.core import diagnostics
from acpagent.core.faults import Fault
from acpagent.wire.codes import INTERNAL_ERROR
from acpagent.wire.framing import LINE_LIMIT
from acpagent.wire.messages import Notification, Request
from acpagent.wire.outbox import Outbox
from acpagent.wire.peer import Peer, Refusal
from acpagent.wire.pending import Answer
from acpagent.wire.pipes import ReadEnd, WriteEnd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from acpagent.wire.outbox import Cancellable
    from acpagent.wire.peer import Check, Event

    Trace = Callable[[str, bytes], None]

    class Receiver(Protocol):
        """Called on the reader thread, holding no lock. None of these may block: cancels come this way."""

        def on_request(self, request: Request, /) -> None: ...
        def on_notification(self, notification: Notification, /) -> None: ...
        def on_end(self, reason: str, /) -> None: ...


EOF = "end of input"
STOPPED = "stopped"
READ_FAILED = "input failed"
BROKEN_PIPE = "output broken"
DEAD_PEER = "the peer does not read"

# How many seconds past its deadline `finish` waits for threads that have been told to stop.
_GRACE = 0.5


class Driver:
    """Owns both descriptors, the reader thread and the writer thread (both daemons), and the outbox.

    Every end of the connection (input at its end, output broken, a peer that does not read,
    `stop_reading`) takes one road, on the reader thread and once: pending calls are answered as lost,
    `receiver.on_end(reason)`, then `ended` is set. Answering still works until `finish`.

    `check` sees each outgoing message and its method where it is made and may raise;
    `trace(direction, line)` sees each line, direction "in" or "out", on the reader or writer thread.
    Lines that come in may have `limit` bytes. `on_refusal` is told, on the reader thread, of each line that was no
    acceptable message, once it is answered.
    """

    def __init__(
        self,
        read_fd: int,
        write_fd: int,
        receiver: Receiver,
        *,
        name: str,
        check: Check | None = None,
        trace: Trace | None = None,
        limit: int = LINE_LIMIT,
        on_refusal: Callable[[Refusal], None] | None = None,
    ) -> None:
        self.ended = threading.Event()
        self.end_reason: str | None = None
        self._receiver = receiver
        self._name = name
        self._trace = trace
        self._on_refusal = on_refusal
        self._cause: str | None = None
        self._peer = Peer(check=check, trace=None if trace is None else self._trace_in, limit=limit)
        self._outbox = Outbox(self._on_dead_peer)
        self._input = ReadEnd(read_fd)
        self._output = WriteEnd(write_fd)
        self._reader = threading.Thread(target=self._read_loop, name=f"{name} reader", daemon=True)
        self._writer = threading.Thread(target=self._write_loop, name=f"{name} writer", daemon=True)
        self._started = False

    # -- sending, from any thread

    def respond(self, id: Any, result: Any) -> None:
        """Answer a request. Raises `RuntimeError` if it is not in flight (any more)."""
        self._outbox.put(self._peer.respond(id, result))

    def refuse(self, id: Any, code: int, message: str, data: Any = None) -> None:
        """Answer a request with an error. Raises `RuntimeError` if it is not in flight (any more)."""
        self._outbox.put(self._peer.refuse(id, code, message, data))

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        self._outbox.put(self._peer.notify(method, params))

    def call(self, method: str, params: Any, on_answer: Callable[[Answer], None] | None) -> int:
        """Send a request and return its id. `on_answer` runs exactly once, on the reader thread; if the
        connection is over already, it runs here with a lost answer."""
        id, line = self._peer.call(method, params, on_answer)
        if line is not None:
            self._outbox.put(line)
        elif on_answer is not None:
            on_answer(Answer(lost=True))
        return id

    def abandon(self, id: int, late: Callable[[Answer], None] | None = None) -> bool:
        """Stop waiting for a call: `on_answer` will not run. An answer that comes all the same goes to
        `late`. False if it was answered already: then `on_answer` ran or is about to."""
        return self._peer.abandon(id, late)

    def wait_room(self, scope: Cancellable) -> None:
        """Block while too much is queued; see `Outbox.wait_room`. The caller holds no lock."""
        self._outbox.wait_room(scope)

    def queued(self) -> int:
        """Bytes queued and not written."""
        return self._outbox.queued()

    def owed(self) -> int:
        """How many of the peer's requests are not answered yet."""
        return self._peer.owed()

    # -- beginning and end

    def start(self) -> None:
        """Start both threads."""
        self._started = True
        self._reader.start()  # first: on a busy machine the other's start takes longer than to find an answer
        self._writer.start()

    def stop_reading(self) -> None:
        """End the connection as if the peer had gone. Returns at once; callable from a signal handler."""
        self._input.wake()

    def end_output(self) -> None:
        """Write what is queued, then close the output, which is how a client says goodbye; reading goes on.
        Returns at once. Whatever is sent afterwards is dropped."""
        self._outbox.close()

    def finish(self, deadline: float) -> bool:
        """Stop reading, write what is queued until `deadline` (of `time.monotonic`), close everything.

        True if all that was queued got out. Whatever is sent afterwards is dropped. A receiver that hangs
        delays this by the grace period, and then keeps its thread and the input's descriptor.
        """
        self.stop_reading()
        if not self._started:
            self._close_unstarted()
            return True
        self._join(self._reader, deadline)  # first: what it still answers is to be written
        self._outbox.close()
        drained = self._outbox.drain(deadline) and self._cause not in (BROKEN_PIPE, DEAD_PEER)
        self._outbox.discard()
        self._output.wake()
        grace = time.monotonic() + _GRACE
        self._join(self._writer, grace)
        self._join(self._reader, grace)
        return drained

    def _join(self, thread: threading.Thread, deadline: float) -> None:
        if thread is not threading.current_thread() and thread.is_alive():
            thread.join(max(0.0, deadline - time.monotonic()))

    def _close_unstarted(self) -> None:
        if self.end_reason is None:
            self.end_reason = STOPPED
            self._input.close()
            self._output.close()
            self.ended.set()

    # -- the reader

    def _read_loop(self) -> None:
        reason = STOPPED
        try:
            while (data := self._input.read()) is not None:
                for event in self._peer.feed(data) if data else self._peer.eof():
                    self._dispatch(event)
                if not data:
                    reason = EOF
                    break
        except OSError:
            reason = READ_FAILED
        finally:
            self._end(self._cause or reason)

    def _dispatch(self, event: Event) -> None:
        if isinstance(event, Request):
            self._on_request(event)
        elif isinstance(event, Refusal):
            self._outbox.put(event.data)
            if self._on_refusal is not None:
                self._guard("a line that is no message", self._on_refusal, event)
        elif isinstance(event, Notification):
            self._guard(f"the notification {event.method[:80]!r}", self._receiver.on_notification, event)
        else:
            self._guard(f"the answer to {event.call.method}", event.call.on_answer, event.answer)

    def _on_request(self, request: Request) -> None:
        try:
            self._receiver.on_request(request)
        except Fault as fault:
            if fault.code == INTERNAL_ERROR:
                self._report(f"the request {request.method[:80]!r}", fault)
            self._refuse_if_owed(request.id, fault.code, fault.message, fault.data)
        except Exception as fault:
            self._report(f"the request {request.method[:80]!r}", fault)
            sentence = f"internal error ({type(fault).__name__}); details are on stderr"
            self._refuse_if_owed(request.id, INTERNAL_ERROR, sentence)  # RPC-17

    def _refuse_if_owed(self, id: Any, code: int, message: str, data: Any = None) -> None:
        try:
            self.refuse(id, code, message, data)
        except RuntimeError:
            pass  # it answered first and failed afterwards

    def _end(self, reason: str) -> None:
        self.end_reason = reason
        try:
            for event in self._peer.lose():
                self._dispatch(event)
            self._guard("the end of the connection", self._receiver.on_end, reason)
        finally:
            self._input.close()
            self.ended.set()

    # -- the writer

    def _write_loop(self) -> None:
        try:
            while (batch := self._outbox.take()) is not None:
                self._trace_out(batch)
                data = b"".join(batch)
                if not self._output.write(data):
                    break
                self._outbox.wrote(len(data))
        except OSError:
            self._fail(BROKEN_PIPE)  # TRN-13
        finally:
            self._outbox.discard()
            self._output.close()

    def _on_dead_peer(self) -> None:
        self._fail(DEAD_PEER)
        self._output.wake()

    def _fail(self, cause: str) -> None:
        self._cause = self._cause or cause
        self._input.wake()

    # -- what goes wrong inside callbacks, and seeing inside

    def _guard(self, what: str, callback: Callable[[Any], None], argument: Any) -> None:
        try:
            callback(argument)
        except Exception as fault:
            self._report(what, fault)

    def _report(self, what: str, fault: Exception) -> None:
        """What happened and where, on stderr. The text only of our own exceptions: another's may quote the
        peer (RPC-24)."""
        import traceback

        frames = "".join(traceback.format_tb(fault.__traceback__))
        text = f": {fault}" if isinstance(fault, Fault) else ""
        diagnostics.say(self._name, f"{type(fault).__name__} while handling {what}{text}\n{frames}")

    def _trace_in(self, line: bytes) -> None:
        self._trace_line("in", line)

    def _trace_out(self, batch: list[bytes]) -> None:
        for line in batch:
            self._trace_line("out", line)

    def _trace_line(self, direction: str, line: bytes) -> None:
        if self._trace is None:
            return
        try:
            self._trace(direction, line)
        except Exception as fault:
            self._trace = None
            self._report("the trace, which stops here", fault)
