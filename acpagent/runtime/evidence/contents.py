"""What a file holds at one moment, cheaply, and what lies between two such moments."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass

from acpagent.core import files
from acpagent.core.evidence import Source

# Files up to this size are kept as they are, so that lines can be counted later; larger ones by their digest.
KEPT_BYTES = 256 * 1024
DIGESTED_BYTES = 8 * 1024 * 1024
_COUNTED_LINES = 20_000


@dataclass(frozen=True, slots=True)
class Content:
    """`mark` differs wherever contents do; `data` is None where they were not kept."""

    mark: str
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One file before and after a call; None where there is no such file. `path` is resolved; `old_path` is where the
    file was before it was renamed."""

    path: str
    before: Content | None
    after: Content | None
    source: Source
    old_path: str | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """What a call changed; `complete` is False where there was too much to look at."""

    files: tuple[Change, ...] = ()
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Counted:
    """Lines added and removed, None where nobody can tell."""

    added: int | None
    removed: int | None
    binary: bool = False


def of_bytes(data: bytes) -> Content:
    mark = hashlib.sha256(data).hexdigest()
    return Content(mark, data if len(data) <= KEPT_BYTES else None)


def of_text(text: str | None) -> Content | None:
    return None if text is None else of_bytes(text.encode("utf-8", "surrogatepass"))


def look(path: str, may_read: Callable[[int], bool] = lambda size: True) -> Content | None:
    """What lies at a path, a link as itself; None for nothing and for a directory. `may_read` is asked before so many
    bytes are read."""
    try:
        status = os.lstat(path)
        if stat.S_ISDIR(status.st_mode):
            return None
        if stat.S_ISLNK(status.st_mode):
            return of_bytes(os.fsencode(os.readlink(path)))
        if stat.S_ISREG(status.st_mode) and status.st_size <= DIGESTED_BYTES and may_read(status.st_size):
            return of_bytes(files.read_bytes(path, DIGESTED_BYTES))
    except FileNotFoundError:
        return None
    except (OSError, files.NotText):
        return Content("unreadable")
    return Content(f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}")


def paired(found: list[Change]) -> tuple[Change, ...]:
    """The changes with each file that vanished and came back under another name as one that was renamed; both rows
    stay, for the old name is gone."""
    gone: dict[str, list[str]] = {}
    for change in found:
        if change.after is None and change.before is not None:
            gone.setdefault(change.before.mark, []).append(change.path)
    made = []
    for change in found:
        if change.before is None and change.after is not None and gone.get(change.after.mark):
            old = gone[change.after.mark].pop(0)
            change = Change(change.path, None, change.after, change.source, old)
        made.append(change)
    return tuple(made)


def counted(before: Content | None, after: Content | None) -> Counted:
    """The lines between two contents, by the longest sequence of lines that both have."""
    if (before is not None and before.data is None) or (after is not None and after.data is None):
        same = before is not None and after is not None and before.mark == after.mark
        return Counted(0, 0) if same else Counted(None, None)
    old, new = (b"" if one is None or one.data is None else one.data for one in (before, after))
    if _binary(old) or _binary(new):
        return Counted(None, None, binary=True)
    before_lines, after_lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
    common = _common(before_lines, after_lines)
    if common is None:
        return Counted(None, None)
    return Counted(len(after_lines) - common, len(before_lines) - common)


def _binary(data: bytes) -> bool:
    if b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    try:
        files.decode(data)
    except files.NotText:
        return True
    return False


def _common(old: list[bytes], new: list[bytes]) -> int | None:
    """How many lines two files have in common, in order (Hyyrö's bit-parallel way, exact); None for too many."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if len(old) > _COUNTED_LINES or len(new) > _COUNTED_LINES:
        return None
    places: dict[bytes, int] = {}
    for position, line in enumerate(old):
        places[line] = places.get(line, 0) | 1 << position
    whole = (1 << len(old)) - 1
    row = whole
    for line in new:
        both = row & places.get(line, 0)
        row = ((row + both) | (row - both)) & whole
    return start + end + len(old) - row.bit_count()
