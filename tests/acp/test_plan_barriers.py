"""In plan mode nothing changes, whatever the model calls and however it is allowed, here or through the editor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.editor import Editor
from tests.acp.seen import call_in, calls, calls_in, says, turn
from tests.acp.served import Served, served
from tests.agent import Message, updates_in

# How each tool could change something, by the word that makes the model try.
CHANGES: dict[str, Message] = {
    "bash": calls("bash", command="touch made.txt"),
    "harmless": calls("bash", command="true"),
    "job": calls("bash", command="touch made.txt; sleep 60", background=True),
    "write": calls("write_file", path="made.txt", content="x"),
    "replace": calls("write_file", path="file.txt", content="x"),
    "edit": calls("edit_file", path="file.txt", old="one", new="two"),
    "edits": calls("multi_edit", path="file.txt", edits=[{"old": "one", "new": "two"}]),
    "move": calls("move_file", source="file.txt", target="made.txt"),
    "delete": calls("delete_file", path="file.txt"),
}
SCRIPT: dict[str, Any] = {
    "turns": [
        *[turn(rf"\b{word}$", step, says("A plan.")) for word, step in CHANGES.items()],
        turn("all at once$", [*CHANGES.values()], says("A plan.")),
        turn("start a job$", calls("bash", command="sleep 60", background=True), says("Started.")),
        turn("end it$", [calls("job_output", job_id="job_1"), calls("job_kill", job_id="job_1")], says("A plan.")),
        turn("look$", [calls("read_file", path="file.txt"), calls("list_dir"), calls("grep", pattern="one"),
                       calls("glob", pattern="*"), calls("todo_write", todos=[]),
                       calls("update_goal", status="continue", note="x")], says("A plan.")),
    ]
}  # fmt: skip
OUTSIDE = "fs/read_text_file"


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, SCRIPT) as made:
        (made.workspace / "file.txt").write_text("one\n")
        yield made


@pytest.fixture(params=[False, True], ids=["here", "through the editor"])
def editor(request: pytest.FixtureRequest, one: Served) -> Editor:
    with_editor: bool = request.param
    abilities = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
    one.agent.initialize(abilities if with_editor else {})
    return Editor(one.agent, reads=with_editor, writes=with_editor, terminals=with_editor, permission="deny")


def set_mode(one: Served, session: str, mode: str, approval: str) -> None:
    for option, value in (("tool_approval", approval), ("mode", mode)):
        params = {"sessionId": session, "configId": option, "value": value}
        one.agent.call("session/set_config_option", params)


def is_untouched(one: Served) -> bool:
    return os.listdir(one.workspace) == ["file.txt"] and (one.workspace / "file.txt").read_text() == "one\n"


@pytest.mark.parametrize("approval", ["ask", "auto", "yolo"])
def test_every_change_is_refused_without_a_question(one: Served, editor: Editor, approval: str) -> None:
    session = one.new()
    set_mode(one, session, "plan", approval)
    updates, answer = editor.turn(session, "all at once")
    assert answer["result"] == {"stopReason": "end_turn"}
    *tried, put = calls_in(updates)
    assert len(tried) == len(CHANGES)
    for call in tried:
        assert call.statuses == ["pending", "failed"], call.now
        assert "plan" in call.text
    assert put.first["_meta"]["tool_name"] == "exit_plan_mode"
    assert set(editor.methods) <= {OUTSIDE, "session/request_permission"}
    assert editor.methods.count("session/request_permission") == 1
    assert is_untouched(one)


@pytest.mark.parametrize("word", [word for word in CHANGES if word != "harmless"])
def test_who_is_asked_and_turns_plan_mode_on_before_the_yes(one: Served, editor: Editor, word: str) -> None:
    """The question is from before; what it allows is looked at again when it is to be done."""
    session = one.new()
    set_mode(one, session, "normal", "ask")
    answers = iter(["once", "deny"])

    def turn_on(_: Message) -> str:
        answer = next(answers)
        if answer == "once":
            one.agent.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
        return answer

    editor.permission = turn_on
    updates, _ = editor.turn(session, word)
    tried, put = calls_in(updates)
    assert tried.status == "failed"
    assert "plan" in tried.text
    assert put.status == "failed"
    assert is_untouched(one)


def test_a_job_goes_on_and_cannot_be_ended(one: Served) -> None:
    session = one.new()
    set_mode(one, session, "normal", "yolo")
    one.prompt(session, "start a job")
    set_mode(one, session, "plan", "yolo")
    updates = one.prompt(session, "end it", permission="deny")
    assert [call.status for call in calls_in(updates)] == ["completed", "failed", "failed"]
    set_mode(one, session, "normal", "yolo")
    updates = one.prompt(session, "end it")
    assert [call.status for call in calls_in(updates)] == ["completed", "completed"]


def test_looking_works(one: Served) -> None:
    session = one.new()
    set_mode(one, session, "plan", "ask")
    updates = one.prompt(session, "look", permission="deny")
    assert [call.status for call in calls_in(updates)] == ["completed"] * 5 + ["failed", "failed"]
    told = [call for call in calls_in(updates) if call.first["_meta"]["tool_name"] == "update_goal"]
    assert "There is no goal" in told[0].text


def test_goal_mode_is_as_strict_until_the_brief_is_accepted(one: Served, editor: Editor) -> None:
    session = one.new()
    set_mode(one, session, "goal", "ask")
    updates, _ = editor.turn(session, "all at once")
    *tried, put = calls_in(updates)
    assert [call.status for call in tried] == ["failed"] * len(CHANGES)
    assert put.first["_meta"]["tool_name"] == "start_goal"
    assert is_untouched(one)


def test_leaving_the_mode_lets_changes_be(one: Served, editor: Editor) -> None:
    session, since = one.new(), len(one.agent.messages)
    set_mode(one, session, "plan", "yolo")
    one.agent.call("session/set_mode", {"sessionId": session, "modeId": "normal"})
    editor.turn(session, "write")
    assert call_in(updates_in(one.agent.messages[since:], session)).status == "completed"
