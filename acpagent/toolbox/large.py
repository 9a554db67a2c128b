"""Files that are too large to be read whole: a part of their lines, found by counting line ends."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import BinaryIO

from acpagent.core import files
from acpagent.core.files import NotText
from acpagent.core.scope import Scope

LINE_BYTES = 65_536  # kept of one line
_PIECE = 1 << 20
_SNIFFED = 8192
_WIDE = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Lines:
    """Some lines of a file. `total` is how many it has, None where they were not all counted; `more`: others follow."""

    chosen: list[str]
    total: int | None
    more: bool


def is_large(path: str) -> bool:
    """Whether a path leads to a file that `files.read_text` would not take for its size."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size > files.MAX_BYTES


def part(path: str, first: int, count: int, budget: int, scope: Scope) -> Lines:
    """`count` lines from the 1-based `first` on, at least one and at most `budget` bytes of them; none and the total
    where the file ends before that. Text that is not UTF-8 is read as far as it goes. Raises `NotText`, OSError,
    `Cancelled`."""
    with open(path, "rb", opener=files.at_once) as stream:
        start = stream.read(_SNIFFED)
        if start.startswith(_WIDE) or b"\0" in start:
            raise NotText(f"it is no UTF-8, and larger than {files.MAX_BYTES >> 20} MiB")
        stream.seek(0)
        passed = _skip(stream, first - 1, scope)
        if passed < first - 1:
            return Lines([], passed, False)
        chosen: list[str] = []
        while len(chosen) < count and budget >= 0 and (line := _line(stream, scope)) is not None:
            budget -= len(line)
            chosen.append(line)
        more = bool(stream.peek(1))
        return Lines(chosen, None if more else first - 1 + len(chosen), more)


def _skip(stream: BinaryIO, lines: int, scope: Scope) -> int:
    """Go behind that many line ends; returns how many lines there were to pass."""
    left, unended = lines, False
    while left:
        scope.check()
        start, data = stream.tell(), stream.read(_PIECE)
        if not data:
            return lines - left + unended
        found = data.count(b"\n")
        if found >= left:
            at = -1
            for _ in range(left):
                at = data.index(b"\n", at + 1)
            stream.seek(start + at + 1)
            return lines
        left -= found
        unended = not data.endswith(b"\n")
    return lines


def _line(stream: BinaryIO, scope: Scope) -> str | None:
    """The next line without its end, the rest of a long one left out; None at the end of the file."""
    at_start = stream.tell() == 0
    data = stream.readline(LINE_BYTES)
    if not data:
        return None
    over, piece = 0, data
    while not piece.endswith(b"\n") and (piece := stream.readline(_PIECE)):
        scope.check()
        over += len(piece)
    text = data.decode("utf-8-sig" if at_start else "utf-8", "replace").removesuffix("\n").removesuffix("\r")
    return f"{text} [... {over} more bytes]" if over else text
