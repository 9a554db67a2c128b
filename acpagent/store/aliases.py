"""Ids by which clients know sessions that have another id of their own."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping

from acpagent.store.database import Store, Write
from acpagent.store.schema import storable


def read(store: Store) -> dict[str, str]:
    """The session that each of them stands for; none where there is no store yet. Raises `StoreFault`."""
    if not os.path.exists(store.path):
        return {}
    with store.reader() as connection:
        found = connection.execute("SELECT address, session FROM aliases").fetchall()
    return {address: session for address, session in found if isinstance(address, str) and isinstance(session, str)}


def change(changes: Mapping[str, str | None]) -> Write:
    """What some of them stand for from here on; None: for the session with that very id."""
    taken = [(storable(address),) for address in changes]
    given = [(storable(address), storable(session)) for address, session in changes.items() if session is not None]

    def write(connection: sqlite3.Connection) -> None:
        connection.executemany("DELETE FROM aliases WHERE address = ?", taken)
        connection.executemany("INSERT INTO aliases (address, session) VALUES (?, ?)", given)

    return write
