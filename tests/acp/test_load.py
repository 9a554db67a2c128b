"""session/load and session/resume: what was, told again in order, and the conversation going on from there."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.acp.conftest import Stage
from tests.acp.held import PATIENCE, HeldFile, script
from tests.acp.mcp import children, plain
from tests.acp.seen import OPENED
from tests.agent import Message, text_in, updates_in
from tests.conftest import Home, StartAgent
from tests.descendants import gone
from tests.model_server import ModelServer

TODO = [{"content": "Look", "status": "completed"}, {"content": "Write", "status": "in_progress"}]


def call(tool: str, **args: Any) -> Message:
    return {"call": {"tool": tool, "args": args}}


SCRIPT: dict[str, Any] = {
    "turns": [
        {
            "prompt": "explore it$",
            "replies": [
                [
                    {"thought": "First a look.", "chunk": 3},
                    {"text": "Looking é 🧪.", "chunk": 2},
                    call("list_dir", path="."),
                ],
                [call("read_file", path="a.txt"), call("read_file", path="nope.txt")],
                [call("todo_write", todos=TODO), call("bash", command="echo out; exit 3")],
                [{"thought": "So."}, {"text": "That is all."}],
            ],
        },
        {
            "prompt": "write it$",
            "replies": [[call("write_file", path="b.txt", content="b\n")], [{"text": "Written."}]],
        },
        {
            "prompt": "sleep$",
            "replies": [[{"text": "Good night."}, call("bash", command="touch slept; sleep 1")], [{"text": "Up."}]],
        },
        {"prompt": "hold$", "replies": [[{"text": "Half a sen"}, {"stall": True}]]},
        {"replies": [[{"text": "Hello."}]]},
    ]
}


def place(session: str, cwd: str | os.PathLike[str], **params: Any) -> Message:
    return {"sessionId": session, "cwd": os.fspath(cwd), "mcpServers": [], **params}


class Past:
    """A session that another process had, and the agent that knows it from the store alone."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        (stage.workspace / "a.txt").write_text("one\n")
        self.session = stage.new()
        stage.prompt(self.session, "explore it")
        stage.prompt(self.session, "write it")
        stage.agent.call("session/list")
        self.live = stage.agent.updates(self.session)
        stage.agent.close()
        self.agent = stage.agent = stage.start()
        self.agent.initialize()

    def opened(self, method: str = "session/load", **params: Any) -> tuple[list[Message], list[Message]]:
        """Open the session; what was said of it before the response, and up to the commands after it. Whoever
        calls this closes it."""
        since = len(self.agent.messages)
        id = self.agent.request(method, place(self.session, self.stage.workspace) | params)
        assert set(self.agent.response(id)["result"]) == OPENED
        end = self.agent.transcript.responses[(int, id)]
        self.agent.expect_update(self.session, "available_commands_update", end)
        messages = self.agent.messages
        return updates_in(messages[since:end], self.session), updates_in(messages[end:], self.session)

    def close(self) -> None:
        self.agent.call("session/close", {"sessionId": self.session})


@pytest.fixture(scope="module")
def history(stage: Stage) -> Past:
    return Past(stage)


@pytest.fixture
def past(history: Past) -> Iterator[Past]:
    """The stored session, which is closed again after the test."""
    yield history
    history.agent.response(history.agent.request("session/close", {"sessionId": history.session}))


def told(updates: list[Message]) -> list[tuple[Any, ...]]:
    """What a person sees in the end: whole messages, settled calls, plans, in order."""
    seen: list[tuple[Any, ...]] = []
    calls: dict[str, Message] = {}
    for update in updates:
        kind = update["sessionUpdate"]
        if kind.endswith("_chunk") and kind != "user_message_chunk":
            if seen and seen[-1][:2] == (kind, update["messageId"]):
                seen[-1] = (*seen[-1][:2], seen[-1][2] + update["content"]["text"])
            else:
                seen.append((kind, update["messageId"], update["content"]["text"]))
        elif kind == "plan":
            seen.append((kind, json.dumps(update["entries"])))
        elif kind.startswith("tool_call"):
            now = calls.setdefault(update["toolCallId"], {})
            now.update({key: value for key, value in update.items() if key != "sessionUpdate"})
            if now["status"] in ("completed", "failed") and now["_meta"]["soba"]["evidence"]["phase"] == "end":
                seen.append((now["toolCallId"], json.dumps(now, sort_keys=True)))
    return seen


def test_LOAD_01_RESUME_01_LIST_01_what_is_advertised(stage: Stage) -> None:
    capabilities = stage.agent.initialize()["agentCapabilities"]
    assert capabilities["loadSession"] is True
    assert capabilities["sessionCapabilities"]["resume"] == {}


