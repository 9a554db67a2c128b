"""The journal: a session's entries on their way to the store, and whether they got there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from acpagent.core.catalogue import Phrase
from acpagent.core.faults import OurFault
from acpagent.core.history import Entry
from acpagent.core.phrases import told
from acpagent.core.scope import Scope

# How long the model waits for what the person said to be stored.
SETTLE_SECONDS = 2.0

Submit = Callable[[Sequence[Entry], Callable[[BaseException | None], None]], None]


class Journal:
    """Entries are queued in order and written by the store's thread, at most one write of this session under way.

    What failed to be written stays queued, so that a full disk loses nothing that may yet be stored. Lock order:
    `_changed` is a leaf; the store's callback takes it holding nothing.
    """

    def __init__(self, submit: Submit, notify: Callable[[], None] = lambda: None) -> None:
        """`submit` queues a write and calls back from the store's thread; `notify` wakes the turn on failure."""
        self._submit = submit
        self._notify = notify
        self._changed = threading.Condition()
        self._queued: list[Entry] = []
        self._writing = 0
        self._fault: BaseException | None = None

    def add(self, *entries: Entry) -> None:
        """Queue entries; never blocks."""
        with self._changed:
            self._queued.extend(entries)
            self._write()

    def commit(self, timeout: float | None = None) -> None:
        """Wait until everything added is stored, at most `timeout` seconds.

        Raises `OurFault` if it could not be (a full disk, say).
        """
        with self._changed:
            self._fault = None
            self._write()
            if not self._changed.wait_for(lambda: not self._queued or self._fault is not None, timeout):
                raise OurFault(Phrase("not_stored_in_time"))
        self.check()

    def wait(self, timeout: float) -> None:
        """Wait until everything added is stored, but no longer than `timeout` seconds: what is slow to store is no
        reason not to go on. Raises `OurFault` if it could not be stored. Any thread."""
        self._await(timeout, lambda: False)
        self.check()

    def settle(self, scope: Scope, seconds: float = SETTLE_SECONDS) -> None:
        """The same for work that a failure does not keep from going on: the turn's end tells of it. Raises `Cancelled`
        as soon as the scope is."""
        forget = scope.add_closer(self._wake)
        try:
            self._await(seconds, lambda: scope.cancelled)
        finally:
            forget()
        scope.check()

    def _await(self, timeout: float, given_up: Callable[[], bool]) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._queued or self._fault is not None or given_up(), timeout)

    def check(self) -> None:
        """Raise `OurFault` if the last write failed."""
        if self._fault is not None:
            raise OurFault(Phrase("not_stored", cause=told(self._fault)))

    def _write(self) -> None:
        """Begin a write unless one is under way. A store that takes none (it is closed) has failed like a full one."""
        if not self._queued or self._writing:
            return
        batch = list(self._queued)
        self._writing = len(batch)
        try:
            self._submit(batch, self._written)
        except Exception as fault:
            self._fault, self._writing = fault, 0

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _written(self, fault: BaseException | None) -> None:
        with self._changed:
            if fault is None:
                del self._queued[: self._writing]
            self._fault = fault
            self._writing = 0
            if fault is None:
                self._write()
            self._changed.notify_all()
        if fault is not None:
            self._notify()
