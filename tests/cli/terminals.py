"""Commands as a person calls them: in a terminal of their own, or without one."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence

ACPAGENT = [sys.executable, "-P", "-m", "acpagent"]

# A process gets its terminal by asking for it; only then does Ctrl-C reach it.
_IN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
_STYLES = re.compile(r"\x1b\[[0-9;]*m")
CTRL_C, CTRL_D = "\x03", "\x04"


def call(
    words: Sequence[str], env: Mapping[str, str], cwd: str | os.PathLike[str], typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run `acpagent` where nobody watches, `typed` on its stdin."""
    return subprocess.run(
        [*ACPAGENT, *words],
        env=dict(env),
        cwd=cwd,
        input=typed,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


class Terminal:
    """`acpagent` in a pseudo-terminal of 90 columns. Use as a context manager; what it leaves is killed. `seen`
    is without styles, `everything` is all that was ever shown."""

    def __init__(
        self, words: Sequence[str], env: Mapping[str, str], cwd: str | os.PathLike[str], term: str = "xterm"
    ) -> None:
        self.seen = self.everything = ""
        self._master, slave = pty.openpty()
        environment = {**env, "TERM": term, "COLUMNS": "90"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _IN_TERMINAL, *ACPAGENT, *words],
            env=environment, cwd=cwd, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        )  # fmt: skip
        os.close(slave)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, text: str, seconds: float = 60.0) -> None:
        """Read until `text` has been seen since the last time; what came before it is not looked at again."""
        self._read_until(lambda: text in self.seen, f"{text!r} was not seen", seconds)
        self.seen = self.seen.partition(text)[2]

    def end(self, seconds: float = 60.0) -> tuple[int, str]:
        """Read to the end; the exit code, and what was seen since the last `wait_for`."""
        self._read_until(lambda: False, "no end", seconds)
        return self.process.wait(seconds), self.seen

    def _read_until(self, ready: Callable[[], bool], what: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not ready():
            left = deadline - time.monotonic()
            assert left > 0, f"{what}\n{self.seen}"
            if select.select([self._master], [], [], left)[0]:
                try:
                    data = os.read(self._master, 65536)
                except OSError:  # how Linux says that the other end is closed
                    data = b""
                if not data:
                    assert what == "no end", f"{what}\n{self.seen}"
                    return
                shown = data.decode("utf-8", "replace").replace("\r\n", "\n")
                self.seen = _STYLES.sub("", self.seen + shown)
                self.everything += shown
