"""Saying on stderr what went wrong, quoting nobody: a message may hold a secret or the peer's words (RPC-24)."""

from __future__ import annotations

import sys


def say(name: str, text: str) -> None:
    """One remark of the component `name`. An absent, broken or closed stderr is no reason to fail."""
    try:
        sys.stderr.write(f"[{name}] {text.rstrip()}\n")
    except (AttributeError, OSError, ValueError):
        pass


def flush() -> None:
    """Let out what was said, before an end without ceremony."""
    try:
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass


def report(name: str, what: str, fault: BaseException) -> None:
    """An unexpected failure: its type and where it happened, never its text."""
    import traceback

    frames = "".join(traceback.format_tb(fault.__traceback__))
    say(name, f"{type(fault).__name__} in {what}\n{frames}")
