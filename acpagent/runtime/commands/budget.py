"""/budget: what is used of the model's window, of the session's tokens and of its money; and what it may use."""

from __future__ import annotations

import re
from collections.abc import Iterator

from acpagent.core.bounds import one_line
from acpagent.runtime.commands.arguments import Refused, split
from acpagent.runtime.session.loadout import COST_LIMIT, NO_LIMIT, TOKEN_LIMIT
from acpagent.runtime.session.services import CommandDesk
from acpagent.runtime.session.upkeep import Budget
from acpagent.runtime.turn.spending import WARNINGS, money

_WHAT = {"tokens": TOKEN_LIMIT, "cost": COST_LIMIT}
_TOKENS = re.compile(r"(\d{1,12})(?:\.(\d))?([km]?)", re.IGNORECASE)
_COST = re.compile(r"\d{1,9}(?:\.\d{1,6})?")
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}


def answer(words: str, desk: CommandDesk) -> str:
    """Show the budget, or set a limit for this session and show it. Raises `Refused`."""
    given = [word.lower() for word in split(words)]
    if given:
        _set(given, desk)
    return "\n".join([desk.say("budget_head"), "", *(f"- {line}" for line in _lines(desk))])


def _set(given: list[str], desk: CommandDesk) -> None:
    control, value = _WHAT.get(given[0]), given[1] if len(given) == 2 else ""
    if control is None or not value:
        raise Refused("budget_unknown", words=one_line(" ".join(given), 60))
    if value == "default":
        desk.set_controls({control: ""})
    elif value == NO_LIMIT:
        desk.set_controls({control: NO_LIMIT})
    else:
        desk.set_controls({control: _tokens(value) if control == TOKEN_LIMIT else _cost(value)})


def _tokens(value: str) -> str:
    """A number of tokens, with `k` or `m` behind it for thousands and millions."""
    found = _TOKENS.fullmatch(value)
    factor = _FACTORS[found[3].lower()] if found else 0
    tokens = int(found[1]) * factor + int(found[2] or 0) * factor // 10 if found else 0
    if tokens <= 0:
        raise Refused("budget_no_number", words=one_line(value, 40))
    return str(tokens)


def _cost(value: str) -> str:
    if not _COST.fullmatch(value) or float(value) <= 0:
        raise Refused("budget_no_number", words=one_line(value, 40))
    return value


def _lines(desk: CommandDesk) -> Iterator[str]:
    budget = desk.upkeep.budget()
    yield desk.say("budget_window", used=budget.used, size=budget.size, percent=_percent(budget.used, budget.size))
    limit = budget.ceiling.tokens
    if limit is None:
        yield desk.say("budget_tokens", tokens=budget.tokens)
    else:
        percent = _percent(budget.tokens, limit)
        yield desk.say("budget_tokens_of", tokens=budget.tokens, limit=limit, percent=percent)
        if percent >= WARNINGS[0]:
            yield desk.say("budget_low", left=max(limit - budget.tokens, 0))
    yield from _of_cost(budget, desk)
    if budget.cost is not None and (day := _day_of_prices(desk)):
        yield desk.say("budget_prices", day=day)
    yield desk.say(f"auto_compact_{desk.controls['auto_compact']}", percent=round(budget.at * 100))
    yield desk.say("budget_how")


def _of_cost(budget: Budget, desk: CommandDesk) -> Iterator[str]:
    limit, currency = budget.ceiling.cost, budget.currency
    if budget.cost is None:
        yield desk.say("budget_no_price" if limit is None else "budget_no_price_limit", limit=money(limit or 0.0))
    elif limit is None:
        yield desk.say("budget_cost", cost=money(budget.cost), currency=currency)
    else:
        percent = _percent(budget.cost, limit)
        params = {"cost": money(budget.cost), "limit": money(limit), "currency": currency, "percent": percent}
        yield desk.say("budget_cost_of", **params)


def _day_of_prices(desk: CommandDesk) -> str:
    """The day that the prices of the model are of, empty where nobody said."""
    values = desk.settings(desk.requested().values["model"]).values
    return next((text for place, text in values if place.endswith(".price.as_of")), "")


def _percent(part: float, whole: float) -> int:
    return round(100 * part / whole) if whole > 0 else 0
