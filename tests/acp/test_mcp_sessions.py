"""Which servers a session has, when they join it, and what that does to the beginning of its requests."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.mcp import END, children, in_file, mcp_tools, notice, plain, says, set_option, settle, tools_of
from tests.acp.seen import call_in, calls, calls_in, turn
from tests.acp.seen import says as replies
from tests.acp.served import Served, served
from tests.agent import Message
from tests.repository.sources import ROOT
from tests.settling import appears

TODO = [{"content": "Do it", "status": "in_progress"}]
SCRIPT: dict[str, Any] = {
    "turns": [
        turn(r"\bpid$", calls("mcp__one__pid"), replies("Done.")),
        turn(r"\bsilence$", calls("mcp__one__silence", touch="started"), replies("Done.")),
        turn(r"\blisted$", calls("todo_write", todos=TODO), calls("mcp__one__pid"), replies("Done.")),
        turn(r"\bconnect$", calls("connect_tool_source", source="mcp"), replies("Later.")),
        turn("", replies("Hello.")),
    ]
}  # fmt: skip


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("sessions"), SCRIPT, tool_approval="yolo") as made:
        yield made


def named(word: str) -> Message:
    """A server called `s` that tells by its tool who named it."""
    return plain("s", f"tools=by_{word}")


def trust(one: Served, session: str) -> None:
    shown = says(one, session, "/project-trust approve")
    says(one, session, "/project-trust approve " + shown.rpartition("approve ")[2].strip("`"))


def test_of_two_with_one_name_the_client_wins_then_the_person_then_the_project(tmp_path: Path) -> None:
    mine = {"s": _settings(named("person")), "person": _settings(plain("person"))}
    with served(tmp_path, SCRIPT, mcp_servers=mine) as one:
        for place, word in ((".acpagent/mcp.json", "first"), (".mcp.json", "second"), (".soba/mcp.json", "third")):
            path = one.workspace / place
            path.parent.mkdir(exist_ok=True)
            path.write_text(in_file(named(word), plain("p", f"tools=by_{word}"), plain(word)))
        session = one.new(mcpServers=[named("client")])
        settle(one, session, ["mcp__s__by_client", "mcp__person__pid"])
        assert {name.split("__")[1] for name in mcp_tools(one.last)} == {"s", "person"}
        assert "nothing of what this project brings" in notice(one.agent, session, "trust")
        trust(one, session)
        settle(
            one,
            session,
            ["mcp__s__by_client", "mcp__p__by_first", *(f"mcp__{n}__pid" for n in ("first", "second", "third"))],
        )
        assert {name for name in mcp_tools(one.last) if "__by_" in name} == {"mcp__s__by_client", "mcp__p__by_first"}
        status = says(one, session, "/mcp")
        assert "`s` (stdio, from the client): ready" in status
        assert "`p` (stdio, from .acpagent/mcp.json): ready" in status
        assert "`third` (stdio, from .soba/mcp.json): ready" in status
        assert len(children(one.agent, "by_")) == 2
        session = one.new()  # now the person's own is the first
        settle(one, session, ["mcp__s__by_person", "mcp__third__pid"])


def _settings(server: Message) -> Message:
    return {key: server[key] for key in ("command", "args")}


@pytest.mark.parametrize("verb", ["load", "resume"])
def test_a_live_session_takes_the_servers_of_who_opens_it_again(one: Served, verb: str) -> None:
    session = one.new(mcpServers=[plain("one"), plain("two")])
    settle(one, session, ["mcp__one__pid", "mcp__two__pid"])
    pid = call_in(one.prompt(session, "pid")).text
    params = {"sessionId": session, "cwd": str(one.workspace), "mcpServers": [plain("one"), plain("three")]}
    one.agent.call(f"session/{verb}", params)
    settle(one, session, ["mcp__one__pid", "mcp__three__pid"], ["mcp__two__pid"])
    assert call_in(one.prompt(session, "pid")).text == pid  # nothing of it has changed
    params["mcpServers"] = [plain("one", "tools=more")]
    one.agent.call(f"session/{verb}", params)
    settle(one, session, ["mcp__one__more"], ["mcp__three__pid"])
    assert call_in(one.prompt(session, "pid")).text != pid
    params["mcpServers"] = [{"name": "", "command": "x", "args": [], "env": []}]
    assert one.agent.fail(f"session/{verb}", params)["code"] == -32602
    assert "mcp__one__more" in mcp_tools(one.last)


def test_servers_keep_their_process_whatever_else_changes(one: Served) -> None:
    session = one.new(mcpServers=[plain("one")])
    settle(one, session, ["mcp__one__pid"])
    pid = call_in(one.prompt(session, "pid")).text
    for mode in ("plan", "normal"):
        one.agent.call("session/set_mode", {"sessionId": session, "modeId": mode})
    for value in ("delivery", "balanced"):
        set_option(one.agent, session, "work_mode", value)
    one.agent.call("_reasonix.io/session/reloadExtensions", {"sessionId": session})
    assert call_in(one.prompt(session, "pid")).text == pid
    id = one.agent.start_prompt(session, "silence")
    appears(one.workspace / "started")
    one.agent.notify("session/cancel", {"sessionId": session})
    assert one.agent.response(id)["result"] == {"stopReason": "cancelled"}
    assert call_in(one.prompt(session, "pid")).text == pid


def test_a_stored_session_has_the_servers_of_who_loads_it(one: Served) -> None:
    session = one.new(mcpServers=[plain("one")])
    settle(one, session, ["mcp__one__pid"])
    one.prompt(session, "pid")
    one.agent.call("session/close", {"sessionId": session})
    params = {"sessionId": session, "cwd": str(one.workspace), "mcpServers": [plain("two")]}
    one.agent.call("session/load", params)
    settle(one, session, ["mcp__two__pid"], ["mcp__one__pid"])


def test_a_server_that_is_late_joins_at_the_start_of_a_turn_and_once(one: Served, tmp_path: Path) -> None:
    """Nothing else touches the beginning of the requests: not a mode, an approval, a reload or a refused call."""
    session = one.new(mcpServers=[plain("one"), plain("late", f"slow={tmp_path}/go")])
    settle(one, session, ["mcp__one__pid"])
    begun = len(one.server.requests)
    assert "late is still starting" in notice(one.agent, session, "late")
    for word in ("pid", "hello"):
        one.prompt(session, word)
    set_option(one.agent, session, "tool_approval", "ask")
    one.prompt(session, "pid", permission="once")
    one.agent.call("_reasonix.io/session/reloadExtensions", {"sessionId": session})
    since, id = len(one.agent.messages), one.agent.start_prompt(session, "pid")
    question = one.agent.expect_request("session/request_permission")
    (tmp_path / "go").touch()
    assert notice(one.agent, session, "late is ready", since)
    one.agent.decide(question, "once")
    assert one.agent.response(id)["result"] == {"stopReason": "end_turn"}
    turned = len(one.server.requests)
    for mode in ("plan", "normal"):
        one.agent.call("session/set_mode", {"sessionId": session, "modeId": mode})
    one.prompt(session, "pid")
    one.agent.call("_reasonix.io/session/reloadExtensions", {"sessionId": session})
    one.prompt(session, "hello")
    requests = one.server.requests[begun - 1 :]
    offered = [str(request.body["tools"]) for request in requests]
    place = turned - begun + 1
    assert (len(set(offered[:place])), len(set(offered[place:]))) == (1, 1)
    assert "mcp__late__pid" not in mcp_tools(requests[place - 1])
    assert "mcp__late__pid" in mcp_tools(requests[place])
    meter = meter_of_the_tools()
    for request in requests:
        meter.take(request.raw)
    (conversation,) = meter.conversations
    assert (len(conversation.systems), len(conversation.tools)) == (1, 2)
    assert conversation.pairs - conversation.append_only == 1
    assert conversation.broken_at == place


def meter_of_the_tools() -> Any:
    """What `tools/prefix_meter.py` counts with."""
    sys.path.append(str(ROOT / "tools"))
    try:
        return importlib.import_module("metering.conversations").Meter()
    finally:
        sys.path.remove(str(ROOT / "tools"))


@pytest.mark.parametrize("profile", ["balanced", "economy", "delivery"])
def test_work_modes(one: Served, profile: str) -> None:
    session = one.new(mcpServers=[plain("one")])
    set_option(one.agent, session, "work_mode", profile)
    if profile == "economy":
        one.prompt(session, "hello")
        while "mcp__one__pid" not in (connect := _connect(one))["description"]:
            since = len(one.agent.messages)
            one.prompt(session, "hello")
            if connect == _connect(one):
                one.agent.expect_update(session, "available_commands_update", since)
        assert mcp_tools(one.last) == set()
        one.prompt(session, "connect")
    settle(one, session, ["mcp__one__pid"])
    call = call_in(one.prompt(session, "pid"))
    assert call.status == ("failed" if profile == "delivery" else "completed")
    if profile == "delivery":  # it may change something, so it comes after the list of what is to be reached
        assert "todo_write" in call.text
        assert [each.status for each in calls_in(one.prompt(session, "listed"))][:2] == ["completed"] * 2
    assert ("grep" in tools_of(one.last)) is (profile != "economy")


def _connect(one: Served) -> Message:
    found: Message = next(
        tool["function"] for tool in one.last.body["tools"] if tool["function"]["name"] == "connect_tool_source"
    )
    return found


def test_each_request_begins_with_the_one_before(one: Served) -> None:
    session = one.new(mcpServers=[plain("one")])
    settle(one, session, ["mcp__one__pid"])
    begun = len(one.server.requests)
    for word in ("pid", "hello", "pid"):
        one.prompt(session, word)
    sent = [request.raw for request in one.server.requests[begun - 1 :]]
    assert all(after.startswith(before.removesuffix(END)) for before, after in itertools.pairwise(sent))
