"""Servers that do everything wrong: the session opens, the person is told, and nothing of them stays."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.mcp import children, notice, plain, settle
from tests.acp.seen import call_in, calls, turn
from tests.acp.seen import says as replies
from tests.acp.served import Served, served
from tests.agent import Message
from tests.descendants import gone
from tests.settling import PATIENCE, appears

SCRIPT: dict[str, Any] = {
    "turns": [
        turn(r"\bgood$", calls("mcp__good__pid"), replies("Done.")),
        *[turn(rf"\b{how}$", calls(f"mcp__bad__{how}"), replies("Done.")) for how in ("die", "half", "odd", "pid")],
        turn(r"\bhuge$", calls("mcp__bad__huge", mib=20), replies("Done.")),
        turn(r"\bsilence$", calls("mcp__bad__silence", touch="started"), replies("Done.")),
        turn("", replies("Hello.")),
    ]
}
GOOD = plain("good")
BAD: dict[str, Message] = {
    "missing": {"name": "bad", "command": "/nope/nothing", "args": [], "env": []},
    "silent": plain("bad", "silent"),
    "garbage": plain("bad", "flood"),
    "not one": {"name": "bad", "command": sys.executable, "args": ["-c", "print('hello')"], "env": []},
    "nobody": {"name": "bad", "type": "http", "url": "http://127.0.0.1:9/mcp", "headers": []},
}
TOLD = {
    "missing": "its command was not found",
    "silent": "still starting",
    "garbage": "prints what is no MCP message",
    "not one": "it ended with exit code 0",
    "nobody": "it could not be reached",
}


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("hostile"), SCRIPT) as made:
        yield made


@pytest.fixture
def ending(tmp_path: Path) -> Iterator[Served]:
    """One whose agent is ended in the test."""
    with served(tmp_path, SCRIPT) as made:
        yield made


def opened(one: Served, *servers: Message) -> tuple[str, float]:
    """A new session, and the seconds until it was answered."""
    since = time.monotonic()
    session = one.new(mcpServers=list(servers))
    return session, time.monotonic() - since


def test_BB_20_SESS_13_all_of_them_and_a_good_one(one: Served) -> None:
    reference, seconds = opened(one)
    one.prompt(reference, "hello")
    bad = [{**server, "name": name} for name, server in BAD.items()]
    session, took = opened(one, *bad, GOOD)
    assert took < seconds + 1.0 + 20.0  # a second of patience, and room for a busy machine; `silent` has 30 s to start
    for name, words in TOLD.items():
        assert notice(one.agent, session, rf"\b{name} .*{words}")
    settle(one, session, ["mcp__good__pid"])
    call = call_in(one.prompt(session, "good"))
    assert call.status == "completed"
    assert int(call.text) in children(one.agent)
    started = list(children(one.agent))
    one.agent.call("session/close", {"sessionId": session})
    assert all(gone(pid, 0) for pid in started)
    one.prompt(reference, "hello")


@pytest.mark.parametrize("how", ["die", "half"])
def test_one_that_dies_in_the_middle_of_a_call_is_started_again(one: Served, how: str) -> None:
    session, _ = opened(one, plain("bad"), GOOD)
    settle(one, session, ["mcp__bad__pid", "mcp__good__pid"])
    before = call_in(one.prompt(session, "pid")).text
    call = call_in(one.prompt(session, how))
    assert call.status == "failed"
    assert call.text.startswith("The MCP server bad: ")
    assert notice(one.agent, session, r"bad is started again.*try 1 of 3")
    after = call_in(one.prompt(session, "pid"))  # waits for it
    assert (after.status, after.text == before) == ("completed", False)
    assert call_in(one.prompt(session, "good")).status == "completed"
    assert len({str(request.body["tools"]) for request in one.server.requests[-6:]}) == 1


def test_one_that_cannot_be_started_again_is_given_up(one: Served, tmp_path: Path) -> None:
    """The bounds of it are tried out without an agent around."""
    session, _ = opened(one, plain("bad", f"once={tmp_path}/once"))
    settle(one, session, ["mcp__bad__pid"])
    one.prompt(session, "die")
    assert notice(one.agent, session, r"bad is started again.*try 2 of 3")
    one.agent.call("session/close", {"sessionId": session})


def test_results_that_are_huge_or_make_no_sense(one: Served) -> None:
    session, _ = opened(one, plain("bad"))
    settle(one, session, ["mcp__bad__huge"])
    call = call_in(one.prompt(session, "huge"))
    assert call.status == "completed"
    assert len(call.text) < 100_000
    assert "left out" in call.text
    assert call_in(one.prompt(session, "odd")).status == "failed"
    assert call_in(one.prompt(session, "pid")).status == "completed"


@pytest.mark.parametrize("how", ["close", "eof", "term", "kill"])
def test_SESS_22_nothing_is_left_behind(ending: Served, how: str) -> None:
    """A program that is deaf to the end of its input outlives a killed agent: nobody is there to end it."""
    servers = [GOOD, plain("garbage", "garbage")]
    if how != "kill":
        begun = ending.workspace / "begun"
        servers += [plain("stubborn", "stubborn"), plain("child", "child"), plain("silent", f"begun={begun}", "silent")]
    session, _ = opened(ending, *servers)
    settle(ending, session, ["mcp__good__pid", "mcp__garbage__pid"])
    if how != "kill":
        settle(ending, session, ["mcp__stubborn__pid", "mcp__child__pid"])
        appears(begun)
    started = list(children(ending.agent))
    assert len(started) >= len(servers)
    if how == "close":
        ending.agent.call("session/close", {"sessionId": session})
    elif how == "eof":
        ending.agent.close_stdin()
    else:
        ending.agent.exit_code = 0 if how == "term" else None
        ending.agent.process.signal(signal.SIGTERM if how == "term" else signal.SIGKILL)
    if how != "close":
        ending.agent.wait_exit()
    assert all(gone(pid, PATIENCE if how == "kill" else 0) for pid in started)


def test_the_agent_ends_in_the_middle_of_a_call(ending: Served) -> None:
    session, _ = opened(ending, plain("bad"))
    settle(ending, session, ["mcp__bad__silence"])
    id = ending.agent.start_prompt(session, "silence")
    ending.agent.decide(ending.agent.expect_request("session/request_permission"), "once")
    appears(ending.workspace / "started")
    started = list(children(ending.agent))
    ending.agent.close_stdin()
    ending.agent.wait_exit()
    assert ending.agent.response(id)["result"] == {"stopReason": "cancelled"}
    assert all(gone(pid, 0) for pid in started)


@pytest.mark.parametrize("how", ["eof", "term", "kill"])
def test_the_agent_ends_while_a_session_opens(ending: Served, how: str) -> None:
    """At once, or when the server has come up so far that it can be seen."""
    ending.agent.initialize()
    begun = ending.workspace / "begun"
    server = plain("slow", "slow=never") if how == "kill" else plain("silent", "silent")
    server["args"].append(f"begun={begun}")
    ending.agent.request("session/new", {"cwd": str(ending.workspace), "mcpServers": [server]})
    if how != "eof":
        appears(begun)
    started = list(children(ending.agent))
    ending.agent.exit_code = None if how == "kill" else 0
    if how == "eof":
        ending.agent.close_stdin()
    else:
        ending.agent.process.signal(signal.SIGTERM if how == "term" else signal.SIGKILL)
    ending.agent.wait_exit()
    assert all(gone(pid, PATIENCE if how == "kill" else 0) for pid in started)


def test_a_session_that_is_closed_while_it_opens(one: Served) -> None:
    """By its own client, which takes the opening back."""
    one.agent.initialize()
    id = one.agent.request(
        "session/new", {"cwd": str(one.workspace), "mcpServers": [plain("silent", "silent", "opening")]}
    )
    one.agent.notify("$/cancel_request", {"requestId": id})
    answer = one.agent.response(id)
    assert answer.get("error", {"code": -32800})["code"] == -32800
    if "error" in answer:
        session, _ = opened(one)
        one.prompt(session, "hello")
        assert all(gone(pid, PATIENCE) for pid in children(one.agent, "opening"))


@pytest.mark.parametrize(
    ("server", "words"),
    [
        ({"command": "x", "args": [], "env": []}, "name"),
        ({"name": "", "command": "x", "args": [], "env": []}, "name is required"),
        ({"name": "a", "args": [], "env": []}, "command"),
        ({"name": "a", "type": "http", "headers": []}, "url"),
        ({"name": "a", "type": "weird", "url": "http://x/"}, "type"),
        ({"name": "a", "command": "x", "args": [], "env": "A=secret"}, "env"),
        ({"name": "a", "type": "http", "url": "http://x/", "headers": [{"value": "secret"}]}, "headers[0].name"),
    ],
)
def test_servers_that_make_no_sense_are_refused_with_what_is_wrong(one: Served, server: Message, words: str) -> None:
    one.agent.initialize()
    error = one.agent.fail("session/new", {"cwd": str(one.workspace), "mcpServers": [server]})
    assert error["code"] == -32602
    assert error["message"].startswith("params.mcpServers")
    assert words in error["message"]
    assert "secret" not in error["message"]


@pytest.mark.parametrize("spelling", ["stdio", None, "missing"])
def test_a_program_may_be_called_one(one: Served, spelling: str | None) -> None:
    server = plain("good") if spelling == "missing" else {**plain("good"), "type": spelling}
    session, _ = opened(one, server)
    settle(one, session, ["mcp__good__pid"])
    one.agent.call("session/close", {"sessionId": session})


@pytest.mark.parametrize("spelling", ["streamable-http", "streamable_http", "http", "sse"])
def test_an_address_may_be_called_in_several_ways(one: Served, spelling: str) -> None:
    session, _ = opened(one, {"name": "bad", "type": spelling, "url": "http://127.0.0.1:9/mcp"})
    assert "could not be reached" in notice(one.agent, session, "bad")
