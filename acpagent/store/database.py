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

from acpagent.store.schema import BUSY_SECONDS, StoreFault, code_of, explain, prepare

__all__ = ["Store", "StoreFault", "Then", "Write", "together"]

Write = Callable[[sqlite3.Connection], None]
Then = Callable[[BaseException | None], None]
Job = tuple[Write, Then | None]

IDLE_READERS = 2  # open read connections kept for the next reader
# After these the writer's connection is still good; after any other failure of a transaction it is opened anew.
_PASSING = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL})


def together(*writes: Write) -> Write:
    """Several writes as one: all of them are stored, or none."""

    def write(connection: sqlite3.Connection) -> None:
        for one in writes:
            one(connection)

    return write


class Store:
    """The database at `path`, made (mode 0600) at first use. Any number of processes and `Store`s share a file.

    The store owns its writer thread, the queue to it and the idle read connections, all under one leaf lock that
    is never held during I/O or a callback. A `Store` does not survive a fork.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._changed = threading.Condition(threading.Lock())
        self._queue: deque[Job] = deque()
        self._queued = 0  # jobs ever queued
        self._settled = 0  # jobs ever called back
        self._closing = False
        self._thread: threading.Thread | None = None
        self._writer: sqlite3.Connection | None = None  # the writer thread's own
        self._idle: list[sqlite3.Connection] = []

    # -- writing

    def submit(self, write: Write, then: Then | None = None) -> None:
        """Queue a write; never waits for the disk. May be called under a session's lock.

        `write` runs on the writer thread inside a transaction; whatever it raises undoes it alone. It may run more
        than once, the last time counting, so it changes nothing but the database. `then` runs on the writer thread
        in queue order, after the commit with None, or with what went wrong (a `StoreFault`, or what `write` itself
        raised). Raises `StoreFault` once the store is closed.
        """
        with self._changed:
            if self._closing:
                raise StoreFault("the store is closed")
            self._start()
            self._queue.append((write, then))
            self._queued += 1
            self._changed.notify_all()

    def apply(self, write: Write) -> None:
        """Queue a write and wait until it is committed. Raises what `then` of `submit` would be told.

        Not for callbacks, nor for callers that hold a lock which a callback takes.
        """
        self._refuse_writer()
        done = threading.Event()
        outcome: list[BaseException | None] = []

        def then(fault: BaseException | None) -> None:
            outcome.append(fault)
            done.set()

        self.submit(write, then)
        done.wait()
        if outcome[0] is not None:
            raise outcome[0]

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything queued so far has been called back; False if that took over `timeout` seconds.

        Same restriction as `apply`.
        """
        self._refuse_writer()
        with self._changed:
            goal = self._queued
            return self._changed.wait_for(lambda: self._settled >= goal, timeout)

    def close(self, timeout: float | None = None) -> bool:
        """Take no more writes, let the queued ones finish, close the file. False if that took over `timeout`
        seconds; the rest then goes on by itself. Calling again only waits. In a callback it does not wait."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            thread, idle, self._idle = self._thread, self._idle, []
        for connection in idle:
            connection.close()
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        return not thread.is_alive()

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
            raise StoreFault(f"the store cannot work: {error}") from error
        self._thread = thread

    def _run(self) -> None:
        try:
            while self._serve():
                pass
        finally:
            self._drop_writer()

    def _serve(self) -> bool:
        """Commit what is queued and call back; False when there will be no more. A method of its own, so that
        nothing of a batch is kept while waiting for the next."""
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
        """One transaction for all. If it fails as a whole, each write gets one of its own: what is too large for
        the room left on a disk takes nothing else down."""
        try:
            return self._transact(writes)
        except (sqlite3.Error, StoreFault, OSError) as error:
            if len(writes) == 1 or code_of(error) is None or code_of(error) == sqlite3.SQLITE_BUSY:
                return [explain(error, self.path)] * len(writes)
        return [self._commit([write])[0] for write in writes]

    def _transact(self, writes: Sequence[Write]) -> list[BaseException | None]:
        """All writes in one transaction, each in a savepoint. Raises if the transaction fails as a whole."""
        if self._writer is None:
            self._writer = _open(self.path)
        connection = self._writer
        try:
            connection.execute("BEGIN IMMEDIATE")
            outcomes = [self._attempt(connection, write) for write in writes]
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if code_of(error) not in _PASSING:
                self._drop_writer()
            raise
        return outcomes

    def _attempt(self, connection: sqlite3.Connection, write: Write) -> BaseException | None:
        connection.execute("SAVEPOINT write")
        try:
            write(connection)
        except BaseException as error:
            if not connection.in_transaction and isinstance(error, sqlite3.Error):
                raise  # SQLite gave the whole transaction up, as it may when the disk is full
            connection.execute("ROLLBACK TO write")
            connection.execute("RELEASE write")
            return explain(error, self.path) if isinstance(error, sqlite3.Error) else error
        connection.execute("RELEASE write")
        return None

    def _drop_writer(self) -> None:
        connection, self._writer = self._writer, None
        if connection is not None:
            connection.close()

    # -- reading

    @contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """`with store.reader() as connection:` reads one state of the store, however long it takes; never waits
        for writers. The connection cannot write. Raises `StoreFault`, also for SQLite's errors in the block."""
        with self._changed:
            if self._closing:
                raise StoreFault("the store is closed")
            connection = self._idle.pop() if self._idle else None
        try:
            if connection is None:
                connection = _open(self.path)
                connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")
            connection = self._give_back(connection)
        except (sqlite3.Error, OSError) as error:
            raise explain(error, self.path) from error
        finally:
            if connection is not None:
                connection.close()

    def _give_back(self, connection: sqlite3.Connection) -> sqlite3.Connection | None:
        """Keep an idle connection for the next reader; returned if it is to be closed."""
        with self._changed:
            if self._closing or len(self._idle) >= IDLE_READERS:
                return connection
            self._idle.append(connection)
            return None


def _call(then: Then, outcome: BaseException | None) -> None:
    """A callback that fails is reported like a thread that dies, and the next one runs."""
    try:
        then(outcome)
    except BaseException:
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))


def _open(path: str) -> sqlite3.Connection:
    """A connection to the file, which is made if it is not there. Raises `StoreFault`, sqlite3.Error, OSError."""
    _make(path)
    connection = sqlite3.connect(
        f"file:{quote(path)}?mode=rw", uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.text_factory = _text
        prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _make(path: str) -> None:
    """An empty file only its owner can read; SQLite gives its companion files the same mode.

    An existing file is not opened: closing it again would drop the locks that this process has on it.
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
