"""Rows of sessions: kept as given, listed newest first, page by page."""

from __future__ import annotations

import base64
import os
import random
import re
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from acpagent.core.history import TurnOpened
from acpagent.store import entries, sessions
from acpagent.store.database import Store, together
from acpagent.store.faults import Gone
from acpagent.store.leases import Leases
from acpagent.store.sessions import BadCursor, SessionRow
from tests.store.children import row


def stamp(number: int) -> str:
    return f"2026-01-01T00:00:00.{number:06d}Z"


def save_all(store: Store, *rows: SessionRow) -> None:
    store.apply(together(*(sessions.save_new(one) for one in rows)))


def ids(store: Store, **rest: object) -> list[str]:
    """The ids of all pages, in order."""
    found: list[str] = []
    cursor = None
    while True:
        rows, cursor = sessions.page(store, cursor=cursor, **rest)  # type: ignore[arg-type]
        found += [one.id for one in rows]
        if cursor is None:
            return found


def test_a_row_comes_back_as_it_was(store: Store) -> None:
    whole = SessionRow(
        "an id", "/a b/é", "Ünïcode 🎉", stamp(1), stamp(2), ("/x", "/y é"), {"model": "a/b"}, 3, "/a b/resolved"
    )
    save_all(store, whole)
    assert sessions.get(store, "an id") == whole
    assert sessions.page(store) == ([whole], None)


