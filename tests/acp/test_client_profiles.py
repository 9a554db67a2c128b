"""Turns as eleven clients drive them, each with what it offers, its habits and its answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acp.clients import (
    CLIENTS,
    TERMINAL_COURSE,
    Agentic,
    Avante,
    Client,
    CodeCompanion,
    JetBrains,
    Marimo,
    Obsidian,
    VSCodeAcp,
    Zed,
    using,
)
from tests.acp.editor import PERMISSION, READ, WRITE, Later
from tests.acp.seen import call_in, calls, calls_in, says, turn
from tests.agent import Agent, Message, text_in, updates_in
from tests.conftest import Home
from tests.model_server import ModelServer, Raw, Request

EDIT = calls("edit_file", path="note.txt", old="one", new="uno")
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("hello", [{"thought": "A look."}, *says("I look."), calls("read_file", path="note.txt")],
             [EDIT, calls("write_file", path="sub/new.txt", content="new\n")],
             calls("bash", command="cat note.txt; touch made; echo here"), says("Hello.")),
        turn("change", EDIT, says("Changed.")),
        turn("talk", {"repeat": {"times": 1_000_000, "text": "word ", "every": 0.001}}),
        turn(".", says("Hello again.")),
    ]
}  # fmt: skip
UNGATED = {
    "agent_message_chunk",
    "agent_thought_chunk",
    "user_message_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
    "usage_update",
    "session_info_update",
    "available_commands_update",
}


@pytest.fixture
def scripted(home: Home) -> Home:
    home.use_script(SCRIPT)
    return home


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "note.txt").write_text("one\n")
    return folder


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_whole_turn_and_a_load(scripted: Home, here: Path, kind: type[Client]) -> None:
    with using(kind, scripted) as client:
        session = client.new(here)
        live = hello(client, session, here)
    with using(kind, scripted) as client:
        replayed = client.load(session, here)
        assert text_in(replayed, "user_message_chunk").startswith("hello")
        assert said(replayed) == said(live) == "I look.Hello."
        assert [call.status for call in calls_in(replayed)] == ["completed"] * 4
        assert set(client.methods) == set()
        updates, answer = client.turn(session, client.content("and now?", here))
        assert answer["result"] == {"stopReason": "end_turn"}
        assert said(updates) == "Hello again."


def said(updates: list[Message]) -> str:
    """What the model said, without what acpagent itself remarks: of an editor's server that does not run, say."""
    remarks = [update for update in updates if str(update.get("messageId", "")).startswith("notice_")]
    return text_in([update for update in updates if update not in remarks])


def hello(client: Client, session: str, here: Path) -> list[Message]:
    """A turn that reads, edits, creates and runs; the person's note is not saved. The updates."""
    seen = "one\n"
    if READ in client.offered:
        seen = client.buffers[str(here / "note.txt")] = "one\nnot saved\n"
    updates, answer = client.turn(session, client.content("hello", here))
    assert answer["result"] == {"stopReason": "end_turn"}
    assert_nothing_follows(client, session)
    made = calls_in(updates)
    assert [call.status for call in made] == ["completed"] * 4
    assert [call.now["kind"] for call in made] == ["read", "edit", "edit", "execute"]
    assert ("not saved" in made[0].text) == (READ in client.offered)
    assert (here / "note.txt").read_text() == seen.replace("one", "uno")
    assert (here / "sub/new.txt").read_text() == "new\n"
    assert "here" in made[3].text
    assert client.methods.count(PERMISSION) == 3
    wanted = client.offered - {"terminal/kill"}  # all that was offered, and nothing else
    assert set(client.methods) == wanted
    terminal = [method for method in client.methods if method.startswith("terminal/")]
    assert sorted(terminal) == (sorted(TERMINAL_COURSE) if "terminal/create" in client.offered else [])
    kinds = {update["sessionUpdate"] for update in client.agent.updates(session)}
    assert kinds <= UNGATED
    return updates


