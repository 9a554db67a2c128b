"""The one ordered queue between everybody who sends and the one thread that writes."""

from __future__ import annotations

import threading
import time
from collections import deque

from acpagent.core.scope import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Cancellable(Protocol):
        """What `wait_room` needs of a scope."""

        cancelled: bool

        def add_closer(self, closer: Callable[[], None], /) -> Callable[[], None]: ...


WATERMARK = 1024 * 1024
HARD_CAP = 64 * 1024 * 1024
_BATCH = 64 * 1024


class Outbox:
    """Lines leave in the order of `put`, which never blocks; whoever produces much asks `wait_room` first.

    Sizes are in bytes; a line counts until it is written. Over `hard_cap` the reader at the other end
    counts as dead: everything is dropped and `on_dead` is called, once, from inside `put` (so it must
    not block). The one lock is this object's; only `session.lock` may be held when it is taken.
    """

    def __init__(self, on_dead: Callable[[], None], *, watermark: int = WATERMARK, hard_cap: int = HARD_CAP) -> None:
        self._on_dead = on_dead
        self._watermark = watermark
        self._hard_cap = hard_cap
        lock = threading.Lock()
        self._work = threading.Condition(lock)  # the writer waits here
        self._room = threading.Condition(lock)  # producers and `drain` wait here
        self._lines: deque[bytes] = deque()
        self._queued = 0
        self._closed = False

    def put(self, line: bytes) -> None:
        """Queue one line; after `close` it is dropped."""
        with self._work:
            if self._closed:
                return
            self._lines.append(line)
            self._queued += len(line)
            dead = self._queued > self._hard_cap
            if dead:
                self._drop()
            self._work.notify()
        if dead:
            self._on_dead()

    def wait_room(self, scope: Cancellable) -> None:
        """Block while more than the watermark is queued (TRN-18). The caller holds no lock.

        Returns at once if there is room, and when the outbox is closed. Raises `Cancelled` if it would
        have to wait and `scope` is, or gets, cancelled.
        """
        if self._queued <= self._watermark or self._closed:
            return
        remove = scope.add_closer(self._wake_producers)
        try:
            with self._room:
                while self._queued > self._watermark and not self._closed:
                    if scope.cancelled:
                        raise Cancelled
                    self._room.wait()
        finally:
            remove()

    def queued(self) -> int:
        """Bytes not written yet."""
        return self._queued

    def take(self) -> list[bytes] | None:
        """For the writer: wait for lines, get some in order; None when closed and empty."""
        with self._work:
            while not self._lines:
                if self._closed:
                    return None
                self._work.wait()
            batch = [self._lines.popleft()]
            size = len(batch[0])
            while self._lines and size + len(self._lines[0]) <= _BATCH:
                batch.append(self._lines.popleft())
                size += len(batch[-1])
            return batch

    def wrote(self, count: int) -> None:
        """For the writer: `count` bytes of what it took are out."""
        with self._room:
            self._queued = max(0, self._queued - count)
            if self._queued <= self._watermark:
                self._room.notify_all()

    def drain(self, deadline: float) -> bool:
        """Wait until everything is written, or `deadline` (of `time.monotonic`). True if it was."""
        with self._room:
            while self._queued:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._room.wait(left)
            return True

    def close(self) -> None:
        """Accept nothing more; what is queued still goes out. Wakes everybody."""
        with self._work:
            self._closed = True
            self._wake_all()

    def discard(self) -> None:
        """Accept nothing more and drop what is queued: nobody will read it."""
        with self._work:
            self._drop()

    def _drop(self) -> None:
        self._closed = True
        self._lines.clear()
        self._queued = 0
        self._wake_all()

    def _wake_all(self) -> None:
        self._work.notify_all()
        self._room.notify_all()

    def _wake_producers(self) -> None:
        with self._room:
            self._room.notify_all()
