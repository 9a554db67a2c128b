"""A look at the store that changes nothing: not even a file of an older version becomes one of the present."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import quote

from acpagent.core.catalogue import Phrase
from acpagent.core.faults import Fault
from acpagent.store.database import Store
from acpagent.store.faults import StoreFault, explain
from acpagent.store.leases import is_alive
from acpagent.store.schema import APPLICATION_ID, BUSY_SECONDS, VERSION, storable

_CHECKED = 256 * 1024 * 1024  # bytes of a file that is read as a whole to find damage


@dataclass(frozen=True, slots=True)
class Lease:
    """Who has a session; `alive` is False for a process that has ended, which keeps nobody out."""

    session: str
    pid: int
    host: str
    alive: bool


@dataclass(frozen=True, slots=True)
class Inspection:
    """`version` is the file's, 0 for one that was never used. `size` is in bytes, `sessions` those with a prompt.
    `checked` says that the whole file was read for damage, and none found."""

    version: int
    size: int
    sessions: int
    checked: bool
    leases: tuple[Lease, ...]


def inspect(path: str, home: str) -> Inspection | None:
    """What there is; None without a file. Raises `StoreFault` for a store that cannot be used."""
    try:
        size = os.stat(path).st_size
    except FileNotFoundError:
        return None
    except OSError as error:
        raise explain(error, path) from error
    try:
        place = f"file:{quote(os.fsencode(path))}?mode=ro"
        with closing(sqlite3.connect(place, uri=True, timeout=BUSY_SECONDS)) as connection:
            return _look(connection, path, home, size)
    except sqlite3.Error as error:
        raise explain(error, path) from error


def _look(connection: sqlite3.Connection, path: str, home: str, size: int) -> Inspection:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables and version == 0:
        return Inspection(0, size, 0, True, ())
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise StoreFault(Phrase("store_foreign", path=path))
    if version > VERSION:
        raise StoreFault(Phrase("store_newer", path=path, version=version, known=VERSION))
    checked = size <= _CHECKED
    if checked and (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
        raise StoreFault(Phrase("store_damaged", path=path, found=found))
    sessions = int(connection.execute("SELECT count(*) FROM sessions WHERE prompts > 0").fetchone()[0])
    held = connection.execute("SELECT session, owner, pid, host FROM leases ORDER BY pid, session").fetchall()
    leases = tuple(Lease(session, pid, host, _alive(home, owner)) for session, owner, pid, host in held)
    return Inspection(version, size, sessions, checked, leases)


def _alive(home: str, owner: str) -> bool:
    try:
        return is_alive(os.path.join(home, "locks", os.path.basename(f"{owner}.lock")))
    except Fault:
        return True


def is_open(store: Store, home: str, session_id: str) -> bool:
    """Whether a living process has a stored session. Raises `StoreFault`."""
    with store.reader() as connection:
        query = "SELECT owner FROM leases WHERE session = ?"
        found = connection.execute(query, (storable(session_id),)).fetchone()
    return found is not None and _alive(home, found[0])
