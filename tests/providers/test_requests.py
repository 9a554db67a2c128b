"""What is sent: the body, and that each one extends the last."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.config.settings import ModelSettings, ProviderSettings
from acpagent.core.blocks import Image
from acpagent.core.model import (
    AssistantMessage,
    Message,
    ModelCall,
    ModelRequest,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from acpagent.providers import chat_messages, habits
from acpagent.providers.openai_chat import OpenAIChat
from acpagent.providers.retry import Policy
from tests.model_server import ModelServer, Raw
from tests.providers.calling import APIS, TOOL, ask, call, over_http

HELLO = {"turns": [{"replies": [[{"text": "hello"}]], "loop": True}]}
CLOSING = len("]}")


def sent(provider_options: dict[str, Any], *messages: Message, tools: tuple[ToolSpec, ...] = ()) -> dict[str, Any]:
    with ModelServer(HELLO) as server:
        provider = over_http(server.base_url, **provider_options)
        assert call(provider, ask(provider, *messages, tools=tools)).fault is None
        request = server.requests[0]
        assert request.path == "/v1/chat/completions"
        assert request.headers["Content-Type"] == "application/json"
        body: dict[str, Any] = request.body
        return body


def test_a_plain_request() -> None:
    assert sent({}) == {
        "model": "tiny",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "system", "content": "Help."}, {"role": "user", "content": "hi"}],
    }


def test_the_order_of_a_full_request() -> None:
    body = sent({"effort": "high", "max_output_tokens": 100}, UserMessage("hi"), tools=(TOOL,))
    assert list(body) == [
        "model",
        "stream",
        "stream_options",
        "max_tokens",
        "reasoning_effort",
        "tools",
        "messages",
    ]
    assert (body["max_tokens"], body["reasoning_effort"]) == (100, "high")
    function = {"name": TOOL.name, "description": TOOL.description, "parameters": TOOL.schema}
    assert body["tools"] == [{"type": "function", "function": function}]


def test_all_kinds_of_messages() -> None:
    call_made = ModelCall("call_1", "read_file", '{"path": "a"}')
    body = sent(
        {},
        UserMessage("read a"),
        AssistantMessage("Sure.", "hm", (call_made,)),
        ToolMessage("call_1", "read_file", "line \u2028 \udc80", failed=True),
        AssistantMessage("Done.", "so"),
    )
    function = {"name": "read_file", "arguments": '{"path": "a"}'}
    assert body["messages"][1:] == [
        {"role": "user", "content": "read a"},
        {
            "role": "assistant",
            "content": "Sure.",
            "reasoning_content": "hm",
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "line \u2028 \ufffd"},
        {"role": "assistant", "content": "Done."},
    ]


def test_a_message_without_content_is_not_sent() -> None:
    body = sent({}, UserMessage("hi"), AssistantMessage(thought="hm"), UserMessage("well?"))
    assert [message["role"] for message in body["messages"]] == ["system", "user", "user"]


@pytest.mark.parametrize("vision", [True, False])
def test_images(vision: bool) -> None:
    image = Image("aGk=", "image/png")
    content = sent({"vision": vision}, UserMessage("look", (image,)))["messages"][1]["content"]
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    assert content == ([{"type": "text", "text": "look"}, url] if vision else "look")


@pytest.mark.parametrize("api", APIS)
def test_an_image_of_a_kind_that_nobody_takes(api: str) -> None:
    with ModelServer(HELLO) as server:
        provider = over_http(server.base_url, api=api, vision=True)
        look = UserMessage("look", (Image("aGk=", "image/svg+xml"),))
        assert call(provider, ask(provider, look)).fault is None
        content = server.requests[0].body["messages"][-1]["content"]
    assert content[1] == {"type": "text", "text": "[An image was left out: no model takes image/svg+xml.]"}


@pytest.mark.parametrize(
    ("arguments", "sent_as"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ("", "{}"),
        (" ", "{}"),
        ('{"a', '{"unreadable_arguments":"{\\"a"}'),
        ("[1]", '{"unreadable_arguments":"[1]"}'),
    ],
)
def test_arguments_are_sent_back_as_an_object(arguments: str, sent_as: str) -> None:
    said = chat_messages.message(AssistantMessage(calls=(ModelCall("1", "ls", arguments),)), images=False)
    assert json.loads(said)["tool_calls"][0]["function"]["arguments"] == sent_as


def test_thoughts_go_back_where_they_are_wanted() -> None:
    def has_thought(thoughts: chat_messages.Thoughts, thought: str, calls: bool = True) -> bool:
        made = (ModelCall("1", "ls", "{}"),) if calls else ()
        said = AssistantMessage("x", thought, made)
        return "reasoning_content" in chat_messages.message(said, images=False, thoughts=thoughts)

    assert [has_thought("when_there", thought) for thought in ("hm", "")] == [True, False]
    assert [has_thought("always", thought) for thought in ("hm", "")] == [True, True]
    assert [has_thought("never", thought) for thought in ("hm", "")] == [False, False]
    assert not has_thought("always", "hm", calls=False)


@pytest.mark.parametrize(
    ("host", "limit", "thoughts", "effort"),
    [
        ("api.openai.com", "max_completion_tokens", "never", "plain"),
        ("api.deepseek.com", "max_tokens", "always", "thinking"),
        ("openrouter.ai", "max_tokens", "when_there", "reasoning"),
        ("127.0.0.1", "max_tokens", "when_there", "plain"),
        ("notopenai.com", "max_tokens", "when_there", "plain"),
    ],
)
def test_habits(host: str, limit: str, thoughts: str, effort: str) -> None:
    found = habits.of_host(host)
    assert (found.output_limit, found.thoughts, found.effort) == (limit, thoughts, effort)


def test_the_same_tools_are_the_same_bytes() -> None:
    one = ToolSpec("b", "B", {"type": "object", "properties": {"x": {}, "a": {}}})
    same = ToolSpec("b", "B", {"properties": {"a": {}, "x": {}}, "type": "object"})
    assert chat_messages.tools([TOOL, one]) == chat_messages.tools([same, TOOL])


TEXTS = st.text(max_size=20)
CALLS = st.builds(ModelCall, TEXTS, TEXTS, TEXTS)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserMessage, TEXTS),
    st.builds(AssistantMessage, TEXTS, TEXTS, st.lists(CALLS, max_size=2).map(tuple)),
    st.builds(ToolMessage, TEXTS, TEXTS, TEXTS, st.booleans()),
)


@given(st.lists(MESSAGES, max_size=6), st.lists(MESSAGES, min_size=1, max_size=3))
def test_messages_are_valid_json_that_only_grows(before: list[Message], more: list[Message]) -> None:
    fragments = [chat_messages.message(one, images=True) for one in before]
    longer = [chat_messages.message(one, images=True) for one in (*before, *more)]
    assert longer[: len(fragments)] == fragments
    assert json.loads(f"[{','.join(longer)}]") is not None


def test_each_body_extends_the_last() -> None:
    with ModelServer(HELLO) as server:
        provider = over_http(server.base_url, max_output_tokens=9, effort="low")
        system, tools = provider.encode_system("Help \u2028."), provider.encode_tools([TOOL])
        fragments: list[str] = []
        for number in range(4):
            fragments += provider.encode(UserMessage(f"question {number}"))
            outcome = call(provider, ModelRequest(system, tools, tuple(fragments)))
            made = ModelCall("1", "ls", "{}")
            fragments += provider.encode(AssistantMessage(outcome.text, "hm", (made,)))
            fragments += provider.encode(ToolMessage("1", "ls", "\u00e9\U0001f600"))
        bodies = [request.raw for request in server.requests]
    for shorter, longer in pairwise(bodies):
        assert longer.startswith(shorter[:-CLOSING] + b",")
        assert shorter.endswith(b"]}")


# -- what servers want otherwise


def asked_for(
    host: str, effort: str | None, name: str = "m", tools: bool = True, efforts: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The fields of a body that are about reasoning."""
    model = ModelSettings("p", name, efforts=efforts)
    settings = ProviderSettings("p", "openai-chat", f"https://{host}/v1", models={name: model})
    provider = OpenAIChat(settings, model, None, effort, Policy())
    listed = provider.encode_tools([TOOL] if tools else [])
    body = json.loads(provider.spell_body(ModelRequest("", listed, provider.encode(UserMessage("hi")))))
    return {key: body[key] for key in ("reasoning_effort", "reasoning", "thinking") if key in body}


