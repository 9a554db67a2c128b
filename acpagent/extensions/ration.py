"""How often something may happen: some at once, and then so many a second."""

from __future__ import annotations

import threading
import time


class Ration:
    """Lets `burst` through at once and `per_second` in the long run. Any thread; its lock is a leaf."""

    def __init__(self, burst: float, per_second: float) -> None:
        self._burst = burst
        self._per_second = per_second
        self._left = burst
        self._at = time.monotonic()
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Whether it may happen once more now."""
        with self._lock:
            now = time.monotonic()
            self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
            self._at = now
            if self._left < 1:
                return False
            self._left -= 1
            return True
