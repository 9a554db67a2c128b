"""A session with everything in it, metered between the agent and its model."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from tests.repository.sources import ROOT

APIS = ("openai-chat", "anthropic-messages")


@cache
def rehearsed(api: str) -> dict[str, Any]:
    """What the meter says of the session, spoken in that API."""
    command = [sys.executable, str(ROOT / "tools" / "prefix_meter.py"), "--rehearse", "--report", "json"]
    done = subprocess.run([*command, "--api", api], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize("api", APIS)
def test_every_request_of_a_long_session_extends_the_one_before(api: str) -> None:
    report = rehearsed(api)
    (one,) = report["conversations"]
    assert one["first_break"] is None
    assert (one["models"], one["system_messages"], one["tool_lists"]) == (1, 1, 1)
    assert one["append_only_pairs"] == one["pairs"] == one["requests"] - 1
    assert report["other_requests"] == 0
    assert one["repeats"] == 1  # the retry
    assert one["cache_eligible_share"] > 0.9


def test_what_the_session_was_made_of() -> None:
    happened = rehearsed(APIS[0])["happened"]
    assert rehearsed(APIS[0])["requests"] == 58
    assert happened["stops"] == {"end_turn": 26, "max_tokens": 1, "cancelled": 2}
    assert happened["calls"] == {"completed": 28, "failed": 10}
