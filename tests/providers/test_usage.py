from __future__ import annotations

import pytest

from acpagent.config.settings import Price
from acpagent.core.blocks import Image
from acpagent.core.events import Usage
from acpagent.core.model import UsageReport, UserMessage
from acpagent.providers import usage
from tests.model_server import ModelServer, Raw
from tests.providers.calling import APIS, ask, call, over_http


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


def test_what_goes_into_the_cache_has_its_price() -> None:
    spent = Usage(1000, 200, 0, 0, 300)
    assert usage.cost(Price(1, 0.1, 5, per=1000), spent) == pytest.approx(0.5 + 0.02 + 0.3)
    assert usage.cost(Price(1, 0.1, 5, per=1000, written=2), spent) == pytest.approx(0.5 + 0.02 + 0.6)


@pytest.mark.parametrize("api", APIS)
def test_uncounted_tokens_are_estimated_and_marked(api: str) -> None:
    chat = b'data: {"choices":[{"delta":{"content":"12345678"},"finish_reason":"stop"}]}\n\n'
    messages = (
        b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"12345678"}}\n\n'
        b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n'
    )
    with ModelServer(lambda request: Raw([chat if api == APIS[0] else messages])) as server:
        provider = over_http(server.base_url, api=api, vision=True)
        look = UserMessage("look", (Image("A" * 100_000, "image/png"),))
        outcome = call(provider, ask(provider, look))
        size = len(server.requests[0].raw) - 100_000
    assert outcome.report == UsageReport(Usage(-(-size // 4), 0, 2), estimated=True)
