"""A scope is how long a piece of work may go on: a cancel token plus what must be shut when it ends.

Plain classes: the wire driver's back-pressure takes a scope, so this file is on the path to `initialize`.
"""

from __future__ import annotations

import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    Closer = Callable[[], None]


class Cancelled(Exception):
    """The scope this work runs in was cancelled."""


class Scope:
    """Cancel token plus closers, over a lock that its owner hands in.

    `lock` is the session's re-entrant lock; `changed` is a condition on that same lock, notified by
    everything a waiter in this scope could be waiting for. A scope made without a lock owns one.
    """

    __slots__ = ("_closers", "cancelled", "changed", "lock")

    def __init__(self, lock: threading.RLock | None = None) -> None:
        self.lock = lock if lock is not None else threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.cancelled = False
        self._closers: dict[int, Closer] = {}

    def open(self) -> _Open:
        """`with scope.open():` holds the lock, or raises `Cancelled` (CAN-07): what is begun inside
        is either seen by a later cancel or never begun."""
        return _Open(self)

    def check(self) -> None:
        """Raise `Cancelled` if the scope is. Stands right before every side effect."""
        if self.cancelled:
            raise Cancelled

    def add_closer(self, closer: Closer) -> Closer:
        """Register something to shut on cancel; returns the call that takes it back.

        Closers never block. Raises `Cancelled` if it is too late.
        """
        with self.lock:
            self.check()
            key = id(closer)
            self._closers[key] = closer
        return lambda: self._remove(key)

    def _remove(self, key: int) -> None:
        with self.lock:
            self._closers.pop(key, None)

    def cancel(self) -> list[Closer]:
        """Mark cancelled and wake the waiters; returns the closers, for the caller to run once it has
        let go of the lock. Calling again returns nothing (CAN-11)."""
        with self.lock:
            if self.cancelled:
                return []
            self.cancelled = True
            closers, self._closers = list(self._closers.values()), {}
            self.changed.notify_all()
            return closers

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait until `predicate()` holds (True) or `timeout` seconds passed (False), letting go of the
        lock meanwhile. Raises `Cancelled` as soon as the scope is, the predicate's truth aside."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self.lock:
            while True:
                self.check()
                if predicate():
                    return True
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self.changed.wait(left)

    def pause(self, seconds: float) -> None:
        """Wait `seconds`, or raise `Cancelled` at once when the scope is cancelled."""
        self.wait_for(lambda: False, seconds)


class _Open:
    __slots__ = ("_scope",)

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __enter__(self) -> Scope:
        self._scope.lock.acquire()
        if self._scope.cancelled:
            self._scope.lock.release()
            raise Cancelled
        return self._scope

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scope.lock.release()


def run_closers(closers: list[Closer]) -> None:
    """Run what `Scope.cancel` handed out; one that fails does not keep the others from running."""
    for closer in closers:
        try:
            closer()
        except Exception:
            continue
