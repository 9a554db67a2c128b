"""An agent's process: started in a group of its own, listened to on stderr, and ended for certain."""

from __future__ import annotations

import codecs
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence

STOP_SECONDS = 5.0
# Between SIGTERM and SIGKILL, and for what only has to be collected.
_GRACE = 2.0
_TAIL_BYTES = 16 * 1024


class Process:
    """A running agent. Owns the process, its stderr and two daemon threads: one pumps stderr, one waits
    for the end. `read_fd` (its stdout) and `write_fd` (its stdin) belong to whoever talks with it.

    `on_stderr` gets pieces of text as they come, on the pump thread; if it raises it is not called again.
    `on_exit` is called on the waiting thread. Raises `OSError` when the command cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        on_stderr: Callable[[str], object] | None = None,
        on_exit: Callable[[], None] | None = None,
    ) -> None:
        self.ended = threading.Event()
        self._on_stderr = on_stderr
        self._on_exit = on_exit
        self._tail = bytearray()
        self._tail_lock = threading.Lock()
        stderr_fd = self._start(command, cwd, env)
        self._pump = threading.Thread(target=self._pump_stderr, args=(stderr_fd,), name="agent stderr", daemon=True)
        self._watch = threading.Thread(target=self._wait, name="agent process", daemon=True)
        self._pump.start()
        self._watch.start()

    def _start(self, command: Sequence[str], cwd: str | None, env: Mapping[str, str] | None) -> int:
        child_in, self.write_fd = os.pipe()
        self.read_fd, child_out = os.pipe()
        stderr_fd, child_err = os.pipe()
        try:
            self._popen = subprocess.Popen(
                list(command),
                stdin=child_in,
                stdout=child_out,
                stderr=child_err,
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
        except BaseException:
            for fd in (self.write_fd, self.read_fd, stderr_fd):
                os.close(fd)
            raise
        finally:
            for fd in (child_in, child_out, child_err):
                os.close(fd)
        return stderr_fd

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative for the signal that ended it."""
        return self._popen.returncode if self.ended.is_set() else None

    def stderr_tail(self, seconds: float = 0.0) -> str:
        """The last of what it wrote to stderr, waiting up to `seconds` for stderr to be complete."""
        self._pump.join(seconds)
        with self._tail_lock:
            return self._tail.decode("utf-8", "replace")

    def signal(self, number: int) -> None:
        """Send a signal to the whole group; nothing happens if it is gone."""
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            pass  # macOS says EPERM for a group of which only zombies are left

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Give it `seconds` to end by itself, then SIGTERM, then SIGKILL, to the whole group."""
        for patience, number in ((seconds, signal.SIGTERM), (_GRACE, signal.SIGKILL)):
            if self.ended.wait(patience):
                break
            self.signal(number)
        self.ended.wait(_GRACE)
        self._watch.join(_GRACE)
        self._pump.join(_GRACE)

    def _wait(self) -> None:
        self._popen.wait()
        # What the agent left behind in its group must not outlive it, nor hold its pipes open.
        self.signal(signal.SIGKILL)
        self.ended.set()
        if self._on_exit is not None:
            self._on_exit()

    def _pump_stderr(self, fd: int) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        try:
            while data := os.read(fd, 65536):
                with self._tail_lock:
                    self._tail += data
                    del self._tail[:-_TAIL_BYTES]
                self._hand_on(decoder.decode(data))
        finally:
            os.close(fd)

    def _hand_on(self, text: str) -> None:
        if self._on_stderr is None or not text:
            return
        try:
            self._on_stderr(text)
        except Exception:
            self._on_stderr = None  # the pump must go on, or the agent blocks on a full pipe
