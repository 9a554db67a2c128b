"""Saying on stderr what went wrong, quoting nobody: a message may hold a secret or the peer's words (RPC-24)."""

from __future__ import annotations

import select
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

# Letters, of at most four bytes each, that a pipe takes without blocking when it polls writable.
_PIECE = select.PIPE_BUF // 4
_lock = threading.Lock()  # this module's, a leaf: between the poll and the write nobody else of us may write


def say(name: str, text: str) -> None:
    """One remark of the component `name`. An absent, broken or closed stderr is no reason to fail, and one that
    nobody reads no reason to wait: what it has no room for is dropped."""
    line = f"[{name}] {text.rstrip()}\n"
    try:
        with _lock:
            for start in range(0, len(line), _PIECE):
                if not _has_room(sys.stderr):
                    return
                sys.stderr.write(line[start : start + _PIECE])
                sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass


def flush() -> None:
    """Let out what others printed there, before an end without ceremony."""
    try:
        if _has_room(sys.stderr):
            sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass


def report(name: str, what: str, fault: BaseException) -> None:
    """An unexpected failure: its type and where it happened, never its text."""
    import traceback

    frames = "".join(traceback.format_tb(fault.__traceback__))
    say(name, f"{type(fault).__name__} in {what}\n{frames}")


def _has_room(stream: TextIO) -> bool:
    """Whether a little can be written without waiting. What has no descriptor never makes anybody wait."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(0))
