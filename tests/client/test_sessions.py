"""Sessions: opening, loading, listing, and what they remember."""

from __future__ import annotations

import os

import pytest

from acpagent.client.faults import AgentFault


def test_open_takes_relative_and_pathlike_folders(launch, tmp_path, monkeypatch):
    client = launch("echo")
    monkeypatch.chdir(tmp_path)
    assert client.open(tmp_path).cwd == str(tmp_path)
    assert client.open(".").cwd == os.getcwd()
    assert [info.cwd for info in client.sessions()] == [str(tmp_path)] * 2


def test_updates_right_behind_the_answer_find_the_session(launch):
    client = launch("echo")
    sessions = [client.open("/") for _ in range(20)]
    client.call("session/list", {})
    assert all(session.commands == [{"name": "help", "description": "Help"}] for session in sessions)


def test_load_hears_the_past_and_only_that(launch):
    client = launch("echo")
    session = client.load("old", "/")
    client.call("session/list", {})
    assert [(update.role, update.text) for update in session.replayed] == [
        ("user", "hello"),
        ("assistant", "hello"),
    ]
    assert [update.kind for update in session.idle] == ["available_commands_update"]
    assert session.prompt("on").wait(60) == "end_turn"


def test_load_of_a_live_session_is_that_session(launch):
    client = launch("echo")
    session = client.open("/tmp")
    assert client.load(session.id, "/tmp") is session
    assert len(session.replayed) == 2


def test_load_of_an_unknown_session(launch):
    client = launch("echo")
    with pytest.raises(AgentFault) as caught:
        client.load("nope", "/tmp")
    assert caught.value.code == -32002


def test_resume_hears_nothing(launch):
    client = launch("echo")
    session = client.resume("old", "/tmp")
    assert session.replayed == []
    assert session.details == {}
    assert session.prompt("on").wait(60) == "end_turn"


def test_sessions_come_page_by_page(launch):
    client = launch("echo")
    opened = [client.open("/tmp").id for _ in range(8)] + [client.open("/").id]
    assert sorted(info.id for info in client.sessions()) == sorted(opened)
    assert [info.cwd for info in client.sessions("/")] == ["/"]
    assert list(client.sessions("/nowhere")) == []
    client.delete(opened[0])
    assert opened[0] not in [info.id for info in client.sessions()]


def test_a_list_that_goes_round_in_circles_ends(launch):
    client = launch("circles")
    with pytest.raises(AgentFault, match="circles"):
        list(client.sessions())


def test_what_is_not_offered_is_not_asked(launch):
    client = launch("circles")
    for attempt in (
        lambda: client.load("s1", "/tmp"),
        lambda: client.resume("s1", "/tmp"),
        lambda: client.delete("s1"),
        client.logout,
    ):
        with pytest.raises(AgentFault, match="does not offer") as caught:
            attempt()
        assert caught.value.code == -32601
    client.open("/tmp").close()  # without it closing is ours alone


def test_a_session_without_an_id(launch):
    client = launch("circles")
    with pytest.raises(AgentFault, match="no sessionId"):
        client.open("/")


def test_idle_updates_go_to_the_listener(launch):
    client = launch("late")
    session = client.open("/tmp")
    client.call("session/list", {})
    heard = []

    def listen(update):
        heard.append(update.kind)
        with pytest.raises(RuntimeError, match="on_update"):
            client.open("/tmp")
        raise ValueError("a listener that fails")

    session.on_update = listen
    session.prompt("go").wait(60)
    client.call("session/list", {})
    assert heard == ["agent_message_chunk", "session_info_update"]
    session.on_update = None
    assert session.prompt("still here").wait(60) == "end_turn"


def test_idle_updates_are_bounded(launch):
    session = launch("echo").open("/tmp")
    assert session.idle.maxlen == 1000
