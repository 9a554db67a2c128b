"""/reload: everything is found and read anew."""

from __future__ import annotations

from acpagent.runtime.commands.arguments import no_arguments
from acpagent.runtime.session.services import CommandDesk


def answer(words: str, desk: CommandDesk) -> str:
    """Queued behind the prompt that it came in. Raises `Refused`."""
    no_arguments(words, "/reload")
    desk.reload()
    return desk.say("reload_queued")
