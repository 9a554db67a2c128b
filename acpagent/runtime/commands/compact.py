"""/compact and /auto-compact: summarising the conversation, now or by itself."""

from __future__ import annotations

from acpagent.core.bounds import one_line
from acpagent.runtime.commands.arguments import Refused, split
from acpagent.runtime.session import slash
from acpagent.runtime.session.services import CommandDesk

_CONTROL = "auto_compact"


def answer(words: str, desk: CommandDesk) -> str:
    """Summarise the conversation; the words are what the person wants of the summary. Raises `Cancelled`."""
    done = desk.upkeep.compact(slash.unquoted(words))
    if done is None:
        return desk.say("compact_nothing")
    how = desk.say("compact_by_model" if done.by_model else "compact_by_record")
    kept = desk.say("compact_kept" if done.kept_from else "compact_kept_nothing")
    return f"{how} {kept}"


def answer_auto(words: str, desk: CommandDesk) -> str:
    """Show or set whether it happens by itself. Raises `Refused`."""
    wanted = [word.lower() for word in split(words)]
    if len(wanted) > 1 or (wanted and wanted[0] not in ("on", "off")):
        raise Refused("auto_compact_unknown", words=one_line(" ".join(wanted), 40))
    if wanted:
        desk.set_controls({_CONTROL: wanted[0]})
    at = round(desk.upkeep.budget().at * 100)
    return desk.say(f"auto_compact_{desk.controls[_CONTROL]}", percent=at)