def test_LOAD_02_LOAD_05_the_past_comes_before_the_response(past: Past) -> None:
    since = len(past.agent.messages)
    before, after = past.opened()
    assert [update["sessionUpdate"] for update in after] == ["session_info_update", "available_commands_update"]
    assert "user_message_chunk" in {update["sessionUpdate"] for update in before}
    others = {message["params"]["sessionId"] for message in past.agent.messages[since:] if "params" in message}
    assert others == {past.session}


def test_LOAD_03_LOAD_10_the_same_is_told_as_was_seen_live(past: Past) -> None:
    before, _ = past.opened()
    assert told(before) == told(past.live)
    kinds = [update["sessionUpdate"] for update in before]
    assert kinds.count("user_message_chunk") == 2
    first, second = [index for index, kind in enumerate(kinds) if kind == "user_message_chunk"]
    assert before[first]["content"] == {"type": "text", "text": "explore it"}
    assert before[second]["content"] == {"type": "text", "text": "write it"}
    assert text_in(before[first:second], "agent_thought_chunk") == "First a look.So."
    assert text_in(before[first:second]) == "Looking é 🧪.That is all."
    assert text_in(before[second:]) == "Written."
    usage = [update for update in past.live if update["sessionUpdate"] == "usage_update"]
    assert [update for update in before if update["sessionUpdate"] == "usage_update"] == usage[-1:]


def test_LOAD_03_twice_is_the_same(past: Past) -> None:
    first, _ = past.opened()
    again, _ = past.opened()  # it is live now
    past.close()
    afresh, _ = past.opened()
    assert first == again == afresh


def test_LOAD_04_calls_are_told_settled(past: Past) -> None:
    calls = [update for update in past.opened()[0] if update["sessionUpdate"].startswith("tool_call")]
    assert {call["sessionUpdate"] for call in calls} == {"tool_call"}
    statuses = {call["title"]: call["status"] for call in calls}
    assert sorted(statuses.values()) == ["completed"] * 4 + ["failed"] * 2


@pytest.mark.parametrize(("text", "mended"), [("sleep", "failed"), ("write it", "failed"), ("hold", None)])
def test_LOAD_04_after_kill_9(agent: StartAgent, home: Home, workspace: Path, text: str, mended: str | None) -> None:
    home.use_script(SCRIPT)
    one = agent(exit_code=None)
    session = one.new_session(workspace)
    one.prompt(session, "hi")
    one.start_prompt(session, text)
    if text != "hold":
        question = one.expect_request("session/request_permission")
    if text == "sleep":
        one.decide(question, "once")
        one.expect(lambda message: any(u.get("status") == "in_progress" for u in updates_in([message], session)))
    if text == "hold":
        one.expect(lambda message: "Half" in text_in(updates_in([message], session)))
    one.prompt(one.new_session(workspace), "hi")  # what is answered is stored, and so is what came before
    one.process.signal(signal.SIGKILL)
    one.wait_exit()
    two = agent()
    two.initialize()
    assert set(two.call("session/load", place(session, workspace))) == OPENED
    updates = two.updates(session)
    assert text_in(updates, "user_message_chunk") == f"hi{text}"
    statuses = [update["status"] for update in updates if "status" in update]
    assert statuses == ([] if mended is None else [mended])
    assert text_in(two.prompt(session, "hi")[0]) == "Hello."
    assert not (workspace / "b.txt").exists()


def test_LOAD_06_RESUME_02_the_model_remembers(agent: StartAgent, serve: Any, workspace: Path) -> None:
    server: ModelServer = serve(SCRIPT)
    (workspace / "a.txt").write_text("one\n")
    one = agent()
    session = one.new_session(workspace)
    one.prompt(session, "explore it", permission="once")
    one.prompt(session, "write it", permission="once")
    one.close()
    before = server.requests[-1].body["messages"]
    for method in ("session/load", "session/resume"):
        two = agent()
        two.initialize()
        assert set(two.call(method, place(session, workspace))) == OPENED
        two.prompt(session, "and now?")
        two.close()
        now = server.requests[-1].body["messages"]
        assert now[: len(before)] == before
        assert now[-1]["role"] == "user"
        assert "and now?" in now[-1]["content"]
        before = now


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_LOAD_07_an_unknown_session(past: Past, method: str) -> None:
    since = len(past.agent.messages)
    error = past.agent.fail(method, place("nope", past.stage.workspace))
    assert (error["code"], error["data"]) == (-32002, {"sessionId": "nope"})
    past.agent.call("session/list")
    assert updates_in(past.agent.messages[since:], "nope") == []


