"""The entries of a session: its append-only record, in order."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from acpagent.core.history import Entry, pack, unpack
from acpagent.store.database import Store, Write
from acpagent.store.faults import Gone
from acpagent.store.schema import storable
from acpagent.store.sessions import now

_EXISTS = "SELECT 1 FROM sessions WHERE id = ?"
_LAST = "SELECT coalesce(max(seq), 0) FROM entries WHERE session = ?"
_ADD = "INSERT INTO entries (session, seq, at, kind, version, body) VALUES (?, ?, ?, ?, ?, ?)"
_READ = "SELECT kind, version, body, at FROM entries WHERE session = ? ORDER BY seq"


def append(session_id: str, entries: Iterable[Entry]) -> Write:
    """Add entries to a stored session. They are packed and timed now; what they refer to may change later.

    The write raises `Gone` if the session is not in the store.
    """
    key, at = storable(session_id), now()
    packed = [pack(entry) for entry in entries]

    def write(connection: sqlite3.Connection) -> None:
        if connection.execute(_EXISTS, (key,)).fetchone() is None:
            raise Gone
        last: int = connection.execute(_LAST, (key,)).fetchone()[0]
        rows = [(key, last + number, at, *one) for number, one in enumerate(packed, 1)]
        connection.executemany(_ADD, rows)

    return write


def read(store: Store, session_id: str) -> list[Entry]:
    """The entries of a session in order, none if there is no such session.

    An entry that cannot be read, being damaged or of a newer build, is left out. Raises `StoreFault`.
    """
    return [entry for _, entry in read_timed(store, session_id)]


def read_timed(store: Store, session_id: str) -> list[tuple[str, Entry]]:
    """Like `read`, each with when it was added: ISO 8601, UTC."""
    with store.reader() as connection:
        found = connection.execute(_READ, (storable(session_id),)).fetchall()
    unpacked = ((at, unpack(kind, version, body)) for kind, version, body, at in found if isinstance(version, int))
    return [(str(at), entry) for at, entry in unpacked if entry is not None]
