"""/skill trace and off: when a skill was called up, as the record has it, and keeping one out of the model's hands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from acpagent.core.bounds import one_line
from acpagent.core.history import CallMade, CallSettled, Entry, TurnClosed, UserSaid
from acpagent.extensions.skill_tool import UseSkill
from acpagent.runtime.commands.arguments import Refused, minute, split
from acpagent.runtime.commands.skill_places import found
from acpagent.runtime.session import slash
from acpagent.runtime.session.model_commands import SKILL
from acpagent.runtime.session.services import CommandDesk

_LAST, _MOST = 10, 50
_SESSIONS = 20  # of the folder that are looked at, newest first
_SHORT = 13


@dataclass(frozen=True, slots=True)
class _Use:
    """`end` is a code: how the turn ended."""

    at: str
    turn_id: str
    by_model: bool
    failed: bool
    end: str


def trace(rest: str, desk: CommandDesk) -> str:
    """The last times a skill was called up in sessions of this folder. Raises `Refused`, `Fault`."""
    name, last = _asked(split(rest))
    one = found(name, "trace", desk)
    rows = desk.neighbours.listed(desk.cwd)[:_SESSIONS]
    ids = dict.fromkeys([desk.session_id, *(row.id for row in rows)])
    uses = [(use, session) for session in ids for use in _uses(desk.past(session), one.name)]
    uses.sort(key=lambda pair: pair[0].at)
    if not uses:
        return desk.say("skill_no_trace", name=one.name)
    lines = [_line(use, session, desk) for use, session in uses[-last:]]
    return "\n".join([desk.say("skill_trace_head", name=one.name, count=len(uses)), "", *lines])


def set_aside(rest: str, desk: CommandDesk) -> str:
    """The model is not offered a skill in this session, nor given it. Raises `Refused`."""
    one = found(" ".join(split(rest)), "off", desk)
    if not one.for_model:
        raise Refused("skill_off_person", name=one.name)
    if one.name in desk.set_aside:
        return desk.say("skill_off_already", name=one.name)
    desk.set_aside.add(one.name)
    return desk.say("skill_off", name=one.name)


def _asked(words: list[str]) -> tuple[str, int]:
    if "--last" not in words:
        return " ".join(words), _LAST
    at = words.index("--last")
    count = words[at + 1] if at + 1 < len(words) else ""
    if not (count.isascii() and count.isdigit() and len(count) < 4 and 1 <= int(count) <= _MOST):
        raise Refused("skill_trace_last", most=_MOST)
    return " ".join(words[:at] + words[at + 2 :]), int(count)


def _uses(timed: list[tuple[str, Entry]], name: str) -> Iterator[_Use]:
    ends = {entry.turn_id: _end(entry) for _, entry in timed if isinstance(entry, TurnClosed)}
    failed = {entry.call.id for _, entry in timed if isinstance(entry, CallSettled) and entry.call.status == "failed"}
    for at, entry in timed:
        if isinstance(entry, UserSaid) and not entry.steer and _calls_up(entry, name):
            yield _Use(at, entry.turn_id, False, False, ends.get(entry.turn_id, "skill_end_open"))
        elif isinstance(entry, CallMade) and entry.name == UseSkill.name and _named(entry.arguments) == name:
            end = ends.get(entry.turn_id, "skill_end_open")
            yield _Use(at, entry.turn_id, True, entry.call_id in failed, end)


def _end(entry: TurnClosed) -> str:
    return f"skill_end_{entry.stop}" if entry.stop is not None and entry.fault is None else "skill_end_fault"


def _calls_up(entry: UserSaid, name: str) -> bool:
    written = slash.read(entry.blocks)
    wanted = SKILL + name
    return written is not None and not written.indented and wanted in (written.name, written.name.lower())


def _named(arguments: str) -> str:
    try:
        asked = json.loads(arguments)
    except (ValueError, RecursionError):
        return ""
    return str(asked.get("name")) if isinstance(asked, dict) else ""


def _line(use: _Use, session: str, desk: CommandDesk) -> str:
    by = desk.say("skill_use_model" if use.by_model else "skill_use_person")
    refused = f" ({desk.say('skill_use_failed')})" if use.failed else ""
    where = "" if session == desk.session_id else f", {desk.say('skill_use_session', id=one_line(session, _SHORT))}"
    return f"- {minute(use.at)} `{use.turn_id[:_SHORT]}` {by}{refused}: {desk.say(use.end)}{where}"
