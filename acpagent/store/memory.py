"""Notes of repositories, as `core.memory` describes them: kept here and never in the project."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, cast

from acpagent.core.memory import KINDS, MOST_NOTES, Full, Note
from acpagent.store.database import Store, Write
from acpagent.store.schema import storable

_COLUMNS = "id, text, kind, file, digest, session, turn, at"


def read(store: Store, repository: str) -> tuple[Note, ...]:
    """The notes of a repository, the newest first; damaged ones left out. Raises `StoreFault`."""
    statement = f"SELECT {_COLUMNS} FROM memory WHERE repository = ? ORDER BY at DESC, id"
    with store.reader() as connection:
        found = connection.execute(statement, (storable(repository),)).fetchall()
    return tuple(_note(row) for row in found if all(isinstance(value, str) for value in row) and row[2] in KINDS)


def keep(repository: str, note: Note) -> Write:
    """Keep a note, in place of the one with its id. The write raises `Full`."""
    key = storable(repository)
    texts = (note.id, note.text, note.kind, note.file, note.digest, note.session, note.turn, note.at)
    values = (key, *map(storable, texts))

    def write(connection: sqlite3.Connection) -> None:
        count = "SELECT count(*) FROM memory WHERE repository = ? AND id <> ?"
        if connection.execute(count, (key, values[1])).fetchone()[0] >= MOST_NOTES:
            raise Full
        connection.execute(
            f"INSERT OR REPLACE INTO memory (repository, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values
        )

    return write


def forget(repository: str, ids: Sequence[str]) -> Write:
    """Forget notes by their ids. Forgetting what is not there is fine."""
    keys = [(storable(repository), storable(each)) for each in ids]

    def write(connection: sqlite3.Connection) -> None:
        connection.executemany("DELETE FROM memory WHERE repository = ? AND id = ?", keys)

    return write


def _note(row: tuple[Any, ...]) -> Note:
    return Note(*cast("tuple[str, str, Any, str, str, str, str, str]", row))
