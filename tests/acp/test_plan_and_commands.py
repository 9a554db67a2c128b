"""The plan that the model keeps, and the slash commands that acpagent answers by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.acp.seen import call_in, calls, calls_in, says, turn
from tests.acp.served import Served, served
from tests.agent import Message, text_in, updates_in


def entry(content: str, status: str, **more: str) -> Message:
    return {"content": content, "status": status, **more}


FIRST = [entry("Look", "in_progress", priority="high"), entry("Mend\n it", "pending", priority="low"),
         entry("Check", "pending")]  # fmt: skip
SECOND = [entry("Look", "completed"), entry("Mend it", "in_progress"), entry("Check", "pending")]
DONE = [entry("Look", "completed"), entry("Mend it", "completed"), entry("Check", "completed")]
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("plan and do", calls("todo_write", todos=FIRST), calls("todo_write", todos=SECOND),
             calls("todo_write", todos=DONE), says("Done.")),
        turn("plan only", calls("todo_write", todos=FIRST), says("Done.")),
        turn("clear", calls("todo_write", todos=[]), says("Done.")),
        turn("two at once", calls("todo_write", todos=[entry("A", "in_progress"), entry("B", "in_progress")]),
             says("Done.")),
        turn("cancelled entry", calls("todo_write", todos=[entry("A", "cancelled")]), says("Done.")),
        turn("no content", calls("todo_write", todos=[entry(" ", "pending")]), says("Done.")),
        turn(".", says("Heard.")),
    ]
}  # fmt: skip


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("plans"), SCRIPT) as made:
        yield made


def plans(updates: list[Message]) -> list[list[Message]]:
    """The entries of each plan update."""
    found = [update for update in updates if update["sessionUpdate"] == "plan"]
    assert all(set(update) == {"sessionUpdate", "entries"} for update in found)
    return [update["entries"] for update in found]


def load(one: Served, session: str, verb: str = "load") -> list[Message]:
    """Close a session and open it again; all updates since, up to the commands."""
    one.agent.call("session/close", {"sessionId": session})
    since = len(one.agent.messages)
    params = {"sessionId": session, "cwd": str(one.workspace)} | ({"mcpServers": []} if verb == "load" else {})
    one.agent.call(f"session/{verb}", params)
    one.agent.expect_update(session, "available_commands_update", since)
    return one.agent.updates(session, since)


def test_PLAN_01_PLAN_02_PLAN_03_each_plan_is_complete_and_in_order(one: Served) -> None:
    updates = one.prompt(one.new(), "plan and do")
    shown = plans(updates)
    assert shown[0] == [
        {"content": "Look", "priority": "high", "status": "in_progress"},
        {"content": "Mend it", "priority": "low", "status": "pending"},
        {"content": "Check", "priority": "medium", "status": "pending"},
    ]
    assert [[item["status"] for item in plan] for plan in shown] == [
        ["in_progress", "pending", "pending"],
        ["completed", "in_progress", "pending"],
        ["completed", "completed", "completed"],
    ]
    assert [[item["content"] for item in plan] for plan in shown] == [["Look", "Mend it", "Check"]] * 3
    made = calls_in(updates)
    assert [call.now["title"] for call in made] == [f"Plan: {done} of 3 done" for done in (0, 1, 3)]
    assert {call.now["kind"] for call in made} == {"think"}


def test_PLAN_03_a_plan_that_cannot_be_shown_is_the_models_mistake(one: Served) -> None:
    for prompt, words in (
        ("two at once", "At most one of todos may be in_progress"),
        ("cancelled entry", "todos[0].status must be one of pending, in_progress, completed"),
        ("no content", "An entry of todos has no content."),
    ):
        updates = one.prompt(one.new(), prompt)
        assert plans(updates) == []
        assert call_in(updates).status == "failed"
        assert words in call_in(updates).text


def test_PLAN_04_an_empty_plan_clears_it(one: Served) -> None:
    session = one.new()
    one.prompt(session, "plan only")
    updates = one.prompt(session, "clear")
    assert plans(updates) == [[]]
    assert call_in(updates).now["title"] == "Plan cleared"


def test_PLAN_01_the_plan_is_there_again_after_a_load(one: Served) -> None:
    session = one.new()
    (last,) = plans(one.prompt(session, "plan only"))
    assert plans(load(one, session))[-1] == last


def test_CMD_01_CMD_03_the_commands_and_how_they_are_named(one: Served) -> None:
    since = len(one.agent.messages)
    session = one.new()
    update = one.agent.expect_update(session, "available_commands_update", since)
    assert set(update) == {"sessionUpdate", "availableCommands"}
    listed = update["availableCommands"]
    assert "help" in [command["name"] for command in listed]
    for command in listed:
        assert command["description"]
        assert not command["name"].startswith("/")
        assert command["name"].split() == [command["name"]]
        assert command.get("input") is None or set(command["input"]) == {"hint"}


@pytest.mark.parametrize("verb", ["new", "load", "resume"])
def test_CMD_02_the_commands_follow_the_response_every_time(one: Served, verb: str) -> None:
    since = len(one.agent.messages)
    session = one.new()
    one.agent.expect_update(session, "available_commands_update", since)
    if verb != "new":
        one.prompt(session, "hello")
        for _ in range(2):
            since = len(one.agent.messages)
            load(one, session, verb)
    after = one.agent.messages[since:]
    answered = max(place for place, message in enumerate(after) if "result" in message)
    kinds = [update["sessionUpdate"] for update in updates_in(after[answered + 1 :], session)]
    assert kinds == ["session_info_update", "available_commands_update"]


@pytest.mark.parametrize("text", ["/help", "/help me please", "/HELP  ", "/help\nand more"])
def test_CMD_04_CMD_07_a_local_command_is_answered_visibly_without_the_model(one: Served, text: str) -> None:
    session, before = one.new(), len(one.server.requests)
    updates = one.prompt(session, text)
    assert "/help" in text_in(updates)
    assert calls_in(updates) == []
    assert len(one.server.requests) == before
    one.prompt(session, "hello")
    assert [message["role"] for message in one.read()] == ["user"]  # the model learns nothing of it
    assert one.heard() == "hello"


def test_CMD_04_other_blocks_may_accompany_a_command(one: Served) -> None:
    session, before = one.new(), len(one.server.requests)
    resource = {"type": "resource", "resource": {"uri": "file:///x", "text": "x"}}
    help_text = {"type": "text", "text": "/help"}
    for blocks in ([help_text, resource], [resource, help_text], [help_text, {"type": "text", "text": "and this"}]):
        assert "/help" in text_in(one.prompt(session, blocks))
    assert len(one.server.requests) == before
    # Only the first text is looked at.
    one.prompt(session, [{"type": "text", "text": "What is"}, help_text])
    assert one.heard() == "What is\n\n/help"


def test_CMD_04_a_command_field_in_the_params_stands_for_the_words(one: Served) -> None:
    session, before = one.new(), len(one.server.requests)
    params = {"sessionId": session, "prompt": [], "command": {"name": "help", "args": ""}}
    assert one.agent.call("session/prompt", params) == {"stopReason": "end_turn"}
    assert "/help" in text_in(one.agent.updates(session))
    assert len(one.server.requests) == before


@pytest.mark.parametrize("text", ["/nosuch", "/nosuch with words", "/HELPLESS", "/help-me", "//help", "/ help", "/"])
def test_CMD_05_an_unknown_command_goes_to_the_model_as_text(one: Served, text: str) -> None:
    assert text_in(one.prompt(one.new(), text)) == "Heard."
    assert one.heard() == text


@pytest.mark.parametrize(
    "text", ["/usr/bin/env python", "/help/me.txt", "see /help", "http://x/help", " /help", "\n/help"]
)
def test_CMD_04_CMD_06_what_begins_otherwise_is_no_command(one: Served, text: str) -> None:
    assert text_in(one.prompt(one.new(), text)) == "Heard."
    assert one.heard() == text


def test_CMD_07_what_a_command_said_is_replayed(one: Served) -> None:
    session = one.new()
    said = text_in(one.prompt(session, "/help"))
    replayed = load(one, session)
    assert text_in(replayed) == said
    assert text_in(replayed, "user_message_chunk") == "/help"
