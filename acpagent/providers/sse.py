"""Server-sent events without I/O: feed bytes as they come, get the data of each event."""

from __future__ import annotations

_BOM = b"\xef\xbb\xbf"
LIMIT = 32 * 1024 * 1024


class Oversized(Exception):
    """An event of more than `LIMIT` bytes."""


class Decoder:
    """Decodes one stream. Lines end in LF, CRLF or CR, in bytes: U+2028 and its like are ordinary letters."""

    __slots__ = ("_after_cr", "_data", "_first", "_line", "_size")

    def __init__(self) -> None:
        self._line: list[bytes] = []  # pieces of the line that has not ended yet
        self._data: list[bytes] = []  # data lines of the event that has not ended yet
        self._size = 0  # bytes in the two
        self._first = True
        self._after_cr = False  # a LF at the very start belongs to a CR that was taken for a line's end

    def feed(self, data: bytes) -> list[bytes]:
        """The data of every event that `data` completes, its lines joined by LF. Raises `Oversized`."""
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
            self._after_cr = False
        if not data:
            return []
        self._after_cr = data.endswith(b"\r")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *ended, rest = data.split(b"\n")
        events: list[bytes] = []
        for line in ended:
            if self._line:
                line = b"".join((*self._line, line))
                self._line.clear()
            self._take(line, events)
        if rest:
            self._line.append(rest)
            self._grow(len(rest))
        return events

    def end(self) -> list[bytes]:
        """The data of a last event that the stream's end completes: some servers leave the blank line out."""
        events: list[bytes] = []
        for line in (b"".join(self._line), b""):
            self._take(line, events)
        self._line.clear()
        return events

    def _take(self, line: bytes, events: list[bytes]) -> None:
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            if self._data:
                events.append(b"\n".join(self._data))
                self._data.clear()
            self._size = 0
            return
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" "))
            self._grow(len(value))

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > LIMIT:
            raise Oversized
