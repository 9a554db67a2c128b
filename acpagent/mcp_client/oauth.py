"""Signing in to servers: the package does the protocol (discovery, registration, PKCE, refresh), we keep the tokens and
wait for the browser. Imported on the loop's thread only."""

from __future__ import annotations

import asyncio
import html
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, ValidationError

from acpagent.core.catalogue import Phrase
from acpagent.mcp_client.faults import ServerFault
from acpagent.mcp_client.private import PrivateFile

HOST = "127.0.0.1"
PATH = "/callback"
_REQUEST_BYTES = 16_384


class SignIn(Exception):
    """A person is needed, and none was asked for."""


class Tokens:
    """The package's storage over a private file: tokens, when they end, and how we are registered."""

    def __init__(self, file: PrivateFile) -> None:
        self._file = file
        self._context: OAuthContext | None = None

    def known(self) -> bool:
        return "tokens" in self._file.read()

    def port(self) -> int:
        """The port that we are registered with, or 0."""
        port = self._file.read().get("port", 0)
        return port if isinstance(port, int) else 0

    def forget_client(self, port: int) -> None:
        """Register anew: the server may know us by another port."""
        kept = self._file.read()
        self._file.write({"port": port} if kept.get("port") != port else kept)

    def recall(self, context: OAuthContext) -> None:
        """What the package does not load by itself: when the token ends, and where it can be renewed. What is found out
        later is kept from here on."""
        self._context = context
        kept = self._file.read()
        if isinstance(until := kept.get("until"), int | float):
            context.token_expiry_time = until
        try:
            context.oauth_metadata = OAuthMetadata.model_validate(kept["server"])
            context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(kept["resource"])
        except (KeyError, ValidationError):
            return

    async def get_tokens(self) -> OAuthToken | None:
        try:
            return OAuthToken.model_validate(self._file.read()["tokens"])
        except (KeyError, ValidationError):
            return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        kept = self._file.read()
        found = self._context
        if found is not None and found.oauth_metadata and found.protected_resource_metadata:
            kept["server"] = found.oauth_metadata.model_dump(mode="json", exclude_none=True)
            kept["resource"] = found.protected_resource_metadata.model_dump(mode="json", exclude_none=True)
        kept["tokens"] = tokens.model_dump(mode="json", exclude_none=True)
        kept.pop("until", None)
        if tokens.expires_in is not None:
            kept["until"] = time.time() + tokens.expires_in
        self._file.write(kept)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        try:
            return OAuthClientInformationFull.model_validate(self._file.read()["client"])
        except (KeyError, ValidationError):
            return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        kept = self._file.read()
        kept["client"] = client_info.model_dump(mode="json", exclude_none=True)
        self._file.write(kept)


class Redirect:
    """The page on loopback that the browser is sent to when the person has signed in."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._came: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
        self.port = 0

    async def open(self, port: int) -> None:
        """Listen, at the port we are known by if that is free. Raises OSError."""
        try:
            self._server = await asyncio.start_server(self._answer, HOST, port, limit=_REQUEST_BYTES)
        except OSError:
            self._server = await asyncio.start_server(self._answer, HOST, 0, limit=_REQUEST_BYTES)
        self.port = self._server.sockets[0].getsockname()[1]

    async def wait(self) -> AuthorizationCodeResult:
        return await self._came

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                head = await reader.readuntil(b"\r\n\r\n")
            status, page = self._take(head)
            body = f"<!doctype html><meta charset=utf-8><title>acpagent</title><p>{html.escape(page)}".encode()
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
                "Connection: close\r\n\r\n".encode()
                + body
            )
            await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    def _take(self, head: bytes) -> tuple[str, str]:
        method, _, rest = head.decode("latin-1").partition(" ")
        address = urlsplit(rest.partition(" ")[0])
        values = {name: texts[0] for name, texts in parse_qs(address.query).items()}
        if method != "GET" or address.path != PATH or not values.keys() & {"code", "error"}:
            return "404 Not Found", "There is nothing here."
        if not self._came.done():
            if "code" in values:
                result = AuthorizationCodeResult(code=values["code"], state=values.get("state"), iss=values.get("iss"))
                self._came.set_result(result)
            else:
                self._came.set_exception(ServerFault(Phrase("server_sign_in_refused")))
        if "error" in values:
            return "200 OK", "You were not signed in. You can close this page."
        return "200 OK", "You are signed in. You can close this page."


async def provider(
    url: str, file: PrivateFile, show: Callable[[str], None] | None, redirect: Redirect
) -> OAuthClientProvider | None:
    """What signs requests to a server, or None where there is nothing to sign them with and nobody to ask. `show`
    gets the address that the person is to open, on the loop's thread, and must not block."""
    tokens = Tokens(file)
    if show is None and not tokens.known():
        return None
    if show is not None:
        await redirect.open(tokens.port())
        tokens.forget_client(redirect.port)

    async def send(address: str) -> None:
        if show is None:
            raise SignIn
        show(address)

    async def wait() -> AuthorizationCodeResult:
        return await redirect.wait()

    metadata: dict[str, Any] = {
        "client_name": "acpagent",
        "redirect_uris": [AnyUrl(f"http://{HOST}:{redirect.port or tokens.port()}{PATH}")],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "none",
    }
    made = OAuthClientProvider(url, OAuthClientMetadata(**metadata), tokens, send, wait)
    tokens.recall(made.context)
    return made
