"""/sessions: the other sessions of this folder, and what can be done with them."""

from __future__ import annotations

from collections.abc import Callable

from acpagent.core.bounds import asked_line, one_line
from acpagent.runtime.commands.arguments import Refused, minute, split
from acpagent.runtime.session.services import CommandDesk
from acpagent.store.sessions import SessionRow

_LEAST = 4  # letters of an id that may stand for the whole of it
_MOST = 50
_TITLE = 80


def answer(words: str, desk: CommandDesk) -> str:
    """Raises `Refused`, `Fault`, `Cancelled`."""
    verb, *rest = split(words) or ["list"]
    act = _VERBS.get(verb.lower())
    if act is None:
        raise Refused("sessions_unknown", verb=one_line(verb, 40))
    return act(rest, desk)


def _list(rest: list[str], desk: CommandDesk) -> str:
    if rest:
        raise Refused("sessions_unknown", verb=one_line(f"list {rest[0]}", 40))
    rows = desk.neighbours.listed(desk.cwd)
    lines = [_line(row, desk) for row in rows[:_MOST]]
    if len(rows) > _MOST:
        lines.append(desk.say("sessions_more", count=len(rows) - _MOST))
    return "\n".join([desk.say("sessions_head"), "", *(lines or [f"- {desk.say('sessions_none')}"])])


def _line(row: SessionRow, desk: CommandDesk) -> str:
    state = ""
    if row.id == desk.session_id:
        state = f" **{desk.say('sessions_this')}**"
    elif desk.neighbours.is_live(row.id):
        state = f" ({desk.say('sessions_open')})"
    about = desk.say("sessions_about", prompts=row.prompts, updated=minute(row.updated_at))
    return f"- `{row.id}`{state}: {asked_line(row.title or '-', _TITLE)}; {about}"


def _resume(rest: list[str], desk: CommandDesk) -> str:
    row = _other(_one(rest, "resume"), desk, "sessions_resume_this")
    if desk.neighbours.is_live(row.id):
        raise Refused("sessions_resume_open", id=row.id)
    desk.neighbours.continue_as(row, desk.scope)
    return desk.say("sessions_resumed", id=row.id)


def _close(rest: list[str], desk: CommandDesk) -> str:
    row = _other(_one(rest, "close"), desk, "sessions_close_this")
    if not desk.neighbours.close(row.id, desk.scope):
        raise Refused("sessions_not_open", id=row.id)
    return desk.say("sessions_closed", id=row.id)


def _delete(rest: list[str], desk: CommandDesk) -> str:
    row = _other(_one(rest, "delete"), desk, "sessions_delete_this")
    desk.neighbours.delete(row.id, desk.scope)
    return desk.say("sessions_deleted", id=row.id)


def _one(rest: list[str], verb: str) -> str:
    if len(rest) != 1:
        raise Refused("sessions_needs_id", verb=verb)
    return rest[0]


def _other(written: str, desk: CommandDesk, refusal: str) -> SessionRow:
    """The session that an id or the beginning of one means, if it is not the one that runs this command."""
    rows = desk.neighbours.listed(desk.cwd)
    known = desk.neighbours.named(written)
    found = [row for row in rows if row.id == written] or [row for row in rows if row.id == known]
    if not found and len(written) >= _LEAST:
        found = [row for row in rows if row.id.startswith(written)]
    if not found:
        raise Refused("sessions_not_found", id=one_line(written, 60))
    if len(found) > 1:
        raise Refused("sessions_ambiguous", id=one_line(written, 60), count=len(found))
    if found[0].id == desk.session_id:
        raise Refused(refusal)
    return found[0]


_VERBS: dict[str, Callable[[list[str], CommandDesk], str]] = {
    "list": _list,
    "ls": _list,
    "resume": _resume,
    "load": _resume,
    "open": _resume,
    "close": _close,
    "delete": _delete,
    "remove": _delete,
    "rm": _delete,
}
