"""How a turn's loop can end, and what that is to whoever prompted. One table decides."""

from __future__ import annotations

from typing import Literal

from acpagent.core.catalogue import Phrase
from acpagent.core.events import Stop
from acpagent.core.faults import Fault, OurFault, TheirFault
from acpagent.core.model import ProviderFault
from acpagent.wire import codes

End = Literal["finished", "length", "rounds", "budget", "refusal", "cancelled"]

STOPS: dict[End, Stop] = {
    "finished": "end_turn",
    "length": "max_tokens",
    "rounds": "max_turn_requests",
    "budget": "max_tokens",
    "refusal": "refusal",
    "cancelled": "cancelled",
}

# Kinds of a provider's failure, for which a person can do the same.
_REMEDIES = {"auth": "setup"}


def provider_fault(fault: ProviderFault) -> Fault:
    """A provider's failure as the answer to the prompt; never a silent end (TURN-10, AUTH-15)."""
    remedy = Phrase(f"remedy_{_REMEDIES.get(fault.kind, fault.kind)}")
    message = fault.message
    if remedy not in message:
        message = Phrase("model_says_remedy", message=message, remedy=remedy)
    if fault.kind == "auth":
        return TheirFault(codes.AUTH_REQUIRED, message)
    return OurFault(message, {"kind": fault.kind, "details": fault.message})


def leaves_no_trace(stop: Stop | None, fault: Fault | None) -> bool:
    """Whether the turn is tombstoned: a refused prompt (TURN-08), and one the client will send again after signing
    in (AUTH-18)."""
    return stop == "refusal" or (fault is not None and fault.code == codes.AUTH_REQUIRED)
