"""/reasoning: how hard the model thinks."""

from __future__ import annotations

from acpagent.config.settings import NO_EFFORT
from acpagent.core.bounds import one_line
from acpagent.runtime.commands.arguments import Refused, split
from acpagent.runtime.session.services import CommandDesk

# What other agents call leaving the choice to the server.
_DEFAULT = "default"


def answer(words: str, desk: CommandDesk) -> str:
    """Show the effort, or ask for another, which a rebuild behind this prompt brings. Raises `Refused`, `Fault`."""
    wanted = [word.lower() for word in split(words)]
    controls = desk.requested()
    model, levels = controls.values["model"], ", ".join(f"`{effort}`" for effort in controls.efforts)
    if not controls.efforts:
        raise Refused("reasoning_none", model=model)
    if not wanted:
        return desk.say("reasoning_now", effort=controls.values["effort"], model=model, levels=levels)
    effort = NO_EFFORT if wanted == [_DEFAULT] else " ".join(wanted)
    if effort not in controls.efforts:
        raise Refused("reasoning_unknown", effort=one_line(effort, 40), model=model, levels=levels)
    if effort == controls.values["effort"]:
        return desk.say("reasoning_same", effort=effort)
    desk.configure("effort", effort)
    return desk.say("reasoning_set", effort=effort)
