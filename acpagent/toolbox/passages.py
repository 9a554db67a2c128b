"""Passages of a text: where they are, and how one is replaced without touching what stays."""

from __future__ import annotations

import re
from collections.abc import Iterable

from acpagent.core.files import TextFile
from acpagent.core.toolcalls import ToolRefusal

_LISTED = 10
_NUMBERED = re.compile(r"\d+\t")

Spans = tuple[tuple[int, int], ...]


def replaced(file: TextFile, called: str, old: str, new: str, replace_all: bool) -> tuple[str, Spans]:
    """The raw text of `file` with `new` where `old` was, and where that was in its text. Whatever line ends both are
    given with, the file's are meant. Raises `ToolRefusal`."""
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    spans = found(file.text, old, new, called, replace_all)
    return file.replaced(*narrowed(spans, old, new)), spans


def found(text: str, old: str, new: str, called: str, replace_all: bool) -> Spans:
    """Where the passage `old` is: one place, or several if `replace_all`. Raises `ToolRefusal` with what may help."""
    if not old:
        raise ToolRefusal("old is empty; to create a file or replace all of it, use write_file.")
    if old == new:
        raise ToolRefusal("old and new are the same; there is nothing to change.")
    wanted = re.escape(old) if replace_all else f"(?={re.escape(old)})"  # overlapping ones make it ambiguous, too
    spans = tuple((match.start(), match.start() + len(old)) for match in re.finditer(wanted, text))
    if not spans:
        raise ToolRefusal(f"old was not found in {called}.{_hint(text, old)}")
    if len(spans) > 1 and not replace_all:
        where = listed(line_numbers(text, starts(spans)))
        raise ToolRefusal(
            f"old was found {len(spans)} times in {called}, at {where}. Add lines around it until it is unique, "
            "or set replace_all."
        )
    return spans


def narrowed(spans: Spans, old: str, new: str) -> tuple[Spans, str]:
    """The same change without what is equal at both ends, so that lines which stay keep their line ends."""
    start = _common(old, new)
    rest_old, rest_new = old[start:], new[start:]
    end = _common(rest_old[::-1], rest_new[::-1])
    return tuple((first + start, last - end) for first, last in spans), rest_new[: len(rest_new) - end]


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    shorter = min(len(one), len(other))
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), shorter)


def line_numbers(text: str, starts: Iterable[int]) -> tuple[int, ...]:
    """The 1-based line of each position, those in rising order."""
    numbers, line, at = [], 1, 0
    for start in starts:
        line += text.count("\n", at, start)
        at = start
        numbers.append(line)
    return tuple(numbers)


def starts(spans: Spans) -> list[int]:
    return [start for start, _ in spans]


def listed(lines: tuple[int, ...]) -> str:
    """`line 3`, `lines 1, 2, 3`; not all of many."""
    shown = ", ".join(map(str, lines[:_LISTED]))
    word = "line" if len(lines) == 1 else "lines"
    return f"{word} {shown}{', ...' if len(lines) > _LISTED else ''}"


def _hint(text: str, old: str) -> str:
    """Why the passage may not have been found."""
    lines, wanted = text.split("\n"), old.strip("\n").split("\n")
    if all(_NUMBERED.match(line) for line in wanted):
        return " Leave out the line numbers that read_file shows."
    bare, target = [line.split() for line in lines], [line.split() for line in wanted]
    firsts = [number for number, line in enumerate(bare) if line == target[0]]
    for start in firsts:
        if bare[start : start + len(target)] == target:
            return f" Lines {start + 1}-{start + len(target)} differ from it in white space alone."
    if firsts and target[0]:
        numbers = tuple(number + 1 for number in firsts)
        return f" Its first line is at {listed(numbers)}, but what follows differs. Read the file again."
    return " Read the file again; it may have changed."
