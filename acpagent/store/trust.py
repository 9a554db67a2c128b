"""The projects that a person trusts: what they bring, as it was when it was approved."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

from acpagent.store.database import Store, Write
from acpagent.store.schema import storable
from acpagent.store.sessions import now


@dataclass(frozen=True, slots=True)
class Approval:
    """A project by its resolved `root`, and the repository it was in then (None: in none). `files` has a digest by
    each path that the fingerprint covers; `at` is a time in UTC."""

    root: str
    git: str | None
    fingerprint: str
    at: str
    files: Mapping[str, str] = field(default_factory=dict, repr=False)


class Approvals:
    """The table, for who needs it as an object. All methods raise `StoreFault`, and return once it is stored."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self, root: str) -> Approval | None:
        return read(self._store, root)

    def approve(self, root: str, git: str | None, fingerprint: str, files: Mapping[str, str]) -> None:
        self._store.apply(approve(root, git, fingerprint, files))

    def revoke(self, root: str) -> None:
        self._store.apply(revoke(root))


def read(store: Store, root: str) -> Approval | None:
    """What was approved of a project; None for nothing. Raises `StoreFault`."""
    statement = "SELECT root, git, fingerprint, at, files FROM trust WHERE root = ?"
    with store.reader() as connection:
        found = connection.execute(statement, (storable(root),)).fetchone()
    if found is None:
        return None
    kept, git, fingerprint, at, files = found
    return Approval(kept, git, fingerprint, at, _files(files))


def approve(root: str, git: str | None, fingerprint: str, files: Mapping[str, str]) -> Write:
    """Trust a project as it is, in place of what was approved of it before."""
    body = json.dumps(dict(files))  # spells out what is no UTF-8 by itself
    values = (storable(root), None if git is None else storable(git), fingerprint, body, now())

    def write(connection: sqlite3.Connection) -> None:
        connection.execute(
            "INSERT OR REPLACE INTO trust (root, git, fingerprint, files, at) VALUES (?, ?, ?, ?, ?)", values
        )

    return write


def revoke(root: str) -> Write:
    """Trust a project no more."""
    key = (storable(root),)

    def write(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM trust WHERE root = ?", key)

    return write


def _files(body: str) -> dict[str, str]:
    """What a damaged row holds is nothing: all the files then count as new."""
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {path: digest for path, digest in found.items() if isinstance(digest, str)}
