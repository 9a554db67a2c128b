from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.providers.failures import retry_after
from acpagent.providers.retry import Policy
from tests.model_server import ModelServer
from tests.providers.calling import Running, call, over_http


def failing(times: int = 1, **error: Any) -> dict[str, Any]:
    return {"turns": [{"replies": [[{"error": {"status": 429, "times": times, **error}}, {"text": "here"}]]}]}


@pytest.mark.parametrize("policy", [Policy(), Policy(base=0.01)])
def test_pauses_double_with_jitter(policy: Policy) -> None:
    for failed in (1, 2, 3):
        middle = policy.base * 2 ** (failed - 1)
        waits = [policy.wait(failed, None) or 0 for _ in range(200)]
        assert all(0.75 * middle <= wait <= 1.25 * middle for wait in waits)
        assert len(set(waits)) > 100
    assert policy.wait(4, None) is None


def test_the_first_pause_is_half_a_second() -> None:
    assert Policy().base == 0.5
    assert Policy().tries == 4


def test_retry_after_is_waited_for_and_shown() -> None:
    with ModelServer(failing(retry_after=0.2)) as server:
        outcome = call(over_http(server.base_url))
        first, second = server.requests
    assert outcome.reason == "stop"
    assert [again.seconds for again in outcome.retries] == [0.2]
    assert second.arrived - first.arrived >= 0.2


def test_a_long_retry_after_is_told_instead_of_waited_for() -> None:
    with ModelServer(failing(retry_after=3600)) as server:
        outcome = call(over_http(server.base_url))
        assert len(server.requests) == 1
    assert outcome.fault is not None
    assert outcome.fault.kind == "rate"
    assert "asks to wait 3600 s" in outcome.fault.message


def test_a_cancel_ends_the_pause() -> None:
    with ModelServer(failing(retry_after=50)) as server:
        running = Running(over_http(server.base_url))
        running.wait_for_batch()
        start = time.monotonic()
        running.cancel()
        assert running.end().cancelled
        assert time.monotonic() - start < 20
        assert len(server.requests) == 1


@given(st.floats(0, 1e6))
def test_seconds(seconds: float) -> None:
    assert retry_after(repr(seconds)) == seconds


def test_dates() -> None:
    then = datetime.now(UTC) + timedelta(seconds=30)
    seconds = retry_after(format_datetime(then, usegmt=True))
    assert seconds is not None
    assert 28 <= seconds <= 30
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert retry_after("Wed, 21 Oct 2015 07:28:00") == 0


@pytest.mark.parametrize("header", [None, "", "soon", "-5", "inf", "nan", "99 luftballons", "1e999"])
def test_what_is_no_time(header: str | None) -> None:
    assert retry_after(header) is None
