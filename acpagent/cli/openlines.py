"""Lines at the bottom of a terminal that are written over while something goes on."""

from __future__ import annotations

from acpagent.cli.terminal import Terminal


class OpenLines:
    """One line for each key, the oldest on top. The cursor stays in the lowest one, so nothing else may be
    written before `close`. Only for a live terminal, and each text must fit one row."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._keys: list[str] = []
        self._settled: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def put(self, key: str, text: str) -> None:
        """Write the key's line, over what it said before if it is open."""
        if key in self._keys:
            self._terminal.rewrite(len(self._keys) - 1 - self._keys.index(key), text)
            return
        if self._keys:
            self._terminal.line()
        self._keys.append(key)
        self._terminal.write(text)

    def settle(self, key: str, text: str) -> None:
        """Write a line for the last time; the lines are closed once all are settled."""
        self.put(key, text)
        self._settled.add(key)
        if len(self._settled) == len(self._keys):
            self.close()

    def close(self) -> None:
        """Leave the lines as they are; what comes next is written below."""
        if self._keys:
            self._terminal.line()
            self._keys.clear()
            self._settled.clear()
