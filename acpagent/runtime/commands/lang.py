"""/lang: the language that acpagent speaks with the person in this session."""

from __future__ import annotations

from acpagent.core.bounds import one_line
from acpagent.core.catalogue import LANGUAGES
from acpagent.runtime.commands.arguments import Refused, split
from acpagent.runtime.session.services import CommandDesk


def answer(words: str, desk: CommandDesk) -> str:
    """Raises `Refused`."""
    wanted = [word.lower() for word in split(words)]
    if not wanted:
        return desk.say("lang_now", language=LANGUAGES.get(desk.language, desk.language), known=_known())
    if len(wanted) > 1 or wanted[0] not in LANGUAGES:
        raise Refused("lang_unknown", language=one_line(" ".join(wanted), 40), known=_known())
    desk.set_controls({"language": wanted[0]})
    return desk.say("lang_set", language=LANGUAGES[wanted[0]])


def _known() -> str:
    return ", ".join(f"`{code}` ({name})" for code, name in LANGUAGES.items())
