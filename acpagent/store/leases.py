"""Leases: a session is written by one process at a time.

A row says which owner has the session. An owner is alive as long as it holds a lock on its own file, and the
system drops that lock when the process ends, however it ends: no timeout decides, and kill -9 frees all at
once.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import sqlite3
import threading
import uuid
from functools import cache

from acpagent.core.catalogue import Phrase
from acpagent.core.faults import TheirFault
from acpagent.core.phrases import why
from acpagent.store.database import Store
from acpagent.store.faults import StoreFault
from acpagent.store.schema import storable
from acpagent.wire import codes

_living: set[Leases] = set()  # those of this process that hold a lock, for forks
_UNSUPPORTED = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL})


class Held(TheirFault):
    """Another owner, process `pid` on `host`, has the session."""

    def __init__(self, pid: int, host: str) -> None:
        super().__init__(codes.INVALID_REQUEST, Phrase("session_held", pid=pid, host=host))
        self.pid = pid
        self.host = host


class Leases:
    """The leases of one owner; two `Leases` exclude each other, within one process too.

    Owns its lock file `<home>/locks/<owner>.lock`, made at the first `take`, and the set of sessions it has,
    both under one leaf lock. `take` and `release` wait for the store, so they are called under no lock that a
    callback of the store takes.
    """

    def __init__(self, store: Store, home: str) -> None:
        self._store = store
        self._folder = os.path.join(home, "locks")
        self._lock = threading.Lock()
        self._wanted: set[str] = set()
        self._owner: str | None = None
        self._descriptor = -1
        self._host = socket.gethostname()

    def take(self, session_id: str) -> None:
        """Take a session; nothing happens if it is ours already. Raises `Held` if a living owner has it, and
        `StoreFault`."""
        key = storable(session_id)
        with self._lock:
            owner = self._owner or self._enter()
            fresh = key not in self._wanted
            self._wanted.add(key)
        dead: list[str] = []

        def write(connection: sqlite3.Connection) -> None:
            self._tidy(connection, owner)
            dead[:] = self._claim(connection, key, owner)

        try:
            self._store.apply(write)
        except BaseException:
            if fresh:
                self._forget(key)
            raise
        for other in dead:
            _remove_if_dead(self._file(other))
        if self._owner != owner:
            raise StoreFault(Phrase("store_leases_closed"))

    def release(self, session_id: str) -> None:
        """Let a session go; nothing happens if it is not ours.

        Raises `StoreFault`, and then the session goes with the next `take` or `release` that works.
        """
        self._forget(storable(session_id))
        owner = self._owner
        if owner is not None:
            self._store.apply(lambda connection: self._tidy(connection, owner))

    def close(self) -> None:
        """End this owner, last of all: whatever it still has is free from now on. Never waits."""
        with self._lock:
            owner, descriptor = self._owner, self._descriptor
            self._owner, self._descriptor = None, -1
            self._wanted.clear()
            _living.discard(self)
        if owner is not None:
            _remove(self._file(owner))
            os.close(descriptor)

    def _forget(self, key: str) -> None:
        with self._lock:
            self._wanted.discard(key)

    def _claim(self, connection: sqlite3.Connection, key: str, owner: str) -> list[str]:
        """Write the row; returns the dead owner it takes the session from, if any."""
        found = connection.execute("SELECT owner, pid, host FROM leases WHERE session = ?", (key,)).fetchone()
        if found is not None and found[0] == owner:
            return []
        if found is not None and is_alive(self._file(found[0])):
            raise Held(found[1], found[2])
        connection.execute(
            "INSERT OR REPLACE INTO leases (session, owner, pid, host) VALUES (?, ?, ?, ?)",
            (key, owner, os.getpid(), self._host),
        )
        return [] if found is None else [found[0]]

    def _tidy(self, connection: sqlite3.Connection, owner: str) -> None:
        """Remove the rows of sessions that were let go, also of those that a full disk kept at the time."""
        rows = connection.execute("SELECT session FROM leases WHERE owner = ?", (owner,)).fetchall()
        with self._lock:
            gone = [row for row in rows if row[0] not in self._wanted]
        connection.executemany("DELETE FROM leases WHERE session = ?", gone)

    def _file(self, owner: str) -> str:
        return os.path.join(self._folder, os.path.basename(f"{owner}.lock"))

    def _enter(self) -> str:
        """Make and lock the file that says we live. Called with the lock held. Raises `StoreFault`."""
        try:
            for folder in (os.path.dirname(self._folder), self._folder):  # the mode is for the last one only
                os.makedirs(folder, mode=0o700, exist_ok=True)
            _sweep(self._folder)
            descriptor = None
            while descriptor is None:
                owner = uuid.uuid4().hex
                descriptor = _make_locked(self._file(owner))
        except OSError as error:
            raise _explain(error, self._folder) from error
        self._owner, self._descriptor = owner, descriptor
        _living.add(self)
        _watch_forks()
        return owner

    def _left_by_fork(self) -> None:
        """In a forked child: the lock is the parent's alone, and must end with it."""
        self._lock = threading.Lock()
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._owner, self._descriptor, self._wanted = None, -1, set()


@cache
def _watch_forks() -> None:
    """Programs that are started never get the descriptor, it is close-on-exec; plain forks need this."""
    os.register_at_fork(after_in_child=_after_fork)


def _after_fork() -> None:
    for leases in tuple(_living):
        leases._left_by_fork()
    _living.clear()


def _make_locked(path: str) -> int | None:
    """A new locked file; None if somebody who sweeps took it for a dead owner's before it was locked."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), os.stat(path)):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        _remove(path)
        raise
    os.close(descriptor)
    return None


def is_alive(path: str) -> bool:
    """Whether the owner of a lock file holds its lock. Raises `StoreFault` where files cannot be locked."""
    try:
        descriptor = _lock_shared(path)
    except OSError as error:
        raise _explain(error, os.path.dirname(path)) from error
    if descriptor is None:
        return True
    if descriptor >= 0:
        os.close(descriptor)
    return False


def _lock_shared(path: str) -> int | None:
    """A descriptor with a shared lock, None if the owner holds its own, -1 if there is no file.

    Shared, so that two who look at the same time do not take each other for the owner.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return -1
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _remove_if_dead(path: str) -> None:
    """Remove the file of an owner that is gone, holding its lock so that nobody comes to own it meanwhile."""
    try:
        descriptor = _lock_shared(path)
    except OSError:
        return
    if descriptor is not None and descriptor >= 0:
        _remove(path)
        os.close(descriptor)


def _sweep(folder: str) -> None:
    for name in os.listdir(folder):
        if name.endswith(".lock"):
            _remove_if_dead(os.path.join(folder, name))


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # somebody was quicker, or it stays as harmless litter


def _explain(error: OSError, folder: str) -> StoreFault:
    if error.errno in _UNSUPPORTED:
        return StoreFault(Phrase("store_no_locks", folder=folder))
    return StoreFault(Phrase("store_unusable", path=folder, cause=why(error)))
