"""Anthropic messages through the real agent: thoughts that are signed, pauses, and what tokens cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.acp.seen import calls, calls_in, says, turn
from tests.acp.served import Served, served
from tests.agent import text_in
from tests.conftest import Home, StartAgent
from tests.messages_dialect import signature
from tests.model_server import ModelServer, Raw, Request

API = "anthropic-messages"
SCRIPT: dict[str, Any] = {
    "turns": [
        turn(
            "look",
            [{"thought": "I should look."}, *says("Looking."), calls("list_dir"), calls("glob", pattern="*")],
            [{"thought": "Nothing there."}, *says("It is empty.")],
        ),
        turn("cut", [{"thought": "A long story."}, *says("Once"), {"finish": "length"}]),
        turn("broken", [{"thought": "I think"}, {"drop": "close"}]),
        turn("count", [*says("Counted."), {"usage": {"input": 1000, "cached": 600, "output": 10}}]),
        turn("next", says("Hello.")),
    ]
}


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    price = {"input": 1, "cached": 0.1, "output": 5, "per": 1000}
    model = {"price": price, "efforts": ["low", "high"]}
    with served(tmp_path_factory.mktemp("signed"), SCRIPT, model, dialect=API, provider={}) as made:
        yield made


def thoughts(request: Request) -> list[tuple[str, str]]:
    blocks = [block for message in request.body["messages"] for block in message["content"]]
    return [(block["thinking"], block["signature"]) for block in blocks if block["type"] == "thinking"]


LOOKED = [(text, signature(text)) for text in ("I should look.", "Nothing there.")]


def test_signed_thoughts_go_back_live_and_after_a_restart(one: Served) -> None:
    session, before = one.new(), len(one.server.requests)
    updates = one.prompt(session, "look")
    assert text_in(updates, "agent_thought_chunk") == "I should look.Nothing there."
    assert [call.status for call in calls_in(updates)] == ["completed", "completed"]
    assert thoughts(one.last) == LOOKED[:1]  # with the calls that they led to
    results = one.last.body["messages"][-1]["content"]
    assert [block["type"] for block in results] == ["tool_result", "tool_result"]  # in one message
    one.prompt(session, "next")
    assert thoughts(one.last) == LOOKED
    bodies = [request.raw for request in one.server.requests[before:]]
    assert all(longer.startswith(shorter[:-4]) for shorter, longer in pairwise(bodies))
    one.agent.call("session/close", {"sessionId": session})
    second = one.start()
    try:
        second.initialize()
        second.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
        assert text_in(second.updates(session), "agent_thought_chunk") == "I should look.Nothing there."
        assert second.prompt(session, "next")[1]["result"] == {"stopReason": "end_turn"}
    finally:
        second.close()
    assert one.last.raw.startswith(bodies[-1][:-4])  # the same bytes, made from what was stored
    assert thoughts(one.last) == LOOKED


@pytest.mark.parametrize("how", ["cut", "broken"])
def test_a_reply_that_was_cut_does_not_stand_in_the_way(one: Served, how: str) -> None:
    session = one.new()
    _, answer = one.agent.prompt(session, how)
    assert (answer.get("result") == {"stopReason": "max_tokens"}) == (how == "cut")
    one.prompt(session, "next")
    assert thoughts(one.last) == ([("A long story.", signature("A long story."))] if how == "cut" else [])


def test_what_was_in_the_cache_is_cheaper(one: Served) -> None:
    updates = one.prompt(one.new(), "count")
    (usage,) = [update for update in updates if update["sessionUpdate"] == "usage_update"]
    assert usage["used"] == 1010
    assert usage["cost"]["amount"] == pytest.approx(0.4 + 0.06 + 0.05)
    assert "_meta" not in usage


def stream(*events: dict[str, Any]) -> Raw:
    return Raw([b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)])


def test_a_pause_is_gone_on_from_and_uncounted_tokens_are_marked(
    agent: StartAgent, home: Home, workspace: Path
) -> None:
    def answer(request: Request) -> Raw:
        number = sum(len(message["content"]) for message in request.body["messages"])
        text = {"type": "text", "text": f"Part {number}. "}
        begin = {"type": "content_block_start", "index": 0, "content_block": text}
        reason = "pause_turn" if number < 3 else "end_turn"
        return stream(begin, {"type": "message_delta", "delta": {"stop_reason": reason}}, {"type": "message_stop"})

    with ModelServer(answer) as server:
        home.use_server(server.base_url, dialect=API)
        one = agent()
        session = one.new_session(workspace)
        updates, answered = one.prompt(session, "go")
        sent = [request.body["messages"] for request in server.requests]
    assert answered["result"] == {"stopReason": "end_turn"}
    assert [[len(message["content"]) for message in messages] for messages in sent] == [[1], [1, 1], [1, 2]]
    assert text_in(updates) == "Part 1. Part 2. Part 3. "
    usages = [update for update in updates if update["sessionUpdate"] == "usage_update"]
    assert all(usage["_meta"] == {"acpagent": {"estimated": True}} for usage in usages)
    assert usages[0]["used"] > 100
