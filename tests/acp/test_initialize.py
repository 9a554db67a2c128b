"""The handshake: versions, capabilities on both sides, and that it is quick and needs nothing."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from acpagent.version import __version__
from tests.acp.conftest import Stage
from tests.agent import Agent, Message, text_in
from tests.conftest import Home, StartAgent
from tests.settling import is_called, processor_seconds

READ = {"call": {"tool": "read_file", "args": {"path": "a.txt"}}}
WRITE = {"call": {"tool": "write_file", "args": {"path": "a.txt", "content": "one\n"}}}
RUN = {"call": {"tool": "bash", "args": {"command": "cat a.txt; false"}}}
PLAN = {"call": {"tool": "todo_write", "args": {"todos": [{"content": "Do it", "status": "in_progress"}]}}}
SCRIPT: dict[str, Any] = {
    "turns": [
        {
            "prompt": "do the work",
            "replies": [[{"thought": "Let me."}, WRITE], [READ, RUN], [PLAN], [{"text": "Done."}]],
        },
        {"replies": [[{"text": "Hello."}]]},
    ]
}


def initialize(stage: Stage, **params: Any) -> Message:
    result: Message = stage.agent.call("initialize", {"protocolVersion": 1} | params)
    return result


@pytest.mark.parametrize("asked", [1, 0, 2, 3, 99, 65535])
def test_INIT_01_INIT_02_INIT_03_INIT_04_the_version_spoken_is_1(stage: Stage, asked: int) -> None:
    version = initialize(stage, protocolVersion=asked)["protocolVersion"]
    assert (version, type(version)) == (1, int)


BAD_VERSIONS: list[Any] = [-1, 65536, 1.5, "1", None, True, [1], {}, 10**30]


def test_INIT_05_a_bad_version_is_refused_and_can_be_put_right(agent: StartAgent, home: Home) -> None:
    home.use_script(SCRIPT)
    one = agent()
    for params in [{"protocolVersion": version} for version in BAD_VERSIONS] + [{}, None, [], "1"]:
        error = one.fail("initialize", params)
        assert error["code"] == -32602
        assert error["message"].startswith("params.protocolVersion:")
        assert one.fail("session/list")["code"] == -32600  # still not initialized
    one.initialize()
    assert one.call("session/list") == {"sessions": []}


ADVERTISED: list[tuple[str, Message]] = [
    ("session/load", {"sessionId": "x", "cwd": "/", "mcpServers": []}),
    ("session/resume", {"sessionId": "x", "cwd": "/"}),
    ("session/list", {}),
    ("session/close", {"sessionId": "x"}),
    ("session/delete", {"sessionId": "x"}),
    ("authenticate", {"methodId": "x"}),
    ("logout", {}),
]
NOT_ADVERTISED = (
    "session/steer",  # the extension has its own name
    "session/fork",
    "session/archive",
    "session/set_title",
    "session/status",
    "providers/list",
    "mcp/message",
    "nes/start",
    "auth/status",
)


def test_INIT_06_what_is_advertised_is_there_and_nothing_else(stage: Stage) -> None:
    capabilities = initialize(stage)["agentCapabilities"]
    assert capabilities["loadSession"] is True
    assert set(capabilities["sessionCapabilities"]) == {"list", "resume", "close", "delete", "additionalDirectories"}
    for method, params in ADVERTISED:
        answer = stage.agent.response(stage.agent.request(method, params))
        assert answer.get("error", {}).get("code") != -32601, method
    stage.agent.call("authenticate", {"methodId": "stored-credentials"})
    session = stage.new()
    for method in NOT_ADVERTISED:
        assert stage.agent.fail(method, {"sessionId": session})["code"] == -32601


def test_INIT_06_the_prompt_capabilities_are_true(stage: Stage) -> None:
    assert initialize(stage)["agentCapabilities"]["promptCapabilities"] == {
        "image": False,
        "audio": False,
        "embeddedContext": True,
    }
    session = stage.new()
    text = {"type": "resource", "resource": {"uri": "file:///x", "text": "content"}}
    blob = {"type": "resource", "resource": {"uri": "file:///x", "blob": "AAAA"}}
    assert stage.agent.prompt(session, [text, blob])[1]["result"] == {"stopReason": "end_turn"}
    audio = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
    error = stage.agent.fail("session/prompt", {"sessionId": session, "prompt": [audio]})
    assert (error["code"], error["message"][:17]) == (-32602, "params.prompt[0]:")


@pytest.mark.parametrize("sees", [True, False])
def test_INIT_06_images_are_promised_when_the_start_up_model_sees_them(
    agent: StartAgent, home: Home, sees: bool
) -> None:
    home.use_server("http://127.0.0.1:9/v1", model={"vision": sees})
    for _ in range(2):  # the second start reads the copy of the first
        capabilities = agent().initialize()["agentCapabilities"]
        assert capabilities["promptCapabilities"]["image"] is sees


def test_INIT_07_the_agent_says_who_it_is(stage: Stage) -> None:
    assert initialize(stage)["agentInfo"] == {"name": "acpagent", "title": "acpagent", "version": __version__}


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"clientInfo": None},
        {"clientInfo": None, "clientCapabilities": None, "_meta": None},
        {"clientInfo": {"name": "x", "version": "1", "title": None}},
        {"clientInfo": {"name": "x"}},
        {"clientCapabilities": {"fs": None, "terminal": None, "session": None, "auth": None, "_meta": None}},
    ],
)
def test_INIT_08_what_a_client_may_leave_out(stage: Stage, params: Message) -> None:
    assert initialize(stage, **params)["protocolVersion"] == 1
    assert stage.says(stage.new(), "hi") == "Hello."


FILES = [{}, {"readTextFile": True}, {"writeTextFile": True}, {"readTextFile": True, "writeTextFile": True}]


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("fs", FILES)
def test_INIT_10_a_turn_works_whatever_the_client_can_do(stage: Stage, fs: Message, terminal: bool) -> None:
    stage.agent.initialize({"fs": fs, "terminal": terminal})
    work(stage)


@pytest.mark.parametrize(
    "capabilities",
    [
        {},
        {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
        {"elicitation": {}, "session": {"configOptions": {}}},
        {"elicitation": {"form": None, "url": None}, "session": None, "auth": {"terminal": False}},
        {"future": {}, "fs": {"listDirectory": True}, "_meta": {"terminal-auth": False}},
    ],
)
def test_INIT_09_INIT_11_INIT_12_INIT_13_nothing_is_used_that_was_not_offered(
    stage: Stage, capabilities: Message
) -> None:
    methods = stage.agent.initialize(capabilities)["authMethods"]
    assert [method.get("type", "agent") for method in methods] == ["agent"]
    since = len(stage.agent.messages)
    work(stage)
    asked = {message["method"] for message in stage.agent.messages[since:] if "method" in message}
    assert asked == {"session/update", "session/request_permission"}
    kinds = {
        message["params"]["update"]["sessionUpdate"]
        for message in stage.agent.messages[since:]
        if message.get("method") == "session/update"
    }
    assert not kinds & {"notice", "compaction_update", "compaction_summary_chunk", "config_option_update"}


def work(stage: Stage) -> None:
    """A turn that thinks, writes, reads, runs and plans; the editor's files are those on the disk, and its
    terminals do not work."""
    file = stage.workspace / "a.txt"
    file.unlink(missing_ok=True)
    session = stage.new()
    prompt = stage.agent.start_prompt(session, "do the work")
    while (message := next_of(stage.agent, prompt)).get("id") != prompt or "method" in message:
        serve(stage.agent, message)
    assert message["result"] == {"stopReason": "end_turn"}
    updates = stage.agent.updates(session)
    assert file.read_text() == "one\n"
    finals = [update["status"] for update in updates if update.get("status") in ("completed", "failed")]
    assert sorted(finals) == ["completed", "completed", "completed", "failed"]
    assert text_in(updates) == "Done."


def next_of(one: Agent, prompt: int) -> Message:
    """The next request of the agent, or the answer to the prompt."""

    def either(_: list[Message]) -> Message | None:
        methods = ("session/request_permission", *EDITOR)
        return next(filter(None, map(one._untaken, methods)), None) or one._answer(prompt)

    found: Message = one.wait_until(either, "a request or the answer")
    return found


EDITOR = ("fs/read_text_file", "fs/write_text_file", "terminal/create")


def serve(one: Agent, asked: Message) -> None:
    method, params = asked["method"], asked["params"]
    if method == "session/request_permission":
        one.decide(asked, "once")
    elif method == "terminal/create":
        one.refuse(asked, -32603)
    elif method == "fs/write_text_file":
        Path(params["path"]).write_text(params["content"])
        one.reply(asked, {})
    elif os.path.exists(params["path"]):
        one.reply(asked, {"content": Path(params["path"]).read_text()})
    else:
        one.refuse(asked, -32002)


def test_INIT_14_it_is_answered_at_once(agent: StartAgent, home: Home) -> None:
    """With less than a second's work, and without a word to the model's server."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        home.use_server(f"http://127.0.0.1:{server.getsockname()[1]}/v1")
        one = agent()
        one.initialize()
        assert processor_seconds(one.process.pid) < 1
        assert not is_called(server)


