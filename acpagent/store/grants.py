"""What people allowed for good in a repository: permission rules as written, kept here and never in the project."""

from __future__ import annotations

import sqlite3

from acpagent.store.database import Store, Write
from acpagent.store.schema import storable
from acpagent.store.sessions import now


def read(store: Store, repository: str) -> tuple[str, ...]:
    """The rules granted in a repository, the oldest first. Raises `StoreFault`."""
    statement = "SELECT rule FROM grants WHERE repository = ? ORDER BY at, rowid"
    with store.reader() as connection:
        found = connection.execute(statement, (storable(repository),)).fetchall()
    return tuple(rule for (rule,) in found if isinstance(rule, str))


def add(repository: str, rule: str) -> Write:
    """Keep a rule. One that is there already stays as it is."""
    values = (storable(repository), storable(rule), now())

    def write(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT OR IGNORE INTO grants (repository, rule, at) VALUES (?, ?, ?)", values)

    return write


def clear(repository: str) -> Write:
    """Forget all rules of a repository."""
    key = (storable(repository),)

    def write(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM grants WHERE repository = ?", key)

    return write
