"""Background jobs: they outlive turns, cancels and changes of the model, and end with their session."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.acp.seen import call_in, calls, says, turn
from tests.acp.served import Served, served
from tests.conftest import Home, StartAgent
from tests.descendants import gone
from tests.settling import PATIENCE, until

RUNS = "echo up; echo $$ > pid; exec sleep 300"
STUBBORN = "trap '' TERM HUP; echo $$ > pid; sleep 300; sleep 300"
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("start", calls("bash", command=RUNS, background=True), says("Started.")),
        turn("stubborn", calls("bash", command=STUBBORN, background=True), says("Started.")),
        turn("brief", calls("bash", command="cat pid; exit 3", background=True), says("Ok.")),
        turn("look", calls("job_output", job_id="job_1"), says("Seen.")),
        turn("wait", calls("job_output", job_id="job_1", wait_seconds=300), says("Seen.")),
        turn("kill", calls("job_kill", job_id="job_1"), says("Killed.")),
        turn("hi", says("Hello.")),
    ]
}  # fmt: skip


def read_pid(workspace: Path) -> int:
    """The job's process, once it has got so far."""
    return int((workspace / "pid").read_text())


@pytest.fixture
def one(tmp_path: Path) -> Any:
    with served(tmp_path, SCRIPT) as made:
        made.agent.initialize()
        os.mkfifo(made.workspace / "pid")
        yield made


def test_a_job_goes_on_while_turns_come_and_go(one: Served) -> None:
    session = one.new()
    call = call_in(one.prompt(session, "start"))
    assert (call.status, call.now["kind"], call.text) == ("completed", "execute", "Started as job_1.")
    pid = read_pid(one.workspace)
    until(lambda: call_in(one.prompt(session, "look")).text == "up\n[job_1 is running]", "the job's first line")
    since, prompt = len(one.agent.messages), one.agent.start_prompt(session, "wait")
    one.agent.expect_update(session, "tool_call", since)
    one.agent.notify("session/cancel", {"sessionId": session})
    assert one.agent.response(prompt)["result"] == {"stopReason": "cancelled"}
    assert not gone(pid, 0)
    assert call_in(one.prompt(session, "look")).text.endswith("[job_1 is running]")
    assert call_in(one.prompt(session, "kill")).text.endswith("[job_1 has ended: ended by SIGTERM]")
    assert gone(pid, PATIENCE)


def test_the_model_hears_of_an_end(one: Served) -> None:
    session = one.new()
    one.prompt(session, "brief")
    one.prompt(session, "hi")
    assert one.heard() == "hi"
    (one.workspace / "pid").write_text("")
    deadline = time.monotonic() + PATIENCE
    while "job_1" not in one.heard():
        assert time.monotonic() < deadline
        one.prompt(session, "hi")
    assert one.heard().startswith("[The background job job_1 (cat pid; exit 3) has ended: exit 3.")
    assert one.heard().endswith(" job_output shows what it printed.]\n\nhi")
    one.prompt(session, "hi")
    assert one.heard() == "hi"


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
@pytest.mark.parametrize("kind", ["start", "stubborn"])
def test_a_job_ends_with_its_session(one: Served, method: str, kind: str) -> None:
    session, other = one.new(), one.new()
    one.prompt(session, kind)
    pid = read_pid(one.workspace)
    before = time.monotonic()
    one.agent.call(method, {"sessionId": session})
    assert gone(pid, 0)
    assert time.monotonic() - before < 10
    one.prompt(other, "hi")


@pytest.mark.parametrize("kind", ["start", "stubborn"])
def test_a_job_ends_with_the_agent(agent: StartAgent, home: Home, workspace: Path, kind: str) -> None:
    home.use_script(SCRIPT, tool_approval="yolo")
    os.mkfifo(workspace / "pid")
    one = agent()
    one.grace = 0.0
    one.prompt(one.new_session(workspace), kind)
    read_pid(workspace)
    one.close_stdin()
    assert one.wait_exit() == 0


def test_starting_one_is_asked_for_like_any_command(one: Served) -> None:
    session = one.new()
    call = call_in(one.prompt(session, "start", permission="deny"))
    assert call.status == "failed"
    (asked,) = [message for message in one.agent.messages if message.get("method") == "session/request_permission"]
    assert asked["params"]["toolCall"]["title"].startswith("Start: echo up")
    assert call_in(one.prompt(session, "look")).text.startswith("There is no such job")
