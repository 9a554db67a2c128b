"""The pretended model of the benchmark: a process of its own, so that it shares no interpreter lock with anybody.

    python -m benching.model            prints its port, then one JSON line for each request; ends with its stdin

The person's last words choose the answer: `bench:say` two pieces with pauses around them, `bench:now` the same
without pauses, `bench:stream N` N pieces as fast as they go, `bench:read N` N rounds with one `read_file` call
each, `bench:drip` a piece every few milliseconds until the client hangs up. Times are of the monotonic clock,
which all processes of a machine share.
"""

from __future__ import annotations

import json
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

PAUSE = 0.03
DRIP = 0.005
WORD = "word "
_ASKED = re.compile(r"bench:(\w+) ?(\d*)")
_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    b"Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
)


class Marks:
    """What is reported of one request: when it was there whole, when the first piece of the answer went out, and
    when the last bytes did; its size, and how many tools it offers."""

    def __init__(self, size: int) -> None:
        self.values: dict[str, float] = {"arrived": time.monotonic(), "bytes": size}

    def now(self, name: str) -> None:
        self.values[name] = time.monotonic()


class Model:
    """Listens, with one thread a connection. `_printing` keeps the report's lines whole."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listening.getsockname()[1]
        self._printing = threading.Lock()

    def serve(self) -> None:
        while True:
            connection, _ = self._listening.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while (body := _read_request(stream)) is not None:
                marks = Marks(len(body))
                request = json.loads(body)
                marks.values["tools"] = len(request.get("tools", ()))
                try:
                    _answer(connection, request["messages"], marks)
                except OSError:
                    marks.now("hung_up")
                    return
                finally:
                    self._report(marks)

    def _report(self, marks: Marks) -> None:
        with self._printing:
            print(json.dumps(marks.values), flush=True)


def _read_request(stream: Any) -> bytes | None:
    """The body of the next request; None when the client is gone."""
    length = None
    try:
        while (line := stream.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return None if length is None else stream.read(length)
    except OSError:
        return None


def _answer(connection: socket.socket, messages: list[dict[str, Any]], marks: Marks) -> None:
    what, number = _asked(messages)
    pause = PAUSE if what == "say" else 0.0
    time.sleep(pause)
    marks.now("first")
    connection.sendall(_HEAD + _event({"role": "assistant", "content": ""}))
    if what == "drip":
        while True:
            connection.sendall(_event({"content": WORD}))
            time.sleep(DRIP)
    done = _rounds(messages)
    if what == "read" and done < number:
        connection.sendall(_call(done))
        reason = "tool_calls"
    else:
        for piece in _pieces(number if what == "stream" else 1):
            connection.sendall(piece)
        reason = "stop"
    time.sleep(pause)
    last = b"" if reason == "tool_calls" else _event({"content": WORD})
    marks.now("last")
    connection.sendall(last + _event({}, reason) + _piece(b"data: [DONE]\n\n") + b"0\r\n\r\n")


def _asked(messages: list[dict[str, Any]]) -> tuple[str, int]:
    """The last wish of the person."""
    words = next(message["content"] for message in reversed(messages) if message["role"] == "user")
    what, number = _ASKED.findall(words)[-1]
    return what, int(number or 0)


def _rounds(messages: list[dict[str, Any]]) -> int:
    """How many calls were answered since the person spoke."""
    roles = [message["role"] for message in reversed(messages)]
    return roles[: roles.index("user")].count("tool")


def _pieces(count: int) -> Iterator[bytes]:
    piece = _event({"content": WORD})
    for _ in range(count):
        yield piece


def _call(number: int) -> bytes:
    arguments = json.dumps({"path": f"file{number}.txt"})
    function = {"name": "read_file", "arguments": arguments}
    call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
    return _event({"tool_calls": [call]})


def _event(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    value: dict[str, Any] = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "tiny"}
    value["choices"] = [choice]
    if reason is not None:
        value["usage"] = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}
    return _piece(b"data: %b\n\n" % json.dumps(value).encode())


def _piece(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def main() -> None:
    model = Model()
    print(model.port, flush=True)
    threading.Thread(target=model.serve, daemon=True).start()
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
