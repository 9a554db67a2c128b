"""/reload: everything is found and read anew."""

from __future__ import annotations

from acpagent.runtime.session.services import CommandDesk

DESCRIPTION = "Read configuration, skills, commands, hooks, servers and plugins anew"


def answer(words: str, desk: CommandDesk) -> str:
    """Queued behind the prompt that it came in."""
    desk.reload()
    return "Everything is read anew behind this prompt. If something is broken, all stays as it was and you are told."
