"""Rules that people granted in a repository."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from acpagent.store import grants, schema
from acpagent.store.database import Store


def test_rules_come_back_in_order_and_once(store: Store) -> None:
    for rule in ("Bash(npm test:*)", "Edit", "Bash(npm test:*)", "Bash=echo \ud800 é"):
        store.apply(grants.add("/a/.git", rule))
    store.apply(grants.add("/b", "Read(/x)"))
    assert grants.read(store, "/a/.git") == ("Bash(npm test:*)", "Edit", "Bash=echo \\ud800 é")
    assert grants.read(store, "/b") == ("Read(/x)",)
    assert grants.read(store, "/c") == ()


def test_to_clear_a_repository_leaves_the_others(store: Store) -> None:
    store.apply(grants.add("/a", "Edit"))
    store.apply(grants.add("/b", "Edit"))
    store.apply(grants.clear("/a"))
    store.apply(grants.clear("/none"))
    assert grants.read(store, "/a") == ()
    assert grants.read(store, "/b") == ("Edit",)


def test_they_survive_the_process(store: Store, home: Path) -> None:
    store.apply(grants.add("/a", "Edit"))
    other = Store(str(home / "store.sqlite3"))
    assert grants.read(other, "/a") == ("Edit",)
    assert other.close(30)


def test_a_file_of_the_first_version_gets_the_table_and_keeps_what_it_has(store: Store, home: Path) -> None:
    home.mkdir(parents=True)
    with closing(sqlite3.connect(home / "store.sqlite3")) as old, old:
        for statement in schema.MIGRATIONS[0]:
            old.execute(statement)
        old.execute("INSERT INTO leases VALUES ('s', 'o', 1, 'h')")
        old.execute("PRAGMA user_version = 1")
    old.close()
    store.apply(grants.add("/a", "Edit"))
    with store.reader() as connection:
        assert connection.execute("SELECT session FROM leases").fetchall() == [("s",)]
        assert connection.execute("PRAGMA user_version").fetchone()[0] == schema.VERSION
    assert grants.read(store, "/a") == ("Edit",)
