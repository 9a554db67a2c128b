"""One connection to a server, over the MCP package. Imported on the loop's thread only, for the package is slow to
import."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.request import pathname2url

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from acpagent.mcp_client import elicit, http, oauth, offers, stdio
from acpagent.mcp_client.exchange import Exchange, current
from acpagent.mcp_client.offers import Offers
from acpagent.mcp_client.private import PrivateFile
from acpagent.mcp_client.remarks import Remarks
from acpagent.mcp_client.spec import ServerSpec
from acpagent.version import __version__

PAGES = 100  # of one list, so that one without an end has one
TOOLS = 512
_LOGGERS = ("mcp", "client", "httpx2", "httpcore2")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a connection lives: the session's directory, what a process inherits, who hears its remarks, the
    directories it may be told of, where its tokens are kept, and who shows the address to sign in at."""

    cwd: str
    environ: Mapping[str, str]
    log: Callable[[str], None]
    roots: Callable[[], Sequence[str]]
    tokens: PrivateFile | None = None
    show: Callable[[str], None] | None = None


class Connection:
    """A server that answers. All of it belongs to the loop's thread."""

    def __init__(self, spec: ServerSpec) -> None:
        self.spec = spec
        self.over = anyio.Event()  # or should be
        self.stale = False  # its lists have changed
        self.seen = http.Seen()
        self.ended = stdio.Ended()
        self.exchanges: list[Exchange] = []
        self._news = anyio.Event()
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        assert self._client is not None
        return self._client

    @property
    def version(self) -> str:
        return self.client.protocol_version

    @property
    def lost(self) -> bool:
        return self.over.is_set()

    def end(self) -> None:
        """Have whoever waits for news close it."""
        self.over.set()
        self._news.set()

    def note_change(self) -> None:
        self.stale = True
        self._news.set()

    async def news(self) -> None:
        """Wait until it is over or its lists have changed."""
        while not (self.lost or self.stale):
            self._news = anyio.Event()
            await self._news.wait()

    async def list_offers(self) -> Offers:
        """Everything it offers now. Raises what the package raises."""
        self.stale = False
        can = self.client.server_capabilities
        tools = await _all(self.client.list_tools, "tools") if can.tools else []
        prompts = await _all(self.client.list_prompts, "prompts") if can.prompts else []
        resources = await _all(self.client.list_resources, "resources") if can.resources else []
        templates = await _all(self.client.list_resource_templates, "resource_templates") if can.resources else []
        return Offers(
            tuple(sorted(map(offers.tool, tools[:TOOLS]), key=lambda tool: tool.name)),
            tuple(map(offers.prompt, prompts)),
            (*map(offers.resource, resources), *map(offers.template, templates)),
            can.resources is not None,
        )

    async def listen(self) -> None:
        """Hear of changed lists, where the server tells only those who ask."""
        if self.version not in MODERN_PROTOCOL_VERSIONS:
            return
        try:
            async with self.client.listen(
                tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
            ) as subscription:
                async for _ in subscription:
                    self.note_change()
        except (MCPError, SubscriptionLost, TimeoutError):
            return  # it has no such thing, or is gone, which others notice


@asynccontextmanager
async def connect(connection: Connection, place: Place, mode: str) -> AsyncIterator[None]:
    """Start or reach the server of a new connection and greet it: `legacy` is how all servers of before 2026 begin, and
    most others can; `auto` the way of those that cannot. Raises whatever the package raises, in groups."""
    _hush()
    remarks = Remarks(connection.spec, place.log)
    redirect = oauth.Redirect()
    try:
        client = Client(
            await _transport(connection, place, redirect),
            mode=mode,
            cache=None,
            client_info=types.Implementation(name="acpagent", version=__version__),
            elicitation_callback=_asker(connection, remarks),
            list_roots_callback=_roots(place),
            logging_callback=_logger(remarks),
            log_level="warning",
            message_handler=_hearer(connection),
        )
        async with client:
            connection._client = client
            yield
    finally:
        connection.over.set()
        redirect.close()


def _hush() -> None:
    """The package logs with tracebacks what it then raises; where nobody set up logging, that would go to stderr."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())


async def _transport(connection: Connection, place: Place, redirect: oauth.Redirect) -> Any:
    spec = connection.spec
    if spec.transport == "stdio":
        return stdio.connect(
            spec,
            cwd=place.cwd,
            environ=place.environ,
            log=place.log,
            on_end=connection.end,
            ended=connection.ended,
        )
    signs = any(name.lower() == "authorization" for name, _ in spec.headers)
    auth = None
    if place.tokens is not None and not signs:
        auth = await oauth.provider(spec.url, place.tokens, place.show, redirect)
    return http.connect(spec, auth=auth, on_end=connection.end, seen=connection.seen)


async def _all(list_page: Callable[..., Awaitable[Any]], what: str) -> list[Any]:
    """All pages of a list. A server that says it has such a list and then does not know of it has none."""
    found: list[Any] = []
    cursor = None
    for _ in range(PAGES):
        try:
            page = await list_page(cursor=cursor, cache_mode="bypass")
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND:
                return found
            raise
        found += getattr(page, what)
        cursor = page.next_cursor
        if not cursor:
            break
    return found


def _hearer(connection: Connection) -> Any:
    async def hear(message: types.ServerNotification | Exception) -> None:
        if isinstance(message, _CHANGES):
            connection.note_change()

    return hear


_CHANGES = (
    types.ToolListChangedNotification,
    types.PromptListChangedNotification,
    types.ResourceListChangedNotification,
)


def _logger(remarks: Remarks) -> Any:
    async def log(params: types.LoggingMessageNotificationParams) -> None:
        text = params.data if isinstance(params.data, str) else str(params.data)[:2000]
        remarks.say(f"{params.level}: {text}")

    return log


def _roots(place: Place) -> Any:
    async def list_roots(context: Any) -> types.ListRootsResult:
        roots = [types.Root(uri=f"file://{pathname2url(path)}") for path in place.roots()]  # type: ignore[arg-type]
        return types.ListRootsResult(roots=roots)

    return list_roots


def _asker(connection: Connection, remarks: Remarks) -> Any:
    """Puts what the server asks to whoever waits for the server."""

    async def ask(context: Any, params: Any) -> types.ElicitResult:
        exchange = current.get() or next((one for one in connection.exchanges[::-1] if one.can_ask), None)
        if exchange is None or not exchange.can_ask:
            return types.ElicitResult(action="cancel")
        try:
            form = elicit.form(connection.spec.name, params)
        except elicit.Unfit as reason:
            remarks.say(f"asked what cannot be shown: {reason}")
            return types.ElicitResult(action="cancel")
        action, content = elicit.answered(params, await exchange.ask(form))
        return types.ElicitResult(action=action, content=content)  # type: ignore[arg-type]

    return ask
