"""What a person allowed in a repository, for good: shared by the sessions there, and kept outside of the project."""

from __future__ import annotations

import os
import threading
from typing import Protocol

from acpagent.core.paths import within
from acpagent.core.rules import Rule, RuleError, parse


class GrantStore(Protocol):
    """Where granted rules are kept, by repository. All may raise `Fault`."""

    def read(self, repository: str) -> tuple[str, ...]: ...
    def add(self, repository: str, rule: str) -> None:
        """Returns once it is stored."""

    def clear(self, repository: str) -> None:
        """Returns once it is stored."""


class RepositoryGrants:
    """The rules granted in one repository. One for all sessions of a process that work there, from any thread.

    Its lock is a leaf that guards the rules, and is not held while something is stored.
    """

    def __init__(self, repository: str, store: GrantStore) -> None:
        self.repository = repository
        self._store = store
        self._lock = threading.Lock()
        self._rules: tuple[Rule, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self._rules

    def refresh(self) -> None:
        """Read what other processes granted since. Raises `Fault`."""
        found = _understood(self._store.read(self.repository))
        with self._lock:
            self._rules = found

    def add(self, rule: Rule) -> None:
        """Grant a rule; it counts once it is stored. Raises `Fault`."""
        self._store.add(self.repository, rule.text)
        with self._lock:
            self._rules = (*(kept for kept in self._rules if kept != rule), rule)

    def clear(self) -> None:
        """Grant nothing any more, at once; then in the store. Raises `Fault`."""
        with self._lock:
            self._rules = ()
        self._store.clear(self.repository)


class Repositories:
    """The repositories in which sessions of this process work. Owns `_lock`, a leaf that guards them."""

    def __init__(self, store: GrantStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: dict[str, RepositoryGrants] = {}

    def open(self, directory: str) -> RepositoryGrants:
        """The grants of the repository that a resolved directory lies in, read anew. Raises `Fault`."""
        key = repository_of(directory)
        with self._lock:
            grants = self._known.setdefault(key, RepositoryGrants(key, self._store))
        grants.refresh()
        return grants


def repository_of(directory: str) -> str:
    """What names a repository: its git directory, which all of its worktrees share, or else the directory itself.

    A file that names a git directory elsewhere counts only where that directory names the file in turn: a project
    must not pass itself off as another, in which more is allowed.
    """
    for place in _upwards(os.path.realpath(directory)):
        git = os.path.join(place, ".git")
        if os.path.islink(git):
            return place
        if os.path.isdir(git):
            return git
        if os.path.isfile(git):
            return _shared_git_directory(git) or place
    return os.path.realpath(directory)


def _upwards(directory: str) -> list[str]:
    places = [directory]
    while (above := os.path.dirname(places[-1])) != places[-1]:
        places.append(above)
    return places


def _shared_git_directory(file: str) -> str | None:
    """The git directory that a worktree's `.git` file belongs to, if that knows of the worktree."""
    named = _first_line(file)
    if not named.startswith("gitdir:"):
        return None
    own = os.path.realpath(os.path.join(os.path.dirname(file), named.removeprefix("gitdir:").strip()))
    common, back = _first_line(os.path.join(own, "commondir")), _first_line(os.path.join(own, "gitdir"))
    if not common or not back or os.path.realpath(os.path.join(own, back)) != file:
        return None
    shared = os.path.realpath(os.path.join(own, common))
    return shared if own != shared and within(own, os.path.join(shared, "worktrees")) else None


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(4096).strip()
    except OSError:
        return ""


def _understood(texts: tuple[str, ...]) -> tuple[Rule, ...]:
    """Rules that another version wrote and this one does not understand allow nothing here."""
    rules = []
    for text in texts:
        try:
            rules.append(parse(text))
        except RuleError:
            continue
    return tuple(rules)
