"""Files, links and directories as the entries of directories that they are, to be moved or deleted as a whole."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from acpagent.core import bounds
from acpagent.core.catalogue import Phrase
from acpagent.core.files import NotText
from acpagent.core.paths import unmoved, within
from acpagent.core.toolcalls import ToolContext, ToolRefusal
from acpagent.toolbox import buffers
from acpagent.toolbox.texts import name, words

MAX_ENTRIES = 20_000  # of one directory with all in it; more is work for a command
_NAMED = 20

What = Literal["file", "link", "directory", "special"]
_WHAT: dict[int, What] = {stat.S_IFREG: "file", stat.S_IFLNK: "link", stat.S_IFDIR: "directory"}


@dataclass(frozen=True, slots=True)
class Entry:
    """What is at a path, links not followed. `stamp` differs once something else is there."""

    path: str
    what: What
    size: int
    stamp: tuple[int, ...]

    @property
    def identity(self) -> tuple[int, ...]:
        """The same for every name of one file."""
        return self.stamp[:2]


@dataclass(frozen=True, slots=True)
class Tree:
    """All that is in a directory: how many files (or links) and directories, how many bytes, the first names, and the
    repositories' own directories among them. `digest` differs once something in it changed."""

    files: int
    directories: int
    size: int
    names: tuple[str, ...]
    repositories: tuple[str, ...]
    digest: str


def place(ctx: ToolContext, text: str) -> str:
    """The path of the entry that the model means. Raises `ToolRefusal`."""
    try:
        return ctx.roots.entry(text)
    except ValueError as fault:
        raise ToolRefusal(f"Not a usable path: {fault}.") from None


def look(ctx: ToolContext, path: str) -> Entry | None:
    """What is at a path now; None where nothing is. Raises `ToolRefusal`."""
    called = name(ctx, path)
    ctx.veto(path)
    ctx.seen.setdefault(path, None)
    if not unmoved(os.path.dirname(path)):
        raise ToolRefusal(f"{called} leads elsewhere now: a symbolic link came in between. Call again.")
    try:
        return _entry(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ToolRefusal(f"{called} cannot be looked at: {words(error)}.") from None


def find(ctx: ToolContext, path: str) -> Entry:
    """Like `look`, for something that must be there and may go: no directory that the session works in."""
    entry = look(ctx, path)
    called = name(ctx, path)
    if entry is None:
        raise ToolRefusal(f"There is no {called}.")
    if any(within(root, path) for root in ctx.roots.all):
        raise ToolRefusal(f"{called} holds the working directory; it stays.")
    return entry


def check_same(ctx: ToolContext, entry: Entry) -> None:
    """Refuse to go on if something else is there by now: an approval may take minutes."""
    if look(ctx, entry.path) != entry:
        raise ToolRefusal(f"{name(ctx, entry.path)} changed since this call was made; look at it, then call again.")


def text_of(ctx: ToolContext, entry: Entry) -> str | None:
    """The text of a file, None for what is none. Raises `ToolRefusal` if the editor has changes of it that would be
    left behind, `Cancelled`."""
    if entry.what != "file":
        return None
    called = name(ctx, entry.path)
    try:
        seen = buffers.find(entry.path, ctx)
    except (NotText, PermissionError):
        return None
    except OSError as error:
        raise ToolRefusal(f"{called} cannot be looked at: {words(error)}.") from None
    if seen.unsaved:
        raise ToolRefusal(f"{called} has unsaved changes in the editor. Ask the person to save it, then call again.")
    return seen.file.raw if seen.file else None


def tree(ctx: ToolContext, path: str) -> Tree:
    """All that is in a directory. Raises `ToolRefusal` where that is too much, cannot be seen, or is not all on one
    file system."""
    digest = hashlib.sha256()
    files = directories = size = 0
    names: list[str] = []
    repositories: list[str] = []
    device = os.lstat(path).st_dev
    for entry in _below(ctx, path):
        if files + directories >= MAX_ENTRIES:
            raise ToolRefusal(f"{name(ctx, path)} has more than {MAX_ENTRIES} entries; use a command.")
        if entry.stamp[0] != device:
            raise ToolRefusal(f"{name(ctx, entry.path)} is another file system; use a command.")
        if entry.what == "directory":
            directories += 1
            if os.path.basename(entry.path) in (".git", ".acpagent"):
                repositories.append(entry.path)
        else:
            files += 1
            size += entry.size
        if len(names) < _NAMED:
            names.append(os.path.relpath(entry.path, path) + "/" * (entry.what == "directory"))
        digest.update(repr((entry.path, entry.stamp)).encode("utf-8", "surrogateescape"))
    return Tree(files, directories, size, tuple(names), tuple(repositories), digest.hexdigest())


def counted(number: int, one: str, many: str) -> Phrase:
    """`1 file`, `12 files`."""
    return Phrase(f"size_{one if number == 1 else many}", count=number)


def told(tree: Tree) -> Phrase:
    """`12 files and 1 directory, 4096 bytes`."""
    found = counted(tree.files, "file", "files")
    if tree.directories:
        directories = counted(tree.directories, "directory", "directories")
        found = Phrase("size_both", files=found, directories=directories)
    return Phrase("size_tree", inside=found, size=counted(tree.size, "byte", "bytes"))


def named(tree: Tree) -> str:
    """The first names in a tree, a line each."""
    more = tree.files + tree.directories - len(tree.names)
    rows = [bounds.printable(name) for name in tree.names] + ([f"... and {more} more"] if more else [])
    return "\n".join(rows)


def _entry(path: str) -> Entry:
    found = os.lstat(path)
    what = _WHAT.get(stat.S_IFMT(found.st_mode), "special")
    stamp: tuple[int, ...] = (found.st_dev, found.st_ino, found.st_mode)
    if what != "directory":  # what is in a directory may change without a change of it
        stamp += (found.st_size, found.st_mtime_ns)
    return Entry(path, what, found.st_size, stamp)


def _below(ctx: ToolContext, path: str) -> Iterator[Entry]:
    """Every entry below a directory, each directory's own in order of their names."""
    waiting = [path]
    while waiting:
        ctx.scope.check()
        directory = waiting.pop()
        try:
            with os.scandir(directory) as listed:
                inside = [_entry(found.path) for found in sorted(listed, key=lambda found: found.name)]
        except OSError as error:
            raise ToolRefusal(f"{name(ctx, directory)} cannot be looked at: {words(error)}.") from None
        yield from inside
        waiting += [entry.path for entry in reversed(inside) if entry.what == "directory"]
