"""The database file: one writer thread that commits in groups, and short reads beside it."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import quote

from acpagent.core.catalogue import Phrase
from acpagent.store.faults import StoreFault, code_of, explain
from acpagent.store.schema import BUSY_SECONDS, prepare

Write = Callable[[sqlite3.Connection], object]
Then = Callable[[BaseException | None], None]

# After a transaction failed in one of these ways its connection is good for the next; else it is opened anew.
_PASSING = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL})


def together(*writes: Write) -> Write:
    """Several writes as one: all of them are stored, or none."""

    def write(connection: sqlite3.Connection) -> None:
        for one in writes:
            one(connection)

    return write


class Store:
    """The database at `path`, made at first use, for its owner's eyes only (mode 0600). Processes share it.

    Owns its writer thread and the queue to it, under one leaf lock that is never held during I/O or a
    callback. A `Store` does not survive a fork.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._changed = threading.Condition(threading.Lock())
        self._queue: deque[tuple[Write, Then | None]] = deque()
        self._queued = 0  # how many were ever queued
        self._settled = 0  # how many were ever called back
        self._closing = False
        self._thread: threading.Thread | None = None
        self._writer: sqlite3.Connection | None = None  # used by the writer thread alone

    def submit(self, write: Write, then: Then | None = None) -> None:
        """Queue a write; never waits for the disk. May be called under a session's lock.

        `write` runs on the writer thread inside a transaction, and whatever it raises undoes it alone. It may
        run more than once, the last time counting, so it changes nothing but the database. `then` runs on the
        writer thread, in queue order, with None after the commit, or else with what went wrong: a
        `StoreFault`, or what `write` raised. Raises `StoreFault` once the store is closed.
        """
        with self._changed:
            if self._closing:
                raise StoreFault(Phrase("store_closed"))
            self._start()
            self._queue.append((write, then))
            self._queued += 1
            self._changed.notify_all()

    def apply(self, write: Write) -> None:
        """Queue a write and wait until it is committed. Raises what `submit` would hand to `then`.

        Not for callbacks of the store, nor under a lock that one of them takes.
        """
        self._refuse_writer()
        settled = threading.Event()
        outcomes: list[BaseException | None] = []

        def then(outcome: BaseException | None) -> None:
            outcomes.append(outcome)
            settled.set()

        self.submit(write, then)
        settled.wait()
        if outcomes[0] is not None:
            raise outcomes[0]

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all that is queued by now was called back; False if that takes over `timeout` seconds.

        Not for callbacks of the store, nor under a lock that one of them takes.
        """
        self._refuse_writer()
        with self._changed:
            goal = self._queued
            return self._changed.wait_for(lambda: self._settled >= goal, timeout)

    def close(self, timeout: float | None = None) -> bool:
        """Take no more writes, let the queued ones finish and close the file.

        False if that takes over `timeout` seconds; it then goes on by itself. Calling again waits again. In a
        callback of the store it does not wait.
        """
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        return not thread.is_alive()

    @contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """`with store.reader() as connection:` reads one state of the store and never waits for writers.

        The connection lasts as long as the block and cannot write: opening takes a fifth of a millisecond,
        and idle ones would keep megabytes. Raises `StoreFault`, also for what SQLite raises in the block.
        """
        if self._closing:
            raise StoreFault(Phrase("store_closed"))
        connection = _open(self.path)
        try:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            yield connection
        except sqlite3.Error as error:
            raise explain(error, self.path) from error
        finally:
            connection.close()

    def _refuse_writer(self) -> None:
        if threading.current_thread() is self._thread:
            raise RuntimeError("a callback of the store cannot wait for the store")

    def _start(self) -> None:
        if self._thread is not None:
            return
        thread = threading.Thread(target=self._run, name="acpagent-store", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise StoreFault(Phrase("store_broken", error=str(error))) from error
        self._thread = thread

    def _run(self) -> None:
        try:
            while self._serve():
                pass
        finally:
            self._drop_writer()

    def _serve(self) -> bool:
        """Commit what is queued and call back; False when there will be no more.

        A method of its own, so that nothing of a batch is kept alive while waiting for the next.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closing)
            batch = list(self._queue)
            self._queue.clear()
        if not batch:
            return False
        outcomes = self._commit([write for write, _ in batch])
        for (_, then), outcome in zip(batch, outcomes, strict=True):
            if then is not None:
                _call(then, outcome)
        with self._changed:
            self._settled += len(batch)
            self._changed.notify_all()
        return True

    def _commit(self, writes: Sequence[Write]) -> list[BaseException | None]:
        """One transaction for all. If it fails as a whole, each write gets one of its own, so that one too
        large for the room left on a disk takes no other down."""
        try:
            if self._writer is None:
                self._writer = _open(self.path)
            return _transact(self._writer, writes, self.path)
        except sqlite3.Error as error:
            if code_of(error) not in _PASSING or not _rolled_back(self._writer):
                self._drop_writer()
            if len(writes) > 1 and code_of(error) != sqlite3.SQLITE_BUSY:
                return [self._commit([write])[0] for write in writes]
            return [explain(error, self.path)] * len(writes)
        except Exception as error:
            self._drop_writer()
            return [explain(error, self.path)] * len(writes)

    def _drop_writer(self) -> None:
        connection, self._writer = self._writer, None
        if connection is not None:
            connection.close()


def _transact(connection: sqlite3.Connection, writes: Sequence[Write], path: str) -> list[BaseException | None]:
    """All writes in one transaction, each in a savepoint. Raises if the transaction fails as a whole."""
    connection.execute("BEGIN IMMEDIATE")
    outcomes = [_attempt(connection, write, path) for write in writes]
    connection.execute("COMMIT")
    return outcomes


def _attempt(connection: sqlite3.Connection, write: Write, path: str) -> BaseException | None:
    connection.execute("SAVEPOINT write")
    try:
        write(connection)
    except BaseException as error:
        if isinstance(error, sqlite3.Error) and not connection.in_transaction:
            raise  # SQLite gave up the whole transaction, as it does for some kinds of a full disk
        connection.execute("ROLLBACK TO write")
        connection.execute("RELEASE write")
        return explain(error, path) if isinstance(error, sqlite3.Error) else error
    connection.execute("RELEASE write")
    return None


def _rolled_back(connection: sqlite3.Connection | None) -> bool:
    """End a failed transaction; False if even that fails."""
    try:
        if connection is not None and connection.in_transaction:
            connection.execute("ROLLBACK")
    except sqlite3.Error:
        return False
    return True


def _call(then: Then, outcome: BaseException | None) -> None:
    """A callback that fails is reported like a thread that dies, and the next one runs."""
    try:
        then(outcome)
    except BaseException:
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))


def _open(path: str) -> sqlite3.Connection:
    """A connection to the file, which is made if it is not there. Raises `StoreFault`."""
    try:
        _make(path)
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(path))}?mode=rw",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
        )
    except (sqlite3.Error, OSError) as error:
        raise explain(error, path) from error
    try:
        connection.text_factory = _text
        prepare(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise explain(error, path) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _make(path: str) -> None:
    """An empty file that only its owner can read; SQLite gives its companion files the same mode.

    A file that exists is not opened here: closing it again would drop the locks this process has on it.
    """
    if os.path.exists(path):
        return
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass  # another process was quicker


def _text(data: bytes) -> str:
    """Stored text; damaged bytes must not make a whole page unreadable (LIST-10)."""
    return str(data, "utf-8", "replace")
