"""`initialize`, checked by hand and answered before anything heavy is imported. All on this path is plain."""

from __future__ import annotations

from acpagent.core.catalogue import say
from acpagent.core.faults import TheirFault
from acpagent.version import __version__
from acpagent.wire import codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = 1
# The methods of ours that clients find under this key of `_meta`.
VENDOR = "reasonix.io"
# What clients that ask for it are shown of plugins, under this key of `_meta` on either side.
SURFACE = "extensionSurface"
STEER_METHOD = "_reasonix.io/session/steer"
RELOAD_METHOD = "_reasonix.io/session/reloadExtensions"
SUBMIT_METHOD = "_reasonix.io/session/submitSurface"
# The one sign-in that needs no terminal: stored credentials, found again by `authenticate` (AUTH-17). It comes first:
# some clients take the first method unasked.
STORED_CREDENTIALS = "stored-credentials"
# The one that the client runs in a terminal of its own; never one for `authenticate` (AUTH-09).
TERMINAL_SETUP = "setup"
_OLD_TERMINAL_KEY = "terminal-auth"  # how clients said and read it before it was in the protocol (AUTH-10)


class ClientAbilities:
    """What the client said it can do; everything it left out, it cannot (INIT-09)."""

    __slots__ = (
        "compactions", "forms", "old_terminal_login", "reads_files", "surfaces", "terminal_login", "terminals",
        "writes_files",
    )  # fmt: skip

    def __init__(self, capabilities: Any = None, meta: Any = None) -> None:
        """`meta` is that of the params, where some say what others say in their capabilities."""
        capabilities = _object(capabilities)
        files = _object(capabilities.get("fs"))
        self.reads_files = files.get("readTextFile") is True
        self.writes_files = files.get("writeTextFile") is True
        self.terminals = capabilities.get("terminal") is True
        # A marker: `{}` is on, null is off (INIT-11), and `elicitation` alone offers no mode (ELI-01).
        self.forms = isinstance(_object(capabilities.get("elicitation")).get("form"), dict)
        self.compactions = isinstance(_object(capabilities.get("session")).get("compaction"), dict)
        self.terminal_login = _object(capabilities.get("auth")).get("terminal") is True
        self.old_terminal_login = _object(capabilities.get("_meta")).get(_OLD_TERMINAL_KEY) is True
        self.surfaces = _shows_surfaces(meta) or _shows_surfaces(capabilities.get("_meta"))


class TerminalLogin:
    """How a client starts `setup` in a terminal: what it adds to the command it started this agent with, the whole
    command for clients that know the older form only, and the environment."""

    __slots__ = ("args", "command", "env")

    def __init__(self, command: list[str], args: list[str], env: dict[str, str]) -> None:
        self.command = command
        self.args = args
        self.env = env


def read(params: Any) -> ClientAbilities:
    """The client's abilities. Raises `TheirFault` for a bad `protocolVersion` (INIT-05); everything else that is
    malformed counts as absent (RPC-13)."""
    version = params.get("protocolVersion") if isinstance(params, dict) else None
    if type(version) is not int or not 0 <= version <= 65535:
        raise TheirFault(
            codes.INVALID_PARAMS,
            "params.protocolVersion: must be a whole number from 0 to 65535; this agent speaks 1",
        )
    return ClientAbilities(params.get("clientCapabilities"), params.get("_meta"))


def answer(sees_images: bool, abilities: ClientAbilities, login: TerminalLogin, language: str) -> dict[str, Any]:
    """The result. Whatever version was asked for, 1 is the one spoken (INIT-02, INIT-03)."""
    return {
        "protocolVersion": VERSION,
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": sees_images, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": False},
            "sessionCapabilities": {
                "list": {},
                "resume": {},
                "close": {},
                "delete": {},
                "additionalDirectories": {},
            },
            "auth": {"logout": {}},
            "_meta": {
                VENDOR: {
                    "sessionSteer": {"method": STEER_METHOD},
                    "sessionReloadExtensions": {"method": RELOAD_METHOD},
                    SURFACE: {"supported": True, "schemaVersion": 1, "submit": {"method": SUBMIT_METHOD}},
                }
            },
        },
        "agentInfo": {"name": "acpagent", "title": "acpagent", "version": __version__},
        "authMethods": [_method(STORED_CREDENTIALS, language), *_terminal_methods(abilities, login, language)],
    }


def _method(method: str, language: str) -> dict[str, Any]:
    code = f"sign_in_{method.replace('-', '_')}"
    return {"id": method, "name": say(code, {}, language), "description": say(f"{code}_about", {}, language)}


def _terminal_methods(abilities: ClientAbilities, login: TerminalLogin, language: str) -> list[dict[str, Any]]:
    """The terminal method, in each of the two forms that the client knows (AUTH-05, AUTH-10)."""
    method = _method(TERMINAL_SETUP, language)
    if abilities.terminal_login:
        method |= {"type": "terminal", "args": login.args, "env": login.env}
    if abilities.old_terminal_login:
        command, *words = login.command
        task = {"label": "acpagent setup", "command": command, "args": [*words, *login.args], "env": login.env}
        method["_meta"] = {_OLD_TERMINAL_KEY: task}
    return [method] if abilities.terminal_login or abilities.old_terminal_login else []


def _shows_surfaces(meta: Any) -> bool:
    return _object(_object(_object(meta).get(VENDOR)).get(SURFACE)).get("supported") is True


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
