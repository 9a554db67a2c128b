"""Stored sessions: one row each, found by id or listed newest first."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from acpagent.core.faults import TheirFault
from acpagent.store.database import Store, StoreFault, Write
from acpagent.wire import codes

PAGE_SIZE = 50  # rows of one page, and the most that can be asked for (LIST-06)


class BadCursor(TheirFault):
    """A cursor that no page handed out (LIST-05)."""

    def __init__(self) -> None:
        super().__init__(codes.INVALID_PARAMS, "the cursor is not one of a page that was handed out")


class Gone(StoreFault):
    """The session is not in the store, for instance because it was deleted."""

    def __init__(self) -> None:
        super().__init__("the session is no longer in the store")


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as stored. `cwd` as the client gave it (SESS-07); times as `now` writes them; `prompts` counts the
    person's prompts. `cwd_resolved` is `cwd` without symlinks; left empty, `save_new` fills it in."""

    id: str
    cwd: str
    title: str | None
    created_at: str
    updated_at: str
    directories: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    prompts: int = 0
    cwd_resolved: str = ""


def now() -> str:
    """The time in ISO 8601, UTC, always with microseconds, so that text order is time order."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def resolve(cwd: str) -> str:
    """A directory as it is compared: absolute and without symlinks (LIST-03). Looks at the disk."""
    return os.path.realpath(cwd)


# -- writes, for `Store.submit`


def save_new(row: SessionRow) -> Write:
    """Store a new session. Looks at the disk right away if the row has no `cwd_resolved`."""
    resolved = row.cwd_resolved or resolve(row.cwd)
    values = (
        _storable(row.id),
        _storable(row.cwd),
        _storable(resolved),
        None if row.title is None else _storable(row.title),
        row.created_at,
        row.updated_at,
        json.dumps(row.directories),
        json.dumps(dict(row.settings)),
        row.prompts,
    )
    return lambda connection: _run(
        connection,
        "INSERT INTO sessions (id, cwd, cwd_resolved, title, created_at, updated_at, directories, settings, prompts)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        values,
    )


def touch(session_id: str, title: str | None, updated_at: str, prompts: int = 0) -> Write:
    """Note activity: a title (None keeps the old one), the time, and how many prompts were added."""
    values = (None if title is None else _storable(title), updated_at, prompts, _storable(session_id))
    return lambda connection: _run(
        connection,
        "UPDATE sessions SET title = coalesce(?, title), updated_at = ?, prompts = prompts + ? WHERE id = ?",
        values,
    )


def set_settings(session_id: str, settings: Mapping[str, str]) -> Write:
    """Replace all settings of a session."""
    values = (json.dumps(dict(settings)), _storable(session_id))
    return lambda connection: _run(connection, "UPDATE sessions SET settings = ? WHERE id = ?", values)


def set_directories(session_id: str, directories: Collection[str]) -> Write:
    """Replace the additional directories of a session (SESS-09)."""
    values = (json.dumps(list(directories)), _storable(session_id))
    return lambda connection: _run(connection, "UPDATE sessions SET directories = ? WHERE id = ?", values)


def erase(session_id: str) -> Write:
    """Remove a session with its entries and lease. Removing what is not there is fine (DEL-02)."""
    key = (_storable(session_id),)

    def write(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM entries WHERE session = ?", key)
        connection.execute("DELETE FROM leases WHERE session = ?", key)
        connection.execute("DELETE FROM sessions WHERE id = ?", key)

    return write


def _run(connection: sqlite3.Connection, statement: str, values: tuple[Any, ...]) -> None:
    if connection.execute(statement, values).rowcount == 0:
        raise Gone


# -- reads

_COLUMNS = "id, cwd, title, created_at, updated_at, directories, settings, prompts, cwd_resolved"


def get(store: Store, session_id: str) -> SessionRow | None:
    """The session, None if there is none or its row is damaged (LOAD-07). Raises `StoreFault`."""
    with store.reader() as connection:
        found = connection.execute(f"SELECT {_COLUMNS} FROM sessions WHERE id = ?", (_storable(session_id),)).fetchone()
    return None if found is None else _row(found)


def page(
    store: Store,
    cwd_resolved: str | None = None,
    cursor: str | None = None,
    size: int = PAGE_SIZE,
    also: Collection[str] = (),
) -> tuple[list[SessionRow], str | None]:
    """One page of the sessions with at least one prompt, newest first, and the cursor of the next, None at the end.

    `cwd_resolved` limits it to one directory (see `resolve`). `also` names sessions to be listed without a prompt.
    Sessions that are new or used while somebody pages through appear at the top of the next listing, never twice.
    Raises `BadCursor`, `StoreFault`.
    """
    size = max(1, min(size, PAGE_SIZE))
    where, values = _conditions(cwd_resolved, cursor, also)
    statement = f"SELECT {_COLUMNS} FROM sessions WHERE {where} ORDER BY updated_at DESC, id DESC LIMIT ?"
    with store.reader() as connection:
        found = connection.execute(statement, (*values, size + 1)).fetchall()
    following = _cursor(found[size - 1]) if len(found) > size else None
    rows = [_row(values) for values in found[:size]]
    return [row for row in rows if row is not None], following


def _conditions(cwd_resolved: str | None, cursor: str | None, also: Collection[str]) -> tuple[str, list[str]]:
    clauses = [f"(prompts > 0 OR id IN ({', '.join('?' * len(also))}))"]
    values = [_storable(session_id) for session_id in also]
    if cwd_resolved is not None:
        clauses.append("cwd_resolved = ?")
        values.append(_storable(cwd_resolved))
    if cursor is not None:
        clauses.append("(updated_at, id) < (?, ?)")
        values.extend(_key(cursor))
    return " AND ".join(clauses), values


_KEY = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) (.+)", re.DOTALL | re.ASCII)


def _cursor(found: tuple[Any, ...]) -> str:
    return base64.urlsafe_b64encode(f"{found[4]} {found[0]}".encode()).decode()


def _key(cursor: str) -> tuple[str, str]:
    try:
        text = base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise BadCursor from None
    match = _KEY.fullmatch(text)
    if match is None:
        raise BadCursor
    return match[1], match[2]


def _row(found: tuple[Any, ...]) -> SessionRow | None:
    """None for a damaged row: it must not make the others unreadable (LIST-10)."""
    session_id, cwd, title, created_at, updated_at, directories, settings, prompts, resolved = found
    try:
        places, values = json.loads(directories), json.loads(settings)
    except (ValueError, TypeError):
        return None
    texts = [session_id, cwd, created_at, updated_at, resolved, title or ""]
    if not isinstance(places, list) or not isinstance(values, dict) or not isinstance(prompts, int):
        return None
    if not all(isinstance(text, str) for text in (*texts, *places, *values.values())):
        return None
    return SessionRow(
        session_id, cwd, title, created_at, updated_at, tuple(places), values, prompts, resolved
    )


def _storable(text: str) -> str:
    """Text that SQLite takes: half a surrogate pair, as in the name of a file that is not UTF-8, is spelled out.

    The same spelling on both sides of a comparison, so such directories still compare.
    """
    return text.encode("utf-8", "backslashreplace").decode()