@pytest.mark.parametrize("damage", ["row", "entries", "file"])
def test_LOAD_07_a_damaged_store(agent: StartAgent, home: Home, workspace: Path, damage: str) -> None:
    home.use_script(SCRIPT)
    one = agent()
    session, other = one.new_session(workspace), one.new_session(workspace)
    one.prompt(session, "hi")
    one.prompt(other, "hi")
    one.close()
    path = home.path / "store.sqlite3"
    if damage == "file":
        for name in ("store.sqlite3-wal", "store.sqlite3-shm"):
            (home.path / name).unlink(missing_ok=True)
        path.write_bytes(b"no database " * 1000)
    else:
        with closing(sqlite3.connect(path)) as connection, connection:
            if damage == "row":
                connection.execute("UPDATE sessions SET settings = '{' WHERE id = ?", (session,))
            else:
                connection.execute("UPDATE entries SET body = '{' WHERE session = ? AND seq = 2", (session,))
        connection.close()
    two = agent()
    two.initialize()
    answer = two.response(two.request("session/load", place(session, workspace)))
    if damage == "file":
        assert answer["error"]["code"] == -32603
        assert str(path) in answer["error"]["message"]
        assert two.fail("session/list")["code"] == -32603
        return
    if damage == "row":
        assert answer["error"]["code"] == -32002
        assert two.updates(session) == []
    else:
        assert set(answer["result"]) == OPENED
    assert set(two.call("session/load", place(other, workspace))) == OPENED
    assert text_in(two.prompt(other, "hi")[0]) == "Hello."


def test_LOAD_08_the_answer_promises_no_more_than_there_is(past: Past) -> None:
    past.opened()  # asserts that it is {}


def models(home: Home, server: ModelServer, *names: str, **config: Any) -> None:
    provider = {"api": "openai-chat", "base_url": server.base_url, "models": {name: {} for name in names}}
    home.configure({"providers": {"local": provider}} | config)


def test_LOAD_08_what_was_set_is_restored(agent: StartAgent, home: Home, workspace: Path) -> None:
    """The model it was opened with, and `full` as an answer; saved values beat flags, flags beat the file."""
    with ModelServer(SCRIPT) as server:
        models(home, server, "small", "large")
        one = agent("--model", "large")
        session = one.new_session(workspace)
        one.prompt(session, "write it", permission="full")
        one.close()
        two = agent("--model", "small")
        two.initialize()
        assert set(two.call("session/load", place(session, workspace))) == OPENED
        two.prompt(session, "write it")  # asks no more
        assert server.requests[-1].body["model"] == "large"
        fresh = two.new_session(workspace)
        two.prompt(fresh, "write it", permission="deny")  # asks: it was for that session alone
        assert server.requests[-1].body["model"] == "small"
        two.close()
        models(home, server, "small")  # and now that model is gone
        three = agent()
        three.initialize()
        assert set(three.call("session/load", place(session, workspace))) == OPENED
        assert "local/large" in text_in(three.updates(session))
        three.prompt(session, "hi")
        assert server.requests[-1].body["model"] == "small"


def test_LOAD_09_nothing_is_asked_during_a_replay(past: Past) -> None:
    since = len(past.agent.messages)
    past.opened()
    asked = [message for message in past.agent.messages[since:] if "method" in message and "id" in message]
    assert asked == []


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_LOAD_11_the_folder_is_the_sessions_own(past: Past, tmp_path: Path, method: str) -> None:
    workspace = past.stage.workspace
    for cwd in ("", ".", "workspace"):
        error = past.agent.fail(method, place(past.session, cwd))
        assert (error["code"], error["message"][:11]) == (-32602, "params.cwd:")
    for live in (False, True):
        error = past.agent.fail(method, place(past.session, tmp_path))
        assert (error["code"], error["message"][:11]) == (-32602, "params.cwd:")
        assert str(workspace) in error["message"]
        link = tmp_path / f"link {live}"
        link.symlink_to(workspace)
        for cwd in (f"{workspace}/", f"{workspace}/../{workspace.name}", link):
            past.opened(method, cwd=os.fspath(cwd))


def test_LOAD_11_a_long_folder_is_named_in_a_short_error(past: Past, tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["x" * 200] * 4)
    deep.mkdir(parents=True)
    session = past.agent.new_session(deep)
    error = past.agent.fail("session/load", place(session, tmp_path))
    assert error["code"] == -32602
    assert 400 < len(error["message"]) < 500
    past.agent.call("session/close", {"sessionId": session})


