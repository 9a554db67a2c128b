"""Signing in and out, with keys from the environment or credentials.yaml, and the method for terminals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acp.conftest import Stage
from tests.acp.seen import OPENED
from tests.agent import Agent, Message, text_in
from tests.conftest import Home, StartAgent
from tests.model_server import ModelServer, Raw, Request

STORED = {"methodId": "stored-credentials"}
KEY = "canary-key-4711"
SCRIPT: dict[str, Any] = {"turns": [{"replies": [[{"text": "Hello."}]]}]}


def say(text: str) -> Raw:
    pieces = [{"delta": {"content": text}, "index": 0}, {"delta": {}, "index": 0, "finish_reason": "stop"}]
    events = [b"data: %b\n\n" % json.dumps({"choices": [piece]}).encode() for piece in pieces]
    return Raw([*events, b"data: [DONE]\n\n"])


def answers(request: Request) -> Raw:
    """Says hello to whoever has the key; quotes any other, as some servers do."""
    given = request.headers.get("Authorization", "")
    if given == f"Bearer {KEY}":
        return say("Hello.")
    body = {"error": {"message": f"Incorrect API key provided: {given}"}}
    return Raw([json.dumps(body).encode()], 401, {"Content-Type": "application/json"})


@pytest.fixture
def guarded(home: Home):
    """A model server that wants a key, from $MODEL_KEY or the credentials file."""
    with ModelServer(answers) as server:
        provider = {"api": "openai-chat", "base_url": server.base_url, "api_key_env": "MODEL_KEY", "models": {"m": {}}}
        home.configure({"providers": {"guarded": provider}})
        home.env.pop("MODEL_KEY", None)
        yield server


def store_key(home: Home, key: str) -> None:
    path = home.path / "credentials.yaml"
    path.write_text(f"guarded: {key}\n")
    path.chmod(0o600)


def refused_new(one: Agent, cwd: Path) -> Message:
    """The error of a session/new without credentials."""
    error = one.fail("session/new", {"cwd": str(cwd), "mcpServers": []})
    assert error["code"] == -32000
    assert len(error["message"]) < 500
    return error


def test_AUTH_01_an_unknown_method_id_is_a_bad_param(stage: Stage) -> None:
    for id in ("x", "", "terminal", "setup", "Stored-Credentials"):
        error = stage.agent.fail("authenticate", {"methodId": id})
        assert (error["code"], error["message"][:16]) == (-32602, "params.methodId:")


def test_AUTH_02_AUTH_17_authenticating_unasked_is_cheap_and_harmless(agent: StartAgent, home: Home) -> None:
    home.use_script(SCRIPT)
    one = agent()
    first = one.initialize()["authMethods"][0]["id"]
    for _ in range(2):
        assert one.call("authenticate", {"methodId": first}) == {}
    session = one.new_session(home.path)
    assert one.call("authenticate", {"methodId": first}) == {}
    assert text_in(one.prompt(session, "hi")[0]) == "Hello."


def test_AUTH_03_AUTH_04_a_key_that_is_stored_later_is_found(
    agent: StartAgent, home: Home, guarded: ModelServer, workspace: Path
) -> None:
    one = agent()
    one.initialize()
    assert "MODEL_KEY" in refused_new(one, workspace)["message"]
    assert one.fail("authenticate", STORED)["code"] == -32000
    store_key(home, KEY)
    assert one.call("authenticate", STORED) == {}
    updates, answer = one.prompt(one.new_session(workspace), "hi")
    assert answer["result"] == {"stopReason": "end_turn"}
    assert text_in(updates) == "Hello."


def test_AUTH_03_a_provider_that_is_configured_later_is_found(agent: StartAgent, home: Home, workspace: Path) -> None:
    one = agent()
    one.initialize()
    assert "acpagent setup" in refused_new(one, workspace)["message"]
    assert one.fail("authenticate", STORED)["code"] == -32000
    home.use_script(SCRIPT)
    assert one.call("authenticate", STORED) == {}
    assert text_in(one.prompt(one.new_session(workspace), "hi")[0]) == "Hello."


NO_TERMINAL: list[Message] = [
    {},
    {"auth": {"terminal": False}},
    {"auth": {"terminal": "yes"}},
    {"auth": True},
    {"terminal": True},
    {"_meta": {"terminal-auth": False}},
    {"_meta": {"terminal-auth": "true"}},
]


@pytest.mark.parametrize("capabilities", NO_TERMINAL)
def test_AUTH_05_AUTH_14_no_terminal_method_for_those_without_a_terminal(stage: Stage, capabilities: Message) -> None:
    (method,) = stage.agent.initialize(capabilities)["authMethods"]
    assert method.get("type", "agent") == "agent"
    assert not {"args", "env", "command", "vars", "_meta"} & method.keys()


@pytest.mark.parametrize("old", [False, True])
def test_AUTH_05_AUTH_06_AUTH_07_the_terminal_method(stage: Stage, old: bool) -> None:
    capabilities = {"auth": {"terminal": True}} | ({"_meta": {"terminal-auth": True}} if old else {})
    first, method = stage.agent.initialize(capabilities)["authMethods"]
    assert first.get("type", "agent") == "agent"
    assert method["type"] == "terminal"
    assert (bool(method["name"]), method["args"]) == (True, ["setup"])
    assert all(isinstance(text, str) for pair in method["env"].items() for text in pair)
    assert "command" not in method
    assert ("_meta" in method) == old


def test_AUTH_10_the_older_form(stage: Stage) -> None:
    _, method = stage.agent.initialize({"_meta": {"terminal-auth": True}})["authMethods"]
    assert "type" not in method
    task = method["_meta"]["terminal-auth"]
    assert task.keys() == {"label", "command", "args", "env"}
    assert task["args"][-1] == "setup"
    assert all(isinstance(text, str) for text in (task["label"], task["command"], *task["args"]))


def test_AUTH_09_a_terminal_id_is_not_for_authenticate(stage: Stage) -> None:
    methods = stage.agent.initialize({"auth": {"terminal": True}})["authMethods"]
    (terminal,) = [method["id"] for method in methods if method.get("type") == "terminal"]
    error = stage.agent.fail("authenticate", {"methodId": terminal})
    assert (error["code"], error["message"][:16]) == (-32602, "params.methodId:")


def test_AUTH_11_AUTH_12_AUTH_13_logout_until_authenticate(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    one = agent()
    assert one.initialize()["agentCapabilities"]["auth"] == {"logout": {}}
    session = one.new_session(workspace)
    one.prompt(session, "hi")
    for _ in range(2):
        assert one.call("logout") == {}
    refused_new(one, workspace)
    assert one.prompt(session, "hi")[1]["result"] == {"stopReason": "end_turn"}
    one.call("session/close", {"sessionId": session})
    assert set(one.call("session/load", {"sessionId": session, "cwd": str(workspace), "mcpServers": []})) == OPENED
    assert one.call("authenticate", STORED) == {}
    one.new_session(workspace)


def test_AUTH_11_logout_deletes_nothing(agent: StartAgent, home: Home, guarded: ModelServer, workspace: Path) -> None:
    store_key(home, KEY)
    one = agent()
    one.initialize()
    one.call("logout")
    refused_new(one, workspace)
    one.close()
    assert KEY in (home.path / "credentials.yaml").read_text()
    assert agent().new_session(workspace)


def test_AUTH_15_a_rejected_key_is_an_error_of_the_prompt(
    agent: StartAgent, home: Home, guarded: ModelServer, workspace: Path
) -> None:
    wrong = "canary-wrong-0815"
    store_key(home, wrong)
    one = agent()
    session = one.new_session(workspace)  # whether a key is right shows when it is used
    updates, answer = one.prompt(session, "hi")
    assert answer["error"]["code"] == -32000
    assert len(answer["error"]["message"]) < 500
    assert text_in(updates) == ""
    assert one.fail("authenticate", STORED)["code"] == -32000  # it was turned away last time
    store_key(home, KEY)
    assert one.call("authenticate", STORED) == {}  # and this is another
    updates, answer = one.prompt(session, "hi")
    assert answer["result"] == {"stopReason": "end_turn"}
    assert text_in(updates) == "Hello."
    one.close()
    everything = b"".join(one.lines).decode() + one.stderr()
    assert KEY not in everything
    assert wrong not in everything
    for file in home.path.rglob("*"):
        if file.is_file() and file.name != "credentials.yaml":
            assert b"canary" not in file.read_bytes(), file


def test_AUTH_16_there_is_always_a_method_to_offer(agent: StartAgent, home: Home) -> None:
    assert agent().initialize()["authMethods"]  # without any configuration


def test_AUTH_18_a_prompt_that_needs_another_key_leaves_no_trace(
    agent: StartAgent, home: Home, guarded: ModelServer, workspace: Path
) -> None:
    store_key(home, "canary-wrong-0815")
    one = agent()
    session = one.new_session(workspace)
    assert one.prompt(session, "the very words")[1]["error"]["code"] == -32000
    store_key(home, KEY)
    assert one.call("authenticate", STORED) == {}
    assert one.prompt(session, "the very words")[1]["result"] == {"stopReason": "end_turn"}
    heard = [message for message in guarded.requests[-1].body["messages"] if message["role"] == "user"]
    assert json.dumps(heard).count("the very words") == 1
    assert json.dumps(heard).count("Working directory") == 1  # and the facts of the day are still told
    one.call("session/close", {"sessionId": session})
    since = len(one.messages)
    one.call("session/load", {"sessionId": session, "cwd": str(workspace), "mcpServers": []})
    shown = [u for u in one.updates(session, since) if u["sessionUpdate"] == "user_message_chunk"]
    assert [u["content"]["text"] for u in shown] == ["the very words"]


def test_credentials_that_cannot_be_used_are_named(
    agent: StartAgent, home: Home, guarded: ModelServer, workspace: Path
) -> None:
    store_key(home, KEY)
    (home.path / "credentials.yaml").chmod(0o644)
    one = agent()
    one.initialize()
    for method, params in (("session/new", {"cwd": str(workspace), "mcpServers": []}), ("authenticate", STORED)):
        error = one.fail(method, params)
        assert error["code"] in (-32000, -32603)
        assert "credentials.yaml" in error["message"]
        assert "chmod 600" in error["message"]
        assert KEY not in error["message"]
    (home.path / "credentials.yaml").write_text(f"guarded: [{KEY}\n")
    (home.path / "credentials.yaml").chmod(0o600)
    error = one.fail("session/new", {"cwd": str(workspace), "mcpServers": []})
    assert f"{home.path / 'credentials.yaml'}:" in error["message"]
    one.close()
    assert KEY not in b"".join(one.lines).decode() + one.stderr()