def assert_nothing_follows(client: Client, session: str) -> None:
    """Updates after a prompt's response are out of turn."""
    since = len(client.agent.messages)
    client.agent.call("session/list")
    assert updates_in(client.agent.messages[since:], session) == []


def test_zed_sets_what_was_set_yesterday_and_offers_terminals_to_sign_in(scripted: Home, here: Path) -> None:
    with using(Zed, scripted) as client:
        assert isinstance(client, Zed)
        methods = {method["id"]: method for method in client.greeting["authMethods"]}
        assert [method.get("type", "agent") for method in methods.values()] == ["agent", "terminal"]
        session = client.new(here)
        assert [error["code"] for error in client.refusals] == [-32602] * 3
        hello(client, session, here)
        listed = client.agent.call("session/list", {"cwd": str(here)})["sessions"]
        assert [entry["sessionId"] for entry in listed] == [session]
        client.agent.call("session/close", {"sessionId": session})
        client.agent.call("session/delete", {"sessionId": session})
        assert client.agent.call("session/list", {"cwd": str(here)})["sessions"] == []


def test_jetbrains_waits_for_the_cancel_and_asks_for_sessions_that_are_gone(scripted: Home, here: Path) -> None:
    with using(JetBrains, scripted) as client:
        session = client.new(here)
        prompt = client.agent.start_prompt(session, "talk")
        client.agent.expect_update(session, "agent_message_chunk")
        client.agent.notify("session/cancel", {"sessionId": session})
        assert client.agent.response(prompt)["result"] == {"stopReason": "cancelled"}
        gone = client.agent.fail("session/resume", client.place(here) | {"sessionId": "gone"})
        assert gone["code"] == -32002


def test_codecompanion_cannot_sign_in_without_a_key(home: Home, here: Path) -> None:
    provider = {"api": "openai-chat", "base_url": "http://127.0.0.1:9/v1", "api_key_env": "NO_KEY", "models": {"m": {}}}
    home.configure({"providers": {"local": provider}})
    with pytest.raises(AssertionError, match="authenticate was refused"), using(CodeCompanion, home):
        pass


def test_avante_selects_nothing_when_a_question_is_closed(scripted: Home, here: Path) -> None:
    with using(Avante, scripted) as client:
        client.permission = lambda _: None
        updates, answer = client.turn(client.new(here), "change")
        assert answer["result"] == {"stopReason": "end_turn"}
        assert call_in(updates).statuses == ["pending", "failed"]
        assert text_in(updates) == "Changed."
        assert (here / "note.txt").read_text() == "one\n"


def test_avante_says_in_a_result_that_a_write_failed(scripted: Home, here: Path) -> None:
    with using(Avante, scripted) as client:
        client.handlers[WRITE] = lambda request, params: "Failed to write: no space left"
        updates, answer = client.turn(client.new(here), "change")
        assert answer["result"] == {"stopReason": "end_turn"}
        call = call_in(updates)
        assert call.status == "failed"
        assert "no space left" in call.text
        assert (here / "note.txt").read_text() == "one\n"


def test_vscode_says_in_the_details_what_went_wrong(scripted: Home, here: Path) -> None:
    with using(VSCodeAcp, scripted) as client:

        def write(request: Message, params: Message) -> None:
            error = {"code": -32603, "message": "Internal error", "data": {"details": "EROFS: read-only file system"}}
            client.agent.send({"jsonrpc": "2.0", "id": request["id"], "error": error})
            raise Later

        client.handlers[WRITE] = write
        updates, answer = client.turn(client.new(here), "change")
        assert answer["result"] == {"stopReason": "end_turn"}
        assert "Internal error: EROFS: read-only file system" in call_in(updates).text


def test_agentic_goes_on_after_a_failed_login(scripted: Home, here: Path) -> None:
    with using(Agentic, scripted) as client:
        assert isinstance(client, Agentic)
        assert client.sign_in["error"]["code"] == -32602
        hello(client, client.new(here), here)


