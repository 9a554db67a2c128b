"""One writer, group commits, callbacks in order."""

from __future__ import annotations

import sqlite3
import stat
import threading
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from acpagent.store import database, sessions
from acpagent.store.database import Store, StoreFault, together
from tests.store.children import Child, path_in, row

WAIT = 30.0


def save(name: str) -> database.Write:
    return sessions.save_new(row(name))


def fail(_: sqlite3.Connection) -> None:
    raise LookupError("no")


class Gate:
    """A write that stops the writer thread until it is opened, so that what is queued meanwhile is one batch."""

    def __init__(self, store: Store) -> None:
        self.reached = threading.Event()
        self._open = threading.Event()
        store.submit(self._stop)
        assert self.reached.wait(WAIT)

    def _stop(self, _: sqlite3.Connection) -> None:
        self.reached.set()
        assert self._open.wait(WAIT)

    def open(self) -> None:
        self._open.set()


def test_nothing_is_made_before_the_first_use(home: Path, store: Store) -> None:
    assert not home.exists()
    store.apply(save("a"))
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    names = sorted(file.name for file in home.iterdir())
    assert names == ["store.sqlite3", "store.sqlite3-shm", "store.sqlite3-wal"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in home.iterdir()} == {0o600}


def test_a_read_may_be_the_first_use(store: Store) -> None:
    assert sessions.get(store, "a") is None


def test_a_store_that_was_never_used_closes(home: Path) -> None:
    assert Store(path_in(home)).close(WAIT)
    assert not home.exists()


def test_what_is_queued_is_one_transaction(store: Store) -> None:
    gate = Gate(store)
    seen: list[object] = []
    store.submit(save("a"))
    store.submit(lambda _: seen.append(sessions.get(store, "a")))
    gate.open()
    assert store.flush(WAIT)
    assert seen == [None]
    assert sessions.get(store, "a") is not None


def test_a_failing_write_fails_alone(store: Store) -> None:
    gate = Gate(store)
    outcomes: list[BaseException | None] = []
    for write in (save("a"), together(save("half"), fail), save("b"), lambda c: c.execute("nonsense")):
        store.submit(write, outcomes.append)
    gate.open()
    assert store.flush(WAIT)
    assert [type(outcome) for outcome in outcomes] == [type(None), LookupError, type(None), StoreFault]
    assert [bool(sessions.get(store, name)) for name in ("a", "half", "b")] == [True, False, True]


def test_apply_raises_what_the_write_raised(store: Store) -> None:
    with pytest.raises(LookupError, match="no"):
        store.apply(fail)
    store.apply(save("a"))


