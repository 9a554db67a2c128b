"""A real HTTP server on loopback that plays scripts, as OpenAI-style chat completions or as Anthropic messages,
whichever it is asked for.

In tests: `with ModelServer(script) as server: ... server.base_url`. From a shell: `python
tests/model_server.py script.yaml` prints its port and serves until its stdin ends.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from acpagent.core.events import Usage
from acpagent.core.model import CallDelta, Finished, TextDelta, ThoughtDelta, UsageReport
from acpagent.providers import script_reader
from acpagent.providers.player import Beat, Player
from acpagent.providers.script import Drop, Fail, Stall, Wait

_REASONS = {"stop": "stop", "length": "length", "refusal": "content_filter", "calls": "tool_calls"}


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came: `body` decoded, `raw` its bytes, `arrived` by the monotonic clock, and the number
    of the connection it came over."""

    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: Any
    arrived: float
    connection: int

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation but for the system's message, as messages of chat completions."""
        if self.path.endswith("/v1/messages"):
            from tests import messages_dialect

            return messages_dialect.as_chat(self.body["messages"])
        return [message for message in self.body["messages"] if message["role"] != "system"]


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer of exactly these bytes, each piece sent by itself. The last may be a `Drop` or a `Stall`."""

    pieces: Iterable[bytes | Wait | Drop | Stall]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/event-stream"})
    chunked: bool = True


Answers = Callable[[Request], Raw]
Source = str | os.PathLike[str] | Mapping[str, Any] | Answers


class ModelServer:
    """Plays `source`: a script's path or shipped name, a script as plain data, or a function that answers.

    One lock guards everything that its handler threads note. `close` ends whatever is still being answered,
    and raises what went wrong in a handler. Without `keep`, for long runs, `requests` stays empty.
    """

    def __init__(self, source: Source, *, tls: ssl.SSLContext | None = None, keep: bool = True) -> None:
        self.requests: list[Request] = []
        self._keep = keep
        self._count = 0
        self.hangups = 0  # answers that the client did not wait for
        self.connections = 0
        self.closing = threading.Event()
        self._noted = threading.Condition()
        self._sockets: set[socket.socket] = set()
        self._faults: list[BaseException] = []
        self._tls = tls
        self.answers: Answers | None = None
        self.player: Player | None = None
        if callable(source):
            self.answers = source
        elif isinstance(source, Mapping):
            self.player = Player(script_reader.from_value(source))
        else:
            self.player = Player(script_reader.load(os.fspath(source)))
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self.port: int = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), name="model server")
        self._thread.start()

    @property
    def base_url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/v1"

    def wait_for_request(self, number: int = 1, timeout: float = 60.0) -> Request:
        """The request of that number (from 1), once it came whole. Raises AssertionError when late."""
        self._wait(lambda: len(self.requests) >= number, timeout, f"request {number}")
        return self.requests[number - 1]

    def wait_for_hangup(self, number: int = 1, timeout: float = 60.0) -> None:
        """Until that many answers were given up by the client. Raises AssertionError."""
        self._wait(lambda: self.hangups >= number, timeout, f"hang-up {number}")

    def wait_until_alone(self, timeout: float = 60.0) -> None:
        """Until every client has closed its connections. Raises AssertionError."""
        self._wait(lambda: not self._sockets, timeout, "end of the last connection")

    def _wait(self, predicate: Callable[[], bool], timeout: float, what: str) -> None:
        with self._noted:
            seen = self._noted.wait_for(predicate, timeout)
        assert seen, f"no {what} within {timeout:g} s ({len(self.requests)} requests, {self.hangups} hang-ups)"

    def note_request(self, request: Request) -> int:
        with self._noted:
            self._count += 1
            if self._keep:
                self.requests.append(request)
            self._noted.notify_all()
            return self._count

    def note_hangup(self) -> None:
        if not self.closing.is_set():
            with self._noted:
                self.hangups += 1
                self._noted.notify_all()

    def note_fault(self, fault: BaseException) -> None:
        with self._noted:
            self._faults.append(fault)

    def take_socket(self, sock: socket.socket) -> tuple[socket.socket, int]:
        """The connection as it is to be used, and its number."""
        if self._tls is not None:
            sock = self._tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        with self._noted:
            self.connections += 1
            self._sockets.add(sock)
            return sock, self.connections

    def drop_socket(self, sock: socket.socket) -> None:
        with self._noted:
            self._sockets.discard(sock)
            self._noted.notify_all()

    def close(self) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        with self._noted:
            for sock in self._sockets:
                _shut(sock)
        self._http.server_close()  # waits for the handlers
        if self._faults:
            raise self._faults[0]

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Http(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = 64
    owner: ModelServer

    def get_request(self) -> tuple[socket.socket, Any]:
        sock, address = super().get_request()
        sock, number = self.owner.take_socket(sock)
        return sock, (*address, number)

    def shutdown_request(self, request: Any) -> None:
        self.owner.drop_socket(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        fault = sys.exc_info()[1]
        if fault is not None and not isinstance(fault, ConnectionError | ssl.SSLError):
            self.owner.note_fault(fault)


class _Hungup(Exception):
    """The client did not wait for the end of its answer."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def do_GET(self) -> None:
        self.answer_json(200, {"object": "list", "data": [{"id": "tiny", "object": "model"}]}, {})

    def do_POST(self) -> None:
        owner = self.server.owner
        size = int(self.headers.get("Content-Length", 0))
        raw = self.rfile.read(size)
        if len(raw) < size:
            self.close_connection = True
            return
        body = json.loads(raw)
        number: int = self.client_address[-1]  # put there by `_Http.get_request`
        request = Request(self.path, dict(self.headers), raw, body, time.monotonic(), number)
        count = owner.note_request(request)
        try:
            if owner.answers is not None:
                self._raw(owner.answers(request))
            elif owner.player is not None:
                self._play(owner.player, body, count)
        except (_Hungup, ConnectionError, ssl.SSLError):
            owner.note_hangup()
            self.close_connection = True

    def _play(self, player: Player, body: Any, count: int) -> None:
        if self.path.endswith("/v1/messages"):
            from tests import messages_dialect

            messages_dialect.MessagesStream(self, body, count).play(messages_dialect.beats(player, body))
        elif self.path.endswith("/chat/completions"):
            Stream(self, body, count).play(_beats(player, body))
        else:
            self.answer_json(404, {"error": {"message": f"no {self.path} here"}}, {})

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what came is in `ModelServer.requests`."""

    def answer_json(self, status: int, value: Any, headers: Mapping[str, str]) -> None:
        self._raw(Raw([json.dumps(value).encode()], status, {"Content-Type": "application/json", **headers}))

    def _raw(self, answer: Raw) -> None:
        self.begin(answer.status, answer.headers, answer.chunked)
        for piece in answer.pieces:
            if isinstance(piece, bytes):
                self.send_piece(piece, answer.chunked)
            elif not self.pass_time(piece):
                return
        self.end(answer.chunked)

    def begin(self, status: int, headers: Mapping[str, str], chunked: bool = True) -> None:
        self.send_response(status)
        more = {"Transfer-Encoding": "chunked"} if chunked else {"Connection": "close"}
        for name, text in {**headers, **more}.items():
            self.send_header(name, text)
        self.end_headers()

    def send_piece(self, data: bytes, chunked: bool = True) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data) if chunked else data)

    def end(self, chunked: bool = True) -> None:
        if chunked:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def pass_time(self, beat: Wait | Drop | Stall) -> bool:
        """Do what takes no bytes; False if nothing is to follow. Raises `_Hungup`."""
        match beat:
            case Wait(seconds):
                return not self.server.owner.closing.wait(seconds)
            case Drop(how):
                if how == "reset":
                    linger = struct.pack("ii", 1, 0)
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    os.close(self.connection.detach())
                elif how == "end":
                    self.end()
                self.close_connection = True
            case Stall():
                self.connection.recv(1)  # a client sends nothing before the answer: it hangs up, or we close
                raise _Hungup
        return False


class Stream:
    """One answer, told in server-sent events; here in those of chat completions."""

    def __init__(self, handler: _Handler, body: Mapping[str, Any], number: int) -> None:
        self._handler = handler
        self._model = body.get("model", "")
        self._begun = False
        self._usage: Usage | None = None
        self._setup(body, number)

    def _setup(self, body: Mapping[str, Any], number: int) -> None:
        self._counts = bool((body.get("stream_options") or {}).get("include_usage"))
        self._id = f"chatcmpl-{number}"

    def play(self, beats: Iterator[Beat]) -> None:
        for beat in beats:
            match beat:
                case Fail():
                    self._fail(beat)
                    return
                case Wait() | Drop() | Stall():
                    if isinstance(beat, Drop) and beat.how == "end":  # in good order, headers and all
                        self.begin()
                    if not self._handler.pass_time(beat):
                        return
                case UsageReport(usage):
                    self._usage = usage
                case Finished(reason):
                    self.finish(reason)
                    self._handler.end()
                case _:
                    self.begin()
                    self.tell(beat)

    def _fail(self, fail: Fail) -> None:
        if self._begun or fail.after_output:
            self.begin()
            self.event(self.error(fail))
            self._handler.end()
        else:
            after = {} if fail.retry_after is None else {"Retry-After": f"{fail.retry_after:g}"}
            self._handler.answer_json(fail.status, self.error(fail), after)

    def begin(self) -> None:
        if not self._begun:
            self._begun = True
            headers = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
            self._handler.begin(200, headers)
            self.first()

    # What each dialect spells its own way.

    def error(self, fail: Fail) -> dict[str, Any]:
        return {"error": {"message": fail.message, "type": None, "code": fail.status}}

    def first(self) -> None:
        self._send({"role": "assistant", "content": ""})

    def tell(self, beat: Beat) -> None:
        self._send(_delta(beat))

    def finish(self, reason: str) -> None:
        self.begin()
        self._send({}, _REASONS[reason])
        if self._usage is not None and self._counts:
            self.event(self._chunk([], usage=_usage(self._usage)))
        self._handler.send_piece(b"data: [DONE]\n\n")

    def event(self, value: Any) -> None:
        self._handler.send_piece(b"data: %b\n\n" % json.dumps(value, ensure_ascii=False).encode())

    def _send(self, delta: Mapping[str, Any], reason: str | None = None) -> None:
        self.event(self._chunk([{"index": 0, "delta": delta, "finish_reason": reason}]))

    def _chunk(self, choices: list[Any], **more: Any) -> dict[str, Any]:
        head = {
            "id": self._id,
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": self._model,
        }
        return {**head, "choices": choices, **more}


def _beats(player: Player, body: Mapping[str, Any]) -> Iterator[Beat]:
    """Counted as the scripted provider counts: without the system message."""
    messages = [message for message in body["messages"] if message["role"] != "system"]
    letters = len(json.dumps(body, ensure_ascii=False, separators=(",", ":")))
    return player.play(reversed(messages), len(messages), letters)


def _delta(beat: Beat) -> dict[str, Any]:
    match beat:
        case TextDelta(text):
            return {"content": text}
        case ThoughtDelta(text):
            return {"reasoning_content": text}
        case CallDelta(index, provider_id, name, arguments):
            if provider_id is None:
                return {"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}
            function = {"name": name, "arguments": arguments}
            return {"tool_calls": [{"index": index, "id": provider_id, "type": "function", "function": function}]}
    raise AssertionError(beat)


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.thought},
    }


def _shut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: model_server.py SCRIPT", file=sys.stderr)
        return 2
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # for the other dialect
    script = os.path.abspath(arguments[0]) if os.path.exists(arguments[0]) else arguments[0]
    with ModelServer(script, keep=False) as server:
        print(server.port, flush=True)
        sys.stdin.buffer.read()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
