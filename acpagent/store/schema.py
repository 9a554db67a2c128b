"""How the database file looks, and how an older one becomes the present one."""

from __future__ import annotations

import sqlite3
import time

from acpagent.core.catalogue import Phrase
from acpagent.store.faults import StoreFault, code_of

APPLICATION_ID = 0x61637061  # "acpa": tells our file from any other SQLite database
BUSY_SECONDS = 5.0  # how long one process waits for another's commit

# Step n brings a file from version n to n + 1. Steps only add (tables, indices, columns with defaults), so
# that a process of an older build that has the file open goes on working. A released step is never edited.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        f"PRAGMA application_id = {APPLICATION_ID}",
        """CREATE TABLE sessions (
            id TEXT PRIMARY KEY NOT NULL,
            cwd TEXT NOT NULL,
            cwd_resolved TEXT NOT NULL,
            title TEXT,
            created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL,
            directories TEXT NOT NULL,
            settings TEXT NOT NULL,
            prompts INTEGER NOT NULL DEFAULT 0
        )""",
        "CREATE INDEX sessions_newest ON sessions (updated_at, id)",
        "CREATE INDEX sessions_newest_there ON sessions (cwd_resolved, updated_at, id)",
        """CREATE TABLE entries (
            session TEXT NOT NULL,
            seq INTEGER NOT NULL,
            at TEXT NOT NULL,
            kind TEXT NOT NULL,
            version INTEGER NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (session, seq)
        )""",
        """CREATE TABLE leases (
            session TEXT PRIMARY KEY NOT NULL,
            owner TEXT NOT NULL,
            pid INTEGER NOT NULL,
            host TEXT NOT NULL
        )""",
        "CREATE INDEX leases_of_owner ON leases (owner)",
    ),
    (
        """CREATE TABLE grants (
            repository TEXT NOT NULL,
            rule TEXT NOT NULL,
            at TEXT NOT NULL,
            PRIMARY KEY (repository, rule)
        )""",
    ),
    (
        """CREATE TABLE trust (
            root TEXT PRIMARY KEY NOT NULL,
            git TEXT,
            fingerprint TEXT NOT NULL,
            files TEXT NOT NULL,
            at TEXT NOT NULL
        )""",
    ),
    (
        """CREATE TABLE memory (
            repository TEXT NOT NULL,
            id TEXT NOT NULL,
            text TEXT NOT NULL,
            kind TEXT NOT NULL,
            file TEXT NOT NULL,
            digest TEXT NOT NULL,
            session TEXT NOT NULL,
            turn TEXT NOT NULL,
            at TEXT NOT NULL,
            PRIMARY KEY (repository, id)
        )""",
    ),
    (
        """CREATE TABLE aliases (
            address TEXT PRIMARY KEY NOT NULL,
            session TEXT NOT NULL
        )""",
    ),
)
VERSION = len(MIGRATIONS)


def prepare(connection: sqlite3.Connection, path: str) -> None:
    """Make sure that an open database is ours, of the present version and in WAL mode.

    Raises `StoreFault` for a newer file or another program's, and sqlite3.Error.
    """
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA secure_delete = ON")  # what was said in an erased session is overwritten
    version = _checked_version(connection, path)
    _use_wal(connection, path)
    if version < VERSION:
        _migrate(connection, path)


def storable(text: str) -> str:
    """Text as SQLite takes it: half a surrogate pair, as in a file name that is not UTF-8, is spelled out.

    Both sides of a comparison are spelled alike, so such names can still be compared.
    """
    return text.encode("utf-8", "backslashreplace").decode()


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    value: int = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
    return value


def _checked_version(connection: sqlite3.Connection, path: str) -> int:
    """The version of the file, 0 if it is empty. Raises `StoreFault` for a file that is not to be touched."""
    version = _number(connection, "user_version")
    if version == 0 and connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None:
        return 0
    if _number(connection, "application_id") != APPLICATION_ID:
        raise StoreFault(Phrase("store_foreign", path=path))
    if version > VERSION:
        raise StoreFault(Phrase("store_newer", path=path, version=version, known=VERSION))
    return version


def _use_wal(connection: sqlite3.Connection, path: str) -> None:
    """Only the first process that opens a new file finds anything to do.

    In this one switch SQLite may not wait for other processes but fail at once (two that switch together would
    wait for each other), so an empty exclusive transaction waits in its place.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            break
        except sqlite3.OperationalError as error:
            if code_of(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("ROLLBACK")
    if mode != "wal":
        raise StoreFault(Phrase("store_not_shared", path=path))


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    """All missing steps in one transaction; a failure closes the connection, which undoes them."""
    connection.execute("BEGIN IMMEDIATE")
    version = _checked_version(connection, path)  # another process may have been quicker
    for step in MIGRATIONS[version:]:
        for statement in step:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
