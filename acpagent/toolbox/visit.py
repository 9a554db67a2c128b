"""One visit to the web: single requests, each to an address that was judged, all within one time.

A name is looked up once and the connection goes to the very address that was judged, so that a name server cannot
answer one thing to the judge and another to the connection. Behind a proxy it is the proxy that looks names up, and
only the name can be judged.

Importing this file imports `http.client` and `ssl`.
"""

from __future__ import annotations

import base64
import http.client
import os
import queue
import socket
import ssl
import threading
import time
import urllib.request
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from acpagent.core.scope import Scope
from acpagent.core.toolcalls import ToolRefusal
from acpagent.toolbox import addresses
from acpagent.toolbox.addresses import Allowed, Target
from acpagent.version import __version__

CONNECT_SECONDS = 10.0
REDIRECTS = (301, 302, 303, 307, 308)
_PIECE = 65_536
_HEADERS = {
    "User-Agent": f"acpagent/{__version__}",
    "Accept": "text/html, text/markdown, text/plain, application/json;q=0.9, */*;q=0.5",
    "Accept-Encoding": "gzip",
    "Connection": "close",
}
_ZIPPED = ("gzip", "x-gzip", "deflate")
_FAILURES = (OSError, http.client.HTTPException, ValueError)  # ValueError: of a socket that was shut meanwhile


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered. `location` is set for a redirect; `cut` says why the body is not whole, if it is not."""

    status: int
    content_type: str
    charset: str | None
    location: str | None
    body: bytes
    cut: str = ""


class Visit:
    """Used by one thread. A cancel of `scope`, and the end of its `seconds`, shut whatever it waits for.

    `_lock`, a leaf, guards `_socket` and why it was shut.
    """

    def __init__(self, allowed: Allowed, seconds: float, max_bytes: int, scope: Scope) -> None:
        self._allowed = allowed
        self._seconds = seconds
        self._max_bytes = max_bytes
        self._scope = scope
        self._deadline = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._shut = False
        self._looked_up: queue.SimpleQueue[list[tuple[int, str]] | OSError] = queue.SimpleQueue()

    @contextmanager
    def begun(self) -> Iterator[Visit]:
        """For as long as the visit may last. Raises `Cancelled`."""
        timer = threading.Timer(self._seconds, self._end)
        timer.daemon = True
        forget = self._scope.add_closer(self._end)
        timer.start()
        try:
            yield self
        finally:
            timer.cancel()
            forget()

    def get(self, target: Target) -> Answer:
        """Ask for one address; redirects are not followed. Raises `ToolRefusal`, `Cancelled`."""
        proxy = self._proxy(target)
        connection = http.client.HTTPConnection(target.host, target.port)
        try:
            if proxy is not None:
                connection = self._through(proxy, target)
            else:
                connection.sock = self._connect(self._judged(target), target.port)
            self._secure(connection, target)
            return self._ask(connection, target, proxy)
        except _FAILURES as error:
            self._scope.check()
            raise ToolRefusal(f"{target.url} cannot be fetched: {self._why(error)}.") from None
        finally:
            connection.close()

    # Connections.

    def _judged(self, target: Target) -> list[tuple[int, str]]:
        """The host's addresses, by family. Raises `ToolRefusal` if any of them must not be reached."""
        found = self._look_up(target)
        if not self._allowed.covers(target.host):
            for _, text in found:
                address = addresses.literal(text.partition("%")[0])
                if address is None or not addresses.is_public(address):
                    raise addresses.refused(target.host)
        return found

    def _look_up(self, target: Target) -> list[tuple[int, str]]:
        """On a thread of its own: nothing ends a lookup that hangs."""

        def look_up() -> None:
            try:
                found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
            except (OSError, UnicodeError) as error:
                self._looked_up.put(error if isinstance(error, OSError) else OSError(str(error)))
            else:
                self._looked_up.put([(int(family), str(place[0])) for family, _, _, _, place in found])

        threading.Thread(target=look_up, name="acpagent-lookup", daemon=True).start()
        try:
            found = self._looked_up.get(timeout=self._left())
        except queue.Empty:
            raise TimeoutError from None
        self._scope.check()
        if isinstance(found, OSError):
            raise found
        return found

    def _connect(self, places: Sequence[tuple[int, str]], port: int) -> socket.socket:
        """A connection to the first of some addresses that takes one."""
        failure: OSError = OSError("the host has no address")
        for family, address in places:
            sock = socket.socket(family, socket.SOCK_STREAM)
            try:
                sock.settimeout(min(CONNECT_SECONDS, self._left()))
                self._hold(sock)
                sock.connect((address, port))
                return sock
            except OSError as error:
                sock.close()
                failure = error
                self._scope.check()
        raise failure

    def _through(self, proxy: str, target: Target) -> http.client.HTTPConnection:
        """A connection to the proxy, and for https on through it to the host."""
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        if parts.scheme != "http" or not parts.hostname:
            raise ToolRefusal("The web cannot be reached: the proxy that the system names is no http proxy.")
        if not self._allowed.covers(target.host) and not addresses.may_be_asked_for(target.host):
            raise addresses.refused(target.host)
        timeout = min(CONNECT_SECONDS, self._left())
        connection = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=timeout)
        if target.scheme == "https":
            connection.set_tunnel(target.host, target.port, _proxy_headers(proxy))
        connection.connect()
        self._hold(connection.sock)
        return connection

    def _secure(self, connection: http.client.HTTPConnection, target: Target) -> None:
        connection.sock.settimeout(self._seconds)  # the timer is quicker
        if target.scheme == "https":
            secure = _tls().wrap_socket(connection.sock, server_hostname=target.host, do_handshake_on_connect=False)
            connection.sock = secure
            self._hold(secure)
            secure.do_handshake()

    def _proxy(self, target: Target) -> str | None:
        address = addresses.literal(target.host)
        if (address is not None and address.is_loopback) or f".{target.host}".endswith(".localhost"):
            return None
        proxies = urllib.request.getproxies()
        proxy = proxies.get(target.scheme) or proxies.get("all")
        return None if not proxy or urllib.request.proxy_bypass(target.netloc) else proxy

    # Question and answer.

    def _ask(self, connection: http.client.HTTPConnection, target: Target, proxy: str | None) -> Answer:
        headers = {"Host": target.netloc, **_HEADERS}
        path = target.path
        if proxy is not None and target.scheme == "http":
            path, headers = target.url, headers | _proxy_headers(proxy)
        self._scope.check()
        connection.request("GET", path, headers=headers)
        with connection.getresponse() as response:
            sent_on = response.getheader("Location") if response.status in REDIRECTS else None
            body, cut = (b"", "") if sent_on else self._body(response)
            return Answer(
                response.status,
                response.headers.get_content_type() if "Content-Type" in response.headers else "",
                response.headers.get_content_charset(),
                sent_on.encode("latin-1", "replace").decode("utf-8", "replace") if sent_on else None,
                body,
                cut,
            )

    def _body(self, response: http.client.HTTPResponse) -> tuple[bytes, str]:
        """As much of the body as is wanted and comes in time, and why there is no more."""
        encoding = (response.getheader("Content-Encoding") or "identity").strip().lower()
        if encoding not in ("identity", *_ZIPPED):
            raise OSError("its encoding is not one that was asked for")
        unzip = _Unzip(self._max_bytes) if encoding in _ZIPPED else None
        body = bytearray()
        try:
            while len(body) <= self._max_bytes and (data := response.read1(_PIECE)):
                body += unzip.feed(data) if unzip else data
            if self._shut:  # which reads as an end
                raise TimeoutError
        except _FAILURES as error:
            self._scope.check()
            if not body:
                raise
            return bytes(body[: self._max_bytes]), f"the rest did not come: {self._why(error)}"
        if len(body) > self._max_bytes:
            return bytes(body[: self._max_bytes]), f"only the first {self._max_bytes} bytes were fetched"
        is_whole = not response.length and (unzip is None or unzip.whole or not body)
        return bytes(body), "" if is_whole else "the rest did not come: the connection was lost"

    # Time.

    def _left(self) -> float:
        """Seconds that are left. Raises TimeoutError."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _hold(self, sock: socket.socket) -> None:
        """Note what there is to shut. Raises OSError if it is too late."""
        with self._lock:
            self._socket = sock
            if self._shut:
                raise ConnectionAbortedError

    def _end(self) -> None:
        """Shut what is waited for; never blocks."""
        with self._lock:
            self._shut, sock = True, self._socket
        self._looked_up.put(TimeoutError())
        if sock is not None:
            try:
                socket.socket.shutdown(sock, socket.SHUT_RDWR)  # that of a TLS socket would take away what is in use
            except OSError:
                return

    def _why(self, error: BaseException) -> str:
        """What went wrong, in words."""
        if self._deadline - time.monotonic() <= 0.05:
            return f"it took more than {self._seconds:g} s"
        if isinstance(error, TimeoutError):
            return "the server cannot be reached"
        if isinstance(error, socket.gaierror):
            return "the host is not known"
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"the server's certificate does not hold ({error.verify_message})"
        if isinstance(error, ssl.SSLError):
            return "no secure connection came about"
        if isinstance(error, http.client.HTTPException | ValueError):
            return "the server's answer is no HTTP"
        assert isinstance(error, OSError)
        return error.strerror or str(error) or "the connection was lost"


class _Unzip:
    """Takes a body's gzip or deflate away, piece by piece, and no more than `limit` bytes and one: some unzip to
    thousands of times their size."""

    def __init__(self, limit: int) -> None:
        self._left = limit + 1
        self._first = True
        self._zlib = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, whichever it is

    @property
    def whole(self) -> bool:
        return self._zlib.eof

    def feed(self, data: bytes) -> bytes:
        """Raises OSError."""
        if self._left <= 0:
            return b""
        try:
            plain = self._zlib.decompress(data, self._left)
        except zlib.error:
            plain = self._raw(data)
        self._first = False
        self._left -= len(plain)
        return plain

    def _raw(self, data: bytes) -> bytes:
        """Some servers mean by deflate what is in it, without the zlib around."""
        if not self._first:
            raise OSError("its compression is broken")
        self._zlib = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            return self._zlib.decompress(data, self._left)
        except zlib.error:
            raise OSError("its compression is broken") from None


def _tls() -> ssl.SSLContext:
    """Trusts what the system trusts, what `requests` trusts, or what the person names for both."""
    named = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
    if named:
        folder = os.path.isdir(named)
        return ssl.create_default_context(cafile=None if folder else named, capath=named if folder else None)
    from requests.utils import DEFAULT_CA_BUNDLE_PATH

    context = ssl.create_default_context()
    context.load_verify_locations(DEFAULT_CA_BUNDLE_PATH)
    return context


def _proxy_headers(proxy: str) -> dict[str, str]:
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if parts.username is None:
        return {}
    secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    return {"Proxy-Authorization": f"Basic {base64.b64encode(secret).decode()}"}
