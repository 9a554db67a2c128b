"""File descriptors that a thread can block on and another thread can wake it from."""

from __future__ import annotations

import os
import select
import threading

# One read takes what a pipe holds on Linux.
_READ_SIZE = 64 * 1024
# What a pipe that polled writable takes without blocking.
_WRITE_SIZE = select.PIPE_BUF


class Waker:
    """A pipe that makes a poll return. `wake` may be called from any thread, from a signal handler (the
    lock is re-entrant for that), twice, and after `close`. A wake is for good."""

    __slots__ = ("_lock", "_write_fd", "read_fd")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.read_fd, self._write_fd = os.pipe()

    def wake(self) -> None:
        with self._lock:
            write_fd, self._write_fd = self._write_fd, -1
            if write_fd >= 0:
                # A byte, and not the closing alone: a forked child may hold the write end open.
                os.write(write_fd, b"\0")
                os.close(write_fd)

    def close(self) -> None:
        """For the thread that polls, when it is done."""
        with self._lock:
            for fd in (self.read_fd, self._write_fd):
                if fd >= 0:
                    os.close(fd)
            self.read_fd = self._write_fd = -1


class ReadEnd:
    """The descriptor a connection is read from. `read` and `close` belong to one thread."""

    __slots__ = ("_fd", "_poll", "_waker")

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._waker = Waker()
        self._poll = _poll(fd, select.POLLIN, self._waker)

    def read(self) -> bytes | None:
        """Some bytes; empty at the end of the stream; None once woken. Raises `OSError`."""
        while True:
            if _woken(self._poll, self._waker):
                return None
            try:
                return os.read(self._fd, _READ_SIZE)
            except BlockingIOError:
                continue

    def wake(self) -> None:
        """Make this and every later `read` return None. Callable from any thread and from signal handlers."""
        self._waker.wake()

    def close(self) -> None:
        os.close(self._fd)
        self._waker.close()


class WriteEnd:
    """The descriptor a connection is written to. `write` and `close` belong to one thread."""

    __slots__ = ("_fd", "_poll", "_waker")

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._waker = Waker()
        self._poll = _poll(fd, select.POLLOUT, self._waker)

    def write(self, data: bytes) -> bool:
        """Write all of it; False if woken before that. Raises `OSError`, `BrokenPipeError` among them.

        Written in pieces that cannot block once the poll says so, so that a peer that stopped reading
        never holds the thread beyond a `wake`.
        """
        view = memoryview(data)
        while view:
            if _woken(self._poll, self._waker):
                return False
            try:
                view = view[os.write(self._fd, view[:_WRITE_SIZE]) :]
            except BlockingIOError:
                continue
        return True

    def wake(self) -> None:
        """Make this and every later `write` give up."""
        self._waker.wake()

    def close(self) -> None:
        os.close(self._fd)
        self._waker.close()


def _poll(fd: int, events: int, waker: Waker) -> select.poll:
    poll = select.poll()
    poll.register(fd, events)
    poll.register(waker.read_fd, select.POLLIN)
    return poll


def _woken(poll: select.poll, waker: Waker) -> bool:
    """Block until the descriptor or the waker is ready; the waker wins."""
    return any(fd == waker.read_fd for fd, _ in poll.poll())
