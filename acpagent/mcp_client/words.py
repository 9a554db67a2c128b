"""Failures of the package in words for people, without what they quote. Imported on the loop's thread only."""

from __future__ import annotations

import anyio
import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from pydantic import ValidationError

from acpagent.core import bounds
from acpagent.mcp_client.faults import ServerFault
from acpagent.mcp_client.spec import ServerSpec

LETTERS = 500
_OTHER_AGE = frozenset({METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION, INVALID_REQUEST, INVALID_PARAMS})
_ENDED_SESSION = "Session terminated"  # what the package makes of a 404 in a session


def leaf(error: BaseException) -> BaseException:
    """The first real failure of a group of them: task groups wrap whatever they raise."""
    while isinstance(error, BaseExceptionGroup):
        plain = [one for one in error.exceptions if not isinstance(one, anyio.get_cancelled_exc_class())]
        error = (plain or error.exceptions)[0]
    return error


def of(error: BaseException, spec: ServerSpec) -> str:
    """What went wrong, as the end of a sentence."""
    found = leaf(error)
    return bounds.one_line(spec.hide(_text(found, spec)), LETTERS)


def is_lost(error: BaseException) -> bool:
    """Whether a request failed because there is no connection any more."""
    found = leaf(error)
    if isinstance(found, MCPError):
        return found.code == CONNECTION_CLOSED or found.message == _ENDED_SESSION
    return isinstance(found, anyio.ClosedResourceError | anyio.BrokenResourceError)


def is_of_another_age(error: BaseException) -> bool:
    """Whether the server may know only the younger way to begin."""
    found = leaf(error)
    return isinstance(found, MCPError) and found.code in _OTHER_AGE


def _text(error: BaseException, spec: ServerSpec) -> str:
    for kind, text in _KINDS:
        if isinstance(error, kind):
            return text
    if isinstance(error, FileNotFoundError | PermissionError | NotADirectoryError):
        return _not_started(error, spec)
    if isinstance(error, httpx2.HTTPStatusError):
        return f"it answered with HTTP status {error.response.status_code}"
    if isinstance(error, RuntimeError) and "structured content" in str(error):
        return "its structured result does not fit the schema that it gave"
    if isinstance(error, ServerFault | MCPError):
        return str(error)
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return f"{type(error).__name__} in its connection"


def _not_started(error: OSError, spec: ServerSpec) -> str:
    if spec.transport == "stdio" and error.filename not in (None, spec.command):
        return "the working directory is gone"
    return "its command was not found" if isinstance(error, FileNotFoundError) else "its command may not be run"


_KINDS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (httpx2.ConnectTimeout, "it could not be reached in time"),
    (httpx2.ConnectError, "it could not be reached"),
    (httpx2.TimeoutException, "it did not answer in time"),
    (httpx2.SSEError, "it sent an event that is broken or too large"),
    ((httpx2.InvalidURL, httpx2.UnsupportedProtocol), "its url is no address"),
    (httpx2.TransportError, "the connection broke"),
    ((anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream), "the connection was closed"),
    (ValidationError, "it answered with what is no MCP result"),
    (OAuthFlowError, "signing in failed"),
)
