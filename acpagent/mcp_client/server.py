"""One server of a session: what state it is in, what it offers, and requests to it from any thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from acpagent.core import bounds, diagnostics
from acpagent.core.blocks import Block
from acpagent.core.catalogue import Phrase
from acpagent.core.events import Level
from acpagent.core.phrases import told
from acpagent.mcp_client import loop, results
from acpagent.mcp_client.exchange import Exchange
from acpagent.mcp_client.faults import ServerFault
from acpagent.mcp_client.offers import Offers
from acpagent.mcp_client.private import PrivateFile
from acpagent.mcp_client.results import Outcome
from acpagent.mcp_client.spec import ServerSpec

if TYPE_CHECKING:
    from acpagent.mcp_client.connection import Connection
    from acpagent.mcp_client.supervisor import Supervisor

T = TypeVar("T")
State = Literal["stopped", "starting", "ready", "failed"]

PAUSES = (0.5, 2.0, 8.0)  # before each time that a server which ended is started again

# Where a server may go from each state.
MOVES: Mapping[State, frozenset[State]] = {
    "stopped": frozenset({"starting"}),
    "starting": frozenset({"ready", "failed", "stopped", "starting"}),
    "ready": frozenset({"starting", "failed", "stopped"}),
    "failed": frozenset({"starting", "stopped"}),
}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a server needs of its session. All of it is called on threads that must not wait: `log` takes a line for
    stderr, `report` a code of the catalogue with parameters, `moved` is told of each change of state or offers;
    `roots` are the session's directories, absolute. `tokens` says where tokens for an address are kept."""

    cwd: str
    environ: Mapping[str, str]
    log: Callable[[str], None]
    report: Callable[[Level, str, dict[str, Any]], None]
    moved: Callable[[Server], None]
    roots: Callable[[], Sequence[str]]
    tokens: Callable[[str], PrivateFile] | None = None
    pauses: tuple[float, ...] = PAUSES


@dataclass(frozen=True, slots=True)
class Status:
    """How a server is doing. `cause` says why it failed, or was lost last. `restarts` counts from its last start."""

    name: str
    transport: str
    source: str
    state: State
    cause: str
    sign_in: bool
    restarts: int
    tools: int
    prompts: int
    resources: int
    version: str


class Server:
    """`slug` is its name in the names of its tools.

    Its lock is a leaf and guards state and offers, which change on the loop's thread and by `start` and `stop`. The
    connection belongs to the loop's thread.
    """

    def __init__(self, spec: ServerSpec, slug: str, around: Surroundings) -> None:
        self.spec = spec
        self.slug = slug
        self._around = around
        self._lock = threading.Lock()
        self._state: State = "stopped"
        self._offers = Offers()
        self._cause = ""
        self._sign_in = False
        self._restarts = 0
        self._version = ""
        self._life: _Life | None = None

    @property
    def state(self) -> State:
        return self._state

    @property
    def offers(self) -> Offers:
        """What it offers; also while it is started again, for then it is likely to offer the same."""
        return self._offers

    @property
    def status(self) -> Status:
        with self._lock:
            offers = self._offers
            return Status(
                self.spec.name, self.spec.transport, self.spec.source, self._state, self._cause, self._sign_in,
                self._restarts, len(offers.tools), len(offers.prompts), len(offers.resources), self._version,
            )  # fmt: skip

    def start(self, show: Callable[[str], None] | None = None) -> None:
        """Have it started, if it is not going. Never blocks. `show` gets the address where the person can sign in, on
        the loop's thread, and must not block."""
        with self._lock:
            if self._state in ("starting", "ready"):
                return
            self._move("starting")
            self._cause, self._sign_in, self._restarts = "", False, 0
            self._life = _Life(self, self._around, show)
        self._life.begin()
        self._around.moved(self)

    def stop(self) -> Future[None] | None:
        """Have it ended. Never blocks; the future is done when nothing of it is left."""
        with self._lock:
            life, self._life = self._life, None
            was, self._offers = self._state, Offers()
            if was != "stopped":
                self._move("stopped")
        if was != "stopped":
            self._around.moved(self)
        return life.end() if life is not None else None

    def call(self, tool: str, arguments: Mapping[str, Any], limit: int, exchange: Exchange) -> Outcome:
        """Call a tool, and wait. The model's text has at most `limit` bytes. Raises `ServerFault`, `Cancelled`."""

        async def work(connection: Connection) -> Outcome:
            async def note(progress: float, total: float | None, message: str | None) -> None:
                exchange.progress(_progress(progress, total, message))

            result = await connection.client.call_tool(tool, dict(arguments), progress_callback=note)
            return results.outcome(result, limit)

        return self._ask(work, exchange, self.spec.seconds(tool))

    def prompt(self, name: str, arguments: Mapping[str, str], limit: int, exchange: Exchange) -> tuple[Block, ...]:
        """What a prompt says. Raises `ServerFault`, `Cancelled`."""

        async def work(connection: Connection) -> tuple[Block, ...]:
            return results.messages(await connection.client.get_prompt(name, dict(arguments)), limit)

        return self._ask(work, exchange, self.spec.call_seconds)

    def read(self, uri: str, limit: int, exchange: Exchange) -> Outcome:
        """What a resource holds. Raises `ServerFault`, `Cancelled`."""

        async def work(connection: Connection) -> Outcome:
            result = await connection.client.read_resource(uri, cache_mode="bypass")
            return results.contents(result, limit)

        return self._ask(work, exchange, self.spec.call_seconds)

    def _ask(self, work: Callable[[Connection], Awaitable[T]], exchange: Exchange, seconds: float) -> T:
        with self._lock:
            life = self._life
        if life is None or self._state == "failed":
            code = "server_down_because" if self._cause else "server_down"
            raise ServerFault(Phrase(code, server=self.spec.name, cause=self._cause))
        try:
            return exchange.run(lambda: life.ask(work, exchange), seconds)
        except ServerFault as fault:
            raise ServerFault(Phrase("server_says", server=self.spec.name, cause=told(fault))) from None

    def _move(self, state: State) -> None:
        """Under the lock."""
        if state not in MOVES[self._state]:
            raise AssertionError(f"a server does not go from {self._state} to {state}")
        self._state = state

    # Called by its life, on the loop's thread. A life that was ended has no say any more.

    def ready(self, life: _Life, offers: Offers, version: str) -> None:
        with self._lock:
            if self._life is not life:
                return
            self._move("ready")
            self._offers, self._version = offers, version
        self._around.moved(self)

    def changed(self, life: _Life, offers: Offers) -> None:
        with self._lock:
            if self._life is not life:
                return
            self._offers = offers
        self._around.moved(self)

    def lost(self, life: _Life, cause: str, attempt: int, attempts: int) -> None:
        with self._lock:
            if self._life is not life:
                return
            self._move("starting")
            self._cause, self._restarts = cause, attempt
        params = {"server": self.spec.name, "cause": cause, "attempt": attempt, "limit": attempts}
        self._around.report("warning", "mcp_restarting", params)
        self._around.moved(self)

    def failed(self, life: _Life, cause: str, sign_in: bool) -> None:
        with self._lock:
            if self._life is not life:
                return
            self._move("failed")
            self._cause, self._sign_in, self._offers = cause, sign_in, Offers()
        params = {"server": self.spec.name, "cause": cause}
        self._around.report("warning", "mcp_sign_in" if sign_in else "mcp_failed", params)
        self._around.moved(self)


