"""A prompt's way to its one answer: stop reasons, errors, order, and what a failed turn leaves behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.seen import calls, calls_in, says, turn
from tests.acp.served import Served, served
from tests.agent import Message, text_in, updates_in
from tests.conftest import Home, StartAgent

ALWAYS_500 = {"error": {"status": 500, "message": "down", "retry_after": 0}}
ONCE_503 = {"error": {"status": 503, "message": "busy", "retry_after": 0, "times": 1}}
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("greet", says("Hello.")),
        turn("pieces", [{"thought": "one two three", "chunk": 2}, {"text": "four five six", "chunk": 2}]),
        turn("many words", {"repeat": {"times": 60, "text": "word ", "every": 0.005}}),
        turn("too long", [*says("It begins"), calls("write_file", path="no.txt", content="x"), {"finish": "length"}]),
        turn("for ever", calls("list_dir"), loop=True),
        turn("forbidden", [*says("I can't"), {"finish": "refusal"}]),
        turn("bad manners", calls("list_dir"), [*says("No more"), {"finish": "refusal"}]),
        turn("no key", {"error": {"status": 401, "message": "who are you"}}),
        turn("key lost", calls("list_dir"), {"error": {"status": 403, "message": "not any more"}}),
        turn("wait long", {"error": {"status": 429, "message": "slow down", "retry_after": 50}}),
        turn("busy", [ONCE_503, *says("Now I can.")]),
        turn("never up", ALWAYS_500),
        turn("fails later", [*says("Let me see."), calls("list_dir")], ALWAYS_500),
        turn("cut off", [*says("The answer is"), {"drop": "reset"}]),
        turn("told error", [*says("The answer is"), {"error": {"status": 500, "message": "lost it"}}]),
        turn("too early", [*says("The answer is"), {"drop": "end"}]),
        turn("silence", {"stall": True}),
    ]
}


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("turns"), SCRIPT, limits={"turn_requests": 3}) as made:
        yield made


def failure(one: Served, session: str, text: str) -> tuple[list[Message], Message]:
    """Prompt, which must fail; the updates and the error."""
    updates, answer = one.agent.prompt(session, text, permission="once")
    assert "error" in answer, answer
    return updates, answer["error"]


def assert_usable(one: Served, session: str) -> None:
    assert text_in(one.prompt(session, "greet")) == "Hello."


def answered(messages: list[Message]) -> bool:
    """Whether every call in a request has its result."""
    made = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    return sorted(made) == sorted(m["tool_call_id"] for m in messages if m["role"] == "tool")


def test_TURN_03_TURN_04_TURN_05_one_answer_after_all_updates(one: Served) -> None:
    session = one.new()
    prompt = one.agent.start_prompt(session, "many words")
    assert one.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    end = one.agent.transcript.responses[(int, prompt)]
    one.agent.call("session/list")
    one.agent.call("session/list")
    assert updates_in(one.agent.messages[end:], session) == []
    assert text_in(updates_in(one.agent.messages[:end], session)) == "word " * 60
    assert [m for m in one.agent.messages if m.get("id") == prompt and "method" not in m] == [one.agent.messages[end]]


def test_TURN_06_a_reply_cut_at_its_length_ends_max_tokens_and_runs_no_half_call(one: Served) -> None:
    session = one.new()
    updates = one.prompt(session, "too long", stop="max_tokens")
    assert text_in(updates) == "It begins"
    assert calls_in(updates) == []
    assert not (one.workspace / "no.txt").exists()
    assert_usable(one, session)
    assert {"role": "assistant", "content": "It begins"} in one.read()


def test_TURN_07_a_model_that_never_stops_calling_ends_max_turn_requests(one: Served) -> None:
    session = one.new()
    before = len(one.server.requests)
    updates = one.prompt(session, "for ever", stop="max_turn_requests")
    assert len(one.server.requests) - before == 3
    assert [call.status for call in calls_in(updates)] == ["completed"] * 3
    assert_usable(one, session)
    assert answered(one.read())


@pytest.mark.parametrize("text", ["forbidden", "bad manners"])
def test_TURN_08_a_refused_prompt_leaves_no_trace_in_what_the_model_reads(one: Served, text: str) -> None:
    session = one.new()
    assert_usable(one, session)
    one.prompt(session, text, stop="refusal")
    assert_usable(one, session)
    said = one.read()
    assert [message["role"] for message in said] == ["user", "assistant", "user"]
    assert text not in json.dumps(said)
    assert one.heard() == "greet"


def test_TURN_08_nor_after_a_load_by_another_process(one: Served) -> None:
    session = one.new()
    one.prompt(session, "forbidden", stop="refusal")
    one.agent.call("session/close", {"sessionId": session})
    second = one.start()
    try:
        second.initialize()
        second.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
        replayed = second.updates(session)
        assert text_in(replayed, "user_message_chunk") == "forbidden"  # the person still sees it
        second.prompt(session, "greet")
        assert "forbidden" not in json.dumps(one.read())
        assert one.heard() == "greet"
    finally:
        second.close()


@pytest.mark.parametrize(("text", "status"), [("no key", 401), ("key lost", 403)])
def test_AUTH_18_a_key_turned_away_is_minus_32000_and_leaves_no_trace(one: Served, text: str, status: int) -> None:
    session = one.new()
    _, error = failure(one, session, text)
    assert error["code"] == -32000
    assert f"HTTP {status}" in error["message"]
    assert "Traceback" not in error["message"]
    assert one.agent.fail("authenticate", {"methodId": "stored-credentials"})["code"] == -32000
    assert_usable(one, session)  # tried afresh
    assert text not in json.dumps(one.read())
    assert [message["role"] for message in one.read()] == ["user"]
    assert one.read()[0]["content"].startswith("[Today is ")  # what the first prompt would have told
    assert one.agent.call("authenticate", {"methodId": "stored-credentials"}) == {}


def test_TURN_10_a_failure_that_passes_is_retried_and_the_person_told(one: Served) -> None:
    session = one.new()
    before = len(one.server.requests)
    said = text_in(one.prompt(session, "busy"))
    assert said.endswith("Now I can.")
    line = said.removesuffix("Now I can.")
    assert line.startswith("[warning] The model did not answer")
    assert "HTTP 503" in line
    assert "try 2 of 4 follows" in line
    assert len(one.server.requests) - before == 2
    assert len({request.raw for request in one.server.requests[before:]}) == 1  # the same call again


def test_TURN_10_a_failure_that_stays_is_an_error_after_four_tries(one: Served) -> None:
    session = one.new()
    before = len(one.server.requests)
    updates, error = failure(one, session, "never up")
    assert error["code"] == -32603
    assert "HTTP 500" in error["message"]
    assert len(one.server.requests) - before == 4
    assert [f"try {number} of 4" in text_in(updates) for number in (2, 3, 4, 5)] == [True, True, True, False]
    assert_usable(one, session)
    # Unlike a refused prompt, this one keeps the person's words.
    assert [message["role"] for message in one.read()] == ["user", "user"]
    assert "never up" in one.read()[0]["content"]


def test_TURN_10_a_failure_after_work_keeps_the_work(one: Served) -> None:
    session = one.new()
    updates, error = failure(one, session, "fails later")
    assert error["code"] == -32603
    assert [call.status for call in calls_in(updates)] == ["completed"]
    assert_usable(one, session)
    assert [message["role"] for message in one.read()] == ["user", "assistant", "tool", "user"]
    assert answered(one.read())


@pytest.mark.parametrize("text", ["cut off", "told error", "too early"])
def test_TURN_10_a_drop_after_output_keeps_what_was_shown_and_says_so(one: Served, text: str) -> None:
    session = one.new()
    before = len(one.server.requests)
    updates, error = failure(one, session, text)
    assert text_in(updates) == "The answer is"
    assert error["code"] == -32603
    assert "what was shown is kept" in error["message"]
    assert len(one.server.requests) - before == 1  # not tried again: it would be said twice
    assert_usable(one, session)
    assert {"role": "assistant", "content": "The answer is"} in one.read()


def test_TURN_10_a_server_that_falls_silent_is_an_error_in_bounded_time(
    agent: StartAgent, home: Home, workspace: Path, one: Served
) -> None:
    provider: Message = {"api": "openai-chat", "base_url": one.server.base_url, "models": {"tiny": {}}}
    provider["timeouts"] = {"read": 1}
    home.configure({"providers": {"local": provider}})
    impatient = agent()
    session = impatient.new_session(workspace)
    answer = impatient.response(impatient.start_prompt(session, "silence"), timeout=20)
    assert answer["error"]["code"] == -32603
    assert "was silent for 1 s" in answer["error"]["message"]
    assert impatient.prompt(session, "greet")[1]["result"] == {"stopReason": "end_turn"}


def test_TURN_09_a_wait_for_another_try_is_cancelled_at_once(one: Served) -> None:
    session, since = one.new(), len(one.agent.messages)
    prompt = one.agent.start_prompt(session, "wait long")
    one.agent.expect_update(session, "agent_message_chunk", since)
    assert "follows in 50 s" in text_in(one.agent.updates(session, since))
    one.agent.notify("session/cancel", {"sessionId": session})
    assert one.agent.response(prompt, timeout=20)["result"] == {"stopReason": "cancelled"}
    assert_usable(one, session)


@pytest.mark.parametrize(
    "blocks", [[], [{"type": "text", "text": ""}], [{"type": "text", "text": " \n\t"}, {"type": "text", "text": ""}]]
)
def test_TURN_11_an_empty_prompt_is_refused_before_the_model(one: Served, blocks: list[Message]) -> None:
    session = one.new()
    before = len(one.server.requests)
    error = one.agent.fail("session/prompt", {"sessionId": session, "prompt": blocks})
    assert error["code"] == -32602
    assert "params.prompt" in error["message"]
    assert len(one.server.requests) == before
    assert_usable(one, session)


def test_TURN_12_a_second_prompt_is_refused_while_the_first_runs(one: Served) -> None:
    session = one.new()
    blocks = [{"type": "text", "text": "many words"}]
    both = [one.agent.make_request("session/prompt", {"sessionId": session, "prompt": blocks}) for _ in range(2)]
    one.agent.send(*both)
    assert one.agent.response(both[1]["id"])["error"]["code"] == -32600
    assert one.agent.response(both[0]["id"])["result"] == {"stopReason": "end_turn"}
    assert text_in(one.agent.updates(session)) == "word " * 60
    assert_usable(one, session)


def test_TURN_13_prompts_of_two_sessions_run_at_the_same_time(one: Served) -> None:
    waits, works = one.new(), one.new()
    before = len(one.server.requests)
    prompt = one.agent.start_prompt(waits, "silence")
    one.server.wait_for_request(before + 1)
    assert_usable(one, works)  # while the first has no end in sight
    assert (int, prompt) not in one.agent.transcript.responses
    one.agent.notify("session/cancel", {"sessionId": waits})
    assert one.agent.response(prompt)["result"] == {"stopReason": "cancelled"}


def test_TURN_14_blocks_reach_the_model_in_their_order(one: Served) -> None:
    session = one.new()
    resource = {"type": "resource", "resource": {"uri": "file:///no/where.txt", "text": "in the middle"}}
    link = {"type": "resource_link", "uri": "https://example.org/page", "name": "a page"}
    one.prompt(session, [_text("greet first"), resource, _text("then second"), link, _text("last third")])
    heard = one.heard()
    places = [heard.index(words) for words in ("first", "in the middle", "second", "a page", "third")]
    assert places == sorted(places)


def test_TURN_15_annotations_meta_and_unknown_fields_of_blocks_are_ignored(one: Served) -> None:
    session = one.new()
    odd = {"annotations": {"audience": ["user"], "priority": 0.5}, "_meta": {"x": [1, None]}, "later": {"a": 1}}
    spoilt = {"annotations": 5, "_meta": "no"}
    one.prompt(session, [_text("greet") | odd])
    assert one.heard() == "greet"
    one.prompt(session, [_text("greet again") | spoilt])
    assert one.heard() == "greet again"


@pytest.mark.parametrize(
    "block", [{"type": "video", "data": ""}, {"type": None}, {}, {"type": "text"}, {"type": "text", "text": 5}, "hi"]
)
def test_TURN_16_a_block_that_is_none_is_minus_32602(one: Served, block: Any) -> None:
    session = one.new()
    error = one.agent.fail("session/prompt", {"sessionId": session, "prompt": [_text("greet"), block]})
    assert error["code"] == -32602
    assert "prompt[1]" in error["message"]
    assert_usable(one, session)


def test_TURN_17_the_persons_words_are_not_echoed(one: Served) -> None:
    assert text_in(one.prompt(one.new(), "greet"), "user_message_chunk") == ""


def test_TURN_18_TURN_19_text_and_thought_stream_in_chunks_none_empty(one: Served) -> None:
    updates = one.prompt(one.new(), "pieces")
    assert text_in(updates, "agent_thought_chunk") == "one two three"
    assert text_in(updates) == "four five six"
    chunks = [update for update in updates if update["sessionUpdate"].endswith("_chunk")]
    assert all(chunk["content"]["text"] for chunk in chunks)
    assert len([u for u in one.prompt(one.new(), "many words") if u["sessionUpdate"] == "agent_message_chunk"]) > 3


def test_TURN_20_every_update_names_the_session_it_is_about(one: Served) -> None:
    sessions = [one.new() for _ in range(3)]
    since = len(one.agent.messages)
    prompts = [one.agent.start_prompt(session, "many words") for session in sessions]
    for prompt in prompts:
        assert one.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    chunks = [m for m in one.agent.messages[since:] if "agent_message_chunk" in str(m.get("params"))]
    assert {chunk["params"]["sessionId"] for chunk in chunks} == set(sessions)
    for session in sessions:
        assert text_in(one.agent.updates(session, since)) == "word " * 60


def _text(text: str) -> Message:
    return {"type": "text", "text": text}