def test_cwd_is_resolved_when_not_given(store: Store, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    linked = replace(row("s", f"{tmp_path}/link/"), cwd_resolved="")
    save_all(store, linked)
    found = sessions.get(store, "s")
    assert found is not None
    assert (found.cwd, found.cwd_resolved) == (f"{tmp_path}/link/", f"{tmp_path}/real")
    assert ids(store, cwd_resolved=sessions.resolve(f"{tmp_path}/real/.")) == ["s"]
    assert ids(store, cwd_resolved=sessions.resolve(f"{tmp_path}/link")) == ["s"]
    assert ids(store, cwd_resolved=str(tmp_path)) == []


def test_names_that_are_not_utf8_still_compare(store: Store, tmp_path: Path) -> None:
    strange = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")
    save_all(store, replace(row("s", strange), title="half \ud83d", cwd_resolved=""))
    assert ids(store, cwd_resolved=sessions.resolve(strange)) == ["s"]
    found = sessions.get(store, "s")
    assert found is not None
    assert found.cwd_resolved == sessions.resolve(strange)


def test_saving_twice_keeps_the_first(store: Store) -> None:
    save_all(store, row("s", "/one"), row("s", "/two"))
    found = sessions.get(store, "s")
    assert found is not None
    assert found.cwd == "/one"


def test_changes(store: Store) -> None:
    save_all(store, row("s", prompts=0), row("other"))
    store.apply(sessions.touch("s", "First", stamp(5), 1))
    store.apply(sessions.touch("s", None, stamp(6), 2))
    store.apply(sessions.set_settings("s", {"mode": "plan"}))
    store.apply(sessions.set_directories("s", ["/x"]))
    found = sessions.get(store, "s")
    assert found is not None
    assert (found.title, found.updated_at, found.prompts) == ("First", stamp(6), 3)
    assert (found.settings, found.directories) == ({"mode": "plan"}, ("/x",))
    other = sessions.get(store, "other")
    assert other is not None
    assert (other.title, other.settings) == (None, {})


@pytest.mark.parametrize(
    "write",
    [
        sessions.touch("s", "T", stamp(1)),
        sessions.set_settings("s", {}),
        sessions.set_directories("s", ()),
        entries.append("s", [TurnOpened("t")]),
    ],
)
def test_what_is_gone_is_not_changed_silently(store: Store, write: sessions.Write) -> None:
    with pytest.raises(Gone, match="no longer in the store"):
        store.apply(write)


def test_erasing_takes_everything_and_nothing_else(store: Store, home: Path) -> None:
    leases = Leases(store, str(home))
    for name in ("s", "t"):
        save_all(store, row(name))
        store.apply(entries.append(name, [TurnOpened(name)]))
        leases.take(name)
    store.apply(sessions.erase("s"))
    store.apply(sessions.erase("s"))
    assert sessions.get(store, "s") is None
    assert ids(store) == ["t"]
    assert entries.read(store, "t") == [TurnOpened("t")]
    with store.reader() as connection:
        for table, column in (("entries", "session"), ("sessions", "id"), ("leases", "session")):
            assert connection.execute(f"SELECT {column} FROM {table}").fetchall() == [("t",)]
    leases.close()


def test_erased_words_leave_the_file(store: Store) -> None:
    save_all(store, row("s"))
    store.apply(entries.append("s", [TurnOpened("the-secret-word")]))
    store.apply(sessions.erase("s"))
    assert store.close(30)
    assert b"the-secret-word" not in Path(store.path).read_bytes()


@pytest.mark.parametrize(
    "key", ["../../etc/passwd", "/etc/passwd", "a\0b", "' OR 1=1 --", "\ud800", "", "x" * 100_000, "%"]
)
def test_an_id_is_nothing_but_a_key(store: Store, key: str) -> None:
    """LOAD-12: whatever it looks like, it names no file and is no SQL."""
    save_all(store, row("s"))
    assert sessions.get(store, key) is None
    assert entries.read(store, key) == []
    store.apply(sessions.erase(key))
    save_all(store, row(key))
    store.apply(entries.append(key, [TurnOpened("t")]))
    assert sessions.get(store, key) is not None
    assert entries.read(store, key) == [TurnOpened("t")]
    assert entries.read(store, "s") == []


def test_the_time_sorts_as_text() -> None:
    times = [sessions.now() for _ in range(100)]
    assert times == sorted(times)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", time) for time in times)


def test_sessions_without_prompt_are_listed_on_request_only(store: Store) -> None:
    save_all(store, row("new", prompts=0), row("old"), row("live", prompts=0))
    assert ids(store) == ["old"]
    assert sorted(ids(store, also=("live", "unknown"))) == ["live", "old"]


def test_newest_first_and_ties_by_id(store: Store) -> None:
    numbers = [(3, "c"), (1, "z"), (3, "a"), (2, "b"), (3, "b")]
    save_all(store, *(row(name + str(at), updated_at=stamp(at)) for at, name in numbers))
    assert ids(store, size=2) == ["c3", "b3", "a3", "b2", "z1"]


def test_pages_are_bounded(store: Store) -> None:
    save_all(store, *(row(str(number), updated_at=stamp(number)) for number in range(120)))
    rows, cursor = sessions.page(store, size=1_000)
    assert len(rows) == sessions.PAGE_SIZE
    assert cursor is not None
    assert len(sessions.page(store, size=0)[0]) == 1
    assert len(ids(store)) == 120


@pytest.mark.parametrize("count", [0, 1, 49, 50, 51, 100])
def test_the_end_has_no_cursor(store: Store, count: int) -> None:
    save_all(store, *(row(str(number), updated_at=stamp(number)) for number in range(count)))
    pages = 0
    cursor = None
    while True:
        rows, cursor = sessions.page(store, cursor=cursor)
        pages += 1
        if cursor is None:
            break
        assert len(rows) == 50
    assert pages == max(1, -(-count // 50))


def test_paging_under_inserts_has_no_doubles_and_no_holes(store: Store) -> None:
    """LIST-04, with many ties, while others add newer and older sessions and erase some."""
    chance = random.Random(7)
    at_first = {f"{number:03d}": stamp(chance.randrange(1_000, 1_020)) for number in range(137)}
    save_all(store, *(row(name, updated_at=time) for name, time in at_first.items()))
    seen: list[str] = []
    cursor = None
    added = 0
    while True:
        rows, cursor = sessions.page(store, cursor=cursor, size=10)
        seen += [one.id for one in rows]
        if cursor is None:
            break
        for _ in range(5):
            added += 1
            save_all(store, row(f"added{added}", updated_at=stamp(chance.randrange(990, 1_030))))
        store.apply(sessions.erase(seen[-1]))
        store.apply(sessions.touch(seen[-2], None, stamp(2_000)))
    assert len(seen) == len(set(seen))
    assert set(at_first) <= set(seen)


@pytest.mark.parametrize(
    "cursor",
    ["", "garbage", "Z2FyYmFnZQ==", "é", "\ud800", "A" * 10_001, "====", "\0"]
    + [base64.b64encode(text).decode() for text in (b"5:abc", b"-1:abc", b":abc", b"1" * 5_000 + b":", b"\xff:x")],
)
def test_a_cursor_nobody_handed_out(store: Store, cursor: str) -> None:
    with pytest.raises(BadCursor) as caught:
        sessions.page(store, cursor=cursor)
    assert caught.value.code == -32602


def test_a_cursor_is_opaque_and_plain_ascii(store: Store) -> None:
    save_all(store, *(row("é/+'" + str(number), updated_at=stamp(1)) for number in range(3)))
    _, cursor = sessions.page(store, size=1)
    assert cursor is not None
    assert re.fullmatch(r"[A-Za-z0-9_=-]+", cursor)
    assert len(ids(store, size=1)) == 3


DAMAGE = [
    ("directories", "[not json"),
    ("directories", "{}"),
    ("directories", "[1]"),
    ("settings", "[]"),
    ("settings", '{"model": 1}'),
    ("settings", b"\xff\xfe"),
    ("cwd", b"\xff"),
    ("title", b"\xff"),
    ("prompts", "many"),
    ("updated_at", b"\xff\xff"),
    ("id", b"\x00\x01"),
]


@pytest.mark.parametrize(("column", "value"), DAMAGE)
@pytest.mark.parametrize("size", [1, 2, 50])
def test_a_damaged_row_fails_nothing_else(store: Store, column: str, value: object, size: int) -> None:
    """LIST-10."""
    save_all(store, *(row(str(number), updated_at=stamp(number)) for number in range(7)))

    def damage(connection: sqlite3.Connection) -> None:
        connection.execute(f"UPDATE sessions SET {column} = ? WHERE id = '3'", (value,))

    store.apply(damage)
    assert ids(store, size=size) == ["6", "5", "4", "2", "1", "0"]
    assert sessions.get(store, "3") is None


@pytest.mark.parametrize("column", ["id", "updated_at", "title"])
@pytest.mark.parametrize("size", [1, 2, 50])
def test_text_that_is_not_utf8_fails_nothing_else(store: Store, column: str, size: int) -> None:
    save_all(store, *(row(str(number), updated_at=stamp(number)) for number in range(7)))

    def damage(connection: sqlite3.Connection) -> None:
        statement = f"UPDATE sessions SET {column} = CAST(? AS TEXT) WHERE id = '3'"
        connection.execute(statement, (b"2026-01-01T00:00:00.000003\x80",))

    store.apply(damage)
    found = ids(store, size=size)
    assert len(found) == len(set(found)) == 7
    assert {"6", "5", "4", "2", "1", "0"} <= set(found)
