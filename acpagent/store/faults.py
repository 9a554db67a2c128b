"""What can go wrong with the store, in sentences for a person."""

from __future__ import annotations

import sqlite3

from acpagent.core.catalogue import Phrase
from acpagent.core.faults import OurFault
from acpagent.core.phrases import why


class StoreFault(OurFault):
    """The store could not do what was asked, and nothing of it was stored.

    The message is one sentence with the cause and what to do about it.
    """


class Gone(StoreFault):
    """The session is not in the store, for instance because it was deleted."""

    def __init__(self) -> None:
        super().__init__(Phrase("store_gone"))


_SENTENCES = {
    sqlite3.SQLITE_FULL: "store_full",
    sqlite3.SQLITE_BUSY: "store_busy",
    sqlite3.SQLITE_CORRUPT: "store_corrupt",
    sqlite3.SQLITE_NOTADB: "store_not_database",
    sqlite3.SQLITE_READONLY: "store_read_only",
    sqlite3.SQLITE_CANTOPEN: "store_not_opened",
    sqlite3.SQLITE_IOERR: "store_disk",
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
        fault = StoreFault(Phrase("store_unusable", path=path, cause=why(error)))
    else:
        sentence = _SENTENCES.get(code_of(error) or 0, "store_failed")
        fault = StoreFault(Phrase(sentence, path=path, error=str(error)))
    fault.__cause__ = error
    return fault
