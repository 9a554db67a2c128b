"""What plugins do to prompts, calls and permissions, at the wire."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acp.mcp import notice as await_notice
from tests.acp.plugging import ABLE, Plugged, plugged
from tests.acp.seen import call_in, calls_in
from tests.agent import Message, text_in
from tests.descendants import gone

HIDDEN = {"decision": "replace", "replacement": {"text": "Say something else."}}
BLOCK = {"decision": "block", "reason": "not today"}


def asked_for(it: Plugged) -> list[Message]:
    return [one for one in it.agent.transcript.requests if one["method"] == "session/request_permission"]


# -- prompts


def test_a_prompt_is_replaced_for_the_model_alone(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.probe()
        it.rule(input_receive=[["secret", HIDDEN]])
        session = it.new()
        it.one.prompt(session, "a secret")
        assert it.one.heard() == "Say something else."
        it.one.prompt(session, "hello")
        assert "secret" not in json.dumps(it.one.read())
        it.agent.call("session/close", {"sessionId": session})
        since = len(it.agent.messages)
        it.agent.call("session/load", {"sessionId": session, "cwd": str(it.one.workspace), "mcpServers": []})
        assert text_in(it.agent.updates(session, since), "user_message_chunk").startswith("a secret")
        it.one.prompt(session, "hello")
        assert "secret" not in json.dumps(it.one.read())
        assert "Say something else." in json.dumps(it.one.read())


def test_other_blocks_of_a_prompt_stay(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.probe()
        it.rule(input_receive=HIDDEN)
        blocks: list[Message] = [
            {"type": "text", "text": "look"},
            {"type": "resource", "resource": {"uri": "file:///x.txt", "text": "attached", "mimeType": "text/plain"}},
        ]
        it.one.prompt(it.new(), blocks)
        heard = json.dumps(it.one.read())
        assert ("Say something else." in heard, "attached" in heard, "look" in heard) == (True, True, False)


def test_a_blocked_prompt_does_not_reach_the_model(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.probe()
        it.rule(input_receive=[["bad", BLOCK]])
        session = it.new()
        updates = it.one.prompt(session, "bad words")
        assert "the plugin probe blocked it: not today" in text_in(updates)
        assert it.one.server.requests == []
        it.one.prompt(session, "good words")
        assert "bad words" not in json.dumps(it.one.read())


def test_plugins_are_asked_in_the_order_of_their_names(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        for name in ("zebra", "ant"):
            it.probe(name, {"intercepts": ["input.receive"]})
            text = f"said by {name}"
            it.rule(name, input_receive={"decision": "replace", "replacement": {"text": text}})
        it.one.prompt(it.new(), "hello")
        assert it.asked("input.receive", "ant") == [{"text": "hello"}]
        assert it.asked("input.receive", "zebra") == [{"text": "said by ant"}]
        assert it.one.heard() == "said by zebra"


@pytest.mark.parametrize("how", ["crash", "hang"])
def test_a_program_that_fails_while_a_prompt_waits(tmp_path: Path, how: str) -> None:
    with plugged(tmp_path) as it:
        it.probe(timeout=1)
        it.rule(input_receive=how)
        session = it.new()
        it.await_ready()
        assert "Hello." in text_in(it.one.prompt(session, "hello"))
        await_notice(it.agent, session, "is not running: it ended" if how == "crash" else "was not asked")
        assert "Hello." in text_in(it.one.prompt(session, "hello"))
        assert len(it.notices(session)) == 1


@pytest.mark.parametrize("how", ["crash", "hang"])
def test_one_that_is_required_lets_nothing_go_on_without_it(tmp_path: Path, how: str) -> None:
    with plugged(tmp_path) as it:
        it.probe(timeout=1, required=True)
        it.rule(input_receive=how)
        session = it.new()
        updates = it.one.prompt(session, "hello")
        assert "the plugin probe is required and could not be asked" in text_in(updates)
        assert it.one.server.requests == []


def test_a_cancel_while_a_plugin_thinks_about_a_prompt(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.probe(timeout=30)
        it.rule(input_receive=[["slow", "hang"]])
        session = it.new()
        id = it.agent.start_prompt(session, "slow")
        it.await_told(lambda one: one.get("params", {}).get("event") == "input.receive")
        it.agent.notify("session/cancel", {"sessionId": session})
        assert it.agent.response(id)["result"] == {"stopReason": "cancelled"}
        assert it.one.server.requests == []


# -- calls


def test_arguments_are_replaced_and_judged_like_any_others(tmp_path: Path) -> None:
    deny = {"deny": ["Edit(locked/**)"]}
    with plugged(tmp_path, tool_approval="yolo", permissions=deny) as it:
        it.probe()
        it.rule(tool_before={"decision": "replace", "replacement": {"arguments": {"path": "b.txt", "content": "two"}}})
        session = it.new()
        call = call_in(it.one.prompt(session, "#write"))
        assert (call.status, call.now["rawInput"]) == ("completed", {"path": "b.txt", "content": "two"})
        assert (it.written("a.txt"), it.written("b.txt")) == (None, "two")
        locked = {"path": "locked/c.txt", "content": "x"}
        it.rule(tool_before={"decision": "replace", "replacement": {"arguments": locked}})
        call = call_in(it.one.prompt(session, "#write"))
        assert (call.status, it.written("locked/c.txt")) == ("failed", None)
        it.rule(tool_before={"decision": "replace", "replacement": {"arguments": {"content": "x"}}})
        assert "path" in call_in(it.one.prompt(session, "#write")).text
        assert it.one.server.requests


def test_replaced_arguments_are_what_the_person_is_asked_about(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.probe()
        arguments = {"command": "echo other >> other.txt"}
        it.rule(tool_before={"decision": "replace", "replacement": {"arguments": arguments}})
        it.one.prompt(it.new(), "#show")  # `echo shown` only reads; what took its place does not
        (asked,) = asked_for(it)
        assert asked["params"]["toolCall"]["rawInput"] == arguments
        assert it.written("other.txt") == "other\n"


def test_a_blocked_call_is_not_asked_about(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.probe()
        it.rule(tool_before=BLOCK)
        call = call_in(it.one.prompt(it.new(), "#run"))
        assert (call.statuses, call.text) == (["pending", "failed"], "the plugin probe blocked it: not today")
        assert (asked_for(it), it.written("ran.txt")) == ([], None)
        assert it.results() == ["the plugin probe blocked it: not today"]


def test_plan_mode_holds_for_what_takes_the_place_of_a_call(tmp_path: Path) -> None:
    with plugged(tmp_path, tool_approval="yolo") as it:
        it.probe()
        it.rule(tool_before={"decision": "replace", "replacement": {"arguments": {"command": "touch made.txt"}}})
        session = it.new()
        it.agent.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
        updates, _ = it.agent.prompt(session, "#show", permission="deny")
        assert calls_in(updates)[0].status == "failed"
        assert it.written("made.txt") is None


def test_what_a_call_brought_is_replaced(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.probe()
        it.rule(tool_after={"decision": "replace", "replacement": {"text": "Nothing to see."}})
        session = it.new()
        it.one.prompt(session, "#read")
        assert it.results() == ["Nothing to see."]
        (told,) = it.asked("tool.after")
        assert (told["tool"], told["arguments"], told["failed"]) == ("read_file", {"path": "README.md"}, False)
        assert "Read me." in told["text"]
        it.agent.call("session/close", {"sessionId": session})
        it.agent.call("session/load", {"sessionId": session, "cwd": str(it.one.workspace), "mcpServers": []})
        it.rule()
        it.one.prompt(session, "hello")
        assert "Read me." not in json.dumps(it.one.read())


def test_a_result_that_is_blocked(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.probe()
        it.rule(tool_after=BLOCK)
        it.one.prompt(it.new(), "#read")
        assert it.results() == ["the plugin probe blocked it: not today"]


@pytest.mark.parametrize("how", ["crash", "hang"])
def test_a_program_that_fails_in_a_call(tmp_path: Path, how: str) -> None:
    with plugged(tmp_path, limits={"command_seconds": 1}) as it:
        it.probe()
        it.rule(tool__call=how)
        session = it.new()
        it.await_ready()
        assert "Looked." in text_in(it.one.prompt(session, "#look"))
        (said,) = it.results()
        assert said.startswith("The plugin probe could not do it: ")
        assert ("exit code 3" if how == "crash" else "within 1 s") in said
        assert "Read." in text_in(it.one.prompt(session, "#read"))


def test_a_call_that_is_cancelled_is_taken_back(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.probe()
        it.rule(tool__call="ignore")
        session = it.new()
        id = it.agent.start_prompt(session, "#look")
        call_id = it.await_told(lambda one: one.get("method") == "tool/call")["params"]["callId"]
        it.agent.notify("session/cancel", {"sessionId": session})
        assert it.agent.response(id)["result"] == {"stopReason": "cancelled"}
        assert it.await_told(lambda one: one.get("method") == "tool/cancel")["params"] == {"callId": call_id}
        it.rule()
        it.one.prompt(session, "#look")
        assert it.results()[-1] == "Called."


# -- permissions

DECISIONS = [
    # approval, what the plugin says, whether it is asked about, whether it runs (when asked: yes)
    ("ask", "continue", True, True),
    ("ask", "allow", True, True),
    ("ask", "ask", True, True),
    ("ask", "deny", False, False),
    ("auto", "ask", True, True),
    ("auto", "deny", False, False),
    ("yolo", "continue", False, True),
    ("yolo", "allow", False, True),
    ("yolo", "ask", True, True),
    ("yolo", "deny", False, False),
    ("yolo", "block", False, False),
]  # fmt: skip


@pytest.mark.parametrize(("approval", "decision", "asks", "runs"), DECISIONS)
def test_a_permission_is_only_made_stricter(
    tmp_path: Path, approval: str, decision: str, asks: bool, runs: bool
) -> None:
    with plugged(tmp_path, tool_approval=approval) as it:
        it.probe()
        it.rule(permission_decision={"decision": decision, "reason": "odd hour"})
        call = call_in(it.one.prompt(it.new(), "#run"))
        assert (len(asked_for(it)), it.written("ran.txt")) == (asks, "ran\n" if runs else None)
        (told,) = it.asked("permission.decision")
        assert (told["tool"], told["action"]) == ("bash", "ask" if approval == "ask" else told["action"])
        assert call.status == ("completed" if runs else "failed")
        if not runs:
            assert call.text == "Not allowed: the plugin probe says: odd hour"


@pytest.mark.parametrize("decision", ["allow", "continue", "ask"])
def test_what_a_rule_denies_no_plugin_allows(tmp_path: Path, decision: str) -> None:
    with plugged(tmp_path, tool_approval="yolo", permissions={"deny": ["Bash(echo:*)"]}) as it:
        it.probe()
        it.rule(permission_decision={"decision": decision, "reason": "please"})
        call = call_in(it.one.prompt(it.new(), "#run"))
        assert (call.status, asked_for(it), it.written("ran.txt")) == ("failed", [], None)


def test_a_plugin_that_asks_leaves_nothing_to_remember(tmp_path: Path) -> None:
    with plugged(tmp_path, tool_approval="yolo") as it:
        it.probe()
        it.rule(permission_decision={"decision": "ask", "reason": "odd hour"})
        session = it.new()
        it.one.prompt(session, "#run")
        it.one.prompt(session, "#run")
        assert len(asked_for(it)) == 2
        options = [one["optionId"] for one in asked_for(it)[0]["params"]["options"]]
        assert sorted(options) == ["deny", "once"]


def test_one_that_is_required_denies_by_failing(tmp_path: Path) -> None:
    with plugged(tmp_path, tool_approval="yolo") as it:
        it.probe(able={"intercepts": ["permission.decision"]}, required=True)
        it.rule(permission_decision="crash")
        call = call_in(it.one.prompt(it.new(), "#run"))
        assert (call.status, it.written("ran.txt")) == ("failed", None)
        assert "is required and could not be asked" in call.text


@pytest.mark.parametrize(
    "answer",
    [
        {"decision": "allow"},
        {"decision": "replace"},
        {"decision": "replace", "replacement": {"tool": "bash"}},
        {"decision": "replace", "replacement": {"arguments": "rm"}},
        {"decision": "dance"},
        {"decision": "continue", "surprise": 1},
        [],
    ],
    ids=json.dumps,
)
def test_an_answer_that_means_nothing_changes_nothing(tmp_path: Path, answer: Any) -> None:
    with plugged(tmp_path, tool_approval="yolo") as it:
        it.probe(able={**ABLE, "intercepts": ["tool.before"]})
        it.rule(tool_before=[["", answer]])
        session = it.new()
        assert call_in(it.one.prompt(session, "#run")).status == "completed"
        await_notice(it.agent, session, r"probe was not asked \(tool.before\)")
        (pid,) = it.pids()
        assert not gone(pid, 0)
