"""Waiting for what no message announces: what other processes write, and what has to end by itself."""

from __future__ import annotations

import ctypes
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# How long to wait for what must come, in seconds: much longer than it takes on a machine that has other things to do.
PATIENCE = 60.0
# inotify: modified, attributes changed, moved here, made, deleted.
_ANYTHING = 0x002 | 0x004 | 0x080 | 0x100 | 0x200


def await_files(folder: Path, ready: Callable[[], Any], what: str = "it", seconds: float = PATIENCE) -> Any:
    """Wait until `ready()` gives something true, and return that. It is called again whenever another process did
    something to a file of the folder, which must be there. Raises AssertionError."""
    deadline = time.monotonic() + seconds
    with _watched(folder) as happened:
        while not (found := ready()):
            left = deadline - time.monotonic()
            assert left > 0, f"waited in vain for {what} in {folder}: {sorted(os.listdir(folder))}"
            happened(left)
    return found


def appears(path: Path, seconds: float = PATIENCE) -> None:
    """Wait for a file that another process makes. Raises AssertionError."""
    await_files(path.parent, path.exists, path.name, seconds)


@contextmanager
def _watched(folder: Path) -> Iterator[Callable[[float], Any]]:
    """A function that waits, so many seconds at most, until something was done in the folder."""
    if sys.platform != "linux":
        yield lambda seconds: time.sleep(min(seconds, 0.02))
        return
    libc = ctypes.CDLL(None, use_errno=True)
    events = libc.inotify_init1(os.O_CLOEXEC)
    assert events >= 0, os.strerror(ctypes.get_errno())
    try:
        added = libc.inotify_add_watch(events, os.fsencode(folder), _ANYTHING)
        assert added >= 0, f"{folder}: {os.strerror(ctypes.get_errno())}"
        yield lambda seconds: select.select([events], [], [], seconds)[0] and os.read(events, 65536)
    finally:
        os.close(events)


def until(reached: Callable[[], Any], what: str = "it", seconds: float = PATIENCE) -> None:
    """Wait for a quantity that nobody announces, such as how many threads another process has. Raises
    AssertionError."""
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not reached():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        pause.wait(0.01)


def descriptors() -> int:
    """How many we have open."""
    return len(os.listdir("/dev/fd"))


def left_of(before: set[threading.Thread], seconds: float = PATIENCE) -> list[threading.Thread]:
    """The threads that were not there before and do not end in that time."""
    deadline = time.monotonic() + seconds
    new = set(threading.enumerate()) - before - {threading.current_thread()}
    for thread in new:
        thread.join(max(0.0, deadline - time.monotonic()))
    return [thread for thread in new if thread.is_alive()]


def is_called(server: socket.socket) -> bool:
    """Whether somebody has connected to a listening socket."""
    return bool(select.select([server], [], [], 0)[0])


def processor_seconds(pid: int) -> float:
    """The time that a process and the children it has waited for spent on a processor, however long it had to wait for
    one."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
