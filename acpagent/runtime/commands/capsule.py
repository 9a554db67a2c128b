"""/capsule: what this session knows, as a file for another one. To load one is for the model, and not done here."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from acpagent.core import capsule, files
from acpagent.core.bounds import asked_line, one_line, printable
from acpagent.core.capsule import ENDING, Capsule, CapsuleFault
from acpagent.core.phrases import why
from acpagent.runtime.commands.arguments import Refused, minute, no_arguments, split
from acpagent.runtime.session import capsules, slash
from acpagent.runtime.session.services import CommandDesk
from acpagent.store.sessions import now

_MOST = 50
_ID = re.compile(r"c[0-9a-f]{10}")


def answer(words: str, desk: CommandDesk) -> str:
    """Raises `Refused`."""
    verb, rest = slash.parted(words)
    act = _VERBS.get(verb.lower() or "list")
    if act is None and _ID.fullmatch(verb) and not rest:
        act, rest = _show, verb
    if act is None:
        raise Refused("capsule_unknown", verb=one_line(verb, 40))
    try:
        return act(rest, desk)
    except CapsuleFault as fault:
        raise Refused(fault.code) from None
    except OSError as error:
        return desk.say("command_failed", cause=why(error))


def _list(rest: str, desk: CommandDesk) -> str:
    no_arguments(rest, "/capsule list")
    found = capsules.listed(desk.home)
    lines = [f"- `{one.id}` {minute(one.created_at)}: {asked_line(one.title, 100)}" for one in found[:_MOST]]
    if len(found) > _MOST:
        lines.append(f"- {desk.say('capsule_more', count=len(found) - _MOST)}")
    return "\n".join([desk.say("capsule_head"), "", *(lines or [f"- {desk.say('capsule_none')}"])])


def _create(rest: str, desk: CommandDesk) -> str:
    objective = one_line(slash.unquoted(rest), 200)
    if not objective:
        raise Refused("capsule_needs_objective")
    briefing, state = desk.knowledge()
    made = capsule.make(objective, now(), briefing, state, desk.hide)
    capsules.keep(desk.home, made)
    return desk.say("capsule_created", id=made.id)


def _show(rest: str, desk: CommandDesk) -> str:
    found = _one(split(rest), "show", desk)
    taken = sum(count for count in found.sanitation.values() if isinstance(count, int))
    about = desk.say("capsule_shown", at=minute(found.created_at), count=taken)
    quoted = "\n".join(f"> {line}" for line in found.briefing.split("\n"))
    return f"**{asked_line(found.title, 200)}** (`{found.id}`)\n\n{about}\n\n{quoted}"


def _export(rest: str, desk: CommandDesk) -> str:
    """A file that is there is never written over."""
    given = split(rest)
    if len(given) != 2:
        raise Refused("capsule_export_how")
    found = _one(given[:1], "export", desk)
    target = os.path.realpath(os.path.join(desk.cwd, os.path.expanduser(given[1])))
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


_VERBS: dict[str, Callable[[str, CommandDesk], str]] = {
    "list": _list,
    "ls": _list,
    "create": _create,
    "show": _show,
    "export": _export,
}
