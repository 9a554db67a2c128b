"""/memory: the notes that were kept of this repository."""

from __future__ import annotations

from collections.abc import Callable

from acpagent.core import memory
from acpagent.core.bounds import asked_line, one_line
from acpagent.core.memory import Note
from acpagent.core.repositories import repository_of
from acpagent.runtime.commands.arguments import Refused, minute, split
from acpagent.runtime.session import slash
from acpagent.runtime.session.services import CommandDesk

_MOST = 50
_TEXT = 120
_ALL = "--all"


def answer(words: str, desk: CommandDesk) -> str:
    """Raises `Refused`, `Fault`."""
    verb, rest = slash.parted(words)
    act = _VERBS.get(verb.lower() or "list")
    if act is None:
        raise Refused("memory_unknown", verb=one_line(verb, 40))
    return act(rest, desk)


def _list(rest: str, desk: CommandDesk) -> str:
    root = memory.top(desk.cwd)
    found = memory.matching(_notes(desk), slash.unquoted(rest))
    lines = [f"- `{note.id}` {_about(note, root, desk)}: {asked_line(note.text, _TEXT)}" for note in found[:_MOST]]
    if len(found) > _MOST:
        lines.append(f"- {desk.say('memory_more', count=len(found) - _MOST)}")
    return "\n".join([desk.say("memory_head"), "", *(lines or [f"- {desk.say('memory_none')}"])])


def _about(note: Note, root: str, desk: CommandDesk) -> str:
    parts = [desk.say(f"memory_kind_{note.kind}"), note.at[:10]]
    if note.file:
        parts.append(f"{note.file}: {desk.say(f'memory_{memory.standing(note, root)}')}")
    return f"({', '.join(parts)})"


def _show(rest: str, desk: CommandDesk) -> str:
    note = _found(rest, "show", desk)
    source = note.file or "-"
    lines = [
        desk.say("memory_shown", kind=desk.say(f"memory_kind_{note.kind}"), at=minute(note.at)),
        desk.say("memory_source", session=note.session or "-", turn=note.turn or "-", file=source),
    ]
    if note.file:
        lines.append(desk.say(f"memory_{memory.standing(note, memory.top(desk.cwd))}_file"))
    return "\n".join(
        [f"`{note.id}`: {asked_line(note.text, memory.TEXT_CHARACTERS + 1)}", "", *(f"- {line}" for line in lines)]
    )


def _forget(rest: str, desk: CommandDesk) -> str:
    repository = repository_of(desk.cwd)
    if rest == _ALL:
        every = _notes(desk)
        desk.memory.forget(repository, [note.id for note in every])
        return desk.say("memory_forgot_all", count=len(every))
    note = _found(rest, "forget", desk)
    desk.memory.forget(repository, [note.id])
    return desk.say("memory_forgot", id=note.id)


def _notes(desk: CommandDesk) -> tuple[Note, ...]:
    return desk.memory.notes(repository_of(desk.cwd))


def _found(rest: str, verb: str, desk: CommandDesk) -> Note:
    given = split(rest)
    if len(given) != 1:
        raise Refused("memory_needs_id", verb=verb)
    for note in _notes(desk):
        if note.id == given[0]:
            return note
    raise Refused("memory_not_found", id=one_line(given[0], 40))


_VERBS: dict[str, Callable[[str, CommandDesk], str]] = {
    "list": _list,
    "ls": _list,
    "show": _show,
    "forget": _forget,
    "rm": _forget,
}
