"""The ids that an editor has for its threads, once one of them stands for another session than its own."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpagent.cli import past
from tests.acp.seen import says, turn
from tests.acp.served import Served, served
from tests.agent import Agent, Message, text_in

SCRIPT: dict[str, Any] = {"turns": [turn("slowly", [{"text": "One "}, {"wait": 30}]), turn(".", says("Heard."))]}
STEER = "_reasonix.io/session/steer"


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("threads"), SCRIPT) as made:
        made.agent.initialize()
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (made := tmp_path / "project").mkdir()
    return made


def moved(agent: Agent, folder: Path) -> tuple[str, str]:
    """A thread that goes on with another session: the thread's id, and that of the session."""
    old = agent.new_session(folder)
    agent.prompt(old, "hello from the past")
    agent.call("session/close", {"sessionId": old})
    mine = agent.new_session(folder)
    agent.prompt(mine, "mine")
    assert "goes on with" in text_in(agent.prompt(mine, f"/sessions resume {old}")[0])
    return mine, old


def load(agent: Agent, session: str, folder: Path, method: str = "load") -> list[Message]:
    """Load; the updates for that id up to the answer."""
    since = len(agent.messages)
    agent.call(f"session/{method}", {"sessionId": session, "cwd": str(folder), "mcpServers": []})
    return agent.updates(session, since)


def listed(agent: Agent, folder: Path) -> dict[str, str]:
    """What is listed: titles by id."""
    found = agent.call("session/list", {"cwd": str(folder)})["sessions"]
    titles = {row["sessionId"]: row["title"] for row in found}
    assert len(titles) == len(found)
    return titles


@pytest.mark.parametrize(("killed", "method"), [(False, "resume"), (True, "load")])
def test_a_thread_is_what_it_was_after_a_restart(one: Served, folder: Path, killed: bool, method: str) -> None:
    first = one.start()
    mine, old = moved(first, folder)
    if killed:
        first.exit_code = None
        first.process.signal(signal.SIGKILL)
        first.wait_exit()
    first.close()
    second = one.start()
    try:
        second.initialize()
        shown = load(second, mine, folder, method)
        if method == "load":
            assert text_in(shown, "user_message_chunk") == "hello from the past"
        since = len(second.messages)
        second.prompt(mine, "and now")
        assert "hello from the past" in str(one.read())
        assert text_in(second.updates(mine, since)) == "Heard."
        assert f"Id: `{old}`" in text_in(second.prompt(mine, "/session")[0])
    finally:
        second.close()


def test_each_listed_id_opens_what_it_is_listed_as(one: Served, folder: Path) -> None:
    mine, old = moved(one.agent, folder)
    titles = listed(one.agent, folder)
    assert titles.pop(mine) == "hello from the past"
    ((spare, title),) = titles.items()  # what was in the thread before has an id of its own
    assert title == "mine"
    assert spare not in (mine, old)
    one.agent.response(one.agent.request("session/close", {"sessionId": spare}))  # it is being closed, or is by now
    assert text_in(load(one.agent, spare, folder), "user_message_chunk") == f"mine/sessions resume {old}"
    assert text_in(load(one.agent, old, folder), "user_message_chunk") == "hello from the past"
    assert listed(one.agent, folder) == {old: "hello from the past", spare: "mine"}
    for session in (mine, spare):
        one.agent.call("session/close", {"sessionId": session})
    assert listed(one.agent, folder) == {old: "hello from the past", spare: "mine"}
    for wanted in (spare, spare[:13]):
        assert past.read(str(one.home.path), wanted).row.id == mine
    assert past.read(str(one.home.path), mine).row.id == old
    session = one.new(folder)
    assert f"session `{mine}`" in text_in(one.prompt(session, f"/sessions resume {spare}"))


def test_TURN_20_updates_name_the_id_that_the_prompt_was_sent_to(one: Served, folder: Path) -> None:
    mine, old = moved(one.agent, folder)
    for session, other in ((old, mine), (mine, old), (old, mine)):
        since = len(one.agent.messages)
        one.prompt(session, "hello")
        assert text_in(one.agent.updates(session, since)) == "Heard."
        assert one.agent.updates(other, since) == []
        assert listed(one.agent, folder).get(session) == "hello from the past"


@pytest.mark.parametrize("through", ["thread", "session"])
def test_both_ids_reach_the_same_session_at_once(one: Served, folder: Path, through: str) -> None:
    mine, old = moved(one.agent, folder)
    here, there = (mine, old) if through == "thread" else (old, mine)
    since = len(one.agent.messages)
    prompt = one.agent.start_prompt(here, "slowly")
    one.agent.expect_update(here, "agent_message_chunk", since)
    text = [{"type": "text", "text": "quick"}]
    for session in (here, there):
        assert one.agent.call(STEER, {"sessionId": session, "prompt": text}) == {}
        assert one.agent.call("session/set_mode", {"sessionId": session, "modeId": "normal"}) == {}
        refused = one.agent.fail("session/prompt", {"sessionId": session, "prompt": text})
        assert refused["code"] == -32600
        params = {"sessionId": session, "cwd": str(folder), "mcpServers": []}
        assert one.agent.fail("session/load", params)["code"] == -32600
    one.agent.notify("session/cancel", {"sessionId": there})
    assert one.agent.response(prompt)["result"] == {"stopReason": "cancelled"}
    assert one.agent.updates(there, since) == []
    one.agent.call("session/close", {"sessionId": there})
    for session in (here, there):
        refused = one.agent.fail("session/prompt", {"sessionId": session, "prompt": text})
        assert (refused["code"], refused["data"]) == (-32002, {"sessionId": session})


def test_DEL_01_a_deleted_thread_is_gone_and_what_was_in_it_before_is_not(one: Served, folder: Path) -> None:
    mine, old = moved(one.agent, folder)
    one.agent.call("session/delete", {"sessionId": mine})
    for session in (mine, old):
        params = {"sessionId": session, "cwd": str(folder), "mcpServers": []}
        assert one.agent.fail("session/load", params)["code"] == -32002
    ((spare, title),) = listed(one.agent, folder).items()
    assert title == "mine"
    one.agent.call("session/delete", {"sessionId": spare})
    assert listed(one.agent, folder) == {}


def test_INFO_02_a_session_is_named_after_what_the_model_was_asked(one: Served, folder: Path) -> None:
    since = len(one.agent.messages)
    session = one.new(folder)
    one.prompt(session, "/help")
    assert "title" not in one.agent.call("session/list", {"cwd": str(folder)})["sessions"][0]
    one.prompt(session, "mend it")
    one.prompt(session, "and more")
    told = [u for u in one.agent.updates(session, since) if u["sessionUpdate"] == "session_info_update"]
    assert [update.get("title") for update in told] == [None, "mend it"]
    assert listed(one.agent, folder) == {session: "mend it"}
    assert re.search("Title: mend it", text_in(one.prompt(session, "/session")))
