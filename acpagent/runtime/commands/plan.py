"""/plan: whether acpagent plans, pursues a goal, or works."""

from __future__ import annotations

from acpagent.core.bounds import one_line
from acpagent.runtime.commands.arguments import Refused, split
from acpagent.runtime.session.services import CommandDesk

_MODES = {
    "on": "plan",
    "plan": "plan",
    "planning": "plan",
    "off": "normal",
    "agent": "normal",
    "normal": "normal",
    "goal": "goal",
}


def answer(words: str, desk: CommandDesk) -> str:
    """Raises `Refused`."""
    wanted = [word.lower() for word in split(words)]
    mode = desk.controls["mode"]
    if not wanted:
        return desk.say("plan_now", mode=desk.say(f"mode_{mode}"), about=desk.say(f"mode_{mode}_about"))
    if wanted == ["toggle"]:
        wanted = ["off" if mode == "plan" else "plan"]
    if len(wanted) > 1 or wanted[0] not in _MODES:
        raise Refused("plan_unknown", word=one_line(" ".join(wanted), 40))
    mode = _MODES[wanted[0]]
    desk.set_controls({"mode": mode})
    return desk.say("plan_set", mode=desk.say(f"mode_{mode}"), about=desk.say(f"mode_{mode}_about"))
