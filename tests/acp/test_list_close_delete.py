"""session/list, session/close and session/delete."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.acp.conftest import Stage
from tests.acp.seeding import seed
from tests.acp.seen import OPENED
from tests.agent import Agent, Message, text_in, updates_in
from tests.conftest import Home, StartAgent

RUN = {"call": {"tool": "bash", "args": {"command": "touch made; sleep 300 & sleep 300"}}}
EDIT = {"call": {"tool": "write_file", "args": {"path": "new.txt", "content": "x"}}}
SCRIPT: dict[str, Any] = {
    "turns": [
        {"prompt": "talk$", "replies": [[{"repeat": {"times": 1_000_000, "text": "word ", "every": 0.001}}]]},
        {"prompt": "hold$", "replies": [[{"stall": True}]]},
        {"prompt": "run$", "replies": [[RUN]]},
        {"prompt": "edit$", "replies": [[EDIT]]},
        {"replies": [[{"text": "Hello."}]]},
    ]
}


def listed(one: Agent, **params: Any) -> list[Message]:
    """The first page."""
    result: Message = one.call("session/list", params)
    return list(result["sessions"])


def ids(one: Agent, **params: Any) -> list[str]:
    return [info["sessionId"] for info in listed(one, **params)]


def place(session: str, cwd: str | os.PathLike[str]) -> Message:
    return {"sessionId": session, "cwd": os.fspath(cwd), "mcpServers": []}


@pytest.fixture
def used(stage: Stage, tmp_path: Path) -> Iterator[tuple[Path, list[str]]]:
    """A folder with three sessions that were prompted and closed, oldest first; deleted after the test."""
    made = []
    for number in range(3):
        session = stage.new(tmp_path)
        stage.says(session, f"prompt {number}")
        stage.agent.call("session/close", {"sessionId": session})
        made.append(session)
    yield tmp_path, made
    for session in made:
        stage.agent.call("session/delete", {"sessionId": session})


# -- list


def test_LIST_01_LIST_02_an_empty_list(agent: StartAgent, home: Home) -> None:
    home.use_script(SCRIPT)
    one = agent()
    assert one.initialize()["agentCapabilities"]["sessionCapabilities"]["list"] == {}
    for params in (None, {}, {"cwd": None, "cursor": None}, {"cwd": "/nowhere"}):
        assert one.call("session/list", params) == {"sessions": []}


def test_LIST_03_only_those_of_the_folder(stage: Stage, used: tuple[Path, list[str]]) -> None:
    folder, made = used
    below = folder / "below"
    below.mkdir()
    other = stage.new(below)
    link = folder / "link"
    link.symlink_to(folder)
    assert ids(stage.agent, cwd=str(below)) == [other]
    for cwd in (folder, f"{folder}/", f"{folder}/below/..", link, f"{folder}//"):
        assert ids(stage.agent, cwd=os.fspath(cwd)) == made[::-1]
    assert ids(stage.agent, cwd=str(folder.parent)) == []
    assert ids(stage.agent, cwd=f"{folder}/be") == []
    stage.agent.call("session/close", {"sessionId": other})


@pytest.mark.parametrize("cwd", ["", ".", "src", 3, ["/"]])
def test_LIST_03_the_folder_is_absolute(stage: Stage, cwd: Any) -> None:
    error = stage.agent.fail("session/list", {"cwd": cwd})
    assert (error["code"], error["message"][:11]) == (-32602, "params.cwd:")


@pytest.mark.parametrize("fresh", [0, 2])
def test_LIST_04_LIST_06_LIST_08_pages(agent: StartAgent, home: Home, workspace: Path, fresh: int) -> None:
    home.use_script(SCRIPT)
    stored = seed(home, workspace, 120)
    one = agent()
    one.initialize()
    live = [one.new_session(workspace) for _ in range(fresh)]  # that were never prompted
    for params in ({}, {"cwd": str(workspace)}):
        pages: list[list[str]] = []
        cursor = None
        while cursor is not None or not pages:
            page = one.call("session/list", {**params, "cursor": cursor})
            pages.append([info["sessionId"] for info in page["sessions"]])
            cursor = page.get("nextCursor")
        assert all(0 < len(page) <= 50 + fresh for page in pages)
        assert [id for page in pages for id in page] == live[::-1] + stored


@pytest.mark.parametrize("cursor", ["garbage", "", "0", "é", "MTA6", "====", "OTk5OTk5OTk5OTk6eA==", "x" * 9000])
def test_LIST_05_a_cursor_that_no_page_gave(stage: Stage, cursor: str) -> None:
    error = stage.agent.fail("session/list", {"cursor": cursor})
    assert error["code"] == -32602
    assert "cursor" in error["message"]


def test_LIST_07_LIST_08_what_an_entry_says(stage: Stage, used: tuple[Path, list[str]]) -> None:
    folder, made = used
    found = listed(stage.agent, cwd=str(folder))
    assert [info["sessionId"] for info in found] == made[::-1]
    times = [datetime.fromisoformat(info["updatedAt"]) for info in found]
    assert all(time.utcoffset() == timedelta(0) for time in times)
    assert times == sorted(times, reverse=True)
    for info in found:
        assert info.keys() == {"sessionId", "cwd", "updatedAt", "title"}
        assert info["cwd"] == str(folder)
    assert [info["title"] for info in found] == ["prompt 2", "prompt 1", "prompt 0"]
    stage.agent.call("session/load", place(made[0], folder))
    assert ids(stage.agent, cwd=str(folder)) == made[::-1]  # looking at it is not using it
    stage.says(made[0], "again")
    assert ids(stage.agent, cwd=str(folder)) == [made[0], made[2], made[1]]


def test_LIST_09_listing_opens_nothing(stage: Stage, used: tuple[Path, list[str]]) -> None:
    folder, made = used
    before = listed(stage.agent, cwd=str(folder))
    prompt = [{"type": "text", "text": "hi"}]
    error = stage.agent.fail("session/prompt", {"sessionId": made[0], "prompt": prompt})
    assert (error["code"], error["data"]) == (-32002, {"sessionId": made[0]})
    assert listed(stage.agent, cwd=str(folder)) == before


def test_LIST_10_a_damaged_record_hides_no_other(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    stored = seed(home, workspace, 5)
    with closing(sqlite3.connect(home.path / "store.sqlite3")) as connection, connection:
        connection.execute("UPDATE sessions SET directories = '[3' WHERE id = ?", (stored[1],))
        connection.execute("UPDATE sessions SET title = x'fffe' WHERE id = ?", (stored[3],))
    connection.close()
    one = agent()
    one.initialize()
    found = ids(one)
    assert [id for id in found if id not in (stored[1], stored[3])] == [stored[0], stored[2], stored[4]]


def test_LIST_11_additional_directories_are_told(stage: Stage, tmp_path: Path) -> None:
    more = [str(tmp_path / "one"), str(tmp_path / "two")]
    session = stage.new(tmp_path, additionalDirectories=more)
    for prompted in (False, True):
        (info,) = listed(stage.agent, cwd=str(tmp_path))
        assert info["additionalDirectories"] == more
        if not prompted:
            stage.says(session, "hi")
    for live in (True, False):
        for method, directories in (("session/load", more[:1]), ("session/resume", [])):
            if not live:
                stage.agent.call("session/close", {"sessionId": session})
            params = place(session, tmp_path) | {"additionalDirectories": directories}
            assert set(stage.agent.call(method, params)) == OPENED
            (info,) = listed(stage.agent, cwd=str(tmp_path))
            assert info.get("additionalDirectories", []) == directories
    stage.agent.call("session/delete", {"sessionId": session})


# -- close


BUSY = ("talk", "hold", "run", "edit")


def begin(stage: Stage, what: str) -> tuple[str, int]:
    """A session in the middle of something, and its prompt."""
    session, one = stage.new(), stage.agent
    prompt = one.start_prompt(session, what)
    if what == "talk":
        one.expect_update(session, "agent_message_chunk")
    if what in ("run", "edit"):
        question = one.expect_request("session/request_permission")
    if what == "run":
        one.decide(question, "once")
        one.expect(lambda message: any(u.get("status") == "in_progress" for u in updates_in([message], session)))
    return session, prompt


@pytest.mark.parametrize("what", BUSY)
def test_CLOSE_01_CLOSE_04_what_runs_is_cancelled(stage: Stage, what: str) -> None:
    session, prompt = begin(stage, what)
    assert stage.agent.call("session/close", {"sessionId": session}) == {}
    end = len(stage.agent.messages)
    assert stage.agent.transcript.responses[(int, prompt)] < end  # answered before the close was
    assert stage.agent.response(prompt)["result"] == {"stopReason": "cancelled"}
    statuses = [update["status"] for update in stage.agent.updates(session) if "status" in update]
    assert statuses[-1:] == (["failed"] if what in ("run", "edit") else [])
    stage.says(stage.new(), "hi")
    assert updates_in(stage.agent.messages[end:], session) == []
    assert not (stage.workspace / "new.txt").exists()


def test_CLOSE_02_twice(stage: Stage) -> None:
    session = stage.new()
    assert stage.agent.call("session/close", {"sessionId": session}) == {}
    for method in ("session/close", "session/prompt"):
        prompt = [{"type": "text", "text": "hi"}]
        error = stage.agent.fail(method, {"sessionId": session, "prompt": prompt})
        assert (error["code"], error["data"]) == (-32002, {"sessionId": session})


def test_CLOSE_02_twice_at_once(stage: Stage) -> None:
    session, prompt = begin(stage, "talk")
    requests = [stage.agent.make_request("session/close", {"sessionId": session}) for _ in range(3)]
    stage.agent.send(*requests)
    assert [stage.agent.response(request["id"])["result"] for request in requests] == [{}] * 3
    assert stage.agent.response(prompt)["result"] == {"stopReason": "cancelled"}


def test_CLOSE_03_a_closed_session_can_be_found_again(stage: Stage, used: tuple[Path, list[str]]) -> None:
    folder, made = used
    assert set(made) <= set(ids(stage.agent))
    assert set(stage.agent.call("session/load", place(made[0], folder))) == OPENED
    assert stage.says(made[0], "hi") == "Hello."


def test_CLOSE_01_with_everything_in_one_write(stage: Stage, used: tuple[Path, list[str]]) -> None:
    """Whatever a close meets, an opening or a prompt, each request is answered once and the session is free."""
    folder, made = used
    one = stage.agent
    load, close = place(made[0], folder), {"sessionId": made[0]}
    prompt = {"sessionId": made[0], "prompt": [{"type": "text", "text": "hold"}]}
    for _ in range(10):
        requests = [
            one.make_request("session/load", load),
            one.make_request("session/prompt", prompt),
            one.make_request("session/close", close),
        ]
        one.send(*requests)
        opened, prompted, closed = [one.response(request["id"]) for request in requests]
        assert set(opened.get("result", ())) == OPENED or opened["error"]["code"] == -32800
        assert prompted.get("result") == {"stopReason": "cancelled"}
        assert closed.get("result") == {}
        assert one.fail("session/close", close)["code"] == -32002
        again = one.make_request("session/load", load)
        one.send(again, {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": again["id"]}})
        answer = one.response(again["id"])
        assert set(answer.get("result", ())) == OPENED or answer["error"]["code"] == -32800
        end = one.response(one.request("session/close", close))
        assert end.get("result") == {} or ("error" in answer and end["error"]["code"] == -32002)


# -- delete


def test_DEL_01_DEL_02_gone_for_good(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    one = agent()
    closed, live, kept = [one.new_session(workspace) for _ in range(3)]
    for session in (closed, live, kept):
        one.prompt(session, f"secret words of {session}")
    one.call("session/close", {"sessionId": closed})
    for session in (closed, live, closed, live, "nope", str(uuid.uuid4())):
        assert one.call("session/delete", {"sessionId": session}) == {}
        assert session not in ids(one)
    for session in (closed, live):
        for method in ("session/load", "session/resume", "session/close"):
            assert one.fail(method, place(session, workspace))["code"] == -32002
    assert ids(one) == [kept]
    one.close()
    two = agent()
    two.initialize()
    assert ids(two) == [kept]
    assert two.fail("session/load", place(live, workspace))["code"] == -32002
    with closing(sqlite3.connect(home.path / "store.sqlite3")) as connection, connection:
        owners = connection.execute("SELECT DISTINCT session FROM entries").fetchall()
    connection.close()
    assert owners == [(kept,)]


@pytest.mark.parametrize("what", BUSY)
def test_DEL_03_in_the_middle_of_a_turn(stage: Stage, what: str) -> None:
    session, prompt = begin(stage, what)
    assert stage.agent.call("session/delete", {"sessionId": session}) == {}
    end = len(stage.agent.messages)
    assert stage.agent.transcript.responses[(int, prompt)] < end
    assert stage.agent.response(prompt)["result"] == {"stopReason": "cancelled"}
    assert stage.agent.fail("session/load", place(session, stage.workspace))["code"] == -32002
    assert session not in ids(stage.agent)
    assert updates_in(stage.agent.messages[end:], session) == []


def test_DEL_03_with_everything_in_one_write(stage: Stage) -> None:
    one = stage.agent
    for _ in range(10):
        session = stage.new()
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "hi"}]}
        methods = [
            ("session/prompt", prompt),
            ("session/delete", {"sessionId": session}),
            ("session/delete", {"sessionId": session}),
            ("session/close", {"sessionId": session}),
            ("session/load", place(session, stage.workspace)),
        ]
        requests = [one.make_request(method, params) for method, params in methods]
        one.send(*requests)
        answers = [one.response(request["id"]) for request in requests]
        assert answers[0].get("result") in ({"stopReason": "cancelled"}, {"stopReason": "end_turn"})
        assert [answer.get("result") for answer in answers[1:3]] == [{}, {}]
        assert answers[3].get("result") == {} or answers[3]["error"]["code"] == -32002
        assert answers[4]["error"]["code"] in (-32600, -32002)
        assert session not in ids(one)
        assert one.fail("session/load", place(session, stage.workspace))["code"] == -32002


def test_DEL_01_a_session_of_another_process_is_kept(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    one, two = agent(), agent()
    session = one.new_session(workspace)
    one.prompt(session, "hi")
    two.initialize()
    error = two.fail("session/delete", {"sessionId": session})
    assert error["code"] == -32600
    assert str(one.process.pid) in error["message"]
    assert text_in(one.prompt(session, "hi")[0]) == "Hello."
    one.close()
    assert two.call("session/delete", {"sessionId": session}) == {}
    assert ids(two) == []
