"""/mcp: how the MCP servers of a session do, and what a person can do about it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from acpagent.core import bounds, catalogue
from acpagent.core.phrases import told, why
from acpagent.mcp_client.faults import ServerFault
from acpagent.mcp_client.private import secrets_file
from acpagent.runtime.commands import near
from acpagent.runtime.commands.arguments import Refused, no_arguments
from acpagent.runtime.session import slash
from acpagent.runtime.session.services import CommandDesk

if TYPE_CHECKING:
    from acpagent.mcp_client.server import Status

_FORGETS = ("unset", "delete", "remove")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


def answer(words: str, desk: CommandDesk) -> str:
    """Do what the words say. Raises `Refused`, and `Cancelled` while a person signs in."""
    verb, rest = slash.parted(words)
    act = _VERBS.get(verb.lower() or "status")
    if act is None:
        raise Refused("mcp_unknown", verb=bounds.one_line(verb, 40))
    try:
        return act(rest, desk)
    except ServerFault as fault:
        return desk.say("command_failed_said", cause=told(fault))
    except OSError as error:
        return desk.say("command_failed", cause=why(error))


def hidden(words: str) -> str:
    """The words without the value of a secret: what may be kept of them. Of what is mistyped nothing is known."""
    verb, rest = _bare(words)
    what, named = ("set", rest) if verb == "set" else _bare(rest)
    if verb != "set" and verb != "secret" and near.nearest(verb, ("secret",)) is None:
        return words
    name, *value = named.split(maxsplit=1)[:2] or [""]
    if what in ("", "list") or (what in _FORGETS and not value):
        return words
    known = [what, name] if name and what in ("set", *_FORGETS) else []
    return " ".join([verb, *known[verb == "set" :], "***"])


def _bare(words: str) -> tuple[str, str]:
    """The first word in small letters without any quotes, and the rest."""
    first, *rest = words.split(maxsplit=1) or [""]
    return first.strip("'\"").lower(), rest[0].strip() if rest else ""


def _status(rest: str, desk: CommandDesk) -> str:
    no_arguments(rest, "/mcp status")
    parts, found = [desk.say("mcp_none")], desk.servers.status()
    if found:
        ready = sum(status.state == "ready" for status in found)
        head = desk.say("mcp_head", count=len(found), ready=ready)
        parts = ["\n".join([head, "", *(_line(status, desk) for status in found)])]
    untrusted = desk.extensions.standing.problem()
    if untrusted is not None:  # there may be more servers there
        parts.append(catalogue.spoken(untrusted.told, desk.language))
    return "\n\n".join(parts)


def _line(status: Status, desk: CommandDesk) -> str:
    name = bounds.asked_line(status.name, 80)
    source = catalogue.spoken(status.source, desk.language) or desk.say("mcp_client")
    state = desk.say(f"mcp_state_{status.state}") if catalogue.knows(f"mcp_state_{status.state}") else status.state
    parts = [desk.say("mcp_line", name=name, transport=status.transport, source=source, state=state)]
    if status.state == "ready":
        counts = {"tools": status.tools, "prompts": status.prompts, "resources": status.resources}
        parts.append(desk.say("mcp_offers", **counts))
    if status.restarts:
        parts.append(desk.say("mcp_restarts", count=status.restarts))
    if status.cause:
        parts.append(bounds.one_line(catalogue.spoken(status.cause, desk.language), 300))
    if status.sign_in:
        parts.append(desk.say("mcp_login", name=name))
    return "- " + "; ".join(parts)


def _reload(rest: str, desk: CommandDesk) -> str:
    no_arguments(rest, "/mcp reload")
    desk.reload()
    return desk.say("mcp_reload")


def _start(rest: str, desk: CommandDesk) -> str:
    name = _named(rest, desk)
    desk.servers.start(name)
    return desk.say("mcp_started", name=name)


def _stop(rest: str, desk: CommandDesk) -> str:
    name = _named(rest, desk)
    desk.servers.stop(name)
    return desk.say("mcp_stopped", name=name)


def _restart(rest: str, desk: CommandDesk) -> str:
    name = _named(rest, desk)
    desk.servers.restart(name)
    return desk.say("mcp_restarted", name=name)


def _auth(rest: str, desk: CommandDesk) -> str:
    verb, rest = slash.parted(rest)
    act = _AUTH.get(verb.lower())
    if act is None:
        raise Refused("mcp_auth_how")
    return act(_named(rest, desk), desk)


def _login(name: str, desk: CommandDesk) -> str:
    desk.servers.sign_in(name, lambda address: desk.tell(desk.say("mcp_open", address=address)), desk.scope)
    return desk.say("mcp_signed_in", name=name)


def _logout(name: str, desk: CommandDesk) -> str:
    desk.servers.sign_out(name)
    return desk.say("mcp_signed_out", name=name)


def _signed(name: str, desk: CommandDesk) -> str:
    return next(_line(status, desk) for status in desk.servers.status() if status.name == name)


def _secret(rest: str, desk: CommandDesk) -> str:
    kept = secrets_file(desk.home)
    values = kept.read()
    verb, named = slash.parted(rest)
    name, value = slash.parted(named)
    if verb.lower() == "list" and not named:
        return desk.say("mcp_secrets", names=", ".join(f"`{name}`" for name in sorted(values)) or "-")
    if _NAME.fullmatch(name) is None:
        raise Refused("mcp_secret_name")
    if verb.lower() == "set" and value:
        kept.write({**values, name: slash.unquoted(value)})
        return desk.say("mcp_secret_kept", name=name)
    if verb.lower() in _FORGETS and not value:
        if name not in values:
            raise Refused("mcp_no_secret", name=name)
        kept.write({kept_name: kept_value for kept_name, kept_value in values.items() if kept_name != name})
        return desk.say("mcp_secret_forgotten", name=name)
    raise Refused("mcp_secret_how")


def _named(rest: str, desk: CommandDesk) -> str:
    """The server that is meant, which may have blanks in its name. Raises `Refused`."""
    name = slash.unquoted(rest)
    if not name:
        raise Refused("mcp_name")
    if all(status.name != name for status in desk.servers.status()):
        raise Refused("mcp_no_such", name=bounds.asked_line(name, 80))
    return name


_AUTH: dict[str, Callable[[str, CommandDesk], str]] = {"login": _login, "logout": _logout, "status": _signed}
_VERBS: dict[str, Callable[[str, CommandDesk], str]] = {
    "status": _status,
    "reload": _reload,
    "start": _start,
    "stop": _stop,
    "restart": _restart,
    "auth": _auth,
    "secret": _secret,
}
