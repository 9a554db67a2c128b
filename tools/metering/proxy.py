"""A proxy on loopback before a model's server. Answers pass byte for byte and as they come."""

from __future__ import annotations

import gzip
import json
import os
import select
import socket
import ssl
import struct
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from .conversations import Meter

CONNECT_SECONDS = 15.0
_PIECE = 1 << 16
# Of one connection alone; `Expect` is answered here, and the length is written anew.
_HOP = {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "expect"} | {
    "host",
    "content-length",
}


class Proxy:
    """Listens as soon as it is made. To be given to an agent: `base_url`, in place of `upstream`.

    A thread for each connection of a client; each request has a connection of its own to the server, which ends with
    the answer. Raises ValueError for a bad `upstream`.
    """

    def __init__(self, upstream: str, meter: Meter, port: int = 0) -> None:
        self.upstream = Upstream(upstream)
        self.meter = meter
        self._http = _Http(("127.0.0.1", port), _Handler)
        self._http.proxy = self
        self.port: int = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), name="metering proxy")
        self._thread.start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        """Take no more requests. Answers under way go on for as long as the process does."""
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Upstream:
    """The server, by its URL."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"not an http or https URL: {url}")
        self._host, self._port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self.netloc = parts.netloc.rpartition("@")[2]
        self.path = parts.path.rstrip("/")

    def connect(self) -> socket.socket:
        """Raises OSError."""
        sock = socket.create_connection((self._host, self._port), CONNECT_SECONDS)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is not None:
            sock = self._tls.wrap_socket(sock, server_hostname=self._host)
        sock.settimeout(None)
        return sock


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    proxy: Proxy

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nobody's fault."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def handle_one(self) -> None:
        self.close_connection = True
        body = self._body()
        self._meter(body)
        try:
            upstream = self.server.proxy.upstream.connect()
        except OSError as error:
            self._unreachable(error)
            return
        with upstream:
            try:
                upstream.sendall(self._head(body) + body)
                self._relay(upstream)
            except ConnectionResetError:
                self._reset()

    do_DELETE = do_GET = do_HEAD = do_OPTIONS = do_PATCH = do_POST = do_PUT = handle_one

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            continue  # trailers
        return b"".join(pieces)

    def _meter(self, body: bytes) -> None:
        try:
            plain = _unpacked(body, self.headers.get("Content-Encoding", "").lower())
        except (OSError, EOFError, zlib.error):
            plain = b""
        if self.command == "POST":
            self.server.proxy.meter.take(plain)
        else:
            self.server.proxy.meter.pass_by()

    def _head(self, body: bytes) -> bytes:
        """The request as it came, but for what belongs to the connection."""
        upstream = self.server.proxy.upstream
        lines = [f"{self.command} {upstream.path}{self.path} HTTP/1.1", f"Host: {upstream.netloc}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items() if name.lower() not in _HOP]
        if body or self.command in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(body)}")
        lines.append("Connection: close")  # so that the end of the answer is the end of the connection
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def _relay(self, upstream: socket.socket) -> None:
        """Until the server has said all, or the client hangs up. Raises ConnectionResetError if the server did that."""
        watched = [upstream, self.connection]
        while True:
            ready = select.select(watched, [], [])[0]
            if self.connection in ready:
                if not self.connection.recv(1, socket.MSG_PEEK):
                    return
                watched.remove(self.connection)  # a further request, which is not going to be read
            if upstream in ready and not self._pass_on(upstream):
                return

    def _pass_on(self, upstream: socket.socket) -> bool:
        """What is there now; False at the end."""
        while True:
            data = upstream.recv(_PIECE)
            self.wfile.write(data)
            if not data:
                return False
            if not isinstance(upstream, ssl.SSLSocket) or not upstream.pending():
                return True

    def _unreachable(self, error: OSError) -> None:
        said = json.dumps({"error": {"message": f"the metering proxy cannot reach the server: {error}"}}).encode()
        self.send_response(502)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(said)

    def _reset(self) -> None:
        """Hang up as rudely as the server did."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the report says it all."""


def _unpacked(body: bytes, encoding: str) -> bytes:
    if encoding == "gzip":
        return gzip.decompress(body)
    return zlib.decompress(body) if encoding == "deflate" else body
