"""Lists of bounded length, of which the beginning and the end stay: how a session began, and how it stands."""

from __future__ import annotations

from collections.abc import Iterator


class Noted:
    """Texts by key, each with the turn it is of. What is noted again takes its new value, and if it was not among the
    first, its place at the end."""

    def __init__(self, first: int, last: int) -> None:
        self._first, self._last = first, last
        self._head: dict[str, tuple[str, str]] = {}
        self._tail: dict[str, tuple[str, str]] = {}
        self.left_out = 0

    def add(self, turn_id: str, key: str, text: str) -> None:
        if key in self._head or len(self._head) < self._first:
            self._head[key] = (turn_id, text)
            return
        self._tail.pop(key, None)
        self._tail[key] = (turn_id, text)
        if len(self._tail) > self._last:
            del self._tail[next(iter(self._tail))]
            self.left_out += 1

    def forget(self, turn_id: str) -> None:
        """The turn leaves no trace."""
        for part in (self._head, self._tail):
            for key in [key for key, (turn, _) in part.items() if turn == turn_id]:
                del part[key]

    def __iter__(self) -> Iterator[str]:
        for part in (self._head, self._tail):
            for _, text in part.values():
                yield text

    def __len__(self) -> int:
        return len(self._head) + len(self._tail)
