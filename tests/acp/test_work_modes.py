"""Work modes as the model sees them: tools and system prompt, and how tools join a session that begins with few."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acp.seen import call_in, calls, calls_in, says, turn
from tests.acp.served import Served, served
from tests.agent import Agent, Message, text_in

CORE = {"read_file", "edit_file", "write_file", "bash", "job_output", "job_kill", "update_goal", "ask"}
LEAN = CORE | {"connect_tool_source"}
REST = {"glob", "grep", "list_dir", "multi_edit", "move_file", "delete_file", "web_fetch", "todo_write"}
REST |= {"remember", "recall_memory"}
SEARCH = {"glob", "grep", "list_dir"}
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("hello", says("Hello.")),
        turn("search", calls("connect_tool_source", source="search"), calls("grep", pattern="x"), says("Later.")),
        turn("both", [calls("connect_tool_source", source="web"), calls("connect_tool_source", source="edits")],
             says("Both.")),
        turn("find", calls("grep", pattern="needle"), says("Found.")),
        turn("nonsense", calls("connect_tool_source", source="nothing"), says("No.")),
    ]
}  # fmt: skip
END = b"]}"


@contextmanager
def working(folder: Path, profile: str, source: Any = SCRIPT, **model: Any) -> Iterator[Served]:
    with served(folder, source, model, profile=profile) as one:
        yield one


def tools(request: Any) -> set[str]:
    return {tool["function"]["name"] for tool in request.body["tools"]}


def system(request: Any) -> str:
    (message,) = [message for message in request.body["messages"] if message["role"] == "system"]
    text: str = message["content"]
    return text


def set_option(agent: Agent, session: str, option: str, value: str) -> None:
    agent.call("session/set_config_option", {"sessionId": session, "configId": option, "value": value})


@pytest.mark.parametrize(
    ("profile", "expected"),
    [("economy", LEAN), ("balanced", CORE | REST), ("delivery", CORE | REST | {"complete_step"})],
)
def test_the_tools_of_a_mode(tmp_path: Path, profile: str, expected: set[str]) -> None:
    with working(tmp_path, profile) as one:
        one.prompt(one.new(), "hello")
        assert tools(one.last) == expected


def test_only_the_system_prompt_says_what_a_mode_adds(tmp_path: Path) -> None:
    prompts = {}
    for profile in ("economy", "balanced", "delivery"):
        with working(tmp_path / profile, profile) as one:
            one.prompt(one.new(), "hello")
            prompts[profile] = system(one.last)
    plain = prompts["balanced"]
    assert all(prompt.startswith(plain) for prompt in prompts.values())
    assert prompts["economy"].removeprefix(plain).count("\n") == 2  # a line of its own behind an empty one
    block = prompts["delivery"].removeprefix(plain).strip()
    assert block.startswith("<delivery-profile>")
    assert block.endswith("</delivery-profile>")


def test_images_can_be_connected_only_where_the_model_sees_them(tmp_path: Path) -> None:
    with working(tmp_path / "blind", "economy") as one:
        one.prompt(one.new(), "hello")
        assert b"view_image" not in one.last.raw
    with working(tmp_path / "seeing", "economy", vision=True) as one:
        one.prompt(one.new(), "hello")
        assert b"view_image" in one.last.raw
        assert "view_image" not in tools(one.last)


@pytest.mark.parametrize("profile", ["economy", "balanced", "delivery"])
def test_within_a_mode_each_request_extends_the_last(tmp_path: Path, profile: str) -> None:
    with working(tmp_path, profile) as one:
        session = one.new()
        for _ in range(3):
            one.prompt(session, "hello")
        raw = [request.raw for request in one.server.requests]
        assert all(after.startswith(before.removesuffix(END)) for before, after in itertools.pairwise(raw))


def test_a_switch_keeps_the_history_and_makes_one_new_beginning(tmp_path: Path) -> None:
    with working(tmp_path, "balanced") as one:
        session = one.new()
        one.prompt(session, "hello")
        for mode in ("eco", "quality", "full"):
            set_option(one.agent, session, "profile", mode)
            one.prompt(session, "hello")
            one.prompt(session, "hello")
        raw = [request.raw for request in one.server.requests]
        starts = [request.split(b'"messages":[{"role":"user"', 1)[0].split(b'{"role":"user"', 1)[0] for request in raw]
        changes = [before != after for before, after in itertools.pairwise(starts)]
        assert changes == [True, False, True, False, True, False]
        assert starts[0] == starts[-1]
        assert len(one.read()) == 13


def test_a_source_joins_with_the_next_prompt(tmp_path: Path) -> None:
    with working(tmp_path, "economy") as one:
        (one.workspace / "a.txt").write_text("needle\n")
        session = one.new()
        updates = one.prompt(session, "search")
        connected, early = calls_in(updates)
        assert (connected.status, early.status) == ("completed", "failed")
        assert "from the person's next prompt on" in connected.text
        assert "There is no tool named 'grep'" in early.text
        told = "From your next prompt on there are more tools (search): glob, grep, list_dir."
        assert told in text_in(updates)
        raw = [request.raw for request in one.server.requests]
        assert all(tools(request) == LEAN for request in one.server.requests)
        assert all(after.startswith(before.removesuffix(END)) for before, after in itertools.pairwise(raw))
        assert "needle" in call_in(one.prompt(session, "find")).text
        assert tools(one.last) == LEAN | SEARCH


def test_sources_of_one_reply_join_together_and_only_once(tmp_path: Path) -> None:
    with working(tmp_path, "economy") as one:
        session = one.new()
        one.prompt(session, "both")
        updates = one.prompt(session, "both")
        assert tools(one.last) == LEAN | {"web_fetch", "multi_edit", "move_file", "delete_file"}
        assert all("was connected before" in call.text for call in calls_in(updates))
        assert "From your next prompt" not in text_in(updates)
        before = one.last.raw
        one.prompt(session, "hello")
        assert one.last.raw.startswith(before.removesuffix(END))


def test_a_source_that_does_not_exist(tmp_path: Path) -> None:
    with working(tmp_path, "economy") as one:
        session = one.new()
        call = call_in(one.prompt(session, "nonsense"))
        assert call.status == "failed"
        assert "one of" in call.text
        one.prompt(session, "hello")
        assert tools(one.last) == LEAN


def test_sources_outlive_a_kill_a_load_and_a_switch_of_modes(tmp_path: Path) -> None:
    with working(tmp_path, "economy") as one:
        first = one.start()
        first.initialize()
        session = first.new_session(one.workspace)
        first.prompt(session, "search")
        first.process.signal(signal.SIGKILL)
        first.exit_code = None
        first.close()
        params: Message = {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []}
        one.agent.initialize()
        one.agent.call("session/load", params)
        one.agent.prompt(session, "hello")
        assert tools(one.last) == LEAN | SEARCH
        set_option(one.agent, session, "work_mode", "balanced")
        one.agent.prompt(session, "hello")
        assert tools(one.last) == CORE | REST
        set_option(one.agent, session, "work_mode", "economy")
        one.agent.prompt(session, "hello")
        assert tools(one.last) == LEAN | SEARCH


def test_a_mode_that_is_asked_for_together_with_a_source(tmp_path: Path) -> None:
    """Both wait for the end of the turn, and both come."""
    script = {"turns": [turn("go", calls("connect_tool_source", source="web"), [{"wait": 0.5}, *says("Done.")]),
                        turn("hello", says("Hello."))]}  # fmt: skip
    with working(tmp_path, "economy", script) as one:
        session = one.new()
        id = one.agent.start_prompt(session, "go")
        one.server.wait_for_request(2)
        set_option(one.agent, session, "work_mode", "balanced")
        assert one.agent.response(id)["result"] == {"stopReason": "end_turn"}
        one.prompt(session, "hello")
        assert tools(one.last) == CORE | REST
        set_option(one.agent, session, "work_mode", "economy")
        one.prompt(session, "hello")
        assert tools(one.last) == LEAN | {"web_fetch"}


def test_plan_mode_lets_sources_be_connected(tmp_path: Path) -> None:
    with working(tmp_path, "economy") as one:
        session = one.new()
        set_option(one.agent, session, "mode", "plan")
        assert calls_in(one.prompt(session, "search", permission="deny"))[0].status == "completed"
        one.prompt(session, "hello", permission="deny")
        assert tools(one.last) == LEAN | SEARCH


def test_no_client_sets_or_sees_sources(tmp_path: Path) -> None:
    with working(tmp_path, "economy") as one:
        session = one.new()
        params = {"sessionId": session, "configId": "sources", "value": "web"}
        assert one.agent.fail("session/set_config_option", params)["code"] == -32602
        one.prompt(session, "search")
        assert not [line for line in one.agent.lines if b'"sources"' in line]
