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


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What a session may use in all: tokens, and money where a price is known; None for no limit."""

    tokens: int | None = None
    cost: float | None = None

    def passed(self, spending: Spending, currency: str) -> Notice | None:
        """Why nothing more may be asked of the model; None where it may."""
        if self.tokens is not None and spending.tokens >= self.tokens:
            return Notice("warning", "budget_spent", {"tokens": spending.tokens, "limit": self.tokens})
        if self.cost is not None and spending.cost is not None and spending.cost >= self.cost:
            params = {"cost": money(spending.cost), "limit": money(self.cost), "currency": currency}
            return Notice("warning", "budget_spent_cost", params)
        return None

    def neared(self, before: Spending, now: Spending, currency: str) -> Notice | None:
        """What the person is told once another mark on the way to a limit is passed."""
        if self.tokens is not None and _passes_mark(before.tokens, now.tokens, self.tokens):
            percent = now.tokens * 100 // self.tokens
            return Notice("warning", "budget_near", {"percent": percent, "tokens": now.tokens, "limit": self.tokens})
        if self.cost is not None and now.cost is not None and _passes_mark(before.cost or 0.0, now.cost, self.cost):
            params = {"cost": money(now.cost), "limit": money(self.cost), "currency": currency}
            return Notice("warning", "budget_near_cost", params | {"percent": int(now.cost * 100 / self.cost)})
        return None


def _passes_mark(before: float, now: float, limit: float) -> bool:
    return any(before * 100 < mark * limit <= now * 100 for mark in WARNINGS)


def money(amount: float) -> str:
    """An amount as a person reads it: to the sixth place, without idle zeros."""
    return f"{amount:.6f}".rstrip("0").rstrip(".")
