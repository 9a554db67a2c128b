"""A web server on loopback whose answers are bytes, for tests of what a fetch makes of them."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterable


class Web:
    """`pages` maps a path to the whole answer, in pieces; an answer that is a function gets the connection and writes
    what it likes. `asked` are the heads of the requests as they came."""

    def __init__(self, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        self.pages: dict[str, bytes | Iterable[bytes] | Callable[[socket.socket], None]] = {}
        self.asked: list[bytes] = []
        self.closing = threading.Event()
        self._tls = tls
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def close(self) -> None:
        self.closing.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.ExitStack() as open_ones:
            open_ones.enter_context(connection)
            if self._tls is not None:
                connection = open_ones.enter_context(self._tls.wrap_socket(connection, server_side=True))
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                piece = connection.recv(65536)
                if not piece:
                    return
                head += piece
            self.asked.append(head)
            page = self.pages.get(head.split()[1].decode(), answer(b"none", status="404 Not Found"))
            if callable(page):
                page(connection)
            else:
                for piece in [page] if isinstance(page, bytes) else page:
                    connection.sendall(piece)


def answer(body: bytes, kind: str | None = "text/plain", status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer; names of headers are written with _ for -."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"Content-Type: {kind}"] if kind else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join((*lines, "", "")).encode() + body


def moved(location: str, status: str = "302 Found") -> bytes:
    return answer(b"", status=status, Location=location)
