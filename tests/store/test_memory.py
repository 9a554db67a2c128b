"""Notes of repositories in the store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from acpagent.core.memory import MOST_NOTES, Full, Note
from acpagent.store import memory, schema
from acpagent.store.database import Store


def note(id: str, text: str = "x", at: str = "2030-01-01") -> Note:
    return Note(id, text, "insight", "a/b \ud800.py", "d", "s", "t", at)


def test_the_newest_comes_first_and_an_id_counts_once(store: Store) -> None:
    for one in (note("m1", at="1"), note("m2", at="2"), note("m1", "again", at="3")):
        store.apply(memory.keep("/a", one))
    store.apply(memory.keep("/b", note("m9")))
    assert [(one.id, one.text) for one in memory.read(store, "/a")] == [("m1", "again"), ("m2", "x")]
    assert memory.read(store, "/a")[0].file == "a/b \\ud800.py"
    assert memory.read(store, "/c") == ()
    store.apply(memory.forget("/a", ["m1", "m7"]))
    assert [one.id for one in memory.read(store, "/a")] == ["m2"]
    assert len(memory.read(store, "/b")) == 1


def test_there_is_an_end_to_it(store: Store) -> None:
    for number in range(MOST_NOTES):
        store.submit(memory.keep("/a", note(f"m{number}")), lambda error: None)
    with pytest.raises(Full):
        store.apply(memory.keep("/a", note("more")))
    store.apply(memory.keep("/a", note("m7", "again")))
    store.apply(memory.keep("/b", note("m1")))
    assert len(memory.read(store, "/a")) == MOST_NOTES


def test_a_damaged_note_does_not_hide_the_others(store: Store, home: Path) -> None:
    for id in ("m1", "m2", "m3"):
        store.apply(memory.keep("/a", note(id)))
    with closing(sqlite3.connect(home / "store.sqlite3")) as other, other:
        other.execute("UPDATE memory SET kind = 'rumour' WHERE id = 'm1'")
        other.execute("UPDATE memory SET text = x'ff' WHERE id = 'm2'")
    other.close()
    assert [one.id for one in memory.read(store, "/a")] == ["m3"]


def test_an_older_file_gets_the_table(store: Store, home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(home / "store.sqlite3")) as old, old:
        for step in schema.MIGRATIONS[:3]:
            for statement in step:
                old.execute(statement)
        old.execute("PRAGMA user_version = 3")
    old.close()
    store.apply(memory.keep("/a", note("m1")))
    assert len(memory.read(store, "/a")) == 1
