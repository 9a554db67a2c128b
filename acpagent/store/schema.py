"""How the database file looks, and how an older one becomes the present one."""

from __future__ import annotations

import sqlite3
import time

from acpagent.core.faults import OurFault

APPLICATION_ID = 0x61637061  # "acpa": tells our file from any other SQLite database
BUSY_SECONDS = 5.0  # how long one process waits for another's commit

# Step n brings a file from version n to n + 1. Steps only add (tables, columns with defaults, indices): a process
# of an older build that has the file open goes on working. A step that has been released is never edited.
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
)
VERSION = len(MIGRATIONS)


class StoreFault(OurFault):
    """The store could not do what was asked; nothing of it was stored. The message is one sentence for a person,
    with the cause and what to do."""


_SENTENCES = {
    sqlite3.SQLITE_FULL: "the disk that holds {path} is full; nothing stored is lost, free some space and try again",
    sqlite3.SQLITE_BUSY: "{path} is locked by another process; try again",
    sqlite3.SQLITE_CORRUPT: "{path} is damaged; move it away, with its -wal and -shm files, to begin a new one",
    sqlite3.SQLITE_NOTADB: "{path} is damaged or no database; move it away to begin a new one",
    sqlite3.SQLITE_READONLY: "{path} cannot be written; check the permissions of the file and its directory",
    sqlite3.SQLITE_CANTOPEN: "{path} cannot be opened; check the permissions of the file and its directory",
    sqlite3.SQLITE_IOERR: "reading or writing {path} failed ({error}); check the disk",
}


def code_of(error: BaseException) -> int | None:
    """SQLite's primary error code of an exception, None if it has none."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def explain(error: BaseException, path: str) -> StoreFault:
    """A fault that says in one sentence what `error` means for the store at `path`."""
    if isinstance(error, StoreFault):
        return error
    if isinstance(error, OSError):
        fault = StoreFault(f"{path} cannot be used: {error.strerror or error}")
    else:
        sentence = _SENTENCES.get(code_of(error) or 0, "the store at {path} failed: {error}")
        fault = StoreFault(sentence.format(path=path, error=error))
    fault.__cause__ = error
    return fault


def prepare(connection: sqlite3.Connection, path: str) -> None:
    """Make sure that an open database is ours, of the present version and in WAL mode.

    Raises `StoreFault` for a newer file or somebody else's, and sqlite3.Error.
    """
    connection.execute("PRAGMA synchronous = NORMAL")
    _check(connection, path)
    _use_wal(connection, path)
    if _number(connection, "user_version") < VERSION:
        _migrate(connection, path)


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    value: int = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
    return value


def _check(connection: sqlite3.Connection, path: str) -> int:
    version = _number(connection, "user_version")
    if version == 0 and not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        return version
    if _number(connection, "application_id") != APPLICATION_ID:
        raise StoreFault(f"{path} is a database of another program; move it away or choose another home directory")
    if version > VERSION:
        raise StoreFault(
            f"{path} was written by a newer acpagent (file version {version}, this one knows {VERSION}); "
            "update acpagent, or choose another home directory"
        )
    return version


def _use_wal(connection: sqlite3.Connection, path: str) -> None:
    """Only the first process that opens a new file finds anything to do.

    SQLite does not wait for other processes in this one switch, but fails at once; an empty exclusive
    transaction waits in its place.
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
        raise StoreFault(f"{path} lies on a file system that several processes cannot share; choose a local directory")


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _check(connection, path)  # another process may have been quicker
        for step in MIGRATIONS[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
