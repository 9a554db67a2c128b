"""What holds an agent's work open for as long as a test wants, by means that a real machine has too."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 10.0


class HeldFile:
    """A file of `text` that can be held: then it is a pipe, and who reads it waits until the test lets go."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self._opened = threading.Event()
        self._fd = -1
        path.write_text(text)

    def hold(self) -> None:
        """Whoever reads it from now on waits."""
        self.path.unlink()
        os.mkfifo(self.path)

    def wait(self) -> None:
        """Until somebody reads it. Raises AssertionError when nobody does."""
        threading.Thread(target=self._open, name="held file", daemon=True).start()
        assert self._opened.wait(PATIENCE), f"nobody reads {self.path.name}"

    def let_go(self, text: str | None = None) -> None:
        """A file again, for whoever waits and for all that come; `text` replaces what was in it."""
        self.text = self.text if text is None else text
        self.path.unlink()
        self.path.write_text(self.text)
        if self._opened.is_set():
            self._opened.clear()
            os.write(self._fd, self.text.encode())
            os.close(self._fd)

    def _open(self) -> None:
        self._fd = os.open(self.path, os.O_WRONLY)
        self._opened.set()


def script(words: str) -> str:
    """A script that answers every message with these words."""
    return json.dumps({"turns": [{"prompt": ".*", "replies": [[{"text": words}]]}]})


@contextmanager
def locked_store(home: Path) -> Iterator[None]:
    """Nothing can be stored meanwhile, as when another process takes its time over a large transaction."""
    other = sqlite3.connect(home / "store.sqlite3", isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
    finally:
        other.close()
