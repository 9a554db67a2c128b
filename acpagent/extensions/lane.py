"""Things to do one after the other, by a thread of their own, for those who must not wait."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from acpagent.core.scope import Cancelled, Scope


class Lane:
    """A bounded queue and the thread that empties it, which starts with the first job and ends with `scope`.

    `scope` has a lock of its own, a leaf, which guards the queue. Jobs run with no lock held, and not before `open`;
    `Cancelled` ends the lane.
    """

    def __init__(self, name: str, scope: Scope, most: int) -> None:
        self._name = name
        self._scope = scope
        self._most = most
        self._opened = False
        self._thread: threading.Thread | None = None
        self._jobs: deque[Callable[[], None]] = deque()

    def put(self, job: Callable[[], None]) -> bool:
        """Queue a job; False if there are too many, or if it is too late."""
        with self._scope.lock:
            if self._scope.cancelled or len(self._jobs) >= self._most:
                return False
            self._jobs.append(job)
            self._scope.changed.notify_all()
            return self._thread is not None or self._start()

    def open(self) -> None:
        """Begin with what was queued."""
        with self._scope.lock:
            self._opened = True
            self._scope.changed.notify_all()

    def join(self, seconds: float) -> None:
        """Wait until no job runs any more, once the scope is cancelled."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(max(0.0, seconds))

    def _start(self) -> bool:
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self._jobs.clear()
            return False
        self._thread = thread
        return True

    def _run(self) -> None:
        try:
            while True:
                self._scope.wait_for(lambda: self._opened and bool(self._jobs))
                with self._scope.lock:
                    job = self._jobs.popleft()
                job()
        except Cancelled:
            return
