"""Finding every process that comes from one start, whatever group, session or parent it has by now."""

from __future__ import annotations

import os
import select
import time
import uuid
from pathlib import Path

MARK = "ACPAGENT_TEST_RUN"


def new_mark() -> dict[str, str]:
    """An environment variable that descendants inherit, as an environment."""
    return {MARK: uuid.uuid4().hex}


def marked(mark: dict[str, str]) -> dict[int, str]:
    """The living processes that carry the mark, pid to command line. Without `/proc` there are none."""
    found = {}
    wanted = f"{MARK}={mark[MARK]}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # gone meanwhile, or not ours
    return found


def survivors(mark: dict[str, str], seconds: float) -> dict[int, str]:
    """What still carries the mark when `seconds` are over; returns as soon as nothing does."""
    deadline = time.monotonic() + seconds
    while alive := marked(mark):
        for pid in alive:
            if not gone(pid, deadline - time.monotonic()):
                return alive
    return {}


def gone(pid: int, seconds: float) -> bool:
    """Wait until a process, anybody's child, has ended."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        return bool(poll.poll(max(0.0, seconds) * 1000))
    finally:
        os.close(fd)
