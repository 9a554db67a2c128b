"""/rewind: going on from before an earlier turn, with or without the files that were changed since."""

from __future__ import annotations

import os
import re

from acpagent.core import bounds
from acpagent.core.bounds import one_line, printable
from acpagent.runtime.commands.arguments import Refused, split
from acpagent.runtime.session import restoring, rewinding
from acpagent.runtime.session.rewinding import Point
from acpagent.runtime.session.services import CommandDesk

_FILES = "--files"
_LISTED = 40
_ID_LETTERS = 13
_PROMPT_BYTES, _WORDS = 32_000, 200
_BACKTICKS = re.compile("`+")


def answer(words: str, desk: CommandDesk) -> str:
    """List where the session can be rewound to, or rewind it. Raises `Refused`, `Fault`."""
    given = split(words)
    wanted = [word for word in given if word != _FILES]
    if len(wanted) > 1 or any(word.startswith("-") for word in wanted):
        raise Refused("rewind_unknown", words=one_line(" ".join(given), 60))
    points = desk.upkeep.points()
    if not wanted:
        return _listed(points, desk)
    point = rewinding.find(points, wanted[0])
    if point is None:
        raise Refused("rewind_no_point", words=one_line(wanted[0], 40))
    if not point.turn_id:
        return desk.say("rewind_at_end")
    try:
        restored = desk.upkeep.rewind(point, _FILES in given)
    except restoring.Blocked as blocked:
        lines = [f"- `{_shown(one.path, desk)}`: {desk.say(one.code)}" for one in blocked.obstacles]
        return "\n".join([desk.say("rewind_blocked"), "", *lines[:_LISTED]])
    return _done(point, restored, _FILES in given, desk)


def _listed(points: list[Point], desk: CommandDesk) -> str:
    if not points:
        return desk.say("rewind_empty")
    lines = [_line(point, desk) for point in points[-_LISTED:]]
    if len(points) > _LISTED:
        lines.insert(0, desk.say("rewind_more", count=len(points) - _LISTED))
    return "\n".join([desk.say("rewind_head"), "", *lines, "", desk.say("rewind_how")])


def _line(point: Point, desk: CommandDesk) -> str:
    at = point.at.replace("T", " ")[:16]
    if not point.number:
        return f"- `{_short(point)}` {at} {desk.say('rewind_checkpoint', change=point.words)}"
    return f"- {point.number}. `{_short(point)}` {at} {point.words}"


def _short(point: Point) -> str:
    return point.id if not point.number else point.id[:_ID_LETTERS]


def _done(point: Point, restored: list[str], with_files: bool, desk: CommandDesk) -> str:
    """What is so now, and the prompt that was left, so that it can be sent again with changes."""
    said = [desk.say("rewind_done", words=point.words) if point.number else desk.say("rewind_done_checkpoint")]
    if restored:
        said.append("\n".join([desk.say("rewind_files"), *(f"- `{_shown(path, desk)}`" for path in restored)]))
    else:
        said.append(desk.say("rewind_no_files" if with_files else "rewind_files_stay"))
    if point.prompt:
        said.append(f"{desk.say('rewind_prompt')}\n\n{_fenced(bounds.cut(point.prompt, _PROMPT_BYTES).text)}")
    if point.attached:
        named = ", ".join(f"`{one_line(printable(name), _WORDS)}`" for name in point.attached[:_LISTED])
        said.append(desk.say("rewind_attached", names=named))
    return "\n\n".join(said)


def _fenced(text: str) -> str:
    """A text that can be copied as it is, whatever is in it."""
    fence = "`" * max([3, *(len(run) + 1 for run in _BACKTICKS.findall(text))])
    return f"{fence}text\n{text}\n{fence}"


def _shown(path: str, desk: CommandDesk) -> str:
    root = os.path.realpath(desk.cwd)
    return printable(os.path.relpath(path, root) if path.startswith(f"{root}{os.sep}") else path)
