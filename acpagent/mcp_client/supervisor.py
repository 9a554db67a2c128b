"""Keeps one server going: connects, hears of what changes, notices its end, and starts it again, within bounds.

Imported on the loop's thread only; all of it runs there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import anyio

from acpagent.core.catalogue import Phrase
from acpagent.mcp_client import loop, oauth, words
from acpagent.mcp_client.connection import Connection, Place, connect
from acpagent.mcp_client.http import UNAUTHORIZED
from acpagent.mcp_client.offers import Offers
from acpagent.mcp_client.spec import ServerSpec

CLOSE_SECONDS = 1.5  # to say goodbye; a process of ours then has its own bounds
STEADY_SECONDS = 60.0  # after that long, an end is a new story
SIGN_IN_SECONDS = 300.0
GATHERING_SECONDS = 0.1  # for further changes of its lists, so that they are read once for many
MODES = ("legacy", "auto")


class Watcher(Protocol):
    """Who is told. Nothing here blocks."""

    def is_ready(self, connection: Connection, offers: Offers) -> None: ...
    def has_changed(self, offers: Offers) -> None: ...
    def is_lost(self, cause: str, attempt: int, attempts: int) -> None:
        """It is gone, and is started again."""

    def has_failed(self, cause: str, *, sign_in: bool) -> None:
        """It is gone for good, until somebody starts it."""


@dataclass(frozen=True, slots=True)
class End:
    """How one connection ended. `seconds`: how long it was ready, None if it never was."""

    cause: str
    seconds: float | None
    sign_in: bool = False


class Supervisor:
    """One for each time a server is started. `stop` is called on the loop, `run` is the task of its whole life."""

    def __init__(self, spec: ServerSpec, place: Place, watcher: Watcher, pauses: Sequence[float]) -> None:
        self._spec = spec
        self._place = place
        self._watcher = watcher
        self._pauses = pauses
        self._stopping = anyio.Event()
        self._starting: anyio.CancelScope | None = None
        self._connection: Connection | None = None
        self._mode = MODES[0]

    def stop(self) -> None:
        """Have it end: at once while it starts, politely once it is there."""
        self._stopping.set()
        if self._connection is not None:
            self._connection.end()
        elif self._starting is not None:
            self._starting.cancel()

    async def run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            if not await self._stands():
                self._watcher.has_failed(Phrase("server_changed_project"), sign_in=False)
                return
            if self._stopping.is_set():
                return
            end = await self._connect()
            if self._stopping.is_set():
                return
            if end.seconds is not None and end.seconds >= STEADY_SECONDS:
                failures = 0
            if (end.seconds is None and not failures) or failures >= len(self._pauses) or end.sign_in:
                self._watcher.has_failed(end.cause, sign_in=end.sign_in)
                return
            pause = self._pauses[failures]
            failures += 1
            self._watcher.is_lost(end.cause, failures, len(self._pauses))
            with anyio.move_on_after(pause):
                await self._stopping.wait()

    async def _stands(self) -> bool:
        stands = self._spec.stands
        return stands is None or await loop.in_thread(stands)

    async def _connect(self) -> End:
        """One connection, from the start to its end."""
        for mode in MODES[MODES.index(self._mode) :]:
            self._mode = mode
            attempt = _Attempt(self._spec, self._place, self._watcher)
            try:
                with anyio.CancelScope() as self._starting:
                    await attempt.run(self._starting, mode, self._adopt)
            except Exception as error:
                attempt.error = error
            finally:
                self._starting = self._connection = None
            if not attempt.is_of_another_age() or self._stopping.is_set():
                break
        return attempt.end()

    def _adopt(self, connection: Connection) -> None:
        self._connection = connection
        if self._stopping.is_set():
            connection.end()


class _Attempt:
    """One try to have a connection. `error` is what it ended with."""

    def __init__(self, spec: ServerSpec, place: Place, watcher: Watcher) -> None:
        self._spec = spec
        self._place = place
        self._watcher = watcher
        self._connection = Connection(spec)
        self._patience = SIGN_IN_SECONDS if place.show is not None else spec.startup_seconds
        self._timed_out = False
        self._seconds: float | None = None  # how long it was ready
        self.error: BaseException | None = None

    async def run(self, bound: anyio.CancelScope, mode: str, adopt: Callable[[Connection], None]) -> None:
        """`bound` is the scope this runs in, which has its deadline from here."""
        bound.deadline = anyio.current_time() + self._patience
        self._timed_out = True  # unless it gets on
        connection = self._connection
        async with connect(connection, self._place, mode):
            offers = await connection.list_offers()
            self._timed_out = False
            bound.deadline = float("inf")
            since = anyio.current_time()
            try:
                adopt(connection)
                self._watcher.is_ready(connection, offers)
                await self._serve(offers)
            finally:
                self._seconds = anyio.current_time() - since
            bound.deadline = anyio.current_time() + CLOSE_SECONDS

    async def _serve(self, offers: Offers) -> None:
        connection = self._connection
        listening = asyncio.create_task(connection.listen())
        try:
            while True:
                await connection.news()
                if connection.lost:
                    return
                with anyio.move_on_after(GATHERING_SECONDS):
                    await connection.over.wait()
                with anyio.move_on_after(self._spec.startup_seconds):
                    found = await connection.list_offers()
                    if found != offers:
                        offers = found
                        self._watcher.has_changed(offers)
        finally:
            listening.cancel()

    def is_of_another_age(self) -> bool:
        """Whether the server has not been ready because it can only be greeted in another way."""
        return self._seconds is None and self.error is not None and words.is_of_another_age(self.error)

    def end(self) -> End:
        ended, error = self._connection.ended.words, self.error
        if self._wants_sign_in():
            return End(Phrase("server_wants_sign_in"), None, sign_in=True)
        if error is None and self._timed_out:
            return End(Phrase("server_not_ready", seconds=f"{self._patience:g}"), None)
        if error is None or (ended and words.is_lost(error)):
            return End(ended or Phrase("server_closed"), self._seconds)
        return End(words.of(error, self._spec), self._seconds)

    def _wants_sign_in(self) -> bool:
        if self.error is not None and isinstance(words.leaf(self.error), oauth.SignIn):
            return True
        if self._place.show is not None:  # a person was asked, and something else went wrong
            return False
        return self._seconds is None and self._connection.seen.status == UNAUTHORIZED
