"""A change to a file as the lines of a unified diff."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from acpagent.cli.spoken import say
from acpagent.core.bounds import clean

Line = tuple[str, str]  # what kind of line: "@", "-", "+" or " "; and its text

CONTEXT = 3
# Comparing takes quadratic time; a change that spans more lines than this is only counted.
_COMPARED = 2000


def unified(old: str | None, new: str) -> list[Line]:
    """The hunks that lead from `old` (None: there was no file) to `new`."""
    before, after = _lines(old or ""), _lines(new)
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    first = max(0, start - CONTEXT)
    kept = max(0, end - CONTEXT)
    lines = list(_hunks(before[first : len(before) - kept], after[first : len(after) - kept], first))
    if not lines and old != new:
        return [("@", say("diff_line_ends") if before else say("diff_empty"))]
    return lines


def _hunks(before: list[str], after: list[str], offset: int) -> Iterator[Line]:
    if max(len(before), len(after)) > _COMPARED:
        yield "@", say("diff_become", before=len(before), after=len(after))
        return
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        old_range = _range(offset + first[1], last[2] - first[1])
        new_range = _range(offset + first[3], last[4] - first[3])
        yield "@", f"@@ -{old_range} +{new_range} @@"
        for kind, low, high, new_low, new_high in group:
            if kind == "equal":
                yield from ((" ", line) for line in before[low:high])
                continue
            yield from (("-", line) for line in before[low:high])
            yield from (("+", line) for line in after[new_low:new_high])


def _range(start: int, count: int) -> str:
    """A range of lines as diff spells it: one that is empty names the line before it."""
    return f"{start + 1 if count else start},{count}"


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return [clean(line) for line in lines]


def _common(one: list[str], other: list[str]) -> int:
    """How many lines both begin with."""
    for count, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return count
    return min(len(one), len(other))
