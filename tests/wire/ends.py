"""One end of a connection, as its peer sees it: bytes go in, lines come out."""

from __future__ import annotations

import json
import os
import select
import socket
import time
from typing import Any, Protocol

from acpagent.wire.driver import Driver
from tests.wire.echo import Echo

Message = dict[str, Any]


class End(Protocol):
    """What the connection rules need of a subject. The requests it understands are made by the methods that
    give bytes to send; how it says what it says is read by the others."""

    lines: list[bytes]  # all it wrote so far that a test read
    in_order: bool  # it answers requests in the order they came
    bare_method: str  # a method that needs no params

    def send(self, data: bytes) -> None:
        """Write to its input."""

    def readline(self, seconds: float = 60.0) -> bytes:
        """Its next line with the newline, empty at the end; AssertionError after `seconds`."""

    def message(self) -> Message:
        """Its next line, read."""

    def close(self) -> None:
        """End its input."""

    def finish(self) -> None:
        """Let it end, and check that it left nothing behind."""

    def repeat(self, id: Any, text: str) -> bytes:
        """A request that is answered at once, with that text in it."""

    def repeated(self, answer: Message) -> str:
        """The text."""

    def hold(self, id: Any) -> bytes:
        """A request that is not answered before `release`."""

    def release(self) -> None:
        """Make it answer what it holds."""

    def ask(self, id: Any) -> bytes:
        """A request that makes it send one of its own, and is answered when that is."""

    def asked_for(self, question: Message) -> Any:
        """The id of the request that its own is for."""

    def yes(self) -> Any:
        """The result that is a yes to its question."""

    def took_yes(self, answer: Message) -> bool:
        """Whether the answer to `ask` says that it got a yes."""


def request(id: Any, method: str, params: Any = None) -> bytes:
    message: Message = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        message["params"] = params
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"


def notification(method: str, params: Any = None) -> bytes:
    message: Message = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return json.dumps(message).encode() + b"\n"


def response(id: Any, **what: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, **what}).encode() + b"\n"


class Lines:
    """Both descriptors of a peer; keeps every line it read."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
        self.lines: list[bytes] = []
        self._rest = b""
        self._poll = select.poll()
        self._poll.register(read_fd, select.POLLIN)

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self.write_fd, view) :]

    def readline(self, seconds: float = 60.0) -> bytes:
        deadline = time.monotonic() + seconds
        pieces = [self._rest]
        while b"\n" not in pieces[-1]:
            left = deadline - time.monotonic()
            assert left > 0, "no line came in time"
            if not self._poll.poll(left * 1000):
                continue
            data = os.read(self.read_fd, 1 << 16)
            if not data:
                break
            pieces.append(data)
        line, newline, self._rest = b"".join(pieces).partition(b"\n")
        if line or newline:
            self.lines.append(line + newline)
        return line + newline

    def message(self) -> Message:
        line = self.readline()
        assert line.endswith(b"\n"), f"not a whole line: {line[:100]!r}"
        message: Message = json.loads(line)
        return message

    def close(self) -> None:
        if self.write_fd >= 0:
            os.close(self.write_fd)
            self.write_fd = -1

    def close_output(self) -> None:
        """Read what is left, and close."""
        if self.read_fd >= 0:
            while self.readline():
                pass
            os.close(self.read_fd)
            self.read_fd = -1


class DriverEnd(Lines):
    """A driver with the echo receiver, over pipes or over a socket pair."""

    in_order = True
    bare_method = "echo"

    def __init__(self, transport: str) -> None:
        inner, outer = _pipes() if transport == "pipes" else _sockets()
        super().__init__(*outer)
        self.echo = Echo()
        self.driver = self.echo.driver = Driver(*inner, self.echo, name="subject")
        self.driver.start()

    def finish(self) -> None:
        self.close()
        if self.read_fd >= 0:
            assert self.driver.ended.wait(60)
            assert self.driver.finish(time.monotonic() + 5)
            self.close_output()

    def repeat(self, id: Any, text: str) -> bytes:
        return request(id, "echo", {"text": text})

    def repeated(self, answer: Message) -> str:
        return str(answer["result"]["text"])

    def hold(self, id: Any) -> bytes:
        return request(id, "hold")

    def release(self) -> None:
        self.send(notification("release"))

    def ask(self, id: Any) -> bytes:
        return request(id, "ask")

    def asked_for(self, question: Message) -> Any:
        return question["params"]["for"]

    def yes(self) -> Any:
        return "yes"

    def took_yes(self, answer: Message) -> bool:
        return answer["result"] == {"answer": "yes", "error": None}


def _pipes() -> tuple[tuple[int, int], tuple[int, int]]:
    inner_read, outer_write = os.pipe()
    outer_read, inner_write = os.pipe()
    return (inner_read, inner_write), (outer_read, outer_write)


def _sockets() -> tuple[tuple[int, int], tuple[int, int]]:
    """What Node gives a child. Two pairs, because one direction is closed before the other."""
    (inner_read, outer_write), (outer_read, inner_write) = socket.socketpair(), socket.socketpair()
    return (inner_read.detach(), inner_write.detach()), (outer_read.detach(), outer_write.detach())
