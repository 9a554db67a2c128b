"""Requests, notifications and errors of the agent. What every end of a connection must get right (RPC-01..09, 16,
18..21, 23, 27) is in tests/wire/test_connection_rules.py and runs over this process too."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.acp.conftest import Stage, no_answer_but
from tests.acp.seen import OPENED
from tests.agent import Message, text_in, updates_in
from tests.conftest import Home, StartAgent

CANARY = "canary-4711"
RUN = {"call": {"tool": "bash", "args": {"command": "touch ran"}}}
SCRIPT: dict[str, Any] = {
    "turns": [
        {"prompt": "hello", "replies": [[{"text": "Hello."}]]},
        {"prompt": "run", "replies": [[RUN], [{"text": "So it ends."}]]},
        {"prompt": "hold", "replies": [[{"stall": True}]]},
    ]
}
SESSION_METHODS = ("session/prompt", "session/close", "session/load", "session/resume")


def place(stage: Stage, **params: Any) -> Message:
    return {"cwd": str(stage.workspace), "mcpServers": [], **params}


def text(words: str) -> list[Message]:
    return [{"type": "text", "text": words}]


def named(method: str, session: str, stage: Stage) -> Message:
    """Params of a method about a session."""
    if method == "session/prompt":
        return {"sessionId": session, "prompt": text("hello")}
    return {"sessionId": session} | (place(stage) if method in ("session/load", "session/resume") else {})


@pytest.mark.parametrize("id", [0, -7, "1", 9007199254740993, "", None])
def test_RPC_01_RPC_02_RPC_03_answers_of_workers_carry_the_id_as_it_was(stage: Stage, id: Any) -> None:
    """`session/new` is answered by a session's worker, `session/list` by the connection's."""
    for method, params in (("session/new", place(stage)), ("session/list", {})):
        since = len(stage.agent.messages)
        stage.agent.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        answer = stage.agent.expect(lambda message: "result" in message, "the result", since)
        assert (answer["id"], type(answer["id"])) == (id, type(id))


@pytest.mark.parametrize("method", ["session/fork", "session/steer", "fs/read_text_file", "Initialize", "initialize "])
def test_RPC_07_RPC_08_methods_that_no_agent_has_or_this_one_has_not(stage: Stage, method: str) -> None:
    error = stage.agent.fail(method, {"sessionId": stage.new()})
    assert error["code"] == -32601
    assert method not in error["message"]  # what the peer says is not repeated


MALFORMED_CANCELS: list[Any] = [None, [], {}, "x", 3, {"sessionId": None}, {"sessionId": 3}, {"sessionId": ["x"]}]


def test_RPC_09_RPC_10_notifications_are_never_answered(stage: Stage) -> None:
    lines = [
        {"jsonrpc": "2.0", "method": method, "params": params}
        for method in ("session/cancel", "$/cancel_request", "session/update", "_x/n", "session/new", "initialize")
        for params in [*MALFORMED_CANCELS, {"sessionId": "nope"}, {"requestId": "nope"}, place(stage)]
    ]
    no_answer_but(stage.agent, *(json.dumps(line).encode() for line in lines))


INVALID: list[tuple[str, Any, str]] = [
    ("session/new", {"mcpServers": []}, "params.cwd:"),
    ("session/new", {"cwd": None, "mcpServers": []}, "params.cwd:"),
    ("session/new", {"cwd": 3, "mcpServers": []}, "params.cwd:"),
    ("session/new", [], "params:"),
    ("session/new", "x", "params:"),
    ("session/new", None, "params.cwd:"),
    ("session/new", {"cwd": "/", "mcpServers": 3}, "params.mcpServers:"),
    ("session/load", {"cwd": "/", "mcpServers": []}, "params.sessionId:"),
    ("session/load", {"sessionId": 3, "cwd": "/", "mcpServers": []}, "params.sessionId:"),
    ("session/resume", {"sessionId": "x"}, "params.cwd:"),
    ("session/prompt", {"sessionId": "x", "prompt": "hello"}, "params.prompt:"),
    ("session/prompt", {"sessionId": "x"}, "params.prompt:"),
    ("session/prompt", {"prompt": text("hello")}, "params.sessionId:"),
    ("session/prompt", {"sessionId": "x", "prompt": [3]}, "params.prompt[0]"),
    ("session/prompt", {"sessionId": "x", "prompt": [{"type": "text"}]}, "params.prompt[0].text:"),
    ("session/prompt", {"sessionId": "x", "prompt": 3, "command": {"name": "help"}}, "params.prompt:"),
    ("session/prompt", {"sessionId": "x", "prompt": "hi", "command": {"name": "help"}}, "params.prompt:"),
    ("session/close", {}, "params.sessionId:"),
    ("session/close", {"sessionId": None}, "params.sessionId:"),
    ("session/delete", {"sessionId": {}}, "params.sessionId:"),
    ("session/list", {"cwd": "src"}, "params.cwd:"),
    ("authenticate", {}, "params.methodId:"),
    ("authenticate", {"methodId": 3}, "params.methodId:"),
]


@pytest.mark.parametrize(("method", "params", "path"), INVALID)
def test_RPC_11_a_bad_param_is_named_with_what_to_do(stage: Stage, method: str, params: Any, path: str) -> None:
    error = stage.agent.fail(method, params)
    assert error["code"] == -32602
    assert error["message"].startswith(path)
    assert len(error["message"]) > len(path) + 5


def test_RPC_12_unknown_params_are_ignored(stage: Stage) -> None:
    session = stage.agent.call("session/new", place(stage, foo=1, _bar={}, modes=[]))["sessionId"]
    params = named("session/prompt", session, stage)
    assert stage.agent.call("session/prompt", {**params, "model": "x"}) == {"stopReason": "end_turn"}
    assert stage.agent.call("session/close", {"sessionId": session, "now": True}) == {}


def test_RPC_12_but_a_command_field_is_a_slash_command(stage: Stage) -> None:
    session, command = stage.new(), {"name": "help", "args": "me"}
    for prompt in ({}, {"prompt": None}, {"prompt": []}, {"prompt": text("run")}):
        params = {"sessionId": session, "command": command, **prompt}
        assert stage.agent.call("session/prompt", params) == {"stopReason": "end_turn"}
    assert not (stage.workspace / "ran").exists()
    assert text_in(stage.agent.updates(session)).count("Name a file with `@path`") == 4


@pytest.mark.parametrize(
    "odd",
    [
        {"clientCapabilities": "yes"},
        {"clientCapabilities": {"fs": 3, "terminal": "yes", "auth": [], "session": 7, "elicitation": False}},
        {"clientCapabilities": {"fs": {"readTextFile": "yes", "writeTextFile": 1}}},
        {"clientCapabilities": None, "clientInfo": None, "_meta": "x"},
        {"clientInfo": []},
        {"clientInfo": {"name": 3}},
    ],
)
def test_RPC_13_malformed_optional_values_count_as_absent(stage: Stage, odd: Message) -> None:
    assert stage.agent.call("initialize", {"protocolVersion": 1, **odd})["protocolVersion"] == 1
    session = stage.agent.call("session/new", place(stage, _meta=3))["sessionId"]
    assert stage.says(session, "hello") == "Hello."


def test_RPC_13_of_content_blocks_too(stage: Stage) -> None:
    block = {"type": "text", "text": "hello", "annotations": 3, "_meta": []}
    link = {"type": "resource_link", "uri": "zed:///x", "name": "x", "size": "big", "mimeType": 3, "title": []}
    _, answer = stage.agent.prompt(stage.new(), [block, link])
    assert answer["result"] == {"stopReason": "end_turn"}


def test_RPC_14_null_where_a_list_may_be_empty(stage: Stage) -> None:
    params = {"cwd": str(stage.workspace), "mcpServers": None, "additionalDirectories": None}
    session = stage.agent.call("session/new", params)["sessionId"]
    assert stage.says(session, "hello") == "Hello."


def test_RPC_15_servers_may_be_left_out(stage: Stage) -> None:
    session = stage.agent.call("session/new", {"cwd": str(stage.workspace)})["sessionId"]
    assert stage.says(session, "hello") == "Hello."
    stage.agent.call("session/close", {"sessionId": session})
    params = {"sessionId": session, "cwd": str(stage.workspace)}
    assert set(stage.agent.call("session/load", params)) == OPENED


def test_RPC_17_a_home_that_cannot_be_written(agent: StartAgent, home: Home, stage: Stage) -> None:
    home.use_script(SCRIPT)
    (home.path / "locks").write_text("in the way")
    one = agent()
    one.initialize()
    for _ in range(2):
        error = one.fail("session/new", place(stage))
        assert error["code"] == -32603
        assert str(home.path / "locks") in error["message"]
        assert_one_sentence(error)
    os.unlink(home.path / "locks")
    session = one.new_session(stage.workspace)
    os.rename(home.path / "store.sqlite3", home.path / "elsewhere")
    (home.path / "store.sqlite3").mkdir()
    assert one.call("session/close", {"sessionId": session}) == {}
    error = one.fail("session/list")
    assert error["code"] == -32603
    assert "store.sqlite3" in error["message"]
    assert_one_sentence(error)


def test_RPC_18_answers_to_nothing_are_ignored(stage: Stage) -> None:
    bodies = [{"result": {}}, {"error": {"code": 1, "message": "x"}}, {"result": None}, {"error": None}, {}]
    ids = [0, 1, 2, 999, "1", None, 1.5, True, [], {}]
    lines = [json.dumps({"jsonrpc": "2.0", "id": id, **body}).encode() for body in bodies for id in ids]
    no_answer_but(stage.agent, *lines)


SELECTED = {"outcome": "selected"}
MALFORMED: list[Any] = [
    {},
    None,
    [],
    "once",
    True,
    {"outcome": None},
    {"outcome": "once"},
    {"outcome": "selected", "optionId": "once"},
    {"outcome": []},
    {"outcome": {}},
    {"outcome": {"optionId": "once"}},
    {"outcome": {**SELECTED}},
    {"outcome": {**SELECTED, "optionId": None}},
    {"outcome": {**SELECTED, "optionId": "Once"}},
    {"outcome": {**SELECTED, "optionId": ["once"]}},
    {"outcome": {**SELECTED, "optionId": {"once": 1}}},
    {"outcome": {**SELECTED, "optionId": "repository"}},
    {"outcome": {**SELECTED, "optionId": "zzz"}},
    {"outcome": {"outcome": "chosen", "optionId": "once"}},
    {"outcome": {"outcome": ["selected"], "optionId": "once"}},
]


@pytest.mark.parametrize("result", MALFORMED)
def test_RPC_20_PERM_06_an_answer_that_is_no_clear_yes_is_a_no(stage: Stage, result: Any) -> None:
    assert_refused(stage, {"result": result})


@pytest.mark.parametrize(
    "body",
    [
        {"result": {"outcome": {**SELECTED, "optionId": "once"}}, "error": {"code": 1, "message": "x"}},
        {"error": {"code": -32601, "message": "no such method"}},
        {"error": {"code": -32800, "message": "cancelled"}},
        {"error": {"code": -32603, "message": "broke", "data": {"optionId": "once"}}},
        {"error": {}},
        {"error": "once"},
    ],
)
def test_RPC_20_RPC_21_PERM_06_an_error_is_a_no(stage: Stage, body: Message) -> None:
    assert_refused(stage, body)


def assert_refused(stage: Stage, body: Message) -> None:
    one, session = stage.agent, stage.new()
    prompt = one.start_prompt(session, "run")
    question = one.expect_request("session/request_permission")
    one.send({"jsonrpc": "2.0", "id": question["id"], **body})
    assert one.response(prompt)["result"] == {"stopReason": "end_turn"}
    updates = one.updates(session)
    assert [update["status"] for update in updates if "status" in update] == ["pending", "failed"]
    assert not (stage.workspace / "ran").exists()


def test_RPC_22_nothing_but_initialize_comes_first(agent: StartAgent, home: Home) -> None:
    home.use_script(SCRIPT)
    one = agent()
    methods = ("session/new", "session/list", "authenticate", "logout", "session/prompt", "nonsense", "_x/y")
    for method in methods:
        error = one.fail(method, {})
        assert (error["code"], "initialize" in error["message"]) == (-32600, True)
    one.notify("session/cancel", {"sessionId": "x"})
    one.notify("$/cancel_request", {"requestId": 1})
    one.initialize()
    assert one.call("session/list") == {"sessions": []}


@pytest.mark.parametrize("method", ["session/list", "logout"])
def test_RPC_23_no_params_are_as_good_as_empty_ones(stage: Stage, method: str) -> None:
    for params in (b"", b',"params":null', b',"params":{}'):
        id = f"bare {len(params)}"
        stage.agent.send_raw(b'{"jsonrpc":"2.0","id":"%b","method":"%b"%b}\n' % (id.encode(), method.encode(), params))
        assert "result" in stage.agent.response(id)
    stage.agent.call("authenticate", {"methodId": "stored-credentials"})  # ends the logout


SECRET = {"name": "s", "command": "/bin/x", "args": [CANARY], "env": [{"name": "TOKEN", "value": CANARY}]}
HTTP = {"type": "http", "name": "s", "url": f"https://x/{CANARY}", "headers": [{"name": "A", "value": CANARY}]}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/new", {"cwd": CANARY, "mcpServers": [SECRET, HTTP]}),
        ("session/new", {"cwd": "/", "mcpServers": {"env": CANARY}}),
        ("session/new", {"cwd": "/", "mcpServers": [{**SECRET, "env": CANARY}]}),
        ("session/new", {"cwd": "/", "mcpServers": [{**SECRET, "env": [{"name": 3, "value": CANARY}]}]}),
        ("session/new", {"cwd": "/", "mcpServers": [{**HTTP, "headers": {CANARY: CANARY}, "url": 3}]}),
        ("session/new", {"cwd": f"/{CANARY}", "mcpServers": [SECRET]}),
        ("session/new", {"cwd": "/", "mcpServers": [SECRET, CANARY, [CANARY]], "_meta": CANARY}),
        ("session/prompt", {"sessionId": 3, "prompt": CANARY}),
        ("session/prompt", {"sessionId": "x", "prompt": [{"type": CANARY, "text": CANARY}]}),
        ("session/prompt", {"sessionId": "x", "prompt": [{"type": "image", "data": CANARY, "mimeType": "x"}]}),
        ("authenticate", {"methodId": CANARY, "token": CANARY}),
        ("session/list", {"cursor": CANARY}),
        ("session/list", {"cwd": CANARY}),
        (f"_{CANARY}/x", {"token": CANARY}),
        ("initialize", {"protocolVersion": CANARY, "clientInfo": {"name": CANARY}}),
    ],
)
def test_RPC_24_no_secret_comes_back(stage: Stage, method: str, params: Any) -> None:
    since = len(stage.agent.messages)
    answer = stage.agent.response(stage.agent.request(method, params))
    stage.agent.call("session/list")
    assert CANARY not in json.dumps(stage.agent.messages[since:])
    assert CANARY not in stage.agent.stderr()
    assert_one_sentence(answer.get("error", {"message": "none."}))


def test_RPC_24_malformed_lines_are_not_repeated(stage: Stage) -> None:
    since = len(stage.agent.messages)
    odd = b'{"jsonrpc":"2.0","id":1,"method":{"%s":1}}'
    lines = [b'{"%s"', b'{"jsonrpc":"2.0","id":[],"method":"%s"}', b'["%s"]', odd]
    stage.agent.send_raw(b"".join(line % CANARY.encode() + b"\n" for line in lines))
    stage.agent.call("session/list")
    errors = [message["error"]["code"] for message in stage.agent.messages[since:] if "error" in message]
    assert errors == [-32700, -32600, -32600, -32600]
    assert CANARY not in json.dumps(stage.agent.messages[since:])
    assert CANARY not in stage.agent.stderr()


def test_RPC_25_initialize_again_keeps_everything(stage: Stage) -> None:
    session = stage.new()
    prompt = stage.agent.start_prompt(session, "hold")
    first = stage.agent.initialize({"terminal": True})
    assert stage.agent.initialize() == first
    assert stage.agent.fail("initialize", {"protocolVersion": "1"})["code"] == -32602
    stage.agent.notify("session/cancel", {"sessionId": session})
    assert stage.agent.response(prompt)["result"] == {"stopReason": "cancelled"}
    assert stage.says(session, "hello") == "Hello."


@pytest.mark.parametrize("method", SESSION_METHODS)
def test_RPC_26_an_unknown_session_is_named(stage: Stage, method: str) -> None:
    error = stage.agent.fail(method, named(method, "nope", stage))
    assert (error["code"], error["data"]) == (-32002, {"sessionId": "nope"})
    assert_one_sentence(error)


@pytest.mark.parametrize("method", ["session/prompt", "session/close"])
def test_RPC_26_a_session_that_is_stored_but_not_open_is_unknown_too(stage: Stage, method: str) -> None:
    session = stage.new()
    stage.says(session, "hello")
    stage.agent.call("session/close", {"sessionId": session})
    error = stage.agent.fail(method, named(method, session, stage))
    assert (error["code"], error["data"]) == (-32002, {"sessionId": session})


def test_RPC_27_two_prompts_with_one_id(stage: Stage) -> None:
    one, first, second = stage.agent, stage.new(), stage.new()
    one.expect_update(second, "available_commands_update")
    since = len(one.messages)
    params = [{"sessionId": first, "prompt": text("hold")}, {"sessionId": second, "prompt": text("hello")}]
    prompts = [{"jsonrpc": "2.0", "id": "twice", "method": "session/prompt", "params": one} for one in params]
    one.send(*prompts)
    refused = one.expect(lambda message: message.get("id") == "twice", since=since)
    assert refused["error"]["code"] == -32600
    one.notify("session/cancel", {"sessionId": first})
    answer = one.expect(lambda message: message.get("id") == "twice" and "result" in message, since=since)
    assert answer["result"] == {"stopReason": "cancelled"}
    assert updates_in(one.messages[since:], second) == []
    one.send(prompts[1])  # and the id is free again
    one.expect(lambda message: message.get("result") == {"stopReason": "end_turn"}, since=since)


def assert_one_sentence(error: Message) -> None:
    message = error["message"]
    assert 0 < len(message) < 500
    assert "\n" not in message
    assert "Traceback" not in message
