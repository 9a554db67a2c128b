"""`initialize`, checked by hand and answered before anything heavy is imported. All on this path is plain."""

from __future__ import annotations

from acpagent.core.faults import TheirFault
from acpagent.version import __version__
from acpagent.wire import codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = 1
# The one sign-in that needs no terminal: stored credentials, found again by `authenticate` (AUTH-17).
STORED_CREDENTIALS = "stored-credentials"


class ClientAbilities:
    """What the client said it can do; everything it left out, it cannot (INIT-09)."""

    __slots__ = ("reads_files", "terminals", "writes_files")

    def __init__(self, capabilities: Any = None) -> None:
        capabilities = _object(capabilities)
        files = _object(capabilities.get("fs"))
        self.reads_files = files.get("readTextFile") is True
        self.writes_files = files.get("writeTextFile") is True
        self.terminals = capabilities.get("terminal") is True


def read(params: Any) -> ClientAbilities:
    """The client's abilities. Raises `TheirFault` for a bad `protocolVersion` (INIT-05); everything else that is
    malformed counts as absent (RPC-13)."""
    version = params.get("protocolVersion") if isinstance(params, dict) else None
    if type(version) is not int or not 0 <= version <= 65535:
        raise TheirFault(
            codes.INVALID_PARAMS,
            "params.protocolVersion: must be a whole number from 0 to 65535; this agent speaks 1",
        )
    return ClientAbilities(params.get("clientCapabilities"))


def answer(sees_images: bool) -> dict[str, Any]:
    """The result. Whatever version was asked for, 1 is the one spoken (INIT-02, INIT-03)."""
    return {
        "protocolVersion": VERSION,
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": sees_images, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": False, "sse": False},
            "sessionCapabilities": {
                "list": {},
                "resume": {},
                "close": {},
                "delete": {},
                "additionalDirectories": {},
            },
            "auth": {"logout": {}},
        },
        "agentInfo": {"name": "acpagent", "title": "acpagent", "version": __version__},
        "authMethods": [
            {
                "id": STORED_CREDENTIALS,
                "name": "Stored credentials",
                "description": "Use the key that acpagent finds in its environment or its credentials file",
            }
        ],
    }


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
