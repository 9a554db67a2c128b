"""Asking the model for a text, such as a summary: a request of its own, without tools, that nobody has to watch or wait
for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from acpagent.core.events import Usage
from acpagent.core.model import Finished, ModelRequest, Provider, TextDelta, UsageReport, UserMessage
from acpagent.core.scope import Cancelled, Scope, run_closers
from acpagent.runtime.turn.modelcall import Handoff


@dataclass(frozen=True, slots=True)
class Written:
    """What the model wrote, empty if nothing came of it, and what it took; None: nobody counted."""

    text: str
    usage: UsageReport | None = None


def ask(
    provider: Provider, system: str, text: str, scope: Scope, seconds: float, hear: Callable[[str], None]
) -> Written:
    """As `answered`, but whatever goes wrong is an answer without text. Raises `Cancelled`."""
    try:
        return answered(provider, system, text, scope, seconds, hear)
    except Cancelled:
        raise
    except Exception:  # no failure of a summary is worth a turn
        return Written("")


def answered(
    provider: Provider,
    system: str,
    text: str,
    scope: Scope,
    seconds: float,
    hear: Callable[[str], None] = lambda words: None,
) -> Written:
    """Ask, and wait `seconds` at most; `hear` is told the words as they come. Runs on the session worker. Raises
    `Cancelled` as soon as the scope is, and `ProviderFault`."""
    fragments = tuple(provider.encode(UserMessage(text)))
    request = ModelRequest(provider.encode_system(system), provider.encode_tools(()), fragments)
    own = Scope(scope.lock)

    def end() -> None:
        run_closers(own.cancel())

    forget = scope.add_closer(end)
    handoff = Handoff(own)
    helper = threading.Thread(target=handoff.read_all, args=(provider, request), name="acpagent-summary", daemon=True)
    try:
        helper.start()
        return _collected(handoff, time.monotonic() + seconds, hear)
    finally:
        forget()
        end()


def _collected(handoff: Handoff, deadline: float, hear: Callable[[str], None]) -> Written:
    """Everything up to the end of the answer; one that is late or cut short is none."""
    said, usage, ended = list[str](), UsageReport(Usage()), ""
    while (left := deadline - time.monotonic()) > 0 and (batches := handoff.take(left)) is not None:
        begun = len(said)
        for event in (event for batch in batches for event in batch):
            if isinstance(event, TextDelta):
                said.append(event.text)
            elif isinstance(event, UsageReport):
                usage = event
            elif isinstance(event, Finished):
                ended = event.reason
        if len(said) > begun:
            hear("".join(said[begun:]))
    text = "".join(said) if ended in ("stop", "length") else ""
    return Written(text, usage if ended else None)
