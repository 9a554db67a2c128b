"""/capsule: what this session knows, as a file for another one. To load one is for the model, and not done here."""

from __future__ import annotations

import os
from collections.abc import Callable

from acpagent.core import capsule, files
from acpagent.core.bounds import asked_line, one_line, printable
from acpagent.core.capsule import ENDING, Capsule, CapsuleFault
from acpagent.runtime.commands.arguments import Refused, minute, split
from acpagent.runtime.session import capsules
from acpagent.runtime.session.services import CommandDesk
from acpagent.store.sessions import now

_MOST = 50
LOADS = frozenset({"load", "open"})


def answer(words: str, desk: CommandDesk) -> str:
    """Raises `Refused`."""
    verb, *rest = split(words) or ["list"]
    act = _VERBS.get(verb.lower())
    if act is None:
        raise Refused("capsule_unknown", verb=one_line(verb, 40))
    try:
        return act(rest, desk)
    except CapsuleFault as fault:
        raise Refused(fault.code) from None
    except OSError as error:
        return desk.say("command_failed", cause=error.strerror or error)


def _list(rest: list[str], desk: CommandDesk) -> str:
    found = capsules.listed(desk.home)
    lines = [f"- `{one.id}` {minute(one.created_at)}: {asked_line(one.title, 100)}" for one in found[:_MOST]]
    if len(found) > _MOST:
        lines.append(f"- {desk.say('capsule_more', count=len(found) - _MOST)}")
    return "\n".join([desk.say("capsule_head"), "", *(lines or [f"- {desk.say('capsule_none')}"])])


def _create(rest: list[str], desk: CommandDesk) -> str:
    if not rest:
        raise Refused("capsule_needs_objective")
    briefing, state = desk.knowledge()
    made = capsule.make(one_line(" ".join(rest), 200), now(), briefing, state, desk.hide)
    capsules.keep(desk.home, made)
    return desk.say("capsule_created", id=made.id)


def _show(rest: list[str], desk: CommandDesk) -> str:
    found = _one(rest, "show", desk)
    taken = sum(count for count in found.sanitation.values() if isinstance(count, int))
    about = desk.say("capsule_shown", at=minute(found.created_at), count=taken)
    quoted = "\n".join(f"> {line}" for line in found.briefing.split("\n"))
    return f"**{asked_line(found.title, 200)}** (`{found.id}`)\n\n{about}\n\n{quoted}"


def _export(rest: list[str], desk: CommandDesk) -> str:
    """A file that is there is never written over."""
    if len(rest) != 2:
        raise Refused("capsule_export_how")
    found = _one(rest[:1], "export", desk)
    target = os.path.realpath(os.path.join(desk.cwd, os.path.expanduser(rest[1])))
    if not target.endswith(ENDING):
        raise Refused("capsule_ending")
    if os.path.lexists(target):
        raise Refused("capsule_there", path=printable(target))
    files.write_bytes(target, capsule.spell(found).encode())
    return desk.say("capsule_exported", path=printable(target))


def _one(rest: list[str], verb: str, desk: CommandDesk) -> Capsule:
    if len(rest) != 1:
        raise Refused("capsule_needs_id", verb=verb)
    found = capsules.find(desk.home, rest[0])
    if found is None:
        raise Refused("capsule_not_found", id=one_line(rest[0], 40))
    return found


_VERBS: dict[str, Callable[[list[str], CommandDesk], str]] = {
    "list": _list,
    "ls": _list,
    "create": _create,
    "show": _show,
    "export": _export,
}
