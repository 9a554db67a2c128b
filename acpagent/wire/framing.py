"""Bytes in, lines out: one JSON text per line, whatever way the bytes were split on their journey."""

from __future__ import annotations

# The limit of the TypeScript SDK, so that what it can send we can read (TRN-07).
LINE_LIMIT = 32 * 1024 * 1024

_BLANKS = b" \t\r"


class Oversize:
    """Stands where a line longer than the limit was skipped."""

    __slots__ = ()


class Framer:
    """Splits a byte stream into lines without their ends; blank lines vanish (TRN-08).

    Every split of the same bytes gives the same lines (TRN-09). Only new bytes are looked at, so the
    cost is linear in the bytes fed, however many pieces a line comes in.
    """

    __slots__ = ("_limit", "_pending", "_skipping")

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._pending = bytearray()
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | Oversize]:
        """The lines that `data` completes. A line is over the limit as soon as its bytes are."""
        lines: list[bytes | Oversize] = []
        pieces = data.split(b"\n")
        tail = pieces.pop()
        for piece in pieces:
            self._append(piece, lines)
            self._end_line(lines)
        self._append(tail, lines)
        return lines

    def finish(self) -> list[bytes | Oversize]:
        """The last line, if the stream ended without a newline (TRN-11)."""
        lines: list[bytes | Oversize] = []
        self._end_line(lines)
        return lines

    def _append(self, piece: bytes, lines: list[bytes | Oversize]) -> None:
        if self._skipping:
            return
        if len(self._pending) + len(piece) > self._limit:
            self._pending = bytearray()
            self._skipping = True
            lines.append(Oversize())
        else:
            self._pending += piece

    def _end_line(self, lines: list[bytes | Oversize]) -> None:
        line = bytes(self._pending).strip(_BLANKS)
        # A new buffer, not `clear()`: the room that one huge line took must not be kept for ever.
        self._pending = bytearray()
        self._skipping = False
        if line:
            lines.append(line)
