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
from acpagent.core.catalogue import Phrase
from acpagent.core.phrases import told, why
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
    text = _text(found, spec)
    return text if isinstance(text, Phrase) else bounds.one_line(spec.hide(text), LETTERS)


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
    for kind, code in _KINDS:
        if isinstance(error, kind):
            return Phrase(code)
    if isinstance(error, FileNotFoundError | PermissionError | NotADirectoryError):
        return _not_started(error, spec)
    if isinstance(error, httpx2.HTTPStatusError):
        return Phrase("server_status", status=error.response.status_code)
    if isinstance(error, RuntimeError) and "structured content" in str(error):
        return Phrase("server_misfit")
    if isinstance(error, ServerFault | MCPError):
        return told(error)
    if isinstance(error, OSError):
        return why(error)
    return Phrase("server_error", kind=type(error).__name__)


def _not_started(error: OSError, spec: ServerSpec) -> str:
    if spec.transport == "stdio" and error.filename not in (None, spec.command):
        return Phrase("server_no_folder")
    return Phrase("server_no_command" if isinstance(error, FileNotFoundError) else "server_command_denied")


_KINDS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (httpx2.ConnectTimeout, "server_unreachable_in_time"),
    (httpx2.ConnectError, "server_unreachable"),
    (httpx2.TimeoutException, "server_slow"),
    (httpx2.SSEError, "server_bad_event"),
    ((httpx2.InvalidURL, httpx2.UnsupportedProtocol), "server_bad_url"),
    (httpx2.TransportError, "server_broke"),
    ((anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream), "server_closed"),
    (ValidationError, "server_bad_result"),
    (OAuthFlowError, "server_sign_in_failed"),
)
