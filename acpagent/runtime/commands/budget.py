"""/budget: what is used of the model's window, of the session's tokens, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator

from acpagent.runtime.commands.arguments import no_arguments
from acpagent.runtime.session.services import CommandDesk
from acpagent.runtime.turn.spending import WARNINGS


def answer(words: str, desk: CommandDesk) -> str:
    """Raises `Refused`."""
    no_arguments(words, "/budget")
    return "\n".join([desk.say("budget_head"), "", *(f"- {line}" for line in _lines(desk))])


def _lines(desk: CommandDesk) -> Iterator[str]:
    budget = desk.upkeep.budget()
    yield desk.say("budget_window", used=budget.used, size=budget.size, percent=_percent(budget.used, budget.size))
    if budget.limit is None:
        yield desk.say("budget_tokens", tokens=budget.tokens)
    else:
        percent = _percent(budget.tokens, budget.limit)
        yield desk.say("budget_tokens_of", tokens=budget.tokens, limit=budget.limit, percent=percent)
        if percent >= WARNINGS[0]:
            yield desk.say("budget_low", left=max(budget.limit - budget.tokens, 0))
    if budget.cost is None:
        yield desk.say("budget_no_price")
    else:
        yield desk.say("budget_cost", cost=round(budget.cost, 6), currency=budget.currency)
    yield desk.say(f"auto_compact_{desk.controls['auto_compact']}", percent=round(budget.at * 100))


def _percent(part: int, whole: int) -> int:
    return round(100 * part / max(1, whole))
