"""HTTP calls that a cancel ends within milliseconds, over one kept-alive session.

A blocked read cannot be ended by closing anything from another thread: that waits as long as the read does.
Shutting the socket down works. After the headers the response knows its socket; before them only the
connection does, which is why the connections here tell the call that they work for.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError

from acpagent.core.scope import Cancelled, Scope

BLOCK = 65536
DRAIN_SECONDS = 0.25

# What requests, urllib3 and the sockets below raise when a call fails.
ERRORS = (requests.RequestException, HTTPError, OSError)

_thread = threading.local()  # `.watch`: the call that this thread is making


class Watch:
    """One call, as its cancel sees it. `shut` is the scope's closer; the rest is the calling thread's."""

    __slots__ = ("closed", "connection", "raw")

    def __init__(self) -> None:
        self.closed = False
        self.connection: HTTPConnection | None = None
        self.raw: Any = None

    def shut(self) -> None:
        """End a blocked read or handshake. Never blocks."""
        self.closed = True
        raw, connection = self.raw, self.connection
        if raw is not None:
            raw.shutdown()
        elif connection is not None and connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)

    def hold(self, connection: HTTPConnection) -> None:
        """Note the connection that the call goes on over. Raises OSError if the call was given up."""
        self.connection = connection
        if self.closed:
            connection.close()
            raise ConnectionAbortedError


class _Heeding(HTTPConnection):
    """A connection that tells the call of this thread before it can block, and once there is a socket."""

    def connect(self) -> None:
        self._tell()
        super().connect()
        self._tell()

    def request(self, *args: Any, **options: Any) -> None:
        self._tell()
        super().request(*args, **options)

    def _tell(self) -> None:
        watch: Watch | None = getattr(_thread, "watch", None)
        if watch is not None:
            watch.hold(self)


class _HeedingTls(_Heeding, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Heeding


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _HeedingTls


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}

    def proxy_manager_for(self, proxy: Any, **options: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **options)
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
        return manager


class _Auth(AuthBase):
    """Sends the key, if any. Always there, as without it requests looks for credentials in a netrc file."""

    def __init__(self, header: tuple[str, str], key: str | None) -> None:
        self._header = header
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._key is not None:
            name, before = self._header
            request.headers.setdefault(name, before + self._key)
        return request


class Answer:
    """A response whose headers came. Belongs to the thread that made the call."""

    def __init__(self, response: requests.Response, scope: Scope, patience: float) -> None:
        self._raw = response.raw
        self._scope = scope
        self._patience = patience
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers

    def read(self) -> bytes:
        """What one read of the network brings; nothing at the end. Raises `Cancelled`, or one of `ERRORS`."""
        try:
            data: bytes = self._raw.read1(BLOCK, decode_content=True) or b""
        except ERRORS:
            self._scope.check()
            raise
        self._scope.check()
        return data

    def beginning(self, limit: int) -> bytes:
        """The first `limit` bytes of the body, or what can be had of them. Raises `Cancelled`."""
        data = b""
        try:
            while len(data) < limit and (more := self.read()):
                data += more
        except ERRORS:
            pass
        return data[:limit]

    def drain(self) -> None:
        """Read what is left of a body that should be over, so that the connection can be used again. A server
        that does not end it is hung up on."""
        sock = getattr(self._raw.connection, "sock", None)
        if sock is None:
            return
        with contextlib.suppress(OSError):
            sock.settimeout(DRAIN_SECONDS)
            self._raw.drain_conn()
            sock.settimeout(self._patience)


class Line:
    """The way to one address. Owns a `requests.Session`.

    `key_header`: the name of the header that takes the key, and what stands before the key in it.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        connect: float,
        read: float,
        key_header: tuple[str, str] = ("Authorization", "Bearer "),
    ) -> None:
        self.url = url
        self._key_header = key_header
        self._headers = dict(headers)
        self._timeouts = (connect, read)
        self._session = requests.Session()
        self._session.mount("http://", _Adapter())
        self._session.mount("https://", _Adapter())
        # Proxies are looked up in the environment for each request, so this is what keeps loopback off them.
        host = urlsplit(url).hostname or ""
        self._proxies = {"no_proxy": host} if is_loopback(host) else None

    @contextlib.contextmanager
    def post(self, body: bytes, key: str | None, scope: Scope) -> Iterator[Answer]:
        """Send `body` and wait for the headers. Raises `Cancelled`, or one of `ERRORS`.

        A cancel of `scope` ends whatever the call waits for.
        """
        watch = Watch()
        take_back: Callable[[], object] = scope.add_closer(watch.shut)
        response = None
        try:
            response = self._send(watch, body, key, scope)
            yield Answer(response, scope, self._timeouts[1])
        finally:
            take_back()
            if response is not None:
                response.close()

    def _send(self, watch: Watch, body: bytes, key: str | None, scope: Scope) -> requests.Response:
        _thread.watch = watch
        try:
            response = self._session.post(
                self.url,
                data=body,
                headers=self._headers,
                auth=_Auth(self._key_header, key),
                timeout=self._timeouts,
                proxies=self._proxies,
                stream=True,
                allow_redirects=False,  # a key goes nowhere but where it was meant for
            )
        except ERRORS:
            scope.check()
            raise
        except ValueError:  # a header that cannot be sent; the exception quotes it
            raise requests.exceptions.InvalidHeader from None
        finally:
            _thread.watch = None
        watch.raw = response.raw
        if watch.closed:
            response.close()
            raise Cancelled
        return response

    def close(self) -> None:
        """Close idle connections."""
        self._session.close()


def is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
