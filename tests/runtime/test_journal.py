"""The journal over a real store: order, one write at a time, and nothing lost on a full disk."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from acpagent.core.faults import OurFault
from acpagent.core.history import Entry, Said, TurnOpened
from acpagent.core.scope import Cancelled, Scope, run_closers
from acpagent.runtime.session.keep import RowWriter
from acpagent.runtime.turn.journal import Journal
from acpagent.store import entries, sessions
from acpagent.store.database import Store
from acpagent.store.sessions import SessionRow

DEADLINE = 20.0
BIG = Said("t", "m", "assistant", "x" * 200_000)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(str(tmp_path / "store.sqlite3"))
    yield store
    assert store.close(DEADLINE)


class Written:
    """A journal of the session `s`, the size of every write it asked for, and how often it told of a failure."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.batches: list[int] = []
        self.failures = 0
        self.failed = threading.Event()
        self.writer = RowWriter(store, SessionRow("s", "/", None, "", ""), stored=False)
        self.journal = Journal(self.submit, self.notify)

    def submit(self, batch: Sequence[Entry], then: Callable[[BaseException | None], None]) -> None:
        self.batches.append(len(batch))
        self.writer.submit(batch, then)

    def notify(self) -> None:
        self.failures += 1
        self.failed.set()

    def stored(self) -> list[Entry]:
        return entries.read(self.store, "s")


def test_work_waits_until_all_is_stored_but_not_for_long(store: Store) -> None:
    written, scope = Written(store), Scope()
    written.journal.add(*turns("a", "b"))
    written.journal.settle(scope)
    assert len(written.stored()) == 2
    go_on = hold_writer(store)
    written.journal.add(*turns("c"))
    written.journal.settle(scope, 0.01)
    threading.Timer(0.05, lambda: run_closers(scope.cancel())).start()
    with pytest.raises(Cancelled):
        written.journal.settle(scope, DEADLINE)
    go_on.set()


def turns(*names: str) -> list[Entry]:
    return [TurnOpened(name) for name in names]


def limit_pages(store: Store, more: int | None) -> None:
    """Let the file grow by so many pages and no more: SQLite reports a full disk then. None: without limit."""

    def write(connection: sqlite3.Connection) -> None:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + more if more is not None else 1 << 30}")

    store.apply(write)


def hold_writer(store: Store) -> threading.Event:
    """Stop the store's thread until the event is set."""
    reached, go_on = threading.Event(), threading.Event()

    def write(_: sqlite3.Connection) -> None:
        reached.set()
        assert go_on.wait(DEADLINE)

    store.submit(write)
    assert reached.wait(DEADLINE)
    return go_on


def test_what_is_added_is_stored_in_order(store: Store) -> None:
    written = Written(store)
    for name in "abc":
        written.journal.add(*turns(name, name * 2))
    written.journal.commit(DEADLINE)
    assert written.stored() == turns("a", "aa", "b", "bb", "c", "cc")


def test_nothing_is_stored_of_a_session_that_never_said_anything(store: Store) -> None:
    written = Written(store)
    written.journal.commit(DEADLINE)
    assert written.batches == []
    assert sessions.get(store, "s") is None


def test_one_write_is_under_way_and_the_next_takes_all_that_came_meanwhile(store: Store) -> None:
    written = Written(store)
    go_on = hold_writer(store)
    for name in "abcd":
        written.journal.add(*turns(name))
    assert written.batches == [1]
    go_on.set()
    written.journal.commit(DEADLINE)
    assert written.batches == [1, 3]
    assert written.stored() == turns(*"abcd")


def test_a_full_disk_fails_the_commit_and_keeps_what_was_said(store: Store) -> None:
    written = Written(store)
    written.journal.add(*turns("a"))
    written.journal.commit(DEADLINE)
    limit_pages(store, 4)
    written.journal.add(BIG, *turns("b"))
    with pytest.raises(OurFault, match=r"could not be stored: the disk that holds .* is full"):
        written.journal.commit(DEADLINE)
    with pytest.raises(OurFault, match="is full"):
        written.journal.check()
    assert written.failed.wait(DEADLINE), "the turn is told, so that it ends"
    written.journal.add(*turns("c"))
    with pytest.raises(OurFault, match="is full"):
        written.journal.commit(DEADLINE)
    assert written.stored() == turns("a")
    limit_pages(store, None)
    written.journal.add(*turns("d"))
    written.journal.commit(DEADLINE)
    written.journal.check()
    assert written.stored() == [*turns("a"), BIG, *turns("b", "c", "d")]


def test_a_full_disk_at_the_first_write_leaves_a_session_that_can_still_be_stored(store: Store) -> None:
    written = Written(store)
    limit_pages(store, 0)
    written.journal.add(BIG)
    with pytest.raises(OurFault, match="is full"):
        written.journal.commit(DEADLINE)
    assert sessions.get(store, "s") is None
    limit_pages(store, None)
    written.journal.commit(DEADLINE)
    assert written.stored() == [BIG]


def test_a_commit_waits_no_longer_than_it_is_told(store: Store) -> None:
    written = Written(store)
    go_on = hold_writer(store)
    written.journal.add(*turns("a"))
    with pytest.raises(OurFault, match="could not be stored in time"):
        written.journal.commit(0.01)
    go_on.set()
    written.journal.commit(DEADLINE)
    assert written.stored() == turns("a")


def test_a_closed_store_fails_the_commit_at_once(tmp_path: Path) -> None:
    closed = Store(str(tmp_path / "closed.sqlite3"))
    assert closed.close(DEADLINE)
    written = Written(closed)
    written.journal.add(*turns("a"))
    with pytest.raises(OurFault, match="the store is closed"):
        written.journal.check()
    outcome: list[BaseException] = []

    def commit() -> None:
        try:
            written.journal.commit()
        except OurFault as fault:
            outcome.append(fault)

    thread = threading.Thread(target=commit, daemon=True)
    thread.start()
    thread.join(DEADLINE)
    assert [str(fault) for fault in outcome] == ["the conversation could not be stored: the store is closed"]


@pytest.mark.parametrize("seed", range(6))
def test_whatever_fails_on_the_way_all_is_stored_once_and_in_order(store: Store, seed: int) -> None:
    chance = random.Random(seed)
    written = Written(store)
    said: list[Entry] = []
    for number in range(60):
        if chance.random() < 0.2:
            limit_pages(store, chance.choice([0, 3, None]))
        entry = Said("t", str(number), "assistant", "x" * chance.choice([1, 5_000]))
        said.append(entry)
        written.journal.add(entry)
        if chance.random() < 0.3:
            try:
                written.journal.commit(DEADLINE)
                assert written.stored() == said
            except OurFault:
                stored = written.stored()
                assert stored == said[: len(stored)]
    limit_pages(store, None)
    written.journal.commit(DEADLINE)
    assert written.stored() == said


def test_waiting_ends_when_all_is_stored_or_cannot_be_or_takes_long(store: Store) -> None:
    written = Written(store)
    go_on = hold_writer(store)
    written.journal.add(*turns("a"))
    written.journal.wait(0.01)  # slow is no failure
    go_on.set()
    written.journal.wait(DEADLINE)
    assert written.stored() == turns("a")
    limit_pages(store, 0)
    written.journal.add(BIG)
    with pytest.raises(OurFault, match="is full"):
        written.journal.wait(DEADLINE)
    limit_pages(store, None)
    written.journal.commit(DEADLINE)
