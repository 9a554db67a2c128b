"""/skill edit, history and rollback: another text for a skill, and the way back."""

from __future__ import annotations

from acpagent.core import files
from acpagent.core.bounds import one_line, printable
from acpagent.extensions import frontmatter, revisions
from acpagent.runtime.commands.arguments import Refused, minute, split
from acpagent.runtime.commands.skill_places import Place, found, owned, removed, write
from acpagent.runtime.session import slash
from acpagent.runtime.session.services import CommandDesk

_SHORT = 12


def edit(rest: str, desk: CommandDesk) -> str:
    """Other instructions below the head of a skill; without any, where its file is. Raises `Refused`, OSError,
    `NotText`."""
    name, told = slash.parted(rest)
    one = found(name, "edit", desk)
    place, told = owned(one, desk), slash.unquoted(told)
    data = place.now()
    if data is None or files.digest(data) != one.digest:
        raise Refused("skill_stale", name=one.name)
    if not told.strip():
        revisions.keep(desk.home, place.real, data, "found")
        return desk.say("skill_edit_how", path=printable(one.path), name=one.name)
    note = write(place, frontmatter.with_body(data, told), "edit", desk)
    return desk.say("skill_edited", path=printable(one.path), name=one.name) + note


def history(rest: str, desk: CommandDesk) -> str:
    """The revisions of a skill, oldest first. Raises `Refused`, OSError, `NotText`."""
    words = split(rest)
    name = " ".join(words)
    lost = removed(name, desk) if desk.extensions.skill(name) is None else None
    path = lost.real if lost is not None else found(name, "history", desk).real
    kept = revisions.read(desk.home, path)
    if not kept:
        return desk.say("skill_no_history", name=name)
    now = None if lost is not None else files.digest(files.read_bytes(path, frontmatter.MAX_BYTES))
    lines = []
    for one in kept:
        present = f" ({desk.say('skill_present')})" if one.digest == now else ""
        made = desk.say(f"skill_made_{one.made}")
        lines.append(f"- {one.number}. {minute(one.at)} `{one.digest[:_SHORT]}` {made}{present}")
    head = desk.say("skill_history_head", name=name, path=printable(path))
    return "\n".join([head, "", *lines, "", desk.say("skill_history_how", name=name)])


def rollback(rest: str, desk: CommandDesk) -> str:
    """The bytes of a revision, as they were. Raises `Refused`, OSError, `NotText`."""
    words = split(rest)
    name = words[0] if words else ""
    place = _place(name, desk)
    if len(words) != 2:
        raise Refused("skill_rollback_how", name=name)
    kept = revisions.read(desk.home, place.real)
    one = next((one for one in kept if str(one.number) == words[1]), None)
    if one is None:
        known = ", ".join(str(one.number) for one in kept) or "-"
        raise Refused("skill_no_revision", name=name, revision=one_line(words[1], 20), known=known)
    if place.now() == one.data:
        raise Refused("skill_is_revision", name=name, number=one.number)
    note = write(place, one.data, "rollback", desk)
    return desk.say("skill_rolled_back", path=printable(place.path), number=one.number) + note


def _place(name: str, desk: CommandDesk) -> Place:
    lost = removed(name, desk) if desk.extensions.skill(name) is None else None
    return lost if lost is not None else owned(found(name, "rollback", desk), desk)
