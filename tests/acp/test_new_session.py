"""session/new: where a session works, what it is told, and that sessions have nothing to do with each other."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.acp.conftest import Stage
from tests.acp.seen import OPENED
from tests.agent import Message, text_in, updates_in
from tests.conftest import Home, StartAgent
from tests.model_server import Raw, Request
from tests.settling import is_called, processor_seconds

CANARY = "canary-4711"


def call(tool: str, **args: Any) -> list[Any]:
    return [[{"call": {"tool": tool, "args": args}}], [{"text": "Done."}]]


SCRIPT: dict[str, Any] = {
    "turns": [
        {"prompt": "where are you", "replies": call("bash", command="pwd -P; pwd")},
        {"prompt": "read the note", "replies": call("read_file", path="note.txt")},
        {"prompt": "write the note", "replies": call("write_file", path="note.txt", content="new\n")},
        {"prompt": "hold", "replies": [[{"stall": True}]]},
        {"replies": [[{"text": "Hello."}]]},
    ]
}


def place(cwd: str | os.PathLike[str], **params: Any) -> Message:
    return {"cwd": os.fspath(cwd), "mcpServers": [], **params}


def shown(updates: list[Message]) -> str:
    """What the calls showed in the end."""
    finals = [update for update in updates if update.get("status") in ("completed", "failed")]
    items = [item for update in finals for item in update["content"] if item["type"] == "content"]
    return "\n".join(item["content"]["text"] for item in items)


def test_SESS_01_every_session_has_an_id_of_its_own(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    ids: list[str] = []
    for _ in range(2):
        one = agent()
        one.initialize()
        requests = [one.make_request("session/new", place(workspace)) for _ in range(50)]
        one.send(*requests)
        ids += [one.response(request["id"])["result"]["sessionId"] for request in requests]
        one.close()
    assert all(isinstance(id, str) and id for id in ids)
    assert len(set(ids)) == 100


@pytest.mark.parametrize("cwd", ["", ".", "..", "src", "./src", "~", "~/x", "src/\0", "/tmp\0/x"])
def test_SESS_02_cwd_must_be_absolute(stage: Stage, cwd: str) -> None:
    error = stage.agent.fail("session/new", place(cwd))
    assert (error["code"], error["message"][:11]) == (-32602, "params.cwd:")
    assert len(cwd) < 3 or cwd not in error["message"]


def test_SESS_03_the_sessions_folder_is_used_not_the_processs(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    (workspace / "note.txt").write_text("the note\n")
    one = agent(cwd="/")
    session = one.new_session(workspace)
    assert str(workspace) in shown(one.prompt(session, "where are you", permission="once")[0])
    assert "the note" in shown(one.prompt(session, "read the note")[0])
    one.prompt(session, "write the note", permission="once")
    assert (workspace / "note.txt").read_text() == "new\n"


def test_SESS_04_a_folder_that_is_not_there(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for name in ("nope", "nope/deeper", "file", "file/below", "broken", "circle", "x" * 300):
        error = stage.agent.fail("session/new", place(tmp_path / name))
        assert (error["code"], error["message"][:11]) == (-32602, "params.cwd:")
    assert stage.says(stage.new(), "hi") == "Hello."


def test_SESS_05_sessions_do_not_mix(agent: StartAgent, serve: Any, tmp_path: Path) -> None:
    serve(tell_what_was_heard)
    one = agent()
    folders = [tmp_path / name for name in ("first", "second")]
    sessions = []
    for folder in folders:
        folder.mkdir()
        sessions.append(one.new_session(folder))
    for round_number in range(3):
        words = [f"{folder.name} {round_number}" for folder in folders]
        prompts = [one.start_prompt(session, text) for session, text in zip(sessions, words, strict=True)]
        for session, prompt, folder in zip(sessions, prompts, folders, strict=True):
            one.response(prompt)
            heard = json.loads(text_in(one.updates(session)).split("|")[-1])
            assert [text.split("\n")[-1] for text in heard] == [f"{folder.name} {n}" for n in range(round_number + 1)]
            assert all(other.name not in "".join(heard) for other in folders if other is not folder)


def tell_what_was_heard(request: Request) -> Raw:
    """A model that repeats all that the person said to it, behind a bar."""
    heard = [message["content"] for message in request.body["messages"] if message["role"] == "user"]
    pieces = [{"delta": {"content": "|" + json.dumps(heard)}, "index": 0}]
    pieces.append({"delta": {}, "index": 0, "finish_reason": "stop"})
    events = [json.dumps({"choices": [piece]}).encode() for piece in pieces]
    return Raw([b"data: %b\n\n" % event for event in (*events, b"[DONE]")])


@pytest.mark.parametrize("cwd", ["C:\\project", "C:/project", "\\\\server\\share", "file:///tmp", "zed:///tmp"])
def test_SESS_06_paths_of_other_systems_and_uris_are_not_absolute(stage: Stage, cwd: str) -> None:
    assert stage.agent.fail("session/new", place(cwd))["code"] == -32602


@pytest.mark.parametrize("name", ["a b", "日本語 é", "quote'\"$x", "-rf", "new\nline", "link", "trailing/"])
def test_SESS_07_odd_folders_are_kept_as_given(stage: Stage, tmp_path: Path, name: str) -> None:
    cwd = os.path.join(tmp_path, name)
    if name == "link":
        (tmp_path / "real").mkdir()
        os.symlink(tmp_path / "real", cwd)
    else:
        os.mkdir(cwd)
    Path(cwd, "note.txt").write_text("the note\n")
    session = stage.new(cwd)
    assert "the note" in shown(stage.prompt(session, "read the note"))
    assert os.path.realpath(cwd) in shown(stage.prompt(session, "where are you"))
    (info,) = stage.agent.call("session/list", {"cwd": cwd})["sessions"]
    assert (info["sessionId"], info["cwd"]) == (session, cwd)


@pytest.mark.parametrize("entry", ["", ".", "src", "~", "C:\\x"])
def test_SESS_08_additional_directories_are_absolute(stage: Stage, entry: str) -> None:
    error = stage.agent.fail("session/new", place(stage.workspace, additionalDirectories=["/tmp", entry]))
    assert (error["code"], error["message"][:32]) == (-32602, "params.additionalDirectories[1]:")


def test_SESS_08_SESS_09_SESS_10_the_roots_are_those_of_the_request(
    agent: StartAgent, serve: Any, workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "note.txt").write_text("from outside\n")
    (workspace / "link").symlink_to(outside)
    paths = [str(outside / "note.txt"), "../outside/note.txt", "link/note.txt"]
    reads = [{"call": {"tool": "read_file", "args": {"path": path}}} for path in paths]
    serve({"turns": [{"replies": [reads, [{"text": "Done."}]], "prompt": "."}]})
    one = agent()
    session = one.new_session(workspace, additionalDirectories=[str(outside)])
    assert shown(one.prompt(session, "read them")[0]).count("from outside") == 3
    for method in ("session/load", "session/resume"):
        one.call("session/close", {"sessionId": session})
        one.call(method, place(workspace, sessionId=session))
        asked: list[Message] = []

        def refuse(question: Message, asked: list[Message] = asked) -> str:
            asked.append(question["params"]["toolCall"])
            return "deny"

        updates, answer = one.prompt(session, "read them", permission=refuse)
        assert answer["result"] == {"stopReason": "end_turn"}
        assert [call["locations"][0]["path"] for call in asked] == [str(outside / "note.txt")] * 3
        assert "from outside" not in shown(updates)


def test_SESS_10_files_outside_the_roots_are_asked_for(stage: Stage, tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside.txt"
    inside.mkdir()
    outside.write_text("of others\n")
    (inside / "note.txt").symlink_to(outside)
    session = stage.new(inside)
    for words in ("read the note", "write the note"):
        updates = stage.prompt(session, words, permission="deny")
        (final,) = [update for update in updates if update.get("status") in ("completed", "failed")]
        assert final["status"] == "failed"
        assert "of others" not in shown(updates)
    assert outside.read_text() == "of others\n"


SERVERS: list[Any] = [
    {"name": "gone", "command": "/nope", "args": [CANARY], "env": [{"name": "TOKEN", "value": CANARY}]},
    {"name": "map", "command": "/nope", "args": [], "env": {"TOKEN": CANARY}},
    {"name": "bare", "command": "/nope"},
    {"name": "none", "command": "/nope", "args": None, "env": None},
    {"type": "http", "name": "http", "url": "http://127.0.0.1:9/", "headers": [{"name": "A", "value": CANARY}]},
    {"type": "http", "name": "map", "url": "http://127.0.0.1:9/", "headers": {"A": CANARY}},
    {"type": "sse", "name": "sse", "url": "http://127.0.0.1:9/", "headers": []},
    {"type": "stdio", "name": "typed", "command": "/nope", "args": [], "env": []},
]


@pytest.mark.parametrize("servers", [[server] for server in SERVERS] + [SERVERS, [SERVERS[0]] * 2])
def test_SESS_13_SESS_15_a_session_opens_without_the_servers_that_do_not_run(stage: Stage, servers: list[Any]) -> None:
    session = stage.agent.call("session/new", place(stage.workspace, mcpServers=servers))["sessionId"]
    assert stage.says(session, "hi").endswith("Hello.")
    assert CANARY not in stage.agent.stderr()


@pytest.mark.parametrize(
    ("server", "path"),
    [
        ({"type": "acp", "name": "unknown", "serverId": "x"}, "params.mcpServers[1].type:"),
        ({"name": "x", "command": 3, "args": [], "env": []}, "params.mcpServers[1].command:"),
        ({"name": "x", "command": "/x", "args": [], "env": {"TOKEN": 3}}, "params.mcpServers[1].env[0].value:"),
        ({"name": "x", "command": "/x", "args": [], "env": 3}, "params.mcpServers[1].env:"),
        ({"type": "http", "name": "x", "headers": []}, "params.mcpServers[1].url:"),
        (3, "params.mcpServers[1]:"),
    ],
)
def test_SESS_14_a_server_that_cannot_be_read_is_named(stage: Stage, server: Any, path: str) -> None:
    error = stage.agent.fail("session/new", place(stage.workspace, mcpServers=[SERVERS[0], server]))
    assert (error["code"], error["message"][: len(path)]) == (-32602, path)


def test_SESS_17_nothing_is_said_of_a_session_before_its_response(stage: Stage) -> None:
    since = len(stage.agent.messages)
    requests = [stage.agent.make_request("session/new", place(stage.workspace)) for _ in range(20)]
    stage.agent.send(*requests)
    sessions = [stage.agent.response(request["id"])["result"]["sessionId"] for request in requests]
    for session in sessions:
        stage.agent.expect_update(session, "available_commands_update", since)
    known: set[str] = set()
    for message in stage.agent.messages[since:]:
        if "result" in message:
            known.add(message["result"]["sessionId"])
        elif message["params"]["sessionId"] in sessions:  # of others something may be told at any time
            assert message["params"]["sessionId"] in known


def test_SESS_17_the_title_and_the_commands_follow_the_response(stage: Stage) -> None:
    since = len(stage.agent.messages)
    session = stage.new()
    stage.agent.expect_update(session, "available_commands_update", since)
    title, commands = updates_in(stage.agent.messages[since:], session)
    assert title["sessionUpdate"] == "session_info_update"
    assert {"help", "permissions"} <= {command["name"] for command in commands["availableCommands"]}


def test_CAN_17_SESS_17_a_session_that_is_no_longer_wanted(stage: Stage, tmp_path: Path) -> None:
    """Withdrawn in the same write: either it is there, or nothing of it is."""
    one, open_ones = stage.agent, []
    for _ in range(20):
        since = len(one.messages)
        request = one.make_request("session/new", place(tmp_path))
        withdrawal = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": request["id"]}}
        one.send(request, withdrawal)
        answer = one.response(request["id"])
        if "error" in answer:
            assert answer["error"]["code"] == -32800
            one.call("session/list")
            told = {message["params"]["sessionId"] for message in one.messages[since:] if "method" in message}
            assert told <= one.known_sessions
        else:
            open_ones.append(answer["result"]["sessionId"])
            assert stage.says(open_ones[-1], "hi") == "Hello."
    found = one.call("session/list", {"cwd": str(tmp_path)})["sessions"]
    assert {info["sessionId"] for info in found} == set(open_ones)
    assert not list((stage.home.path / "locks").glob("*"))[1:]  # one owner, whatever it let go of


def test_SESS_18_SESS_19_the_current_mode_and_values_are_among_those_listed(stage: Stage) -> None:
    opened = stage.agent.call("session/new", place(stage.workspace))
    modes = [mode["id"] for mode in opened["modes"]["availableModes"]]
    assert opened["modes"]["currentModeId"] in modes
    assert len(set(modes)) == len(modes) == 3
    for option in opened["configOptions"]:
        values = [value["value"] for value in option["options"]]
        assert option["currentValue"] in values
        assert len(set(values)) == len(values)


def test_SESS_20_a_session_opens_quickly_without_the_models_server(
    agent: StartAgent, home: Home, workspace: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        home.use_server(f"http://127.0.0.1:{server.getsockname()[1]}/v1")
        one = agent()
        one.initialize()
        begin = processor_seconds(one.process.pid)
        one.new_session(workspace)
        assert processor_seconds(one.process.pid) - begin < 2
        assert not is_called(server)


def test_SESS_21_sessions_without_a_prompt_leave_nothing_behind(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    one, other = agent(), agent()
    other.initialize()
    quiet, closed, deleted, cancelled = [one.new_session(workspace) for _ in range(4)]

    def listed(by: Any) -> set[str]:
        return {info["sessionId"] for info in by.call("session/list")["sessions"]}

    assert listed(one) == {quiet, closed, deleted, cancelled}  # they are live here
    assert listed(other) == set()
    one.call("session/close", {"sessionId": closed})
    one.call("session/delete", {"sessionId": deleted})
    one.notify("session/cancel", {"sessionId": cancelled})
    assert listed(one) == {quiet, cancelled}
    assert set(one.call("session/load", place(workspace, sessionId=quiet))) == OPENED
    assert text_in(one.prompt(quiet, "hi")[0]) == "Hello."
    assert listed(other) == {quiet}
    one.close()
    assert listed(other) == {quiet}
