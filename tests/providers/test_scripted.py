"""The scripted provider, and that a script plays the same over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acpagent.core.events import Usage
from acpagent.core.model import (
    AssistantMessage,
    CallDelta,
    Finished,
    Kept,
    Message,
    ModelCall,
    ModelEvent,
    Retrying,
    TextDelta,
    ToolMessage,
    UserMessage,
)
from acpagent.providers.retry import Policy
from tests.model_server import ModelServer
from tests.providers.calling import APIS, ONCE, QUICK, Outcome, Running, ask, call, over_http, scripted

STORY = {
    "turns": [
        {
            "prompt": "read",
            "replies": [
                [
                    {"thought": "I think.", "chunk": 3},
                    {"text": "Reading \U0001f600\u2028.", "chunk": 4},
                    {"call": {"tool": "read_file", "args": {"path": "a"}}, "chunk": 5},
                    {"call": {"tool": "list_dir"}},
                    {"usage": {"input": 100, "cached": 60, "output": 20, "thought": 5}},
                ],
                [{"repeat": {"times": 3, "text": "done ", "every": 0.001}}, {"finish": "length"}],
            ],
        },
        {"prompt": "refuse", "replies": [[{"text": "No."}, {"finish": "refusal"}]]},
        {"prompt": "fail", "replies": [[{"error": {"status": 503, "message": "busy", "times": 2}}, {"text": "ok"}]]},
        {"prompt": "cut", "replies": [[{"text": "half"}, {"drop": "close"}]]},
        {"prompt": "key", "replies": [[{"error": {"status": 401}}]]},
        {"prompt": "empty", "replies": [[]]},
    ]
}
MADE = (ModelCall("call_1_0", "read_file", '{"path":"a"}'), ModelCall("call_1_1", "list_dir", "{}"))
CONVERSATIONS: dict[str, list[Message]] = {
    "read": [UserMessage("read it")],
    "go on": [
        UserMessage("read it"),
        AssistantMessage("Reading.", calls=MADE),
        ToolMessage("call_1_0", "read_file", "text"),
        ToolMessage("call_1_1", "list_dir", "a"),
    ],
    "over": [
        UserMessage("read it"),
        AssistantMessage("Reading.", calls=MADE[:1]),
        ToolMessage("call_1_0", "read_file", "text"),
        AssistantMessage("b"),
    ],
    "refuse": [UserMessage("refuse")],
    "fail": [UserMessage("fail")],
    "cut": [UserMessage("cut")],
    "key": [UserMessage("key")],
    "empty": [UserMessage("empty")],
    "unscripted": [UserMessage("what?")],
}


@pytest.fixture
def story(tmp_path: Path) -> str:
    return written(tmp_path, STORY)


def written(folder: Path, script: Any) -> str:
    path = folder / "story.yaml"
    path.write_text(json.dumps(script))
    return str(path)


def summary(outcome: Outcome) -> tuple[Any, ...]:
    fault = outcome.fault and outcome.fault.kind
    return outcome.text, outcome.thought, outcome.calls, outcome.reason, fault, len(outcome.retries)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_script_plays_the_same_over_http(name: str, api: str, story: str) -> None:
    local = scripted(story)
    here = call(local, ask(local, *CONVERSATIONS[name]))
    with ModelServer(story) as server:
        remote = over_http(server.base_url, api=api)
        there = call(remote, ask(remote, *CONVERSATIONS[name]))
    if name == "empty":  # a script may leave out what it has no words for; a server may not
        assert (here.reason, there.fault and there.fault.kind, len(there.retries)) == ("stop", "broken", 3)
        return
    assert summary(here) == summary(there)
    if name == "read":
        assert here.usage == there.usage == Usage(100, 60, 20, 5)
        assert here.calls == [(one.provider_id, one.name, one.arguments) for one in MADE]
        assert [joined(here), joined(there)] == [joined(here)] * 2


def joined(outcome: Outcome) -> list[ModelEvent]:
    """The events but for what is kept, neighbours of one kind joined where a dialect has more of them."""
    events: list[ModelEvent] = []
    for event in outcome.events:
        last = events[-1] if events else None
        if isinstance(event, CallDelta) and isinstance(last, CallDelta) and last.index == event.index:
            events[-1] = CallDelta(last.index, last.provider_id, last.name, last.arguments + event.arguments)
        elif not isinstance(event, Kept):
            events.append(event)
    return events


@pytest.mark.parametrize(
    ("name", "reason", "fault"),
    [
        ("read", "calls", None),
        ("go on", "length", None),
        ("over", "stop", None),
        ("refuse", "refusal", None),
        ("fail", "stop", None),
        ("cut", None, "broken"),
        ("key", None, "auth"),
        ("empty", "stop", None),
        ("unscripted", None, "rejected"),
    ],
)
def test_how_calls_end(name: str, reason: str | None, fault: str | None, story: str) -> None:
    provider = scripted(story)
    outcome = call(provider, ask(provider, *CONVERSATIONS[name]))
    assert (outcome.reason, outcome.fault and outcome.fault.kind) == (reason, fault)


def test_nothing_is_remembered(story: str) -> None:
    """A provider made anew goes on where another one was."""
    request = ask(scripted(story), *CONVERSATIONS["go on"])
    assert call(scripted(story), request).text == "done done done "


def test_usage_is_estimated_from_sizes(story: str) -> None:
    provider = scripted(story)
    request = ask(provider, UserMessage("refuse"))
    letters = len(request.system) + len(request.tools) + len(request.messages[0])
    assert call(provider, request).usage == Usage(-(-letters // 4), 0, 1, 0)


def test_pieces(tmp_path: Path) -> None:
    provider = scripted(written(tmp_path, {"turns": [{"replies": [[{"text": "abcde", "chunk": 2}]]}]}))
    batches = call(provider).batches
    assert batches[:3] == [(TextDelta("ab"),), (TextDelta("cd"),), (TextDelta("e"),)]
    assert batches[-1] == (Finished("stop"),)


@pytest.mark.parametrize("step", ["stall", {"wait": 60}, {"error": {"status": 429, "retry_after": 60}}])
def test_a_cancel_ends_every_wait(step: Any, tmp_path: Path) -> None:
    running = Running(scripted(written(tmp_path, {"turns": [{"replies": [[{"thought": "x"}, step]]}]}), Policy()))
    running.wait_for_batch()
    running.cancel()
    outcome = running.end(1)
    assert outcome.cancelled or (outcome.fault is not None and outcome.fault.kind == "broken")


def test_retries_wait_as_over_http(tmp_path: Path) -> None:
    error = {"status": 429, "message": "slow", "retry_after": 0.01, "times": 1}
    path = written(tmp_path, {"turns": [{"replies": [[{"error": error}, {"text": "ok"}]]}]})
    outcome = call(scripted(path, QUICK))
    assert outcome.retries == [Retrying(2, 4, 0.01, "too many requests (HTTP 429) (slow)")]
    assert outcome.text == "ok"
    assert call(scripted(path, ONCE)).fault is not None


def test_hello() -> None:
    provider = scripted("hello.yaml")
    assert call(provider).text.startswith("Hello!")
    looking = call(provider, ask(provider, UserMessage("list the files")))
    assert [(name, arguments) for _, name, arguments in looking.calls] == [("list_dir", '{"path":"."}')]
