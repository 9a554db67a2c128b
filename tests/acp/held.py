"""What holds an agent's work open for as long as a test wants, by means that a real machine has too."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 60.0


class HeldFile:
    """A file of `text` that can be held: then it is a pipe, and who reads it waits until the test lets go."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self._holds = 0
        self._read, self._go_on = threading.Event(), threading.Event()
        path.write_text(text)

    def hold(self) -> None:
        """Whoever reads it from now on waits."""
        self._holds += 1
        pipe = self.path.with_suffix(f".{self._holds}")
        os.mkfifo(pipe)
        self._read, self._go_on = threading.Event(), threading.Event()
        server = threading.Thread(target=self._serve, args=(pipe, self._read, self._go_on), daemon=True)
        server.start()
        os.link(pipe, self.path.with_suffix(".new"))
        self.path.with_suffix(".new").replace(self.path)

    def wait(self) -> None:
        """Until somebody reads it. Raises AssertionError when nobody does."""
        assert self._read.wait(PATIENCE), f"nobody reads {self.path.name}"

    def let_go(self, text: str | None = None) -> None:
        """A file again, for whoever waits and for all that come; `text` replaces what was in it."""
        self.text = self.text if text is None else text
        self.path.with_suffix(".new").write_text(self.text)
        self.path.with_suffix(".new").replace(self.path)
        self._go_on.set()

    def _serve(self, pipe: Path, read: threading.Event, go_on: threading.Event) -> None:
        """Serves the one reader that comes, also one that had the pipe's name before it was a file again."""
        fd = os.open(pipe, os.O_WRONLY)
        read.set()
        go_on.wait()
        os.write(fd, self.text.encode())
        os.close(fd)


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
