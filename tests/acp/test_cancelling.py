"""Cancelling turns: whatever is under way, one answer, and nothing done behind the person's back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent import text_in, updates_in
from tests.conftest import Home, StartAgent
from tests.model_server import ModelServer

EDIT = {"tool": "edit_file", "args": {"path": "src/greeter.py", "old": "hello", "new": "goodbye"}}
SLEEP = {"tool": "bash", "args": {"command": "sleep 300 & sleep 300"}}
ENDLESS = {"repeat": {"times": 1_000_000, "text": "word ", "every": 0.001}}
SCRIPT = {
    "turns": [
        {"prompt": "edit", "replies": [[{"text": "I will edit."}, {"call": EDIT}], [{"text": "Edited."}]]},
        {"prompt": "sleep", "replies": [[{"call": SLEEP}], [{"text": "Slept."}]]},
        {"prompt": "talk", "replies": [[ENDLESS]]},
        {"prompt": "stall", "replies": [[{"stall": True}]]},
        {"prompt": "hi", "replies": [[{"text": "Hello."}]]},
    ]
}


def cancel(agent, session: str) -> None:
    agent.notify("session/cancel", {"sessionId": session})


def assert_cancelled(answer) -> None:
    assert answer["result"] == {"stopReason": "cancelled"}


def assert_usable(agent, session: str) -> None:
    updates, answer = agent.prompt(session, "hi", permission="deny")  # to questions of turns that are over
    assert answer["result"]["stopReason"] == "end_turn"
    assert text_in(updates) == "Hello."


def test_CAN_01_a_prompt_cancelled_while_its_permission_is_pending(
    agent: StartAgent, home: Home, workspace: Path
) -> None:
    home.use_script(SCRIPT)
    one = agent()
    session = one.new_session(workspace)
    before = (workspace / "src/greeter.py").read_bytes()
    prompt = one.start_prompt(session, "edit")
    question = one.expect_request("session/request_permission")
    cancel(one, session)
    assert_cancelled(one.response(prompt))
    withdrawn = one.expect(lambda message: message.get("method") == "$/cancel_request")
    assert withdrawn["params"] == {"requestId": question["id"]}  # CAN-08
    one.decide(question, "once")  # too late
    assert_usable(one, session)
    assert (workspace / "src/greeter.py").read_bytes() == before
    finals = [u for u in updates_in(one.messages, session) if u.get("status") in ("completed", "failed")]
    assert [final["status"] for final in finals] == ["failed"]  # CAN-05


@pytest.mark.parametrize("answer", ["cancelled", "never"])
def test_CAN_06_the_client_closes_the_question_or_never_answers(
    agent: StartAgent, home: Home, workspace: Path, answer: str
) -> None:
    home.use_script(SCRIPT)
    one = agent()
    session = one.new_session(workspace)
    before = (workspace / "src/greeter.py").read_bytes()
    prompt = one.start_prompt(session, "edit")
    question = one.expect_request("session/request_permission")
    if answer == "cancelled":
        one.decide(question, None)
    else:
        cancel(one, session)
    assert_cancelled(one.response(prompt))
    assert_usable(one, session)
    assert (workspace / "src/greeter.py").read_bytes() == before


def test_CAN_12_prompt_and_cancel_in_one_write_fifty_times(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    one = agent()
    session = one.new_session(workspace)
    for number in range(50):
        text = ("talk", "edit", "sleep", "stall")[number % 4]
        params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
        prompt = one.make_request("session/prompt", params)
        stop = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}
        one.send(prompt, stop)
        assert_cancelled(one.response(prompt["id"]))
    assert_usable(one, session)


def test_CAN_03_a_running_command_is_killed_with_all_its_children(
    agent: StartAgent, home: Home, workspace: Path
) -> None:
    home.use_script(SCRIPT, tool_approval="yolo")
    one = agent()
    session = one.new_session(workspace)
    prompt = one.start_prompt(session, "sleep")
    one.expect(lambda m: any(u.get("status") == "in_progress" for u in updates_in([m], session)))
    cancel(one, session)
    assert_cancelled(one.response(prompt, timeout=20))
    assert_usable(one, session)  # the fixture asserts that no `sleep` is left


@pytest.mark.parametrize("text", ["talk", "stall"])
def test_CAN_02_a_model_that_streams_or_is_silent_is_left(
    agent: StartAgent, home: Home, workspace: Path, text: str
) -> None:
    with ModelServer(SCRIPT) as server:
        home.use_server(server.base_url)
        one = agent()
        session = one.new_session(workspace)
        prompt = one.start_prompt(session, text)
        server.wait_for_request()
        if text == "talk":
            one.expect_update(session, "agent_message_chunk")
        cancel(one, session)
        assert_cancelled(one.response(prompt, timeout=20))
        server.wait_for_hangup()  # the model is not left working for nobody
        assert_usable(one, session)


def test_CAN_04_nothing_of_the_turn_follows_its_answer(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    one = agent()
    session = one.new_session(workspace)
    for _ in range(5):
        prompt = one.start_prompt(session, "talk")
        one.expect_update(session, "agent_message_chunk", since=len(one.messages))
        cancel(one, session)
        assert_cancelled(one.response(prompt))
        after = one.messages[one.transcript.responses[(int, prompt)] + 1 :]
        one.call("session/list")
        assert updates_in(after, session) == []


def test_CAN_09_CAN_10_CAN_11_cancels_without_a_turn_change_nothing(
    agent: StartAgent, home: Home, workspace: Path
) -> None:
    home.use_script(SCRIPT)
    one = agent()
    session = one.new_session(workspace)
    cancel(one, session)
    cancel(one, "nobody")
    assert_usable(one, session)
    prompt = one.start_prompt(session, "talk")
    one.expect_update(session, "agent_message_chunk")
    cancel(one, session)
    cancel(one, session)
    assert_cancelled(one.response(prompt))
    assert_usable(one, session)


def test_CAN_14_a_cancel_hits_only_its_session(agent: StartAgent, home: Home, workspace: Path) -> None:
    script = {"turns": [{"replies": [[{"repeat": {"times": 200, "text": "word ", "every": 0.002}}]]}]}
    home.use_script(script)
    one = agent()
    first, second = one.new_session(workspace), one.new_session(workspace)
    prompts = [one.start_prompt(session, "talk") for session in (first, second)]
    for session in (first, second):
        one.expect_update(session, "agent_message_chunk")
    cancel(one, first)
    assert_cancelled(one.response(prompts[0]))
    assert one.response(prompts[1])["result"]["stopReason"] == "end_turn"
    assert text_in(one.updates(second)) == "word " * 200


def test_CAN_15_CAN_16_the_next_request_has_a_result_for_every_call_and_the_text_so_far(
    agent: StartAgent, home: Home, workspace: Path
) -> None:
    with ModelServer(SCRIPT) as server:
        home.use_server(server.base_url)
        one = agent()
        session = one.new_session(workspace)
        prompt = one.start_prompt(session, "edit")
        one.expect_request("session/request_permission")
        cancel(one, session)
        assert_cancelled(one.response(prompt))
        assert_usable(one, session)
        messages = server.wait_for_request(2).body["messages"]
    called = {call["id"] for message in messages for call in message.get("tool_calls", ())}
    answered = {message["tool_call_id"] for message in messages if message["role"] == "tool"}
    assert called == answered
    assert called
    assert any(message["role"] == "assistant" and message["content"] == "I will edit." for message in messages)


def test_CAN_17_CAN_18_CAN_19_cancelling_the_prompts_request(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    one = agent()
    session = one.new_session(workspace)
    prompt = one.start_prompt(session, "talk")
    one.expect_update(session, "agent_message_chunk")
    for params in ({"requestId": str(prompt)}, {"requestId": 12345}, {}, {"requestId": []}, None):
        one.notify("$/cancel_request", params)
    one.call("session/list")  # all of them were read, and the prompt runs on
    assert (int, prompt) not in one.transcript.responses
    one.notify("$/cancel_request", {"requestId": prompt})
    assert_cancelled(one.response(prompt))
    assert_usable(one, session)


def test_CAN_05_calls_that_were_not_started_are_settled_and_load_as_they_were_shown(
    agent: StartAgent, home: Home, workspace: Path
) -> None:
    read = {"call": {"tool": "read_file", "args": {"path": "README.md"}}}
    home.use_script({"turns": [{"replies": [[{"call": EDIT}, read, {"call": SLEEP}], [{"text": "never"}]]}]})
    one = agent()
    session = one.new_session(workspace)
    prompt = one.start_prompt(session, "go")
    one.expect_request("session/request_permission")
    cancel(one, session)
    assert_cancelled(one.response(prompt))
    shown = final_calls(one.updates(session))
    assert [status for _, status in shown] == ["failed"] * 3
    one.call("session/close", {"sessionId": session})
    since = len(one.messages)
    one.call("session/load", {"sessionId": session, "cwd": str(workspace), "mcpServers": []})
    assert final_calls(one.updates(session, since)) == shown


def final_calls(updates) -> list[tuple[str, str]]:
    return [(u["toolCallId"], u["status"]) for u in updates if u.get("status") in ("completed", "failed")]
