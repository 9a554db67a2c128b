"""Calls that acpagent makes itself: what it has to ask of the person between two model calls, as a tool call, so that
clients show and ask it like any other. The model never reads of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from acpagent.core.blocks import Text
from acpagent.core.catalogue import Phrase
from acpagent.core.events import ToolChanged
from acpagent.core.history import CallSettled, Entry, Permitted
from acpagent.core.host import Choice, Host, PermissionAsk
from acpagent.core.scope import Cancelled, Scope
from acpagent.core.toolcalls import ToolCall, moved
from acpagent.runtime.turn.speaker import new_id

CHOICES: tuple[Choice, ...] = ("deny", "once")
# `nobody`: an error or a lost client, which is no answer at all.
Said = Literal["once", "deny", "nobody"]


@dataclass(frozen=True, slots=True)
class HostCalls:
    """Makes the calls of one turn, on the session worker."""

    turn_id: str
    scope: Scope
    host: Host
    record: Callable[[Entry], None]

    def ask(self, name: str, text: str) -> Said:
        """Put `text` to the person, whatever the approval mode is, and wait as long as it takes. The title is what the
        catalogue has for a call of that name.

        Raises `Cancelled` if the turn is cancelled or the person closes the question (PERM-05); the call is settled
        first on every road (CAN-05).
        """
        title = self._said(name)
        call = ToolCall(new_id("call"), name, title, "switch_mode", "pending", content=(Text(text),))
        asked_at = time.monotonic()
        self.host.emit(ToolChanged(call))
        try:
            decision = self.host.permit(PermissionAsk(call, CHOICES, ""), self.scope)
            if decision.cancelled:
                raise Cancelled
        except Cancelled:
            self._settle(call, "cancelled", asked_at)
            raise
        said: Said = "nobody" if decision.choice is None else "once" if decision.choice == "once" else "deny"
        self._settle(call, said, asked_at)
        return said

    def _said(self, what: str) -> Phrase:
        return Phrase(f"call_{what}")

    def _settle(self, call: ToolCall, outcome: str, asked_at: float) -> None:
        waited = round((time.monotonic() - asked_at) * 1000)
        words = self._said(outcome)
        ended = moved(
            call,
            "completed" if outcome == "once" else "failed",
            content=(*call.content, Text(words)),
            raw_output={"outcome": outcome},
            facts={"duration_ms": waited},
        )
        self.record(Permitted(self.turn_id, call.id, call.name, call.title, outcome, waited_ms=waited))
        self.record(CallSettled(self.turn_id, ended, words))
        self.host.emit(ToolChanged(ended))
