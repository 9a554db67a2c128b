"""The connection's own worker: requests with I/O that belong to no live session, one after the other."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from acpagent.core.catalogue import Phrase
from acpagent.core.faults import Fault, OurFault, TheirFault
from acpagent.wire import codes


class Job:
    """One request in the lane; `refuse` answers it with a fault. Either the work or a withdrawal gets to answer."""

    def __init__(self, work: Callable[[], None], refuse: Callable[[Fault], None]) -> None:
        self._work = work
        self._refuse = refuse
        self._lock = threading.Lock()
        self._taken = False

    def run(self) -> None:
        if not self._take():
            return
        try:
            self._work()
        except Fault as fault:
            self._refuse(fault)
        except Exception as error:
            self._refuse(OurFault(Phrase("internal_error", kind=type(error).__name__)))

    def withdraw(self) -> None:
        """Not wanted any more: answered -32800 if it has not begun, else it finishes normally."""
        if self._take():
            self._refuse(TheirFault(codes.CANCELLED, Phrase("request_cancelled")))

    def _take(self) -> bool:
        with self._lock:
            taken, self._taken = self._taken, True
            return not taken


class ConnectionLane:
    """Owns its thread, started at the first job, and the queue to it, under one leaf lock."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, job: Job) -> None:
        """Queue a job; once the lane is closed it is withdrawn at once."""
        with self._changed:
            if not self._closed:
                self._jobs.append(job)
                self._changed.notify()
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="acpagent-connection", daemon=True)
                    self._thread.start()
                return
        job.withdraw()

    def close(self, deadline: float) -> None:
        """Take no more. What is queued is still done (TRN-11) until `deadline` (monotonic seconds); the rest is
        answered -32800 (CAN-20)."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join(max(0.0, deadline - time.monotonic()))
        with self._changed:
            left, self._jobs = list(self._jobs), deque()
        for job in left:
            job.withdraw()

    def _run(self) -> None:
        while (job := self._next()) is not None:
            job.run()

    def _next(self) -> Job | None:
        with self._changed:
            self._changed.wait_for(lambda: bool(self._jobs) or self._closed)
            return self._jobs.popleft() if self._jobs else None
