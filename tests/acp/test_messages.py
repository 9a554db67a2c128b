"""What is told beside tool calls: message ids, usage and cost, the session's title, and nothing uncalled for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.acp.seen import OPENED, calls, says, turn
from tests.acp.served import Served, served
from tests.agent import Agent, Message, text_in

PRICE = {"input": 2.0, "cached": 0.5, "output": 10.0, "currency": "EUR", "per": 1000}
BUSY = {"error": {"status": 503, "message": "busy", "retry_after": 0, "times": 1}}
SCRIPT: dict[str, Any] = {
    "turns": [
        turn(
            "look around",
            [{"thought": "Where to look?"}, {"text": "I look.", "chunk": 2}, calls("list_dir")],
            [{"thought": "Found it."}, *says("There it is.")],
        ),
        turn("think and talk", [{"thought": "a"}, {"text": "b"}, {"thought": "c"}, {"text": "d"}]),
        turn(
            "counted",
            [{"usage": {"input": 100, "cached": 40, "output": 20, "thought": 5}}, calls("list_dir")],
            [{"usage": {"input": 200, "cached": 100, "output": 30}}, *says("Counted.")],
        ),
        *(turn(f"busy {number}", [BUSY, *says("Now.")]) for number in "123"),  # each is so once
        turn("touch", calls("bash", command="touch made"), says("Touched.")),
        turn("hi", says("Hello.")),
    ]
}


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("messages"), SCRIPT, {"price": PRICE, "context_window": 50_000}) as made:
        yield made


def of_kind(updates: list[Message], kind: str) -> list[Message]:
    return [update for update in updates if update["sessionUpdate"] == kind]


def messages(updates: list[Message]) -> list[tuple[str, str, str]]:
    """(id, kind, text) of each message, in order of first appearance."""
    joined: dict[tuple[str, str], str] = {}
    for update in updates:
        if update["sessionUpdate"].endswith("_chunk"):
            key = (update["messageId"], update["sessionUpdate"])
            joined[key] = joined.get(key, "") + update["content"]["text"]
    return [(id, kind, text) for (id, kind), text in joined.items()]


def load(one: Served, agent: Agent, session: str) -> list[Message]:
    """Load a session; what is replayed."""
    since = len(agent.messages)
    id = agent.request("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
    assert set(agent.response(id)["result"]) == OPENED
    agent.expect_update(session, "available_commands_update", since)
    return agent.updates(session, since)


def test_MSG_01_MSG_02_each_message_and_each_thought_has_an_id_of_its_own(one: Served) -> None:
    session = one.new()
    told = messages([*one.prompt(session, "look around"), *one.prompt(session, "think and talk")])
    assert [(kind.split("_")[1], text) for _, kind, text in told] == [
        ("thought", "Where to look?"),
        ("message", "I look."),
        ("thought", "Found it."),
        ("message", "There it is."),
        ("thought", "a"),
        ("message", "b"),
        ("thought", "c"),
        ("message", "d"),
    ]
    ids = [id for id, _, _ in told]
    assert len(set(ids)) == len(ids)
    assert all(isinstance(id, str) and id for id in ids)


def test_MSG_03_ids_are_unique_in_the_session_and_the_same_after_a_load(one: Served) -> None:
    session = one.new()
    live: list[Message] = []
    for text in ("look around", "busy 1", "touch", "/help", "hi"):
        live += one.prompt(session, text, permission="full")
    one.agent.call("session/close", {"sessionId": session})
    second = one.start()
    try:
        second.initialize()
        replayed = load(one, second, session)
        theirs = [message for message in messages(replayed) if message[1] != "user_message_chunk"]
        assert theirs == messages(live)
        assert theirs == [m for m in messages(load(one, second, session)) if m[1] != "user_message_chunk"]
        every = [id for id, _, _ in messages(replayed)]
        assert len(set(every)) == len(every)
        (fresh,) = messages(second.prompt(session, "hi")[0])
        assert fresh[0] not in every
    finally:
        second.close()


def test_MSG_03_a_resumed_session_gives_no_id_a_second_time(one: Served) -> None:
    session = one.new()
    before = messages(one.prompt(session, "busy 2"))
    one.agent.call("session/close", {"sessionId": session})
    one.agent.call("session/resume", {"sessionId": session, "cwd": str(one.workspace)})
    after = messages(one.prompt(session, "touch", permission="full"))
    assert "Full access" in after[0][2]
    assert {id for id, _, _ in before}.isdisjoint({id for id, _, _ in after})


def test_USE_01_USE_02_USE_03_usage_after_each_model_call_and_cost_that_only_grows(one: Served) -> None:
    session = one.new()
    usages = of_kind(one.prompt(session, "counted"), "usage_update")
    assert [(u["used"], u["size"]) for u in usages] == [(120, 50_000), (230, 50_000)]
    first = (60 * 2.0 + 40 * 0.5 + 20 * 10.0) / 1000
    second = (100 * 2.0 + 100 * 0.5 + 30 * 10.0) / 1000
    assert [u["cost"] for u in usages] == [
        {"amount": pytest.approx(first), "currency": "EUR"},
        {"amount": pytest.approx(first + second), "currency": "EUR"},
    ]
    usages += of_kind(one.prompt(session, "hi"), "usage_update")
    usages += of_kind(one.prompt(session, "look around"), "usage_update")
    amounts = [u["cost"]["amount"] for u in usages]
    assert amounts == sorted(set(amounts))
    assert all(0 <= u["used"] <= u["size"] for u in usages)


def test_USE_03_the_cost_goes_on_after_a_load(one: Served) -> None:
    session = one.new()
    spent = of_kind(one.prompt(session, "counted"), "usage_update")[-1]
    one.agent.call("session/close", {"sessionId": session})
    replayed = load(one, one.agent, session)
    assert of_kind(replayed, "usage_update") == [spent]
    assert of_kind(one.prompt(session, "hi"), "usage_update")[-1]["cost"]["amount"] > spent["cost"]["amount"]


def test_USE_02_without_a_price_there_is_no_cost(agent: Any, home: Any, workspace: Any) -> None:
    home.use_script({"turns": [{"replies": [says("Hello.")]}]})
    free = agent()
    updates, _ = free.prompt(free.new_session(workspace), "hi")
    (usage,) = of_kind(updates, "usage_update")
    assert set(usage) - {"_meta"} == {"sessionUpdate", "used", "size"}
    assert 0 < usage["used"] < usage["size"]


def test_INFO_01_INFO_02_the_title_comes_with_the_first_exchange(one: Served) -> None:
    session = one.new()
    first = one.agent.expect_update(session, "session_info_update")
    assert set(first) == {"sessionUpdate", "updatedAt"}  # it has none yet
    long = "hi,\n\tthis is " + "a long story " * 20
    (named,) = of_kind(one.prompt(session, long), "session_info_update")
    assert set(named) == {"sessionUpdate", "updatedAt", "title"}
    assert named["title"].startswith("hi, this is a long story a long")
    assert len(named["title"]) <= 80
    assert of_kind(one.prompt(session, "hi"), "session_info_update") == []
    listed = {entry["sessionId"]: entry for entry in one.agent.call("session/list")["sessions"]}
    assert listed[session]["title"] == named["title"]


def test_NOTE_01_COMP_01_a_client_that_did_not_ask_for_them_gets_no_notices_and_no_compaction(one: Served) -> None:
    session = one.new()
    assert "try 2 of 4" in text_in(one.prompt(session, "busy 3"))  # said as a message
    kinds = {m["params"]["update"]["sessionUpdate"] for m in one.agent.messages if m.get("method") == "session/update"}
    assert not {kind for kind in kinds if kind.startswith(("notice", "compaction"))}