def test_INIT_15_without_a_home_or_a_key(agent: StartAgent, home: Home) -> None:
    one = agent(env={"ACPAGENT_HOME": str(home.path / "nowhere"), "HOME": "/nowhere"})
    assert one.initialize()["protocolVersion"] == 1
    one.close()
    assert not (home.path / "nowhere").exists()


def test_INIT_16_INIT_17_INIT_18_the_answer_as_the_schema_wants_it(stage: Stage) -> None:
    """That it holds nothing else is checked for every line of every test."""
    result = initialize(stage)
    capabilities = result["agentCapabilities"]
    assert capabilities["mcpCapabilities"] == {"http": True, "sse": False}
    assert capabilities["auth"] == {"logout": {}}
    assert all(marker == {} for marker in capabilities["sessionCapabilities"].values())
    ids = [method["id"] for method in result["authMethods"]]
    assert ids == ["stored-credentials"]
    assert all(method["name"] for method in result["authMethods"])


@pytest.mark.parametrize(
    "params",
    [
        {"clientCapabilities": {}},
        {"clientCapabilities": {}, "info": {"name": "x", "version": "1"}, "capabilities": {"session": {}}},
        {"info": 3, "capabilities": []},
    ],
)
def test_INIT_19_a_client_of_another_version_is_answered(stage: Stage, params: Message) -> None:
    assert initialize(stage, **params, protocolVersion=65535)["protocolVersion"] == 1


def test_INIT_20_initialize_and_new_in_one_write(agent: StartAgent, home: Home) -> None:
    home.use_script(SCRIPT)
    one = agent()
    greeting = one.make_request("initialize", {"protocolVersion": 1})
    opening = one.make_request("session/new", {"cwd": str(home.path), "mcpServers": []})
    one.send(greeting, opening)
    assert one.response(opening["id"])["result"]["sessionId"]
    answers = [message["id"] for message in one.messages if "id" in message]
    assert answers == [greeting["id"], opening["id"]]
