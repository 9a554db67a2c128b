"""What can go wrong with the store, in sentences for a person."""

from __future__ import annotations

import sqlite3

from acpagent.core.faults import OurFault


class StoreFault(OurFault):
    """The store could not do what was asked, and nothing of it was stored.

    The message is one sentence with the cause and what to do about it.
    """


class Gone(StoreFault):
    """The session is not in the store, for instance because it was deleted."""

    def __init__(self) -> None:
        super().__init__("the session is no longer in the store")


_SENTENCES = {
    sqlite3.SQLITE_FULL: "the disk that holds {path} is full; nothing stored is lost; make room, try again",
    sqlite3.SQLITE_BUSY: "{path} is locked by another process; try again",
    sqlite3.SQLITE_CORRUPT: "{path} is damaged; move it and its -wal and -shm files away to begin a new one",
    sqlite3.SQLITE_NOTADB: "{path} is damaged or no database; move it away to begin a new one",
    sqlite3.SQLITE_READONLY: "{path} cannot be written; check the permissions of the file and its directory",
    sqlite3.SQLITE_CANTOPEN: "{path} cannot be opened; check the permissions of the file and its directory",
    sqlite3.SQLITE_IOERR: "reading or writing {path} failed ({error}); check the disk and the room on it",
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
