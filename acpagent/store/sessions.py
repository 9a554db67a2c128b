"""Stored sessions: one row each, found by id or listed newest first."""

from __future__ import annotations

import base64
import json
import os
import re
import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from acpagent.core.faults import TheirFault
from acpagent.store.database import Store, Write
from acpagent.store.faults import Gone
from acpagent.store.schema import storable
from acpagent.wire import codes

PAGE_SIZE = 50  # rows of a page, and the most that can be asked for (LIST-06)


class BadCursor(TheirFault):
    """A cursor that no page handed out (LIST-05)."""

    def __init__(self) -> None:
        super().__init__(codes.INVALID_PARAMS, "the cursor is not one that a page handed out")


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as stored. `cwd` is as the client gave it (SESS-07), `cwd_resolved` as `resolve` makes it;
    left empty, `save_new` fills it in. Times are texts made by `now`. `prompts` counts prompts sent."""

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
    """The time in ISO 8601, UTC, always with microseconds: the order of texts is the order of times."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def resolve(cwd: str) -> str:
    """A directory in the form that is compared: absolute, without symlinks (LIST-03). Looks at the disk."""
    return storable(os.path.realpath(cwd))


def save_new(row: SessionRow) -> Write:
    """Store a session; one that is there already stays as it is, so that asking twice does no harm.

    Looks at the disk, right away, if the row has no `cwd_resolved`.
    """
    values = (
        storable(row.id),
        storable(row.cwd),
        row.cwd_resolved or resolve(row.cwd),
        None if row.title is None else storable(row.title),
        row.created_at,
        row.updated_at,
        json.dumps(row.directories),
        json.dumps(dict(row.settings)),
        row.prompts,
    )

    def write(connection: sqlite3.Connection) -> None:
        connection.execute(_SAVE, values)

    return write


def touch(session_id: str, title: str | None, updated_at: str, prompts: int = 0) -> Write:
    """Note activity: the title (None keeps the old one), the time, and how many prompts it adds.

    This write, like the next two, raises `Gone` if the session is not in the store.
    """
    text = None if title is None else storable(title)
    change = "title = coalesce(?, title), updated_at = ?, prompts = prompts + ?"
    return _update(session_id, change, text, updated_at, prompts)


def set_settings(session_id: str, settings: Mapping[str, str]) -> Write:
    """Replace the settings of a session, all of them."""
    return _update(session_id, "settings = ?", json.dumps(dict(settings)))


def set_directories(session_id: str, directories: Collection[str]) -> Write:
    """Replace the additional directories of a session (SESS-09)."""
    return _update(session_id, "directories = ?", json.dumps(list(directories)))


def _update(session_id: str, change: str, *values: str | int | None) -> Write:
    statement, key = f"UPDATE sessions SET {change} WHERE id = ?", storable(session_id)

    def write(connection: sqlite3.Connection) -> None:
        if connection.execute(statement, (*values, key)).rowcount == 0:
            raise Gone

    return write


def erase(session_id: str) -> Write:
    """Remove a session with its entries and its lease. Removing what is not there is fine (DEL-02)."""
    key = (storable(session_id),)

    def write(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM entries WHERE session = ?", key)
        connection.execute("DELETE FROM leases WHERE session = ?", key)
        connection.execute("DELETE FROM sessions WHERE id = ?", key)

    return write


def get(store: Store, session_id: str) -> SessionRow | None:
    """The session; None if there is none, or its row is damaged (LOAD-07). Raises `StoreFault`."""
    with store.reader() as connection:
        found = connection.execute(f"{_SELECT} WHERE id = ?", (storable(session_id),)).fetchone()
    return None if found is None else _row(found)


def page(
    store: Store,
    cwd_resolved: str | None = None,
    cursor: str | None = None,
    size: int = PAGE_SIZE,
    also: Collection[str] = (),
) -> tuple[list[SessionRow], str | None]:
    """Sessions with at least one prompt, newest first, and the cursor of the page after, None at the end.

    `cwd_resolved` (see `resolve`) limits it to one directory; `also` names sessions that need no prompt. No
    session is on two pages; one that is made or used while somebody pages heads the next listing. Raises
    `BadCursor`, `StoreFault`.
    """
    size = max(1, min(size, PAGE_SIZE))
    where, values = _conditions(cwd_resolved, cursor, also)
    statement = f"{_SELECT} WHERE {where} ORDER BY updated_at DESC, id DESC LIMIT ?"
    with store.reader() as connection:
        found = connection.execute(statement, (*values, size + 1)).fetchall()
    following = _cursor(*found[size - 1][-2:]) if len(found) > size else None
    rows = [_row(values) for values in found[:size]]
    return [row for row in rows if row is not None], following


_SAVE = (
    "INSERT OR IGNORE INTO sessions"
    " (id, cwd, cwd_resolved, title, created_at, updated_at, directories, settings, prompts)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
# The last two are the exact key of a row for the cursor, damaged or not.
_SELECT = (
    "SELECT id, cwd, title, created_at, updated_at, directories, settings, prompts, cwd_resolved,"
    " CAST(updated_at AS BLOB), CAST(id AS BLOB) FROM sessions"
)


def _conditions(cwd_resolved: str | None, cursor: str | None, also: Collection[str]) -> tuple[str, list[str | bytes]]:
    clauses = [f"(prompts > 0 OR id IN ({', '.join('?' * len(also))}))"]
    values: list[str | bytes] = [storable(session_id) for session_id in also]
    if cwd_resolved is not None:
        clauses.append("cwd_resolved = ?")
        values.append(storable(cwd_resolved))
    if cursor is not None:
        clauses.append("(updated_at, id) < (CAST(? AS TEXT), CAST(? AS TEXT))")
        values.extend(_key(cursor))
    return " AND ".join(clauses), values


_KEY = re.compile(rb"(\d+):(.*)", re.DOTALL)


def _cursor(updated_at: bytes, session_id: bytes) -> str:
    return base64.urlsafe_b64encode(b"%d:%b%b" % (len(updated_at), updated_at, session_id)).decode()


def _key(cursor: str) -> tuple[bytes, bytes]:
    try:
        match = _KEY.fullmatch(base64.b64decode(cursor, altchars=b"-_", validate=True))
    except ValueError:
        raise BadCursor from None
    if match is None or len(match[1]) > 9 or int(match[1]) > len(match[2]):
        raise BadCursor
    length = int(match[1])
    return match[2][:length], match[2][length:]


def _row(found: tuple[Any, ...]) -> SessionRow | None:
    """None for a damaged row: it must not make the others unreadable (LIST-10)."""
    session_id, cwd, title, created, updated, directories, settings, prompts, resolved = found[:-2]
    try:
        places, values = json.loads(directories), json.loads(settings)
    except (ValueError, TypeError):
        return None
    if not isinstance(places, list) or not isinstance(values, dict) or not isinstance(prompts, int):
        return None
    texts = (session_id, cwd, created, updated, resolved, *places, *values.values())
    if not all(isinstance(text, str) for text in texts) or not isinstance(title, str | None):
        return None
    return SessionRow(session_id, cwd, title, created, updated, tuple(places), values, prompts, resolved)
