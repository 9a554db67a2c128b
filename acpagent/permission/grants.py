"""What a person allowed in a repository, for good: shared by the sessions there, and kept outside of the project."""

from __future__ import annotations

import threading
from typing import Protocol

from acpagent.core.repositories import repository_of
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


def _understood(texts: tuple[str, ...]) -> tuple[Rule, ...]:
    """Rules that another version wrote and this one does not understand allow nothing here."""
    rules = []
    for text in texts:
        try:
            rules.append(parse(text))
        except RuleError:
            continue
    return tuple(rules)