IDS = ["../../etc/passwd", "/etc/passwd", "a\0b", "", "..", ".", "%2e%2e/x", "x" * 10_000, "'; DROP TABLE sessions; --"]


@pytest.mark.parametrize("session", [*IDS, "a\ud800b"])
def test_LOAD_12_an_id_is_never_a_path(past: Past, session: str) -> None:
    def files() -> set[str]:
        return {str(path) for path in past.stage.home.path.parent.rglob("*")}

    past.opened()
    before = files()
    for method in ("session/load", "session/resume"):
        error = past.agent.fail(method, place(session, past.stage.workspace))
        assert error["code"] == -32002
    assert past.agent.call("session/delete", {"sessionId": session}) == {}
    assert files() == before
    assert [info["sessionId"] for info in past.agent.call("session/list")["sessions"]] == [past.session]


@pytest.mark.parametrize("live", [False, True])
def test_RESUME_01_RESUME_03_RESUME_04_no_past_is_told(past: Past, live: bool) -> None:
    if live:
        past.opened()
    since = len(past.agent.messages)
    params = {"sessionId": past.session, "cwd": str(past.stage.workspace)}  # servers may be left out
    id = past.agent.request("session/resume", params)
    assert set(past.agent.response(id)["result"]) == OPENED
    past.agent.expect_update(past.session, "available_commands_update", since)
    kinds = [update["sessionUpdate"] for update in past.agent.updates(past.session, since)]
    assert kinds == ["session_info_update", "available_commands_update"]
    assert past.agent.messages[since]["id"] == id
    assert past.agent.call("session/list", {"cwd": str(past.stage.workspace)})["sessions"]


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_a_session_that_is_busy_is_not_opened_again(past: Past, method: str) -> None:
    session = past.agent.new_session(past.stage.workspace)
    prompt = past.agent.start_prompt(session, "hold")
    error = past.agent.fail(method, place(session, past.stage.workspace))
    assert error["code"] == -32600
    past.agent.notify("session/cancel", {"sessionId": session})
    assert past.agent.response(prompt)["result"] == {"stopReason": "cancelled"}
    past.agent.call("session/delete", {"sessionId": session})


def test_two_processes_and_one_session(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    one, two = agent(exit_code=None), agent()
    session = one.new_session(workspace)
    one.prompt(session, "hi")
    two.initialize()
    for method in ("session/load", "session/resume", "session/delete"):
        error = two.fail(method, place(session, workspace))
        assert error["code"] == -32600
        assert f"process {one.process.pid} " in error["message"]
    assert two.updates(session) == []
    assert (
        two.fail("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "x"}]})["code"] == -32002
    )
    assert text_in(one.prompt(session, "hi")[0]) == "Hello."  # and the owner does not notice
    one.start_prompt(session, "hold")
    one.expect(lambda message: "Half" in text_in(updates_in([message], session)))
    one.process.signal(signal.SIGKILL)
    one.wait_exit()
    assert set(two.call("session/load", place(session, workspace))) == OPENED
    assert text_in(two.prompt(session, "hi")[0]) == "Hello."


def test_a_session_that_is_closed_is_free_for_others(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    one, two = agent(), agent()
    session = one.new_session(workspace)
    one.prompt(session, "hi")
    two.initialize()
    for owner, other in ((one, two), (two, one)):
        assert other.fail("session/load", place(session, workspace))["code"] == -32600
        owner.call("session/close", {"sessionId": session})
        assert set(other.call("session/load", place(session, workspace))) == OPENED


def test_what_a_withdrawn_opening_started_is_ended(agent: StartAgent, home: Home, workspace: Path) -> None:
    held = HeldFile(home.path / "held.yaml", script("Held."))
    home.use_script(str(held.path))
    one = agent()
    session = one.new_session(workspace)
    one.prompt(session, "hi")
    held.hold()
    params = {"cwd": str(workspace), "mcpServers": [plain("late")], "additionalDirectories": [str(home.path)]}
    loading = one.request("session/load", {"sessionId": session, **params})
    held.wait()
    deadline = time.monotonic() + PATIENCE
    while not (started := children(one, "plain.py")):
        assert time.monotonic() < deadline, "the server is not started"
    one.notify("$/cancel_request", {"requestId": loading})
    assert one.response(loading)["error"]["code"] == -32800
    held.let_go()
    assert all(gone(server, PATIENCE) for server in started), "the server is still there"
    assert one.prompt(session, "hi")[1]["result"] == {"stopReason": "end_turn"}
    [listed] = one.call("session/list", {})["sessions"]
    assert "additionalDirectories" not in listed
