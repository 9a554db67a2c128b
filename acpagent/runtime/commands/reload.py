"""/reload: everything is found and read anew."""

from __future__ import annotations

from acpagent.runtime.session.services import CommandDesk


def answer(words: str, desk: CommandDesk) -> str:
    """Queued behind the prompt that it came in."""
    desk.reload()
    return desk.say("reload_queued")