class _Life:
    """One start of a server until its end. Made on any thread; the rest happens on the loop's."""

    def __init__(self, server: Server, around: Surroundings, show: Callable[[str], None] | None) -> None:
        self._server = server
        self._around = around
        self._show = show
        self._supervisor: Supervisor | None = None
        self._connection: Connection | None = None
        self._settled: asyncio.Event | None = None
        self._ending = False
        self._over: Future[None] | None = None

    def begin(self) -> None:
        try:
            self._over = loop.submit(self._run)
        except RuntimeError:
            self._server.failed(self, Phrase("server_no_thread"), False)

    def end(self) -> Future[None] | None:
        loop.call_soon(self._stop)
        return self._over

    async def ask(self, work: Callable[[Connection], Awaitable[T]], exchange: Exchange) -> T:
        """Do something with the connection, as soon as there is one. Raises `ServerFault`."""
        while (connection := self._connection) is None or connection.lost:
            if self._ending or self._server.state == "failed":
                cause = self._server.status.cause or Phrase("server_was_stopped")
                raise ServerFault(Phrase("server_not_running", cause=cause))
            if self._settled is None:
                self._settled = asyncio.Event()
            await self._settled.wait()
        connection.exchanges.append(exchange)
        try:
            return await work(connection)
        except Exception as error:
            raise self._fault(error, connection) from None
        finally:
            connection.exchanges.remove(exchange)

    def _fault(self, error: BaseException, connection: Connection) -> ServerFault:
        from acpagent.mcp_client import words

        if words.is_lost(error):
            connection.end()
            return ServerFault(Phrase("server_before_answer", cause=words.of(error, self._server.spec)))
        return ServerFault(words.of(error, self._server.spec))

    async def _run(self) -> None:
        try:
            from acpagent.mcp_client.connection import Place
            from acpagent.mcp_client.supervisor import Supervisor

            spec, around = self._server.spec, self._around
            tokens = around.tokens(spec.url) if around.tokens is not None and spec.url else None
            place = Place(
                around.cwd, around.environ, lambda line: around.log(f"{spec.name}: {line}"), around.roots, tokens,
                self._show,
            )  # fmt: skip
            self._supervisor = Supervisor(spec, place, self, around.pauses)
            if not self._ending:
                await self._supervisor.run()
        except Exception as error:  # the package is not there, or we are wrong: a server must not hang in between
            diagnostics.report(loop.NAME, "the life of a server", error)
            self.has_failed(Phrase("server_in_life", kind=type(error).__name__), sign_in=False)
        finally:
            self._ending = True
            self._wake(None)

    def _stop(self) -> None:
        self._ending = True
        if self._supervisor is not None:
            self._supervisor.stop()

    def _wake(self, connection: Connection | None) -> None:
        self._connection = connection
        if self._settled is not None:
            self._settled.set()
            self._settled = None

    # The supervisor's watcher.

    def is_ready(self, connection: Connection, offers: Offers) -> None:
        self._server.ready(self, offers, connection.version)
        self._wake(connection)

    def has_changed(self, offers: Offers) -> None:
        self._server.changed(self, offers)

    def is_lost(self, cause: str, attempt: int, attempts: int) -> None:
        self._connection = None
        self._server.lost(self, cause, attempt, attempts)

    def has_failed(self, cause: str, *, sign_in: bool) -> None:
        self._server.failed(self, cause, sign_in)
        self._wake(None)


def _progress(done: float, total: float | None, message: str | None) -> str:
    """A line about how far a call has come."""
    count = f"{done:g}/{total:g}" if total else f"{done:g}"
    return f"{bounds.one_line(message, 200)} ({count})" if message else count
