"""Servers that are reached over HTTP: streamable, and the older kind with one stream of events. Imported on the loop's
thread only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

import anyio
import httpx2
from mcp.client._transport import ReadStream, TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from acpagent.core.catalogue import Phrase
from acpagent.mcp_client.spec import ServerSpec
from acpagent.wire.framing import LINE_LIMIT

CONNECT_SECONDS = 30.0
UNAUTHORIZED = 401


class TooLarge(httpx2.StreamError):
    """An answer over the limit. The package makes a failed request of it."""


class Seen:
    """What was seen of a server beside its messages: the last status that was an error."""

    def __init__(self) -> None:
        self.status = 0


@asynccontextmanager
async def connect(
    spec: ServerSpec, *, auth: httpx2.Auth | None, on_end: Callable[[], None], seen: Seen
) -> AsyncIterator[TransportStreams]:
    """Reach the server. `on_end` is called when its stream of events is over, where it has just one."""
    if spec.transport == "sse":
        async with sse_client(spec.url, dict(spec.headers), CONNECT_SECONDS, _no_end(), _factory(seen), auth) as (
            incoming,
            outgoing,
        ):
            yield _Watched(incoming, on_end), outgoing
        return
    headers = {"Accept-Encoding": "identity", **dict(spec.headers)}
    async with (
        _client(headers, None, auth, seen) as client,
        streamable_http_client(spec.url, http_client=client, max_sse_event_size=LINE_LIMIT) as streams,
    ):
        yield streams


def _no_end() -> Any:
    """How long a stream may be silent: calls have their own clocks."""
    return None


def _factory(seen: Seen) -> Any:
    def make(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        return _client(headers, timeout, auth, seen)

    return make


def _client(
    headers: dict[str, str] | None, timeout: httpx2.Timeout | None, auth: httpx2.Auth | None, seen: Seen
) -> httpx2.AsyncClient:
    async def note(response: httpx2.Response) -> None:
        if response.status_code >= 400:
            seen.status = response.status_code
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            response.stream = _Bounded(response.stream)

    return httpx2.AsyncClient(
        headers=headers,
        timeout=timeout or httpx2.Timeout(CONNECT_SECONDS, read=None),
        auth=auth,
        event_hooks={"response": [note]},
    )


class _Bounded(httpx2.AsyncByteStream):
    """A body that is read no further than the limit."""

    def __init__(self, body: Any) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._body:
            size += len(piece)
            if size > LINE_LIMIT:
                raise TooLarge(Phrase("server_too_large", size=LINE_LIMIT >> 20))
            yield piece

    async def aclose(self) -> None:
        await self._body.aclose()


class _Watched:
    """A stream of messages that tells when it is over."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], on_end: Callable[[], None]) -> None:
        self._inner = inner
        self._on_end = on_end

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._on_end()
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self._inner.__anext__()
        except StopAsyncIteration:
            self._on_end()
            raise

    async def __aenter__(self) -> _Watched:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)