def test_agentic_learns_from_the_session_that_it_must_sign_in(home: Home, here: Path) -> None:
    with using(Agentic, home) as client:  # nothing is configured
        error = client.agent.fail("session/new", client.place(here))
        assert error["code"] == -32000
        assert "acpagent setup" in error["message"]


def test_marimo_waits_for_nothing(scripted: Home, here: Path) -> None:
    (here / "notebook.py").write_text("import marimo\n")
    with using(Marimo, scripted) as client:
        assert isinstance(client, Marimo)
        session = client.new(here)
        refused = [client.agent.response(request["id"])["error"] for request in (client.forgotten, client.early)]
        assert [error["code"] for error in refused] == [-32002, -32002]
        assert client.set_model["code"] == -32602
        answered = [message["id"] for message in client.agent.messages if "id" in message]
        assert answered[0] == client.greeted
        hello(client, session, here)


def test_marimo_greets_opens_and_prompts_in_one_write(scripted: Home, here: Path) -> None:
    agent = Agent(cwd=scripted.path, env=scripted.env)
    try:
        prompt = {"sessionId": "remembered", "prompt": [{"type": "text", "text": "hello"}]}
        opening = {"cwd": str(here), "mcpServers": []}
        written: list[tuple[str, Message]] = [
            ("initialize", Marimo.hello),
            ("session/new", opening),
            ("session/prompt", prompt),
            ("session/new", opening),
        ]
        requests = [agent.make_request(method, params) for method, params in written]
        agent.send(*requests)
        first, second, refused, third = (agent.response(request["id"]) for request in requests)
        assert next(message["id"] for message in agent.messages if "id" in message) == first["id"]
        assert refused["error"]["code"] == -32002
        for opened in (second, third):
            assert text_in(agent.prompt(opened["result"]["sessionId"], "and now?")[0]) == "Hello again."
    finally:
        agent.close()


def test_marimo_sends_a_bare_file_name_and_its_rules_to_the_model(home: Home, here: Path) -> None:
    (here / "notebook.py").write_text("import marimo\n")
    with ModelServer({"turns": [turn(".", says("Hello."))]}) as server:
        home.use_server(server.base_url)
        with using(Marimo, home) as client:
            client.turn(client.new(here), client.content("hello", here))
        heard = json.dumps(server.requests[-1].body["messages"])
        assert "You are in a notebook." in heard
        assert "notebook.py" in heard


KEY = "canary-key-4711"


def guarded(request: Request) -> Raw:
    """A model that wants a key."""
    if request.headers.get("Authorization") != f"Bearer {KEY}":
        return Raw([b'{"error": {"message": "who are you"}}'], 401, {"Content-Type": "application/json"})
    choice = {"delta": {"content": "Hello."}, "index": 0, "finish_reason": "stop"}
    return Raw([b"data: %b\n\ndata: [DONE]\n\n" % json.dumps({"choices": [choice]}).encode()])


def test_obsidian_signs_in_and_sends_the_prompt_again(home: Home, here: Path) -> None:
    with ModelServer(guarded) as server:
        provider = {"api": "openai-chat", "base_url": server.base_url, "api_key_env": "NO_KEY", "models": {"m": {}}}
        home.configure({"providers": {"local": provider}})
        store_key(home, "wrong")
        with using(Obsidian, home) as client:
            assert isinstance(client, Obsidian)
            session = client.new(here)
            assert client.turn(session, "the very words")[1]["error"]["code"] == -32000
            client.before_login = lambda: store_key(home, KEY)
            assert client.turn(session, "the very words")[1]["result"] == {"stopReason": "end_turn"}
            heard = [message for message in server.requests[-1].body["messages"] if message["role"] == "user"]
            assert json.dumps(heard).count("the very words") == 1


def store_key(home: Home, key: str) -> None:
    path = home.path / "credentials.yaml"
    path.write_text(f"local: {key}\n")
    path.chmod(0o600)
