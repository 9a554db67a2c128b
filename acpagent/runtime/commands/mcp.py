"""/mcp: how the MCP servers of a session do, and what a person can do about it."""

from __future__ import annotations

import re
from collections.abc import Callable

from acpagent.core import bounds
from acpagent.mcp_client.faults import ServerFault
from acpagent.mcp_client.private import secrets_file
from acpagent.mcp_client.server import Status
from acpagent.runtime.session.services import CommandDesk

DESCRIPTION = "Show, start, stop and sign in to MCP servers"
HINT = "status | reload | start|stop|restart <server> | auth login|logout|status <server> | secret list|set|unset"

_HOW = """\
- `/mcp status`: what each server offers and how it does
- `/mcp start|stop|restart <server>`
- `/mcp auth status|login|logout <server>`: for servers that want a person to sign in
- `/mcp secret list`, `/mcp secret set <NAME> <value>`, `/mcp secret unset <NAME>`: values for `${NAME}` in settings
- `/mcp reload`: read the settings of all servers anew"""
_FORGETS = ("unset", "delete", "remove")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class _Refused(Exception):
    """Why a command does nothing, in a sentence."""


def answer(words: str, desk: CommandDesk) -> str:
    """Do what the words say. Raises `Cancelled` while a person signs in."""
    verb, rest = _parted(words)
    act = _VERBS.get(verb or "status")
    if act is None:
        return f"There is no `/mcp {bounds.one_line(verb, 40)}`. There are:\n\n{_HOW}"
    try:
        return act(rest, desk)
    except (_Refused, ServerFault) as refused:
        return str(refused)
    except OSError as error:
        return f"That did not work: {error.strerror or error}."


def hidden(words: str) -> str:
    """The words without the value of a secret: what may be kept of them. Of what is mistyped nothing is known."""
    verb, rest = _parted(words)
    what, named = _parted(rest)
    if verb != "secret" or what in ("", "list", *_FORGETS):
        return words
    name = named.split(maxsplit=1)[:1] if what == "set" else []
    return " ".join([verb, *(["set"] if name else []), *name, "***"])


def _status(rest: str, desk: CommandDesk) -> str:
    found = desk.servers.status()
    if not found:
        return "This session has no MCP servers. Name some in `mcp_servers` of config.yaml, or in the editor."
    ready = sum(status.state == "ready" for status in found)
    lines = [f"MCP servers: {len(found)}, ready: {ready}.", ""]
    return "\n".join([*lines, *(_line(status) for status in found)])


def _line(status: Status) -> str:
    name = bounds.asked_line(status.name, 80)
    parts = [f"- `{name}` ({status.transport}, from {status.source or 'the client'}): {status.state}"]
    if status.state == "ready":
        parts.append(f"tools {status.tools}, prompts {status.prompts}, resources {status.resources}")
    if status.restarts:
        parts.append(f"restarts {status.restarts}")
    if status.cause:
        parts.append(bounds.one_line(status.cause, 300))
    if status.sign_in:
        parts.append(f"sign in with `/mcp auth login {name}`")
    return "; ".join(parts)


def _reload(rest: str, desk: CommandDesk) -> str:
    desk.reload()
    return "Settings and servers are read anew behind this prompt."


def _start(name: str, desk: CommandDesk) -> str:
    desk.servers.start(_named(name))
    return f"`{name}` is being started; its tools join once it is ready."


def _stop(name: str, desk: CommandDesk) -> str:
    desk.servers.stop(_named(name))
    return f"`{name}` is stopped until `/mcp start {name}`."


def _restart(name: str, desk: CommandDesk) -> str:
    desk.servers.restart(_named(name))
    return f"`{name}` is being started anew; its tools join once it is ready."


def _auth(rest: str, desk: CommandDesk) -> str:
    verb, name = _parted(rest)
    name = _named(name)
    if verb == "login":
        desk.servers.sign_in(name, lambda address: desk.tell(f"Open this address to sign in: {address}"), desk.scope)
        return f"Signed in to `{name}`."
    if verb == "logout":
        desk.servers.sign_out(name)
        return f"Signed out of `{name}`; its connection is ended."
    if verb == "status":
        found = [status for status in desk.servers.status() if status.name == name]
        return _line(found[0]) if found else f"There is no MCP server {bounds.one_line(name, 80)} in this session."
    raise _Refused("There are `/mcp auth status`, `/mcp auth login` and `/mcp auth logout`, each with a server.")


def _secret(rest: str, desk: CommandDesk) -> str:
    kept = secrets_file(desk.home)
    values = kept.read()
    verb, named = _parted(rest)
    words = named.split(maxsplit=1)
    if verb == "list" and not words:
        return "Kept: " + (", ".join(f"`{name}`" for name in sorted(values)) or "none") + ". Values are never shown."
    if not words or _NAME.fullmatch(words[0]) is None:
        raise _Refused("A secret has a name of letters, digits and underscores: `/mcp secret set TOKEN value`.")
    if verb == "set" and len(words) == 2:
        kept.write({**values, words[0]: words[1]})
        return f"`{words[0]}` is kept, and used from the next reload on."
    if verb in _FORGETS and len(words) == 1:
        if words[0] not in values:
            raise _Refused(f"There is no secret {words[0]}.")
        kept.write({name: value for name, value in values.items() if name != words[0]})
        return f"`{words[0]}` is forgotten."
    raise _Refused("There are `/mcp secret list`, `/mcp secret set <NAME> <value>` and `/mcp secret unset <NAME>`.")


def _parted(words: str) -> tuple[str, str]:
    """The first word in small letters, and the rest."""
    first, *rest = words.split(maxsplit=1) or [""]
    return first.lower(), rest[0].strip() if rest else ""


def _named(name: str) -> str:
    if not name:
        raise _Refused("Name the server; `/mcp status` lists them.")
    return name


_VERBS: dict[str, Callable[[str, CommandDesk], str]] = {
    "status": _status,
    "reload": _reload,
    "start": _start,
    "stop": _stop,
    "restart": _restart,
    "auth": _auth,
    "secret": _secret,
}
