"""What is not in the protocol: `_meta` both ways, unknown fields, methods of one's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from acpagent.wire.schema import bundle
from tests.acp.seen import call_in, calls, says, turn
from tests.acp.served import Served, served
from tests.agent import Message, text_in

PLAN = [{"content": "Do it", "status": "completed"}]
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("everything", [{"thought": "Hm."}, calls("read_file", path="a.txt"), calls("todo_write", todos=PLAN)],
             calls("edit_file", path="a.txt", old="a", new="b"), calls("bash", command="echo x"), says("Done.")),
        turn("edit", calls("edit_file", path="a.txt", old="a", new="b"), says("Done.")),
        turn(".", says("Heard.")),
    ]
}  # fmt: skip
TRACE = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "tracestate": "vendor=1",
    "baggage": "user=5",
}
ODD_META: list[Any] = [
    None, {}, TRACE, {"traceparent": 5}, {"": None, "x.y/z": [{"deep": [1, 2.5, None, True]}]}, "text", [], 7, True,
]  # fmt: skip
# Where the protocol lets anything be, or names are data: what is in there is not the protocol's.
FREE = {"_meta", "rawInput", "rawOutput", "data"}


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("extending"), SCRIPT) as made:
        (made.workspace / "a.txt").write_text("a\n")
        yield made


def objects(value: Any, path: str = "") -> Iterator[tuple[str, Message]]:
    """Every object in a message with its path, without what is free."""
    if isinstance(value, dict):
        yield path, value
        for key, item in value.items():
            if key not in FREE:
                yield from objects(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from objects(item, f"{path}[]")


@pytest.fixture(scope="module")
def everything(one: Served) -> list[Message]:
    """What the agent writes in a life that has it all."""
    (one.workspace / "a.txt").write_text("a\n")
    since = len(one.agent.messages)
    one.agent.initialize()
    session = one.new(additionalDirectories=[str(one.home.path)])
    one.prompt(session, "everything")
    one.prompt(session, "/help")
    one.agent.call("session/list")
    one.agent.call("session/close", {"sessionId": session})
    one.agent.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
    one.agent.fail("session/prompt", {"sessionId": "nobody", "prompt": [{"type": "text", "text": "x"}]})
    return one.agent.messages[since:]


def test_EXT_01_no_field_of_our_own_outside_meta(everything: list[Message]) -> None:
    kinds = {m["params"]["update"]["sessionUpdate"] for m in everything if m.get("method") == "session/update"}
    assert kinds >= {
        "user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan",
        "usage_update", "session_info_update", "available_commands_update",
    }  # fmt: skip
    for message in everything:  # that every line is valid with all objects closed, the transcript checks
        assert set(message) <= {"jsonrpc", "id", "method", "params", "result", "error"}
        for path, item in objects(message):
            assert isinstance(item.get("_meta", {}), dict), path


def test_EXT_02_the_names_reserved_for_tracing_are_not_used_for_anything_else(everything: list[Message]) -> None:
    for message in everything:
        for path, item in objects(message):
            assert not TRACE.keys() & item.get("_meta", {}).keys(), path


@pytest.mark.parametrize("meta", ODD_META)
def test_EXT_02_EXT_03_EXT_07_any_meta_is_accepted_everywhere(one: Served, meta: Any) -> None:
    (one.workspace / "a.txt").write_text("a\n")
    agent, extra = one.agent, {"_meta": meta}
    capabilities = {"fs": {"readTextFile": False, "writeTextFile": False} | extra, "terminal": False} | extra
    agent.initialize(capabilities, **extra)
    session = one.new(**extra)
    words = {"type": "text", "text": "edit"} | extra
    resource = {"type": "resource", "resource": {"uri": "file:///x", "text": "x"} | extra} | extra
    blocks = [words, {"type": "resource_link", "uri": "zed:///x", "name": "x"} | extra, resource]
    prompt = agent.request("session/prompt", {"sessionId": session, "prompt": blocks} | extra)
    question = agent.expect_request("session/request_permission")
    agent.reply(question, {"outcome": {"outcome": "selected", "optionId": "once"} | extra} | extra)
    assert agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    assert call_in(agent.updates(session)).status == "completed"
    agent.notify("session/cancel", {"sessionId": session} | extra)
    assert agent.call("session/list", {"cwd": str(one.workspace)} | extra)["sessions"]
    assert agent.call("session/close", {"sessionId": session} | extra) == {}


def test_EXT_03_unknown_fields_are_ignored(one: Served) -> None:
    more = {"later": {"version": 9}, "flag": True}
    session = one.new(**more)
    blocks = [{"type": "text", "text": "hello"} | more]
    assert one.agent.call("session/prompt", {"sessionId": session, "prompt": blocks} | more) == {
        "stopReason": "end_turn"
    }
    assert one.agent.call("session/close", {"sessionId": session} | more) == {}


def test_EXT_04_every_method_we_send_is_the_protocols_or_begins_with_an_underscore(everything: list[Message]) -> None:
    sent = {message["method"] for message in everything if "method" in message}
    assert sent == {"session/update", "session/request_permission"}


def test_EXT_05_extensions_are_advertised_under_a_domain(one: Served) -> None:
    capabilities = one.agent.initialize()["agentCapabilities"]
    for _, item in objects(capabilities):
        assert all("." in name for name in item.get("_meta", {}))


def test_EXT_06_keys_are_camel_case_and_discriminators_snake_case(everything: list[Message]) -> None:
    camel, snake = re.compile(r"[a-z][A-Za-z0-9]*"), re.compile(r"[a-z][a-z0-9_]*")
    for message in everything:
        for path, item in objects(message):
            for key, value in item.items():
                assert key == "_meta" or camel.fullmatch(key), f"{path}.{key}"
                if key in ("type", "sessionUpdate", "status", "kind", "outcome", "stopReason", "priority"):
                    assert snake.fullmatch(value), f"{path}.{key}: {value}"


def test_EXT_06_what_the_schema_calls_our_updates(everything: list[Message]) -> None:
    updates = [message["params"] for message in everything if message.get("method") == "session/update"]
    assert updates
    assert all(bundle().check_params("client", "session/update", params) == [] for params in updates)


@pytest.mark.parametrize("method", ["_acpagent/nothing", "_reasonix.io/session/inbox", "_x", "_"])
def test_EXT_04_requests_of_others_extensions_are_unknown_and_notifications_ignored(one: Served, method: str) -> None:
    assert one.agent.fail(method, {"anything": 1})["code"] == -32601
    one.agent.notify(method, {"anything": 1})
    assert text_in(one.prompt(one.new(), "hello")) == "Heard."


def test_EXT_08_a_client_that_advertises_nothing_is_asked_for_permission_alone(everything: list[Message]) -> None:
    asked = {message["method"] for message in everything if "method" in message and "id" in message}
    assert asked == {"session/request_permission"}