def test_efforts() -> None:
    assert asked_for("127.0.0.1", "low") == {"reasoning_effort": "low"}
    assert asked_for("127.0.0.1", None) == {}
    assert asked_for("openrouter.ai", "low") == {"reasoning": {"effort": "low"}}
    assert asked_for("api.deepseek.com", "max") == {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}
    assert asked_for("api.deepseek.com", "disabled") == {"thinking": {"type": "disabled"}}
    assert asked_for("api.deepseek.com", None) == {}
    assert asked_for("api.z.ai", "enabled") == {"thinking": {"type": "enabled"}}
    assert asked_for("api.minimax.io", "adaptive") == {"thinking": {"type": "adaptive"}}
    assert asked_for("api.moonshot.ai", "max") == {"reasoning_effort": "max"}
    assert asked_for("api.openai.com", "none") == {"reasoning_effort": "none"}
    assert asked_for("openrouter.ai", "disabled") == {"reasoning": {"enabled": False}}
    assert asked_for("openrouter.ai", "enabled") == {"reasoning": {"enabled": True}}


def test_a_switch_among_the_efforts_tells_how_they_are_asked_for() -> None:
    efforts = ("disabled", "low", "high")
    assert asked_for("gateway.example", "disabled", efforts=efforts) == {"thinking": {"type": "disabled"}}
    graded = {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}
    assert asked_for("gateway.example", "low", efforts=efforts) == graded
    assert asked_for("gateway.example", None, efforts=efforts) == {}
    assert asked_for("gateway.example", "low", efforts=("none", "low")) == {"reasoning_effort": "low"}


