"""The entries of a session: its append-only record, in order."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from acpagent.core.history import Entry, pack, unpack
from acpagent.store.database import Store, Write
from acpagent.store.sessions import Gone

_NEXT = "SELECT coalesce(max(seq), 0) + 1 FROM entries WHERE session = ?"
_ADD = "INSERT INTO entries (session, seq, kind, version, body) VALUES (?, ?, ?, ?, ?)"
_READ = "SELECT kind, version, body FROM entries WHERE session = ? ORDER BY seq"


def append(session_id: str, entries: Iterable[Entry]) -> Write:
    """Add entries to a stored session. They are packed now, so later changes of what they refer to do not count.

    The write raises `Gone` if the session is not in the store.
    """
    packed = [pack(entry) for entry in entries]

    def write(connection: sqlite3.Connection) -> None:
        if connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone() is None:
            raise Gone
        first: int = connection.execute(_NEXT, (session_id,)).fetchone()[0]
        connection.executemany(_ADD, ((session_id, first + at, *one) for at, one in enumerate(packed)))

    return write


def read(store: Store, session_id: str) -> list[Entry]:
    """All entries of a session in order, none for an unknown one. What cannot be read, being damaged or of a newer
    build, is left out. Raises `StoreFault`."""
    with store.reader() as connection:
        found = connection.execute(_READ, (session_id,)).fetchall()
    unpacked = (
        unpack(kind, version, body)
        for kind, version, body in found
        if isinstance(version, int) and isinstance(body, str)
    )
    return [entry for entry in unpacked if entry is not None]