def test_callbacks_come_in_queue_order_from_many_threads(store: Store) -> None:
    written: list[tuple[int, int]] = []
    called: list[tuple[int, int]] = []
    start = threading.Barrier(8)

    def write(tag: tuple[int, int], connection: sqlite3.Connection) -> None:
        if tag[1] % 7 == 0:
            fail(connection)
        written.append(tag)

    def then(tag: tuple[int, int], _: BaseException | None) -> None:
        called.append(tag)

    def submit(thread: int) -> None:
        start.wait(WAIT)
        for number in range(100):
            store.submit(partial(write, (thread, number)), partial(then, (thread, number)))

    threads = [threading.Thread(target=submit, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert store.flush(WAIT)
    assert len(called) == 800
    assert [tag for tag in called if tag[1] % 7] == written
    for thread_number in range(8):
        assert [tag[1] for tag in called if tag[0] == thread_number] == list(range(100))


def test_a_callback_may_use_the_store(store: Store) -> None:
    outcomes: list[object] = []
    done = threading.Event()

    def again(fault: BaseException | None) -> None:
        outcomes.append(sessions.get(store, "a"))
        store.submit(save("b"), lambda fault: done.set())

    store.submit(save("a"), again)
    assert done.wait(WAIT)
    assert outcomes[0] is not None
    assert sessions.get(store, "b") is not None


@pytest.mark.parametrize("wait", [Store.flush, lambda store: store.apply(save("b"))])
def test_a_callback_cannot_wait_for_the_store(store: Store, wait: Callable[[Store], object]) -> None:
    outcomes: list[object] = []

    def then(_: BaseException | None) -> None:
        try:
            wait(store)
        except RuntimeError as error:
            outcomes.append(error)

    store.submit(save("a"), then)
    assert store.flush(WAIT)
    assert len(outcomes) == 1


def test_a_failing_callback_is_reported_and_the_next_one_runs(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[object] = []
    called: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: reported.append(args.exc_type))

    def broken(_: BaseException | None) -> None:
        raise LookupError

    gate = Gate(store)
    store.submit(save("a"), broken)
    store.submit(save("b"), called.append)
    gate.open()
    assert store.flush(WAIT)
    assert (reported, called) == ([LookupError], [None])


def test_flush_says_whether_it_is_done(store: Store) -> None:
    gate = Gate(store)
    assert not store.flush(0)
    gate.open()
    assert store.flush(WAIT)


def test_flush_of_an_idle_store(store: Store) -> None:
    assert store.flush(0)


def test_closing_finishes_what_is_queued(store: Store) -> None:
    gate = Gate(store)
    outcomes: list[BaseException | None] = []
    for number in range(50):
        store.submit(save(str(number)), outcomes.append)
    assert not store.close(0)
    with pytest.raises(StoreFault, match="closed"):
        store.submit(save("late"))
    gate.open()
    assert store.close(WAIT)
    assert outcomes == [None] * 50
    with pytest.raises(StoreFault, match="closed"), store.reader():
        pass
    again = Store(store.path)
    assert len(sessions.page(again)[0]) == 50
    again.close(WAIT)


def test_closing_in_a_callback_does_not_wait(store: Store) -> None:
    outcomes: list[object] = []
    store.submit(save("a"), lambda _: outcomes.append(store.close()))
    assert store.close(WAIT)
    assert outcomes == [True]


def test_a_closed_file_is_one_file(home: Path, store: Store) -> None:
    store.apply(save("a"))
    assert store.close(WAIT)
    assert [file.name for file in home.iterdir()] == ["store.sqlite3"]


def test_a_batch_is_not_kept_alive(store: Store) -> None:
    big = partial(save("a"))
    gone = threading.Event()
    weakref.finalize(big, gone.set)
    store.submit(big)
    del big
    assert gone.wait(WAIT)


def test_reading_sees_one_state(store: Store) -> None:
    store.apply(save("a"))
    count = "SELECT count(*) FROM sessions"
    with store.reader() as connection:
        assert connection.execute(count).fetchone() == (1,)
        store.apply(save("b"))
        assert connection.execute(count).fetchone() == (1,)
    with store.reader() as connection:
        assert connection.execute(count).fetchone() == (2,)


def test_a_reader_cannot_write(store: Store) -> None:
    with pytest.raises(StoreFault), store.reader() as connection:
        connection.execute("DELETE FROM sessions")


def test_what_a_reader_raises_passes_through(store: Store) -> None:
    with pytest.raises(OSError, match="mine"), store.reader():
        raise OSError("mine")


def test_reading_while_writing(store: Store) -> None:
    """Whoever reads sees whole transactions, never fewer than before."""
    store.apply(save("first"))
    begun, end = threading.Event(), threading.Event()

    def write() -> None:
        number = 0
        while not end.is_set():
            store.apply(together(save(f"a{number}"), save(f"b{number}")))
            begun.set()
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    assert begun.wait(WAIT)
    last = 0
    for _ in range(300):
        with store.reader() as connection:
            (count,) = connection.execute("SELECT count(*) FROM sessions").fetchone()
        assert count % 2 == 1
        assert count >= last
        last = count
    end.set()
    writer.join(WAIT)
    assert last > 1


def test_another_process_that_writes_is_waited_for(store: Store) -> None:
    store.apply(save("a"))
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.submit(save("b"))
    assert not store.flush(0.05)
    other.execute("COMMIT")
    other.close()
    assert store.flush(WAIT)
    assert sessions.get(store, "b") is not None


def test_another_process_that_does_not_let_go(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    store.apply(save("a"))
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreFault, match="locked by another process; try again"):
        store.apply(save("b"))
    other.execute("COMMIT")
    other.close()
    store.apply(save("b"))


def test_another_process_that_is_just_making_the_file_is_waited_for(home: Path, store: Store) -> None:
    home.mkdir()
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT * FROM sqlite_master").fetchall()
    store.submit(save("a"))
    assert not store.flush(0.05)
    other.execute("COMMIT")
    other.close()
    assert store.flush(WAIT)
    assert sessions.get(store, "a") is not None


def test_several_processes_make_the_file_at_once(home: Path, store: Store, children: list[Child]) -> None:
    children.extend(Child("create", home) for _ in range(4))
    assert [child.line() for child in children] == ["ready"] * 4
    for child in children:
        child.go_on()
    assert [child.line() for child in children] == ["True"] * 4
    assert len(sessions.page(store)[0]) == 4


def test_several_stores_make_the_file_at_once(home: Path) -> None:
    stores = [Store(path_in(home)) for _ in range(8)]
    start = threading.Barrier(len(stores))
    outcomes: list[bool] = []

    def use(store: Store) -> None:
        start.wait(WAIT)
        store.apply(save(str(id(store))))
        outcomes.append(store.close(WAIT))

    threads = [threading.Thread(target=use, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert outcomes == [True] * 8
