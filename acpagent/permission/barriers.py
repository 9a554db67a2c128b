"""The mode barrier: while a plan is made nothing is changed, whatever rules and approval say.

It stands twice: a call is judged by what it declares that it would do, and right before it acts once more, together
with what its tool is. What declares nothing is refused.
"""

from __future__ import annotations

from acpagent.core.catalogue import Phrase
from acpagent.core.toolcalls import Effect, Proposal, Tool, is_harmless

REFUSAL = Phrase("plan_mode_bars")
_HARMLESS = frozenset({"read", "plan", "question", "job", "recall"})


def bars(proposal: Proposal) -> bool:
    """Whether a call is refused for what it declares."""
    return not proposal.effects or not all(_is_harmless(effect) for effect in proposal.effects)


def bars_tool(tool: Tool, proposal: Proposal) -> bool:
    """Whether a call is refused for what it declares, or for what its tool is: a tool may declare too little."""
    return bars(proposal) or not is_harmless(tool)


def _is_harmless(effect: Effect) -> bool:
    """Fetching says from where; what only says that it reaches out may do anything there."""
    return effect.kind in _HARMLESS or (effect.kind == "network" and effect.host is not None)
