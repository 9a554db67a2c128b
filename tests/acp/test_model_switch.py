"""Another model in the middle of a conversation: it reads all that was said, and so does whoever loads it later."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.seen import calls, calls_in, says, turn
from tests.acp.test_controls import choose, values_of
from tests.agent import Agent, Message
from tests.conftest import Home, StartAgent
from tests.model_server import ModelServer, Request

CHAT, MESSAGES = "openai-chat", "anthropic-messages"
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("number one$", [{"thought": "Where?"}, *says("I look."), calls("read_file", path="README.md"),
                             calls("list_dir", path="src")], says("Two things seen.")),
        turn("number two$", calls("write_file", path="new.txt", content="x\n"), calls("read_file", path="nothing"),
             says("Written, but nothing is not there.")),
        turn("number three$", [calls("bash", command="echo \u00e9; exit 3")], says("It failed.")),
        turn("number four$", calls("grep", pattern="hello"), says("Found.")),
        turn("number (five|six)$", says("Still here.")),
    ]
}  # fmt: skip
# role, and what is in the message, of the first three turns.
PAST = [
    ("user", "number one"),
    ("assistant", "I look."),
    ("tool", "Greeter"),
    ("tool", "greeter.py"),
    ("assistant", "Two things seen."),
    ("user", "number two"),
    ("assistant", ""),
    ("tool", "new.txt"),
    ("assistant", ""),
    ("tool", "nothing"),
    ("assistant", "Written, but nothing is not there."),
    ("user", "number three"),
    ("assistant", ""),
    ("tool", "\u00e9"),
    ("assistant", "It failed."),
]
FOURTH = [("user", "number four"), ("assistant", ""), ("tool", "hello"), ("assistant", "Found.")]
FIFTH = [("user", "number five"), ("assistant", "Still here.")]
CHOSEN = {"model": "two/big", "effort": "high", "work_mode": "delivery", "tool_approval": "auto", "mode": "normal"}


@pytest.fixture
def servers() -> Iterator[tuple[ModelServer, ModelServer]]:
    with ModelServer(SCRIPT) as one, ModelServer(SCRIPT) as two:
        yield one, two


def configure(home: Home, servers: tuple[ModelServer, ModelServer], apis: tuple[str, str]) -> None:
    models: tuple[Message, Message] = ({"small": {}}, {"big": {"efforts": ["low", "high"]}})
    made = {
        name: {"api": api, "base_url": server.base_url, "models": listed}
        for name, api, server, listed in zip(("one", "two"), apis, servers, models, strict=True)
    }
    home.configure({"providers": made})


def told(request: Request) -> list[tuple[str, str]]:
    """What the model reads: (role, text)."""
    return [(message["role"], str(message.get("content") or "")) for message in request.messages]


def assert_reads(request: Request, expected: list[tuple[str, str]]) -> None:
    found = told(request)
    assert [role for role, _ in found] == [role for role, _ in expected]
    assert [words in text for (_, text), (_, words) in zip(found, expected, strict=True)] == [True] * len(expected)


def take(agent: Agent, session: str, number: str) -> list[str]:
    """A turn; how its calls ended."""
    updates, answer = agent.prompt(session, f"number {number}", permission="once")
    assert answer["result"] == {"stopReason": "end_turn"}
    return [call.status for call in calls_in(updates)]


@pytest.mark.parametrize(
    "apis", [(CHAT, CHAT), (CHAT, MESSAGES), (MESSAGES, CHAT), (MESSAGES, MESSAGES)], ids="->".join
)
def test_after_three_turns_with_tools_then_killed_and_loaded(
    agent: StartAgent, home: Home, workspace: Path, servers: tuple[ModelServer, ModelServer], apis: tuple[str, str]
) -> None:
    configure(home, servers, apis)
    one = agent(exit_code=None)
    session = one.new_session(workspace)
    assert [take(one, session, number) for number in ("one", "two", "three")] == [
        ["completed", "completed"],
        ["completed", "failed"],
        ["failed"],
    ]
    choose(one, session, CHOSEN)
    asked = len(servers[0].requests)
    take(one, session, "four")
    take(one, session, "five")
    assert len(servers[0].requests) == asked  # the old model is not asked any more
    first = servers[1].requests[0]
    assert first.body["model"] == "big"
    assert_reads(first, [*PAST, FOURTH[0]])
    one.process.signal(signal.SIGKILL)
    one.wait_exit()

    two = agent()
    two.initialize()
    opened = two.call("session/load", {"sessionId": session, "cwd": str(workspace), "mcpServers": []})
    assert values_of(opened) == CHOSEN
    take(two, session, "six")
    assert len(servers[0].requests) == asked
    assert_reads(servers[1].requests[-1], [*PAST, *FOURTH, *FIFTH, ("user", "number six")])
    assert effort_of(servers[1].requests[-1]) == effort_of(first) != effort_of(servers[0].requests[0])


def effort_of(request: Request) -> list[Any]:
    """What a request says of how much to think, in either API."""
    return [request.body.get(name) for name in ("reasoning_effort", "output_config", "thinking")]


@pytest.mark.parametrize("apis", [(CHAT, MESSAGES), (MESSAGES, CHAT)], ids="->".join)
def test_there_and_back_between_every_two_turns(
    agent: StartAgent, home: Home, workspace: Path, servers: tuple[ModelServer, ModelServer], apis: tuple[str, str]
) -> None:
    configure(home, servers, apis)
    one = agent()
    session = one.new_session(workspace)
    for number, model in (("one", "two/big"), ("two", "one/small"), ("three", "two/big"), ("four", "one/small")):
        take(one, session, number)
        choose(one, session, {"model": model})
    take(one, session, "five")
    assert [request.body["model"] for request in servers[0].requests[-1:]] == ["small"]
    assert_reads(servers[0].requests[-1], [*PAST, *FOURTH, FIFTH[0]])
    assert_reads(servers[1].requests[-1], [*PAST, *FOURTH[:-1]])


def test_during_a_turn_the_next_one_has_the_new_model_and_the_whole_turn(
    agent: StartAgent, home: Home, workspace: Path, servers: tuple[ModelServer, ModelServer]
) -> None:
    configure(home, servers, (CHAT, MESSAGES))
    one = agent()
    session = one.new_session(workspace)
    prompt = one.start_prompt(session, "number two")
    question = one.expect_request("session/request_permission")
    choose(one, session, {"model": "two/big"})
    one.decide(question, "once")
    assert one.response(prompt)["result"] == {"stopReason": "end_turn"}
    assert {request.body["model"] for request in servers[0].requests} == {"small"}
    take(one, session, "five")
    (asked,) = servers[1].requests
    assert_reads(asked, [*PAST[5:11], FIFTH[0]])
