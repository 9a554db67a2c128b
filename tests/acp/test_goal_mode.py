"""Goal mode: a brief first, then round after round in the one prompt, to an end that can be told."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.seen import Call, calls, calls_in, says, turn
from tests.acp.served import Served, served
from tests.agent import Agent, Message, text_in, updates_in

BRIEF = says("The brief.")


def todo(*statuses: str) -> Message:
    return calls("todo_write", todos=[{"content": f"Step {n}", "status": status} for n, status in enumerate(statuses)])


def report(status: str, note: str = "so") -> Message:
    return calls("update_goal", status=status, note=note)


def step(name: str) -> list[Message]:
    """A call that is progress, and what the model says after it."""
    return [calls("write_file", path=f"{name}.txt", content=name)]


# Anchored at the end, because the objective is told again at each round.
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("two rounds$", BRIEF, step("a"), says("One."), step("b"), says("Two."), report("complete"), says("Done.")),
        turn("todos$", BRIEF, [todo("completed", "pending")], [report("complete")], says("All done, I think."),
             [todo("completed", "completed"), report("complete")], says("Done.")),
        turn("reopened$", BRIEF, [report("complete")], [todo("pending")], says("Wait."),
             [todo("completed"), report("complete")], says("Done.")),
        turn("blocked$", BRIEF, report("blocked", "no network"), says("I need the network.")),
        turn("blocked at once$", report("blocked", "no such project"), says("There is no such project.")),
        turn("early$", [report("complete")], BRIEF, report("complete"), says("Done.")),
        turn("idle$", BRIEF, says("Thinking."), says("Still."), says("Yes."), says("Never said.")),
        turn("circles$", BRIEF, step("a"), says("One."), step("a"), says("Again."), step("a"), says("And again."),
             step("a"), says("At last."), step("a"), says("Never said.")),
        turn("ticks$", BRIEF, todo("pending", "pending"), says("Planned."), todo("completed", "pending"), says("One."),
             says("Idle."), says("Idle."), says("Idle."), says("Never said.")),
        turn("for ever$", BRIEF, step("a"), says("a"), step("b"), says("b"), step("c"), says("c")),
        turn("breaks$", BRIEF, step("a"), [{"error": {"status": 400, "message": "broken"}}]),
        turn("slow$", BRIEF, step("a"), [{"text": "Working"}, {"stall": True}]),
        turn("brief only$", BRIEF, step("a"), says("Done.")),
        turn("refuse me$", [{"finish": "refusal"}]),
        turn("go on$", step("z"), says("Went on."), report("complete"), says("Done.")),
        turn("better brief$", says("A better brief."), report("complete"), says("Done.")),
        turn("plain$", says("Plain.")),
    ]
}  # fmt: skip


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, SCRIPT, limits={"turn_requests": 12}) as made:
        yield made


def pursuing(one: Served, approval: str = "auto") -> str:
    """A session in goal mode."""
    session = one.new()
    params = {"sessionId": session, "configId": "tool_approval", "value": approval}
    one.agent.call("session/set_config_option", params)
    set_mode(one.agent, session)
    return session


def set_mode(agent: Agent, session: str, mode: str = "goal") -> None:
    agent.call("session/set_mode", {"sessionId": session, "modeId": mode})


def modes_in(updates: list[Message]) -> list[str]:
    return [update["currentModeId"] for update in updates if update["sessionUpdate"] == "current_mode_update"]


def notices_in(updates: list[Message]) -> list[str]:
    """What acpagent itself said of the goal."""
    chunks = [text_in([update]) for update in updates if update["sessionUpdate"] == "agent_message_chunk"]
    heads = ("Goal", "The goal", "Going on", "The brief counts", "[warning]", "Nobody")
    return [text.strip() for text in chunks if text.startswith(heads)]


def put(updates: list[Message]) -> Call:
    """The call by which the brief was put to the person."""
    (call,) = [call for call in calls_in(updates) if call.first["_meta"]["tool_name"] == "start_goal"]
    return call


def reports_in(updates: list[Message]) -> list[Call]:
    return [call for call in calls_in(updates) if call.first["_meta"]["tool_name"] == "update_goal"]


def host_said(one: Served) -> list[str]:
    """What the host told the model to go on."""
    users = [message["content"] for message in one.read() if message["role"] == "user"]
    return [text for text in users if text.startswith("<goal-round>")]


# From the brief to the end.


@pytest.mark.parametrize("approval", ["auto", "yolo"])
def test_it_works_round_after_round_until_it_is_complete(one: Served, approval: str) -> None:
    updates = one.prompt(pursuing(one, approval), "two rounds", permission="deny")
    assert notices_in(updates) == [
        f"The brief counts as accepted, because tool approval is {approval}.",
        "Goal, round 1. Model calls left in this prompt: 11 of 12.",
        "Goal, round 2. Model calls left in this prompt: 9 of 12.",
        "Goal, round 3. Model calls left in this prompt: 7 of 12.",
        "Goal complete. Rounds of work: 3.",
    ]
    assert modes_in(updates) == ["normal"]
    assert [call.status for call in calls_in(updates)] == ["completed"] * 3
    told = host_said(one)
    assert "This is round 1. Model calls left in this prompt: 11." in told[0]
    assert "This is round 2 of the goal: two rounds" in told[1]


def test_the_brief_is_put_to_the_person_who_is_asked(one: Served) -> None:
    asked: list[Message] = []

    def approve(request: Message) -> str:
        asked.append(request["params"])
        return "once"

    updates = one.prompt(pursuing(one, "ask"), "two rounds", permission=approve)
    first = asked[0]
    assert [option["optionId"] for option in first["options"]] == ["deny", "once"]
    assert first["toolCall"]["kind"] == "switch_mode"
    assert first["toolCall"]["title"] == "Start working on this goal?"
    assert first["toolCall"]["content"][0]["content"]["text"] == "The brief."
    assert put(updates).statuses == ["pending", "completed"]
    assert len(asked) == 3  # and each of the two files
    assert modes_in(updates) == ["normal"]


def test_a_refused_brief_ends_the_goal(one: Served) -> None:
    session = pursuing(one, "ask")
    updates = one.prompt(session, "two rounds", permission="deny")
    assert put(updates).statuses == ["pending", "failed"]
    assert notices_in(updates) == ["The goal was not started, and goal mode is off."]
    assert modes_in(updates) == ["normal"]
    assert len(one.server.requests) == 1
    assert notices_in(one.prompt(session, "plain")) == []
    assert one.read()[-1]["content"].startswith("<mode-off>\nThe goal mode is off")


def test_a_closed_brief_cancels_the_turn_and_stops_the_goal(one: Served) -> None:
    updates = one.prompt(pursuing(one, "ask"), "two rounds", permission=lambda _: None, stop="cancelled")
    assert put(updates).status == "failed"
    assert notices_in(updates) == ["Goal stopped."]
    assert modes_in(updates) == ["normal"]


def test_where_nobody_can_accept_the_brief_it_waits(one: Served) -> None:
    session, since = pursuing(one, "ask"), len(one.agent.messages)
    prompt = one.agent.start_prompt(session, "two rounds")
    one.agent.refuse(one.agent.expect_request("session/request_permission"), -32601)
    assert one.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    updates = updates_in(one.agent.messages[since:], session)
    assert notices_in(updates) == ["[warning] Nobody was there to accept the brief. The goal is paused."]
    assert modes_in(updates) == []
    updates = one.prompt(session, "better brief")
    assert notices_in(updates)[0] == "Going on with the goal: two rounds (rounds of work so far: 0)"
    assert put(updates).status == "completed"


def test_a_model_without_a_brief_is_asked_for_one(tmp_path: Path) -> None:
    script = {"turns": [turn("without a brief", BRIEF, report("complete"), says("Done.")), turn("late$", says(" "))]}
    with served(tmp_path, script) as one:
        assert notices_in(one.prompt(pursuing(one), "late"))[-1] == "Goal complete. Rounds of work: 1."


def test_a_model_that_never_writes_a_brief_is_stopped(tmp_path: Path) -> None:
    with served(tmp_path, {"turns": [turn("never$", says(" "), says(" "), says(" "), says("Never said."))]}) as one:
        updates = one.prompt(pursuing(one), "never")
    assert notices_in(updates) == ["[warning] Goal stopped: nothing new came of 3 rounds in a row."]
    assert "Never said." not in text_in(updates)


# Complete, or blocked.


def test_open_todos_keep_a_goal_from_being_complete(one: Served) -> None:
    updates = one.prompt(pursuing(one), "todos")
    first, second = reports_in(updates)
    assert (first.status, second.status) == ("failed", "completed")
    assert "these entries of the todo list are open: Step 1." in first.text
    assert notices_in(updates)[-1] == "Goal complete. Rounds of work: 2."


def test_todos_that_are_opened_after_the_report_count(one: Served) -> None:
    updates = one.prompt(pursuing(one), "reopened")
    assert [call.status for call in reports_in(updates)] == ["completed", "completed"]
    assert "these entries of the todo list are open: Step 0." in host_said(one)[1]
    assert notices_in(updates)[-1] == "Goal complete. Rounds of work: 2."


@pytest.mark.parametrize(("text", "reason"), [("blocked", "no network"), ("blocked at once", "no such project")])
def test_a_blocked_goal_stops_and_says_why(one: Served, text: str, reason: str) -> None:
    updates = one.prompt(pursuing(one), text)
    assert notices_in(updates)[-1] == f"[warning] Goal blocked: {reason}"
    assert modes_in(updates) == ["normal"]


def test_nothing_is_complete_before_the_brief(one: Served) -> None:
    updates = one.prompt(pursuing(one), "early")
    first, second = reports_in(updates)
    assert "cannot be complete before its brief is accepted" in first.text
    assert second.status == "completed"


# No progress, and bounds.


@pytest.mark.parametrize(("text", "rounds"), [("idle", 3), ("circles", 4), ("ticks", 5)])
def test_three_rounds_without_progress_stop_it(one: Served, text: str, rounds: int) -> None:
    updates = one.prompt(pursuing(one), text)
    notices = notices_in(updates)
    assert sum(notice.startswith("Goal, round") for notice in notices) == rounds
    assert notices[-1] == "[warning] Goal stopped: nothing new came of 3 rounds in a row."
    assert modes_in(updates) == ["normal"]
    assert "Never said." not in text_in(updates)
    assert "Rounds that brought nothing new: 2 in a row; at 3 the goal is stopped." in host_said(one)[-1]


def test_the_limit_of_model_calls_pauses_it(tmp_path: Path) -> None:
    with served(tmp_path, SCRIPT, limits={"turn_requests": 5}) as one:
        session = pursuing(one)
        updates = one.prompt(session, "for ever", stop="max_turn_requests")
        assert notices_in(updates)[-2:] == [
            "Goal, round 2. Model calls left in this prompt: 2 of 5.",
            "The goal is paused. The next prompt in goal mode goes on with it.",
        ]
        assert modes_in(updates) == []
        updates = one.prompt(session, "go on")
        assert notices_in(updates)[0] == "Going on with the goal: for ever (rounds of work so far: 2)"
        assert notices_in(updates)[-1] == "Goal complete. Rounds of work: 3."


def test_the_tokens_of_a_session_are_a_bound(tmp_path: Path) -> None:
    with served(tmp_path, SCRIPT, limits={"session_tokens": 1000}) as one:
        session = pursuing(one)
        updates = one.prompt(session, "for ever", stop="max_tokens")
        *_, spent, paused = notices_in(updates)
        assert "/1000), so the model is not asked any more" in spent
        assert paused == "The goal is paused. The next prompt in goal mode goes on with it."
        assert modes_in(updates) == []


def test_a_failed_model_pauses_it(one: Served) -> None:
    session, since = pursuing(one), len(one.agent.messages)
    answer = one.agent.response(one.agent.start_prompt(session, "breaks"))
    assert answer["error"]["code"] == -32603
    updates = updates_in(one.agent.messages[since:], session)
    assert notices_in(updates)[-1] == "The goal is paused. The next prompt in goal mode goes on with it."
    assert notices_in(one.prompt(session, "go on"))[0].startswith("Going on with the goal: breaks")


def test_a_prompt_that_leaves_no_trace_leaves_no_goal(one: Served) -> None:
    session = pursuing(one)
    one.prompt(session, "refuse me", stop="refusal")
    assert not any("Going on" in notice for notice in notices_in(one.prompt(session, "two rounds")))


# The person.


def test_a_cancel_stops_it(one: Served) -> None:
    session, since = pursuing(one), len(one.agent.messages)
    prompt = one.agent.start_prompt(session, "slow")
    one.server.wait_for_request(3)
    one.agent.notify("session/cancel", {"sessionId": session})
    assert one.agent.response(prompt)["result"] == {"stopReason": "cancelled"}
    end = one.agent.transcript.responses[(int, prompt)]
    updates = updates_in(one.agent.messages[since:end], session)
    assert notices_in(updates)[-1] == "Goal stopped."
    assert modes_in(updates) == ["normal"]


@pytest.mark.parametrize("mode", ["normal", "plan"])
def test_leaving_the_mode_stops_it_at_the_next_boundary(one: Served, mode: str) -> None:
    session, since = pursuing(one, "ask"), len(one.agent.messages)
    prompt = one.agent.start_prompt(session, "two rounds")
    one.agent.decide(one.agent.expect_request("session/request_permission"), "once")
    question = one.agent.expect_request("session/request_permission")  # of the first file
    set_mode(one.agent, session, mode)
    one.agent.decide(question, "once")
    if mode == "plan":
        one.agent.decide(one.agent.expect_request("session/request_permission"), "deny")
    assert one.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    updates = updates_in(one.agent.messages[since:], session)
    assert notices_in(updates)[-1] == "Goal stopped."
    assert (one.workspace / "a.txt").exists() == (mode == "normal")
    set_mode(one.agent, session)
    assert notices_in(one.prompt(session, "blocked at once"))[0].startswith("[warning] Goal blocked")


def test_guidance_is_heard_in_its_round(one: Served) -> None:
    session, since = pursuing(one, "ask"), len(one.agent.messages)
    prompt = one.agent.start_prompt(session, "two rounds")
    one.agent.decide(one.agent.expect_request("session/request_permission"), "once")
    question = one.agent.expect_request("session/request_permission")
    blocks = [{"type": "text", "text": "Mind the gap."}]
    one.agent.call("_reasonix.io/session/steer", {"sessionId": session, "prompt": blocks})
    one.agent.decide(question, "once")
    one.agent.decide(one.agent.expect_request("session/request_permission"), "once")
    assert one.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    heard = [message["content"] for message in one.read() if message["role"] == "user"]
    (guidance,) = [text for text in heard if not text.startswith("<goal-round>")][1:]
    assert guidance.endswith("Mind the gap.")
    updates = updates_in(one.agent.messages[since:], session)
    assert notices_in(updates)[-1].startswith("Goal complete.")


def test_setting_the_mode_again_arms_a_new_goal(one: Served) -> None:
    session = pursuing(one)
    one.agent.response(one.agent.start_prompt(session, "breaks"))
    set_mode(one.agent, session)
    updates = one.prompt(session, "blocked at once")
    assert not any("Going on" in notice for notice in notices_in(updates))


def test_setting_the_mode_again_while_it_works_changes_nothing(one: Served) -> None:
    session = pursuing(one, "ask")

    def set_again(_: Message) -> str:
        set_mode(one.agent, session)
        return "once"

    assert notices_in(one.prompt(session, "two rounds", permission=set_again))[-1].startswith("Goal complete.")


# Beyond the process.


def kill(agent: Agent) -> None:
    agent.exit_code = None
    agent.process.signal(9)
    assert agent.process.ended.wait(60)


@pytest.mark.parametrize(("approval", "rounds"), [("auto", 1), ("ask", 0)])
def test_after_kill_9_it_waits_for_a_prompt_and_goes_on(one: Served, approval: str, rounds: int) -> None:
    session = pursuing(one, approval)
    one.agent.start_prompt(session, "slow" if rounds else "brief only")
    if rounds:
        one.server.wait_for_request(3)
        one.agent.wait_until(lambda _: "Working" in text_in(one.agent.updates(session)))
    else:
        one.agent.expect_request("session/request_permission")
    kill(one.agent)
    with contextlib.closing(one.start()) as second:
        second.initialize()
        answer = second.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
        assert answer["modes"]["currentModeId"] == "goal"
        before = len(one.server.requests)
        replayed = second.updates(session)
        assert not any(call.status == "pending" for call in calls_in(replayed))
        updates, response = second.prompt(session, "go on" if rounds else "better brief", permission="once")
        assert response["result"] == {"stopReason": "end_turn"}
        objective = "slow" if rounds else "brief only"
        assert notices_in(updates)[0] == (f"Going on with the goal: {objective} (rounds of work so far: {rounds})")
        assert notices_in(updates)[-1].startswith("Goal complete.")
        assert modes_in(updates) == ["normal"]
        assert len(one.server.requests) > before
        words = [message["content"] for message in one.read() if message["role"] == "user"]
        (told,) = [text for text in words if "What the person says next is guidance" in text]
        assert f"The objective stays: {objective}" in told


def test_closing_a_session_keeps_its_goal(one: Served) -> None:
    session = pursuing(one)
    prompt = one.agent.start_prompt(session, "slow")
    one.server.wait_for_request(3)
    one.agent.call("session/close", {"sessionId": session})
    assert one.agent.response(prompt)["result"] == {"stopReason": "cancelled"}
    answer = one.agent.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
    assert answer["modes"]["currentModeId"] == "goal"
    assert notices_in(one.prompt(session, "go on"))[0].startswith("Going on with the goal: slow")


def test_the_prefix_stays(tmp_path: Path) -> None:
    """Over a plan's approval and rounds of a goal, system prompt and tools are the same bytes, and messages are only
    added."""
    script = {"turns": [turn("make a plan$", says("The plan."), step("p"), says("Built.")), *SCRIPT["turns"]]}
    with served(tmp_path, script) as one:
        session = pursuing(one)
        set_mode(one.agent, session, "plan")
        one.prompt(session, "make a plan")
        set_mode(one.agent, session)
        one.prompt(session, "two rounds")
        one.prompt(session, "plain")
        set_mode(one.agent, session)
        one.prompt(session, "todos")
        requests = one.server.requests
    assert len(requests) > 12
    for before, after in itertools.pairwise(request.body for request in requests):
        assert {**before, "messages": 0} == {**after, "messages": 0}
        assert after["messages"][: len(before["messages"])] == before["messages"]
    for before, after in itertools.pairwise(request.raw for request in requests):
        assert after.startswith(before.removesuffix(b"]}"))
