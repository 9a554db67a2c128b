"""/reasoning: how hard the model thinks."""

from __future__ import annotations

from collections.abc import Sequence

from acpagent.config.settings import NO_EFFORT, NO_THOUGHT, THOUGHT_TOKENS
from acpagent.core.bounds import one_line
from acpagent.runtime.commands.arguments import Refused, split
from acpagent.runtime.session.services import CommandDesk

# What can be asked of any model, and the levels that come nearest to it, the best first.
_WISHES = {
    "default": (NO_EFFORT,),
    "off": (*NO_THOUGHT, "minimal", "low"),
    "on": ("enabled", "adaptive", "medium", "high", "low", "xhigh", "max"),
}
_BUDGET = "budget"


def answer(words: str, desk: CommandDesk) -> str:
    """Show the effort, or ask for another, which a rebuild behind this prompt brings. Raises `Refused`, `Fault`."""
    wanted = [word.lower() for word in split(words)]
    controls = desk.requested()
    present, model = controls.values["effort"], controls.values["model"]
    levels = ", ".join(f"`{effort}`" for effort in controls.efforts)
    if not controls.efforts:
        raise Refused("reasoning_none", model=model)
    if not wanted:
        return desk.say("reasoning_now", effort=present, model=model, levels=levels)
    effort = _nearest(wanted, controls.efforts)
    asked = one_line(" ".join(wanted), 40)
    if effort is None:
        raise Refused("reasoning_unknown", effort=asked, model=model, levels=levels)
    if effort == present:
        return desk.say("reasoning_same", effort=effort)
    desk.configure("effort", effort)
    if asked in (effort, "default"):
        return desk.say("reasoning_set", effort=effort)
    return desk.say("reasoning_nearest", wanted=asked, model=model, effort=effort)


def _nearest(wanted: list[str], levels: Sequence[str]) -> str | None:
    """The level that is meant; None if there is none like it."""
    if wanted[0] == _BUDGET:
        return _within(wanted[1:], levels)
    word = " ".join(wanted)
    if word in levels:
        return word
    return next((level for level in _WISHES.get(word, ()) if level in levels), None)


def _within(amount: list[str], levels: Sequence[str]) -> str | None:
    """The level that thinks most within a number of tokens, else the one that thinks least. Raises `Refused`."""
    if len(amount) != 1 or not amount[0].isdecimal():
        raise Refused("reasoning_budget")
    by_tokens = sorted((THOUGHT_TOKENS[level], level) for level in levels if level in THOUGHT_TOKENS)
    if int(amount[0]) == 0 or not by_tokens:
        return _nearest(["on" if int(amount[0]) else "off"], levels)
    return next((level for tokens, level in reversed(by_tokens) if tokens <= int(amount[0])), by_tokens[0][1])