def test_models_that_take_tools_only_without_reasoning() -> None:
    silent = {"reasoning_effort": "none"}
    for name in ("gpt-5.6-luna", "gpt-6.1-terra"):
        assert asked_for("api.openai.com", None, name) == silent
        assert asked_for("api.openai.com", None, name, tools=False) == {}
        assert asked_for("api.openai.com", "high", name) == {"reasoning_effort": "high"}
        assert asked_for("127.0.0.1", None, name) == {}
    assert asked_for("api.openai.com", None, "gpt-5.4-mini") == {}


@pytest.mark.parametrize("api", APIS)
def test_a_model_without_tools(api: str) -> None:
    made = ModelCall("c", "ls", '{"path":"x"}')
    with ModelServer(HELLO) as server:
        provider = over_http(server.base_url, api=api, tools=False)
        said = (UserMessage("hi"), AssistantMessage("Sure.", calls=(made,)), ToolMessage("c", "ls", "a"))
        assert call(provider, ask(provider, *said, tools=(TOOL,))).text == "hello"
        body = server.requests[0].body
    assert "tools" not in body
    text = server.requests[0].raw.decode()
    assert "You have no tools in this session" in text
    assert '[Called the tool ls with {\\"path\\":\\"x\\"}]' in text
    assert "[Result of the tool ls]\\na" in text
    assert "tool_use" not in text
    assert "tool_calls" not in text


def test_what_a_server_wants_back() -> None:
    """Pieces of reasoning details are put together; both they and what came with a call go back to the same model."""
    function = {"name": "ls", "arguments": "{}"}
    pieces: list[dict[str, Any]] = [
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "so", "format": "f"}]},
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": " be it", "signature": "s"}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "xx"}]},
        {"tool_calls": [{"index": 0, "id": "c", "function": function, "extra_content": {"g": 1}}]},
    ]
    chunks = [{"choices": [{"delta": piece}]} for piece in pieces]
    stream = b"".join(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks) + b"data: [DONE]\n\n"
    with ModelServer(lambda request: Raw([stream])) as server:
        provider = over_http(server.base_url)
        outcome = call(provider)
        made = tuple(ModelCall(*one) for one in outcome.calls)
        for name in ("local/tiny", "local/other"):
            reply = AssistantMessage(outcome.text, "so be it", made, outcome.kept, name)
            call(provider, ask(provider, UserMessage("hi"), reply, ToolMessage("c", "ls", "a")))
    back, other = (request.body["messages"][2] for request in server.requests[1:])
    assert back["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "so be it", "format": "f", "signature": "s"},
        {"type": "reasoning.encrypted", "index": 1, "data": "xx"},
    ]
    assert back["tool_calls"][0]["extra_content"] == {"g": 1}
    assert "reasoning_content" not in back
    assert "reasoning_details" not in other
    assert "extra_content" not in other["tool_calls"][0]
