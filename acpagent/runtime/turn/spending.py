"""What a session has used so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from acpagent.core.events import Notice, Usage
from acpagent.core.model import Provider, UsageReport

# Shares of the session's tokens, in percent, at which the person is told.
WARNINGS = (80, 90, 95)


@dataclass(slots=True)
class Spending:
    """`cost` and `tokens` in all, `turn` and `calls` (of the model) in this prompt."""

    cost: float | None = None
    tokens: int = 0
    turn: Usage = field(default_factory=Usage)
    calls: int = 0

    def add(self, provider: Provider, report: UsageReport) -> int:
        """Count a call of the model; the tokens that it took."""
        usage = report.usage
        self.turn = self.turn + usage
        cost = provider.cost(usage)
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost
        used = usage.input + usage.output
        self.calls += 1
        self.tokens += used
        return used


def warning(before: int, now: int, limit: int | None) -> Notice | None:
    """What the person is told once the session's tokens pass another mark on the way to their limit."""
    if limit is None:
        return None
    passed = [mark for mark in WARNINGS if before * 100 < mark * limit <= now * 100]
    if not passed:
        return None
    return Notice("warning", "budget_near", {"percent": now * 100 // limit, "tokens": now, "limit": limit})
