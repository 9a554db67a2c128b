"""What git would not look at: nested .gitignore files, and .git/info/exclude."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acpagent.core import files
from acpagent.core.files import NotText

if TYPE_CHECKING:
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_RULE_BYTES = 1 << 20
_BELOW = "ps_d"  # the library's name for the slash that ends the directory a pattern matched


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of rules. The library also lets a pattern match all that is below a directory; that part of its
    answer is left out, because whoever walks never gets there."""

    pattern: GitIgnoreSpecPattern
    directories_only: bool

    def verdict(self, inside: str, is_directory: bool) -> bool | None:
        """True for ignored, False for kept, None for no say."""
        if self.directories_only and not is_directory:
            return None
        found = self.pattern.match_file(inside)
        if found is None or found.match.groupdict().get(_BELOW) is not None:
            return None
        return self.pattern.include


@dataclass(frozen=True, slots=True)
class _Level:
    """The rules of one file, the last line first; they see paths relative to `directory`."""

    directory: str
    lines: tuple[_Line, ...]


class Ignored:
    """The rules that hold for the entries of one directory, made by going down: `root(start)`, then `below`."""

    __slots__ = ("_levels",)

    def __init__(self, levels: tuple[_Level, ...] = ()) -> None:
        self._levels = levels

    @classmethod
    def root(cls, start: str) -> Ignored:
        """The rules for the entries of `start`, those of the directories above it in its repository included.

        Who names a directory that is itself ignored wants to see into it: then only its own rules count.
        """
        repository = _repository(start)
        if repository is None:
            return cls().below(start)
        rules = cls(_level(repository, _exclude_file(repository))).below(repository)
        at = repository
        for part in os.path.relpath(start, repository).split(os.sep):
            if part == os.curdir:
                continue
            at = os.path.join(at, part)
            if rules.hides(at, is_directory=True):
                return cls().below(start)
            rules = rules.below(at)
        return rules

    def below(self, directory: str) -> Ignored:
        """The rules for the entries of `directory`, whose parent these ones are for."""
        more = _level(directory, os.path.join(directory, ".gitignore"))
        return Ignored(self._levels + more) if more else self

    def hides(self, path: str, is_directory: bool) -> bool:
        """Whether an entry of the directory these rules are for is ignored. The deepest file that has a say
        decides; in it, the last line that matches."""
        for level in reversed(self._levels):
            inside = path[len(level.directory.rstrip("/")) + 1 :]
            for line in level.lines:
                verdict = line.verdict(inside, is_directory)
                if verdict is not None:
                    return verdict
        return False


def _repository(start: str) -> str | None:
    """The nearest directory upwards that has a `.git`."""
    at = start
    while not os.path.lexists(os.path.join(at, ".git")):
        parent = os.path.dirname(at)
        if parent == at:
            return None
        at = parent
    return at


def _exclude_file(repository: str) -> str:
    """Where the repository's own excludes are; a worktree's or submodule's `.git` is a file that points on."""
    git = os.path.join(repository, ".git")
    if os.path.isfile(git):
        git = os.path.join(repository, _first_line(git).removeprefix("gitdir:").strip())
        git = os.path.join(git, _first_line(os.path.join(git, "commondir")))
    return os.path.join(git, "info", "exclude")


def _first_line(path: str) -> str:
    return (_lines(path) or [""])[0]


def _level(directory: str, rules: str) -> tuple[_Level, ...]:
    lines = [line for text in reversed(_lines(rules)) if (line := _line(text)) is not None]
    return (_Level(directory, tuple(lines)),) if lines else ()


def _line(text: str) -> _Line | None:
    """A line of rules; None for a comment, a blank, and what git would ignore as well."""
    from pathspec.patterns.gitignore.spec import (
        GitIgnoreSpecPattern,
    )  # slow to import: not before the first search

    text = text if text.endswith("\\ ") else text.rstrip()
    bare = text.removesuffix("/")
    if bare in ("", "!") or bare.startswith("#"):
        return None
    try:
        pattern = GitIgnoreSpecPattern(bare)
    except ValueError:
        return None
    return None if pattern.include is None else _Line(pattern, bare != text)


def _lines(path: str) -> list[str]:
    try:
        return files.read_bytes(path, _RULE_BYTES).decode("utf-8-sig", "replace").splitlines()
    except (OSError, NotText):
        return []
