"""The servers of one session, from its opening to its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_futures
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from acpagent.core.catalogue import Phrase
from acpagent.core.events import Level
from acpagent.core.scope import Scope
from acpagent.core.toolcalls import Tool
from acpagent.mcp_client import names
from acpagent.mcp_client.faults import ServerFault
from acpagent.mcp_client.private import PrivateFile, tokens_file
from acpagent.mcp_client.spec import ServerSpec

if TYPE_CHECKING:  # a session without servers imports none of it
    from acpagent.mcp_client.offers import ResourceOffer
    from acpagent.mcp_client.prompts import PromptCommand
    from acpagent.mcp_client.results import Outcome
    from acpagent.mcp_client.server import Server, Status

OPENING_SECONDS = 1.0  # what a session's opening waits for its servers at most (SESS-13)


@dataclass(frozen=True, slots=True)
class Hooks:
    """What a pool tells its session. All are called on threads that must not wait, so they must not block.

    `report` is for the person: a code of the catalogue with parameters. `changed`: other tools or prompts than before
    are offered. `log` takes a line for stderr.
    """

    report: Callable[[Level, str, dict[str, Any]], None] = lambda level, code, params: None
    changed: Callable[[], None] = lambda: None
    log: Callable[[str], None] = lambda line: None


class Pool:
    """Any thread may use it; its lock is a leaf. `cwd` is where servers run, `environ` what they inherit, `roots` the
    directories that they are told of; `home` is where tokens are kept, None: nowhere.

    Servers change in two steps, so that what uses them can be built in between: `prepare` starts what is new beside
    what there is, and the plan is adopted or given up.
    """

    def __init__(
        self,
        cwd: str,
        environ: Mapping[str, str],
        hooks: Hooks,
        *,
        home: str | None = None,
        roots: Callable[[], Sequence[str]] = tuple,
        pauses: tuple[float, ...] | None = None,
    ) -> None:
        self._hooks = hooks
        self._lock = threading.Lock()
        self._moved = threading.Condition(self._lock)
        self._servers: dict[str, Server] = {}
        self._leaving: list[Future[None]] = []
        self._told: set[str] = set()  # servers that were reported as slow
        self._signature: object = ()
        self._closed = False

        def tokens(url: str) -> PrivateFile:
            assert home is not None
            return tokens_file(home, url)

        self._tokens = tokens if home is not None else None
        self._around = (cwd, environ, hooks.log, hooks.report, self._note, roots, self._tokens)
        self._pauses = () if pauses is None else (pauses,)

    @property
    def is_empty(self) -> bool:
        return not self._servers

    def prepare(self, specs: Iterable[ServerSpec]) -> Plan:
        """Start what is not there yet, or not so. Never blocks. Servers with unchanged settings are carried over and
        keep their process; one that failed is tried again."""
        wanted = list(specs)
        slugs = names.servers(spec.name for spec in wanted)
        with self._lock:
            before = dict(self._servers)
        chosen: dict[str, Server] = {}
        new: list[Server] = []
        for spec in wanted:
            known = before.get(spec.name)
            if known is not None and (known.spec, known.slug) == (spec, slugs[spec.name]) and known.state != "failed":
                chosen[spec.name] = known
            else:
                server = chosen[spec.name] = self._make(spec, slugs[spec.name])
                new.append(server)
        plan = Plan(self, chosen, new)
        if not self._closed:
            for server in new:
                server.start()
        return plan

    def _make(self, spec: ServerSpec, slug: str) -> Server:
        from acpagent.mcp_client.server import Server, Surroundings

        return Server(spec, slug, Surroundings(*self._around, *self._pauses))

    def adopt(self, plan: Plan) -> None:
        """From here on these are the servers; the others are ended. Never blocks."""
        with self._lock:
            gone = [server for server in self._servers.values() if server not in plan.servers.values()]
            self._servers = dict(plan.servers)
            closed = self._closed
            self._signature = self._sign()
        self._end([*gone, *plan.new] if closed else gone)

    def discard(self, plan: Plan) -> None:
        """Give a plan up: what it started is ended. Never blocks."""
        self._end(plan.new)

    def wait(self, plan: Plan, scope: Scope, seconds: float = OPENING_SECONDS) -> bool:
        """Wait until none of a plan's servers is being started, so many seconds at most; those that still are get
        reported. Raises `Cancelled`."""
        deadline = time.monotonic() + seconds
        forget = scope.add_closer(self._wake)
        try:
            with self._moved:
                while (slow := plan.starting()) and not scope.cancelled:
                    left = deadline - time.monotonic()
                    if left <= 0:
                        break
                    self._moved.wait(left)
                self._told.update(slow)
        finally:
            forget()
        scope.check()
        for name in slow:
            self._hooks.report("info", "mcp_starting", {"server": name})
        return not slow

    def tools(self) -> list[Tool]:
        """The tools of all servers that are there, in a stable order."""
        return _tools(self._all())

    def prompts(self) -> list[PromptCommand]:
        """The prompts of all servers that are there, as commands."""
        return _prompts(self._all())

    def resources(self) -> list[tuple[str, ResourceOffer]]:
        """What there is to read, each with the name of its server."""
        return [(server.spec.name, offer) for server in self._all() for offer in server.offers.resources]

    def read(self, name: str, uri: str, limit: int, scope: Scope) -> Outcome:
        """A resource of a server, in `limit` bytes of text. Waits for the server. Raises `ServerFault`, `Cancelled`."""
        from acpagent.mcp_client.exchange import Exchange

        return self._get(name).read(uri, limit, Exchange(scope))

    def signature(self) -> object:
        """Equal for equal offers: what tells whether a loadout that was built with them is out of date."""
        with self._lock:
            return self._sign()

    def status(self) -> tuple[Status, ...]:
        return tuple(server.status for server in self._all())

    def start(self, name: str) -> None:
        """Start a server that was stopped or failed. Raises `ServerFault` if there is no such server."""
        self._get(name).start()

    def stop(self, name: str) -> None:
        """End a server until it is started. Raises `ServerFault`. Never blocks."""
        self._end([self._get(name)])

    def restart(self, name: str) -> None:
        """Raises `ServerFault`. Never blocks: the new process does not wait for the old one's end."""
        server = self._get(name)
        self._end([server])
        server.start()

    def sign_in(self, name: str, show: Callable[[str], None], scope: Scope, seconds: float = 300.0) -> None:
        """Start a server anew and have the person sign in: `show` gets the address that they are to open, on a thread
        that must not wait. Returns once the server is ready. Raises `ServerFault`, `Cancelled`."""
        server = self._get(name)
        if server.spec.transport == "stdio":
            raise ServerFault(Phrase("server_is_program", server=name))
        self._end([server])
        server.start(show)
        ready = self.wait(Plan(self, {name: server}, []), scope, seconds)
        if not ready or server.state != "ready":
            cause = server.status.cause or Phrase("server_too_late")
            raise ServerFault(Phrase("server_no_sign_in", server=name, cause=cause))

    def sign_out(self, name: str) -> None:
        """Forget a server's tokens and end the connection. Raises `ServerFault`, OSError."""
        server = self._get(name)
        if self._tokens is not None and server.spec.url:
            self._tokens(server.spec.url).remove()
        self._end([server])

    def end(self) -> None:
        """End all servers, and start no more. Never blocks."""
        with self._lock:
            self._closed = True
            servers = list(self._servers.values())
        self._end(servers)

    def close(self, deadline: float) -> bool:
        """`end`, and wait until nothing of them is left or it is `deadline` by the monotonic clock; whether nothing
        is."""
        self.end()
        with self._lock:
            leaving = list(self._leaving)
        _, left = wait_for_futures(leaving, max(0.0, deadline - time.monotonic()))
        return not left

    def _all(self) -> list[Server]:
        with self._lock:
            return list(self._servers.values())

    def _get(self, name: str) -> Server:
        with self._lock:
            server = self._servers.get(name)
        if server is None:
            raise ServerFault(Phrase("server_unknown", server=name))
        return server

    def _end(self, servers: Iterable[Server]) -> None:
        ending = [future for server in servers if (future := server.stop()) is not None]
        with self._lock:
            self._leaving = [future for future in self._leaving if not future.done()] + ending

    def _wake(self) -> None:
        with self._moved:
            self._moved.notify_all()

    def _sign(self) -> object:
        """Under the lock."""
        return _signature(self._servers.values())

    def _note(self, server: Server) -> None:
        """A server's state or offers changed."""
        with self._moved:
            self._moved.notify_all()
            if self._servers.get(server.spec.name) is not server:
                return
            before, self._signature = self._signature, self._sign()
            has_changed = before != self._signature and not self._closed
            is_late = server.state == "ready" and server.spec.name in self._told
            if server.state != "starting":
                self._told.discard(server.spec.name)
        if is_late:
            self._hooks.report("info", "mcp_ready", {"server": server.spec.name, "tools": len(server.offers.tools)})
        if has_changed:
            self._hooks.changed()


