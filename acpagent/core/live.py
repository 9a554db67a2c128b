"""The output of something that runs, as far as it has come."""

from __future__ import annotations

import codecs
import threading
from collections import deque
from typing import TYPE_CHECKING

from acpagent.core import bounds
from acpagent.core.bounds import Excerpt

if TYPE_CHECKING:
    from collections.abc import Callable


class LiveOutput:
    """Keeps the first and the last bytes written, `limit` in all, however much comes.

    Owner: the call whose output it is. `write` may be called from any thread. Its lock is a leaf; `on_dirty`
    is called with no lock held, by the thread that wrote, and only when nothing was new before that write.
    """

    def __init__(self, on_dirty: Callable[[], None] | None = None, limit: int = 65_536) -> None:
        self.limit = limit
        self._on_dirty = on_dirty
        self._lock = threading.Lock()
        self._total = 0
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._dirty = False

    @property
    def total(self) -> int:
        """Bytes written so far, kept or not."""
        return self._total

    @property
    def dirty(self) -> bool:
        """Whether something was written since the last snapshot."""
        return self._dirty

    def write(self, data: bytes) -> None:
        """Take `data`. Never blocks."""
        if not data:
            return
        with self._lock:
            self._total += len(data)
            self._keep(data)
            was_dirty, self._dirty = self._dirty, True
        if not was_dirty and self._on_dirty is not None:
            self._on_dirty()

    def snapshot(self) -> str:
        """What is there now, clean and at most `limit` bytes; it counts as seen from here on.

        A character whose last bytes have not come yet is held back.
        """
        return self._excerpt(self.limit, seen=True, final=False).text

    def excerpt(self, limit: int) -> Excerpt:
        """All that came, once no more will: clean, at most `limit` bytes."""
        return self._excerpt(limit, seen=False, final=True)

    def _keep(self, data: bytes) -> None:
        room = self.limit // 2 - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        kept = self.limit - self.limit // 2
        data = data[-kept:] if kept else b""
        if not data:
            return
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail_size - len(self._tail[0]) >= kept:
            self._tail_size -= len(self._tail.popleft())

    def _excerpt(self, limit: int, seen: bool, final: bool) -> Excerpt:
        with self._lock:
            if seen:
                self._dirty = False
            head, tail, total = bytes(self._head), b"".join(self._tail), self._total
        tail = tail[-(self.limit - self.limit // 2) :]
        left_out = total - len(head) - len(tail)
        if not left_out:
            return bounds.cut(bounds.clean(_decode(head + tail, final)), limit)
        first = bounds.clean(_decode(head, final=False))
        return bounds.join(first, bounds.clean(_decode(_from_boundary(tail), final)), left_out, limit)


def _decode(data: bytes, final: bool) -> str:
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data, final)


def _from_boundary(data: bytes) -> bytes:
    """`data` without the rest of a character whose start was left out."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]
