"""Projects that a person trusts."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from acpagent.store import schema
from acpagent.store.database import Store
from acpagent.store.trust import Approvals


def test_an_approval_comes_back_as_it_was_given(store: Store) -> None:
    approvals = Approvals(store)
    approvals.approve("/a/\ud800", "/a/.git", "f1", {".mcp.json": "d1", "b\ud800": "d2"})
    found = approvals.read("/a/\ud800")
    assert found is not None
    assert (found.root, found.git, found.fingerprint) == ("/a/\\ud800", "/a/.git", "f1")
    assert found.files == {".mcp.json": "d1", "b\ud800": "d2"}
    assert found.at.startswith("20")
    assert approvals.read("/a") is None


def test_the_last_approval_counts_and_a_revoked_one_is_gone(store: Store) -> None:
    approvals = Approvals(store)
    approvals.approve("/a", "/a/.git", "f1", {"x": "1"})
    approvals.approve("/a", None, "f2", {})
    approvals.approve("/b", None, "f3", {})
    found = approvals.read("/a")
    assert found is not None
    assert (found.git, found.fingerprint, found.files) == (None, "f2", {})
    approvals.revoke("/a")
    approvals.revoke("/a")
    assert approvals.read("/a") is None
    assert approvals.read("/b") is not None


def test_other_processes_see_it(store: Store, home: Path) -> None:
    Approvals(store).approve("/a", None, "f", {})
    other = Store(str(home / "store.sqlite3"))
    assert Approvals(other).read("/a") is not None
    assert other.close(30)


def test_an_older_file_gets_the_table(store: Store, home: Path) -> None:
    home.mkdir(parents=True)
    with closing(sqlite3.connect(home / "store.sqlite3")) as old, old:
        for step in schema.MIGRATIONS[:2]:
            for statement in step:
                old.execute(statement)
        old.execute("INSERT INTO grants VALUES ('/a', 'Edit', 'then')")
        old.execute("PRAGMA user_version = 2")
    old.close()
    Approvals(store).approve("/a", None, "f", {})
    with store.reader() as connection:
        assert connection.execute("SELECT rule FROM grants").fetchall() == [("Edit",)]


def test_a_damaged_list_of_files_is_an_empty_one(store: Store) -> None:
    Approvals(store).approve("/a", None, "f", {"x": "1"})
    for body in ("{", "[1]", '{"x": 1}'):
        values = (body,)
        store.apply(lambda connection, values=values: connection.execute("UPDATE trust SET files = ?", values))
        found = Approvals(store).read("/a")
        assert found is not None
        assert found.files == {}
