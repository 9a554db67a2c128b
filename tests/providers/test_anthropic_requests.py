"""What is sent to a server of Anthropic messages, and that each body extends the last."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.config.settings import ModelSettings
from acpagent.core.blocks import Image
from acpagent.core.model import AssistantMessage, Message, ModelCall, ModelRequest, ToolMessage, UserMessage
from acpagent.providers import anthropic, anthropic_keeping, anthropic_messages, habits
from tests.messages_dialect import problem
from tests.model_server import ModelServer, Raw, Request
from tests.providers.calling import KEY, TOOL, ask, call, over_http

HELLO = {"turns": [{"replies": [[{"text": "hello"}]], "loop": True}]}
API = "anthropic-messages"
NAME = "local/tiny"
CACHED = {"type": "ephemeral"}
MADE = (ModelCall("call_1", "read_file", '{"path": "a"}'), ModelCall("call_2", "ls", ""))


def sent(*messages: Message, tools: Any = (), path: str = "/v1", key: str | None = None, **options: Any) -> Request:
    with ModelServer(HELLO) as server:
        provider = over_http(f"http://127.0.0.1:{server.port}{path}", api=API, key=key, **options)
        assert call(provider, ask(provider, *messages, tools=tools)).fault is None
        return server.requests[0]


def said(*messages: Message, images: bool = True) -> list[Any]:
    fragments = [part for one in messages for part in anthropic_messages.message(one, images=images, model=NAME)]
    value: list[Any] = json.loads(anthropic_messages.joined(fragments))
    return value


def test_a_plain_request() -> None:
    request = sent(key=KEY)
    assert request.body == {
        "model": "tiny",
        "max_tokens": anthropic.OUTPUT_TOKENS,
        "stream": True,
        "system": [{"type": "text", "text": "Help.", "cache_control": CACHED}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    }
    assert request.headers["x-api-key"] == KEY
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert "Authorization" not in request.headers


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
def test_the_address_with_and_without_v1(path: str) -> None:
    assert sent(path=path).path == "/v1/messages"


def test_the_address_of_a_gateway() -> None:
    assert sent(path="/anthropic").path == "/anthropic/v1/messages"


def test_a_gateway_may_want_the_key_elsewhere() -> None:
    request = sent(headers={"X-Api-Key": "theirs", "Authorization": "Bearer other"}, key=KEY)
    assert (request.headers["X-Api-Key"], request.headers["Authorization"]) == ("theirs", "Bearer other")


def test_the_order_of_a_full_request() -> None:
    body = sent(UserMessage("hi"), tools=(TOOL,), effort="low", max_output_tokens=8000).body
    assert list(body) == ["model", "max_tokens", "stream", "thinking", "tools", "system", "messages"]
    assert (body["max_tokens"], body["thinking"]) == (8000, {"type": "enabled", "budget_tokens": 4096})
    assert body["tools"] == [{"name": TOOL.name, "description": TOOL.description, "input_schema": TOOL.schema}]


def test_all_kinds_of_messages() -> None:
    assert said(
        UserMessage("read a"),
        AssistantMessage("Sure.", "hm", MADE),
        ToolMessage("call_1", "read_file", "line \u2028 \udc80", failed=True),
        ToolMessage("call_2", "ls", " "),
        UserMessage("and?"),
        AssistantMessage("Done.", "so"),
    ) == [
        {"role": "user", "content": [{"type": "text", "text": "read a"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Sure."},
                {"type": "tool_use", "id": "call_1", "name": "read_file", "input": {"path": "a"}},
                {"type": "tool_use", "id": "call_2", "name": "ls", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "line \u2028 \ufffd", "is_error": True},
                {"type": "tool_result", "tool_use_id": "call_2"},
                {"type": "text", "text": "and?"},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    ]


def test_images() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    look = UserMessage("look", (Image("aGk=", "image/png"),))
    assert said(look)[0]["content"] == [{"type": "text", "text": "look"}, image]
    assert said(UserMessage("", look.images))[0]["content"] == [image]
    assert said(look, images=False)[0]["content"] == [{"type": "text", "text": "look"}]


def test_ids_and_names_of_other_servers() -> None:
    made = ModelCall("functions.read:0", "read file!", "[1]")
    answer = ToolMessage(made.provider_id, "x", "y")
    _, reply, after = said(UserMessage("a"), AssistantMessage(calls=(made,)), answer)
    (use,), (result,) = reply["content"], after["content"]
    assert use["id"] == result["tool_use_id"] == "functions_read_0"
    assert (use["name"], use["input"]) == ("read_file_", {"unreadable_arguments": "[1]"})


TEXTS = st.text(max_size=12)
IDS = st.integers().map(lambda number: f"call_{number}")
MANY_CALLS = st.lists(st.tuples(IDS, TEXTS, TEXTS, TEXTS), max_size=3, unique_by=lambda one: one[0])
ROUNDS = st.tuples(TEXTS, TEXTS, MANY_CALLS)


def conversation(rounds: list[Any]) -> list[Message]:
    """A conversation as a turn makes one: each round a prompt, a reply, and a result for each of its calls."""
    messages: list[Message] = [UserMessage("begin")]
    for number, (prompt, reply, made) in enumerate(rounds):
        messages.append(UserMessage(prompt))
        calls = tuple(ModelCall(f"{one[0]}-{number}", one[1], one[2]) for one in made)
        messages.append(AssistantMessage(reply, "hm", calls))
        messages += [ToolMessage(call.provider_id, call.name, one[3]) for call, one in zip(calls, made, strict=True)]
    return messages


@given(st.lists(ROUNDS, max_size=4), st.integers(0, 20))
def test_a_conversation_is_valid_and_only_grows(rounds: list[Any], cut: int) -> None:
    messages = conversation(rounds)
    fragments = [part for one in messages for part in anthropic_messages.message(one, images=True, model=NAME)]
    assert problem({"max_tokens": 1, "messages": json.loads(anthropic_messages.joined(fragments))}) == ""
    cut = min(cut, len(fragments))
    shorter, longer = anthropic_messages.joined(fragments[:cut]), anthropic_messages.joined(fragments)
    closing = "]}]" if cut else "]"
    assert shorter.endswith(closing)
    assert longer.startswith(shorter.removesuffix(closing))


def test_each_body_extends_the_last() -> None:
    script = {"turns": [{"replies": [[{"thought": "hm"}, {"text": "so"}, {"call": {"tool": "ls"}}]], "loop": True}]}
    with ModelServer(script) as server:
        provider = over_http(server.base_url, api=API, max_output_tokens=9000, effort="low")
        system, tools = provider.encode_system("Help \u2028."), provider.encode_tools([TOOL])
        fragments: list[str] = provider.encode(UserMessage("never answered"))
        for number in range(4):
            fragments += provider.encode(UserMessage(f"question {number}"))
            outcome = call(provider, ModelRequest(system, tools, tuple(fragments)))
            assert outcome.fault is None
            made = tuple(ModelCall(*one) for one in outcome.calls)
            reply = AssistantMessage(outcome.text, outcome.thought, made, outcome.kept, provider.name)
            fragments += provider.encode(reply)
            fragments += provider.encode(ToolMessage(made[0].provider_id, "ls", "\u00e9\U0001f600"))
        bodies = [request.raw for request in server.requests]
        last = server.requests[-1].body["messages"]
    for shorter, longer in pairwise(bodies):
        assert shorter.endswith(b"]}]}")
        assert longer.startswith(shorter[:-4])
    assert [block["type"] for block in last[1]["content"]] == ["thinking", "text", "tool_use"]


# -- thinking


def thinking(name: str, effort: str | None, host: str = "api.anthropic.com", limit: int | None = None) -> Any:
    model = ModelSettings("p", name, max_output_tokens=limit)
    head = json.loads(anthropic._head(model, host, effort).removesuffix(",") + "}")
    return {key: head[key] for key in ("thinking", "output_config", "max_tokens") if key in head}


def test_how_models_are_made_to_think() -> None:
    shown = {"type": "adaptive", "display": "summarized"}
    assert thinking("claude-opus-5-5", None) == {"thinking": shown, "max_tokens": 8192}
    assert thinking("claude-opus-5-5", "high", limit=9)["output_config"] == {"effort": "high"}
    assert thinking("claude-sonnet-4-6", None) == {"thinking": {"type": "adaptive"}, "max_tokens": 8192}
    assert thinking("claude-haiku-5-5", "disabled") == {"thinking": {"type": "disabled"}, "max_tokens": 8192}
    budget = {"type": "enabled", "budget_tokens": 10_000}
    assert thinking("claude-haiku-4-5", "medium") == {"thinking": budget, "max_tokens": 18_192}
    assert thinking("claude-haiku-4-5", "disabled") == {"max_tokens": 8192}
    assert thinking("claude-haiku-4-5", None) == {"max_tokens": 8192}
    assert thinking("tiny", "high", limit=2000)["thinking"]["budget_tokens"] == 1500
    assert thinking("tiny", "high", limit=1000) == {"max_tokens": 1000}
    asked = {"output_config": {"effort": "max"}, "max_tokens": 8192}
    assert thinking("deepseek-flash", "max", "api.deepseek.com") == asked


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("claude-opus-5-5", (5, 5)),
        ("anthropic/claude-sonnet-5.5", (5, 5)),
        ("claude-opus-5", (5, 0)),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", (4, 5)),
        ("claude-sonnet-4-20250514", (4, 0)),
        ("claude-3-5-sonnet-20241022", (3, 5)),
        ("gpt-5", None),
    ],
)
def test_versions(name: str, version: tuple[int, int] | None) -> None:
    assert habits.claude_version(name) == version


def test_only_one_server_caches_by_itself() -> None:
    for host, does in (("api.anthropic.com", True), ("127.0.0.1", False)):
        head = anthropic._head(ModelSettings("p", "m"), host, None)
        assert ('"cache_control":{"type":"ephemeral"}' in head) is does


# -- thoughts that are sent back

LAYOUT = [["thinking", "why", "s1"], ["text", 3], ["call"], ["thinking", "then", "s2"], ["redacted", "", "x"], ["call"]]
CALLS = [{"type": "tool_use", "id": "1"}, {"type": "tool_use", "id": "2"}]


def test_a_reply_is_said_again_as_it_was() -> None:
    assert anthropic_keeping.read(json.dumps(LAYOUT), "So.", CALLS) == [
        {"type": "thinking", "thinking": "why", "signature": "s1"},
        {"type": "text", "text": "So."},
        CALLS[0],
        {"type": "thinking", "thinking": "then", "signature": "s2"},
        {"type": "redacted_thinking", "data": "x"},
        CALLS[1],
    ]


def test_no_message_ends_in_a_thought() -> None:
    assert anthropic_keeping.read(json.dumps(LAYOUT), "So.", []) == [
        {"type": "thinking", "thinking": "why", "signature": "s1"},
        {"type": "text", "text": "So."},
    ]


@pytest.mark.parametrize(
    ("kept", "text", "calls"),
    [("[[", "", []), ("3", "", []), ('[["text", 9]]', "short", []), ('[["text", 2]]', "so", CALLS), ("[[]]", "", [])],
)
def test_what_does_not_fit_is_not_used(kept: str, text: str, calls: Any) -> None:
    assert anthropic_keeping.read(kept, text, calls) is None


def test_thoughts_of_another_model_are_not_sent() -> None:
    kept = json.dumps([["thinking", "why", "s"], ["text", 3]])
    reply = AssistantMessage("So.", "why", kept=kept, kept_by="local/other")
    assert said(UserMessage("a"), reply)[1]["content"] == [{"type": "text", "text": "So."}]


def test_a_refused_thought_does_not_end_the_session() -> None:
    kept = json.dumps([["thinking", "why", "forged"], ["text", 3]])
    messages = (UserMessage("a"), AssistantMessage("So.", "why", kept=kept, kept_by=NAME), UserMessage("b"))
    with ModelServer(HELLO) as server:
        provider = over_http(server.base_url, api=API, effort="low")
        for _ in range(2):
            outcome = call(provider, ask(provider, *messages))
            assert (outcome.text, outcome.fault, outcome.retries) == ("hello", None, [])
        thoughts = ["thinking" in request.raw.decode() for request in server.requests]
    assert thoughts == [True, False, False]


def test_another_refusal_is_told() -> None:
    body = b'{"type":"error","error":{"message":"no thinking here"}}'
    answer = Raw([body], 400, {"Content-Type": "application/json"})
    with ModelServer(lambda request: answer) as server:
        outcome = call(over_http(server.base_url, api=API))
        assert len(server.requests) == 2
    assert outcome.fault is not None
    assert "no thinking here" in outcome.fault.message
