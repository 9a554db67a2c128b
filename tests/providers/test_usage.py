from __future__ import annotations

import pytest

from acpagent.config.settings import Price
from acpagent.core.events import Usage
from acpagent.providers import usage
from tests.providers.calling import over_http


def test_cost() -> None:
    price = Price(2.0, 0.5, 8.0, "EUR", 1000)
    provider = over_http("http://127.0.0.1:9/v1", price=price)
    assert provider.cost(Usage(1000, 400, 250, 50)) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.25 * 8)
    assert provider.currency == "EUR"


def test_no_price_no_cost() -> None:
    provider = over_http("http://127.0.0.1:9/v1")
    assert provider.cost(Usage(5, 0, 5, 0)) is None
    assert provider.currency == "USD"


def test_a_price_of_nothing_is_a_cost_of_nothing() -> None:
    assert usage.cost(Price(0, 0, 0), Usage(5, 0, 5, 0)) == 0


def test_more_cached_than_read_costs_no_less_than_nothing() -> None:
    assert usage.cost(Price(1, 0, 0), Usage(5, 9, 0, 0)) == 0


@pytest.mark.parametrize(("letters", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2)])
def test_estimates(letters: int, tokens: int) -> None:
    assert usage.estimate(letters) == tokens
