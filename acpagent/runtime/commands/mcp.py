"""/mcp: how the MCP servers of a session do, and what a person can do about it."""

from __future__ import annotations

import re
from collections.abc import Callable

from acpagent.core import bounds, catalogue
from acpagent.mcp_client.faults import ServerFault
from acpagent.mcp_client.private import secrets_file
from acpagent.mcp_client.server import Status
from acpagent.runtime.commands.arguments import Refused
from acpagent.runtime.session.services import CommandDesk

_FORGETS = ("unset", "delete", "remove")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def answer(words: str, desk: CommandDesk) -> str:
    """Do what the words say. Raises `Refused`, and `Cancelled` while a person signs in."""
    verb, rest = _parted(words)
    act = _VERBS.get(verb or "status")
    if act is None:
        raise Refused("mcp_unknown", verb=bounds.one_line(verb, 40))
    try:
        return act(rest, desk)
    except ServerFault as fault:
        return desk.say("command_failed", cause=str(fault).rstrip("."))
    except OSError as error:
        return desk.say("command_failed", cause=error.strerror or error)


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
        return desk.say("mcp_none")
    ready = sum(status.state == "ready" for status in found)
    head = desk.say("mcp_head", count=len(found), ready=ready)
    return "\n".join([head, "", *(_line(status, desk) for status in found)])


def _line(status: Status, desk: CommandDesk) -> str:
    name = bounds.asked_line(status.name, 80)
    source = status.source or desk.say("mcp_client")
    state = desk.say(f"mcp_state_{status.state}") if catalogue.knows(f"mcp_state_{status.state}") else status.state
    parts = [desk.say("mcp_line", name=name, transport=status.transport, source=source, state=state)]
    if status.state == "ready":
        counts = {"tools": status.tools, "prompts": status.prompts, "resources": status.resources}
        parts.append(desk.say("mcp_offers", **counts))
    if status.restarts:
        parts.append(desk.say("mcp_restarts", count=status.restarts))
    if status.cause:
        parts.append(bounds.one_line(status.cause, 300))
    if status.sign_in:
        parts.append(desk.say("mcp_login", name=name))
    return "- " + "; ".join(parts)


def _reload(rest: str, desk: CommandDesk) -> str:
    desk.reload()
    return desk.say("mcp_reload")


def _start(name: str, desk: CommandDesk) -> str:
    desk.servers.start(_named(name))
    return desk.say("mcp_started", name=name)


def _stop(name: str, desk: CommandDesk) -> str:
    desk.servers.stop(_named(name))
    return desk.say("mcp_stopped", name=name)


def _restart(name: str, desk: CommandDesk) -> str:
    desk.servers.restart(_named(name))
    return desk.say("mcp_restarted", name=name)


def _auth(rest: str, desk: CommandDesk) -> str:
    verb, name = _parted(rest)
    name = _named(name)
    if verb == "login":
        desk.servers.sign_in(name, lambda address: desk.tell(desk.say("mcp_open", address=address)), desk.scope)
        return desk.say("mcp_signed_in", name=name)
    if verb == "logout":
        desk.servers.sign_out(name)
        return desk.say("mcp_signed_out", name=name)
    if verb == "status":
        found = [status for status in desk.servers.status() if status.name == name]
        return _line(found[0], desk) if found else desk.say("mcp_no_such", name=bounds.one_line(name, 80))
    raise Refused("mcp_auth_how")


def _secret(rest: str, desk: CommandDesk) -> str:
    kept = secrets_file(desk.home)
    values = kept.read()
    verb, named = _parted(rest)
    words = named.split(maxsplit=1)
    if verb == "list" and not words:
        return desk.say("mcp_secrets", names=", ".join(f"`{name}`" for name in sorted(values)) or "-")
    if not words or _NAME.fullmatch(words[0]) is None:
        raise Refused("mcp_secret_name")
    if verb == "set" and len(words) == 2:
        kept.write({**values, words[0]: words[1]})
        return desk.say("mcp_secret_kept", name=words[0])
    if verb in _FORGETS and len(words) == 1:
        if words[0] not in values:
            raise Refused("mcp_no_secret", name=words[0])
        kept.write({name: value for name, value in values.items() if name != words[0]})
        return desk.say("mcp_secret_forgotten", name=words[0])
    raise Refused("mcp_secret_how")


def _parted(words: str) -> tuple[str, str]:
    """The first word in small letters, and the rest."""
    first, *rest = words.split(maxsplit=1) or [""]
    return first.lower(), rest[0].strip() if rest else ""


def _named(name: str) -> str:
    if not name:
        raise Refused("mcp_name")
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
