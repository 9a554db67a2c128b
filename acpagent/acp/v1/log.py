"""Remarks of the agent on stderr; stdout belongs to the protocol."""

from __future__ import annotations

from acpagent.core import diagnostics

NAME = "acpagent acp"


def log(text: str) -> None:
    """One line, marked as ours. Never a secret, never a value from the peer."""
    diagnostics.say(NAME, text)


def debug_machine(session_id: str, event: str, state: str) -> None:
    """An event of a session's machine (`ACPAGENT_LOG=debug`)."""
    log(f"debug: session {session_id}: {event} -> {state}")


def report(what: str, fault: BaseException) -> None:
    """An unexpected failure."""
    diagnostics.report(NAME, what, fault)
