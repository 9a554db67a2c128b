"""How the files of a directory stand before a call that may change any of them, and what has changed after it.

A repository is asked by `git status`, any other directory is walked. Neither runs anything of the project's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from acpagent.core.evidence import Source
from acpagent.core.paths import within
from acpagent.runtime.evidence import contents
from acpagent.runtime.evidence.contents import Change, Content
from acpagent.runtime.evidence.git import Git
from acpagent.toolbox.ignore import Ignored

MOST_FILES = 5000
MOST_SECONDS = 1.5
READ_BYTES = 32 * 1024 * 1024  # in one look
CACHED_BYTES = 16 * 1024 * 1024
_REPOSITORIES = frozenset({".git", ".hg", ".svn", ".jj"})
# What tools leave behind for themselves, ignored or not.
_LEFT_BEHIND = frozenset(
    {
        "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".nox", ".hypothesis", ".venv",
        "node_modules", ".gradle", ".coverage", ".DS_Store", ".eggs", ".parcel-cache", ".turbo", ".nyc_output",
        ".dart_tool", ".bundle", ".cache",
    }
)  # fmt: skip

Stamp = tuple[int, int, int, int]


class Base(Protocol):
    """How files stood at one moment."""

    def changes(self) -> tuple[list[Change], bool]:
        """What has changed since, and whether that is all."""


@dataclass(slots=True)
class Cache:
    """What files held when they were last read, so that only those that changed are read again. Used by the helper
    thread of one call at a time; needs no lock."""

    _known: dict[str, tuple[Stamp, Content]] = field(default_factory=dict)
    _bytes: int = 0

    def look(self, path: str, may_read: Callable[[int], bool]) -> Content | None:
        try:
            status = os.lstat(path)
        except OSError:
            return contents.look(path)
        stamp = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        known = self._known.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        found = contents.look(path, may_read)
        if found is not None and time.time_ns() - status.st_mtime_ns > 100_000_000:  # else it may change unseen
            self._keep(path, stamp, found)
        return found

    def _keep(self, path: str, stamp: Stamp, found: Content) -> None:
        self._bytes += len(found.data or b"")
        if self._bytes > CACHED_BYTES:
            self._known.clear()
            self._bytes = len(found.data or b"")
        self._known[path] = (stamp, found)


class _Allowance:
    """How many bytes one look may read."""

    def __init__(self) -> None:
        self._left = READ_BYTES

    def __call__(self, size: int) -> bool:
        self._left -= size
        return self._left >= 0


@dataclass(frozen=True, slots=True)
class Paths:
    """Some files that are known by name."""

    before: dict[str, Content | None]
    source: Source

    @classmethod
    def take(cls, paths: Iterator[str] | list[str], source: Source) -> Paths:
        return cls({path: contents.look(path) for path in paths}, source)

    def changes(self) -> tuple[list[Change], bool]:
        found = []
        for path, before in self.before.items():
            after = contents.look(path)
            if before != after:
                found.append(Change(path, before, after, self.source))
        return found, True


@dataclass(frozen=True, slots=True)
class Tree:
    """Every file below a directory that is in no repository, as far as that is not ignored. `complete` is False for a
    directory with too much in it."""

    root: str
    before: dict[str, Content | None]
    complete: bool
    cache: Cache
    source: Source

    @classmethod
    def take(cls, root: str, cache: Cache, source: Source) -> Tree:
        return cls(root, *_walked(root, cache), cache, source)

    def changes(self) -> tuple[list[Change], bool]:
        if not self.complete:
            return [], False
        now, complete = _walked(self.root, self.cache)
        found = []
        for path in sorted({*self.before, *now}):
            before, after = self.before.get(path), now.get(path)
            if before != after:
                found.append(Change(path, before, after, self.source))
        return (found, True) if complete else ([], False)


def _walked(root: str, cache: Cache) -> tuple[dict[str, Content | None], bool]:
    found: dict[str, Content | None] = {}
    allowed, deadline = _Allowance(), time.monotonic() + MOST_SECONDS
    for path in _files(root):
        if len(found) >= MOST_FILES or time.monotonic() > deadline:
            return found, False
        found[path] = cache.look(path, allowed)
    return found, True


def _files(root: str) -> Iterator[str]:
    waiting = [(root, Ignored.root(root))]
    while waiting:
        directory, rules = waiting.pop()
        try:
            with os.scandir(directory) as entries:
                listed = list(entries)
        except OSError:
            continue
        for entry in listed:
            is_directory = entry.is_dir(follow_symlinks=False)
            if entry.name in _REPOSITORIES or entry.name in _LEFT_BEHIND or rules.hides(entry.path, is_directory):
                continue
            if is_directory:
                waiting.append((entry.path, rules.below(entry.path)))
            else:
                yield entry.path


@dataclass(frozen=True, slots=True)
class Repository:
    """The working tree of a git repository: what differs from its last commit, with what it holds. `inner` are the
    repositories in it, each of which is one to look at by itself."""

    git: Git
    head: str
    before: dict[str, Content | None]
    cache: Cache
    source: Source
    inner: frozenset[str] = frozenset()

    @classmethod
    def take(cls, git: Git, cache: Cache, source: Source) -> Repository | None:
        """None where git has nothing to say."""
        state = git.status()
        if state is None:
            return None
        return cls(git, state.head, _held(state.paths, cache), cache, source, state.inner)

    def changes(self) -> tuple[list[Change], bool]:
        state = self.git.status()
        if state is None:
            return [], False
        committed = self.git.between(self.head, state.head) if state.head != self.head else frozenset[str]()
        if committed is None:
            return [], False
        paths = {path for path in {*self.before, *state.paths, *committed} if not left_behind(path, self.git.root)}
        allowed, found = _Allowance(), []
        for path in sorted(paths):
            before = self.before[path] if path in self.before else self.git.content(self.head, path)
            after = self.cache.look(path, allowed)
            if before != after:
                found.append(Change(path, before, after, self.source))
        complete = True
        for path in state.inner - self.inner:
            new, whole = _walked(path, self.cache)
            found += [Change(name, None, content, self.source) for name, content in new.items()]
            complete = complete and whole
        return found, complete


def _held(paths: frozenset[str], cache: Cache) -> dict[str, Content | None]:
    allowed = _Allowance()
    return {path: cache.look(path, allowed) for path in paths}


def left_behind(path: str, root: str) -> bool:
    """Whether a path lies in what tools leave behind for themselves."""
    inside = os.path.relpath(path, root) if within(path, root) else path
    return not _LEFT_BEHIND.isdisjoint(inside.split(os.sep))