class Plan:
    """The servers that a pool is to have. `new` were started for it."""

    def __init__(self, pool: Pool, servers: Mapping[str, Server], new: Sequence[Server]) -> None:
        self._pool = pool
        self.servers = servers
        self.new = new

    def starting(self) -> list[str]:
        """The servers that are still being started for the first time."""
        return [name for name, server in self.servers.items() if server.state == "starting"]

    def tools(self) -> list[Tool]:
        """The tools that there are by now."""
        return _tools(list(self.servers.values()))

    def prompts(self) -> list[PromptCommand]:
        """The prompts that there are by now, as commands."""
        return _prompts(list(self.servers.values()))

    def signature(self) -> object:
        """Equal for equal offers: what tells whether a loadout that was built with them is out of date."""
        return _signature(self.servers.values())


def _signature(servers: Iterable[Server]) -> object:
    return tuple((server.slug, server.offers.tools, server.offers.prompts) for server in servers)


def _prompts(servers: Sequence[Server]) -> list[PromptCommand]:
    if not servers:
        return []
    from acpagent.mcp_client import prompts

    return [command for server in servers for command in prompts.commands(server)]


def _tools(servers: Sequence[Server]) -> list[Tool]:
    if not servers:
        return []
    from acpagent.mcp_client import tools

    return [tool for server in servers for tool in tools.tools(server)]
