"""Plan mode: nothing changes, the model's last words are the plan, and the person decides about it, always."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.seen import Call, calls, calls_in, says, turn
from tests.acp.served import Served, served
from tests.agent import Message, text_in, updates_in

TODO = [{"content": "Say more", "status": "pending"}]
WRITE = calls("write_file", path="new.txt", content="new\n")
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("research$", [calls("read_file", path="file.txt"), calls("todo_write", todos=TODO)],
             says("The plan: write it."), WRITE, says("Built.")),
        turn("plain$", says("A plain plan."), WRITE, says("Built.")),
        turn("silent$", [{"thought": "Hm."}]),
        turn("two steps$", says("First plan."), says("Second plan."), says("Built.")),
        turn("write now$", WRITE, says("Written.")),
    ]
}  # fmt: skip
MODES = ("current_mode_update", "config_option_update")


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, SCRIPT) as made:
        (made.workspace / "file.txt").write_text("one\n")
        yield made


def planning(one: Served, approval: str = "ask") -> str:
    """A session in plan mode."""
    session = one.new()
    params = {"sessionId": session, "configId": "tool_approval", "value": approval}
    one.agent.call("session/set_config_option", params)
    set_mode(one, session, "plan")
    return session


def set_mode(one: Served, session: str, mode: str) -> None:
    one.agent.call("session/set_mode", {"sessionId": session, "modeId": mode})


def mode_of(one: Served, session: str) -> str:
    """The mode that the client was told last."""
    told = [update for update in one.agent.updates(session) if update["sessionUpdate"] == "current_mode_update"]
    return str(told[-1]["currentModeId"])


def controls_in(updates: list[Message]) -> list[str]:
    """The modes that updates tell of, each once by itself and once in the options."""
    return [
        update["currentModeId"] if update["sessionUpdate"] == MODES[0] else update["configOptions"][0]["currentValue"]
        for update in updates
        if update["sessionUpdate"] in MODES
    ]


def put(updates: list[Message]) -> Call:
    """The call by which the plan was put to the person."""
    (call,) = [call for call in calls_in(updates) if call.first["_meta"]["tool_name"] == "exit_plan_mode"]
    return call


@pytest.mark.parametrize("approval", ["ask", "auto", "yolo"])
def test_an_approved_plan_is_carried_out_in_the_same_prompt(one: Served, approval: str) -> None:
    session, asked = planning(one, approval), []

    def approve(request: Message) -> str:
        asked.append(request["params"])
        return "once"

    updates = one.prompt(session, "research", permission=approve)
    assert text_in(updates) == "The plan: write it.Built."
    question = asked[0]
    assert {option["optionId"]: option["kind"] for option in question["options"]} == {
        "deny": "reject_once", "once": "allow_once",
    }  # fmt: skip
    assert question["toolCall"]["kind"] == "switch_mode"
    assert question["toolCall"]["title"] == "Carry out this plan and leave plan mode?"
    assert question["toolCall"]["content"] == [
        {"type": "content", "content": {"type": "text", "text": "The plan: write it."}}
    ]
    call = put(updates)
    assert call.id == question["toolCall"]["toolCallId"]
    assert call.statuses == ["pending", "completed"]
    assert len(asked) == (2 if approval == "ask" else 1)  # the write is asked for as ever
    assert controls_in(updates) == ["normal", "normal"]
    assert (one.workspace / "new.txt").read_text() == "new\n"


@pytest.mark.parametrize("approval", ["ask", "auto", "yolo"])
def test_a_refused_plan_ends_the_turn_and_the_mode_stays(one: Served, approval: str) -> None:
    session = planning(one, approval)
    updates = one.prompt(session, "plain", permission="deny")
    assert text_in(updates) == "A plain plan."
    assert put(updates).statuses == ["pending", "failed"]
    assert len(one.server.requests) == 1
    assert controls_in(updates) == []
    assert mode_of(one, session) == "plan"
    one.prompt(session, "write now", permission="deny")
    assert not (one.workspace / "new.txt").exists()


def test_a_closed_question_ends_the_turn_cancelled(one: Served) -> None:
    session = planning(one)
    updates = one.prompt(session, "plain", permission=lambda _: None, stop="cancelled")
    assert put(updates).statuses == ["pending", "failed"]
    assert mode_of(one, session) == "plan"
    assert len(one.server.requests) == 1


def test_a_cancel_while_the_question_is_open_settles_the_call(one: Served) -> None:
    session, since = planning(one), len(one.agent.messages)
    prompt = one.agent.start_prompt(session, "plain")
    question = one.agent.expect_request("session/request_permission")
    one.agent.notify("session/cancel", {"sessionId": session})
    one.agent.decide(question, "once")  # too late
    assert one.agent.response(prompt)["result"] == {"stopReason": "cancelled"}
    assert put(updates_in(one.agent.messages[since:], session)).statuses == ["pending", "failed"]
    assert mode_of(one, session) == "plan"


def test_where_nobody_can_be_asked_the_mode_stays_and_the_person_is_told(one: Served) -> None:
    session, since = planning(one), len(one.agent.messages)
    prompt = one.agent.start_prompt(session, "plain")
    one.agent.refuse(one.agent.expect_request("session/request_permission"), -32601)
    assert one.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    updates = updates_in(one.agent.messages[since:], session)
    assert put(updates).statuses == ["pending", "failed"]
    assert "Nobody was there to approve the plan. Plan mode stays on." in text_in(updates)
    assert mode_of(one, session) == "plan"


def test_a_model_that_says_nothing_has_no_plan(one: Served) -> None:
    session = planning(one)
    assert calls_in(one.prompt(session, "silent")) == []
    assert mode_of(one, session) == "plan"


def test_who_left_the_mode_meanwhile_is_not_asked(one: Served) -> None:
    session = planning(one)

    def leave(request: Message) -> str:
        set_mode(one, session, "normal")
        return "deny"

    with_question = one.prompt(session, "plain", permission=leave)
    assert put(with_question).status == "failed"
    assert calls_in(one.prompt(session, "silent")) == []
    assert mode_of(one, session) == "normal"


def test_the_mode_can_be_set_while_a_turn_runs(one: Served) -> None:
    """The model was not told; what it says counts as a plan all the same, and nothing changes from then on."""
    session = one.new()
    since = len(one.agent.messages)
    prompt = one.agent.start_prompt(session, "write now")
    question = one.agent.expect_request("session/request_permission")
    set_mode(one, session, "plan")
    one.agent.decide(question, "once")
    one.agent.decide(one.agent.expect_request("session/request_permission"), "deny")
    assert one.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    made = calls_in(updates_in(one.agent.messages[since:], session))
    assert [call.status for call in made] == ["failed", "failed"]
    assert not (one.workspace / "new.txt").exists()


def test_guidance_that_comes_while_the_question_is_open_is_heard(one: Served) -> None:
    session, since = planning(one), len(one.agent.messages)
    prompt = one.agent.start_prompt(session, "two steps")
    question = one.agent.expect_request("session/request_permission")
    blocks = [{"type": "text", "text": "Smaller, please."}]
    one.agent.call("_reasonix.io/session/steer", {"sessionId": session, "prompt": blocks})
    one.agent.decide(question, "deny")
    one.agent.decide(one.agent.expect_request("session/request_permission"), "once")
    assert one.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    assert text_in(updates_in(one.agent.messages[since:], session)) == "First plan.Second plan.Built."
    heard = [message["content"] for message in one.read() if message["role"] == "user"]
    assert heard[1].endswith("Smaller, please.")
    assert heard[2].startswith("<plan-approved>")


def test_what_the_model_is_told(one: Served) -> None:
    session = planning(one)
    one.prompt(session, "plain", permission="deny")
    (request,) = one.server.requests
    told = one.read()[-1]["content"]
    assert told.split("]\n\n", 1)[1].startswith("<plan-mode>\nPlan mode is on.")
    assert told.endswith("</plan-mode>\n\nplain")
    assert "plan-mode" not in str([part for part in request.body if part != "messages"])
    one.prompt(session, "plain", permission="deny")
    assert one.read()[-1]["content"].startswith("<plan-mode>\n")
    set_mode(one, session, "normal")
    one.prompt(session, "silent")
    assert one.read()[-1]["content"].startswith("<mode-off>\nThe plan mode is off")
    one.prompt(session, "silent")
    assert one.read()[-1]["content"] == "silent"


def test_the_model_reads_nothing_of_the_call_that_it_did_not_make(one: Served) -> None:
    session = planning(one, "auto")
    one.prompt(session, "plain")
    read = one.read()
    assert "exit_plan_mode" not in str(read)
    assert [message["role"] for message in read] == ["user", "assistant", "user", "assistant", "tool"]
    assert read[2]["content"].startswith("<plan-approved>\nThe person approved the plan.")


def test_the_question_is_there_again_when_the_session_is_loaded(one: Served) -> None:
    session = planning(one, "auto")
    shown = put(one.prompt(session, "plain"))
    one.agent.call("session/close", {"sessionId": session})
    with contextlib.closing(one.start()) as second:
        second.initialize()
        second.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
        updates = second.updates(session)
        end = {"_meta": {"tool_name": "exit_plan_mode", "soba": shown.end}}
        assert put(updates).now | {"sessionUpdate": "tool_call_update"} == shown.now | end
        assert text_in(updates) == "A plain plan.Built."
        assert text_in(updates, "user_message_chunk") == "plain"
        second.prompt(session, "silent")
    assert one.read()[-1]["content"] == "silent"


def test_a_loaded_session_still_plans(one: Served) -> None:
    session = planning(one, "yolo")
    one.prompt(session, "plain", permission="deny")
    one.agent.call("session/close", {"sessionId": session})
    with contextlib.closing(one.start()) as second:
        second.initialize()
        answer = second.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
        assert answer["modes"]["currentModeId"] == "plan"
        updates, _ = second.prompt(session, "write now", permission="deny")
    assert [call.status for call in calls_in(updates)] == ["failed", "failed"]
    assert not (one.workspace / "new.txt").exists()
