"""Sessions with MCP servers, over each of the three transports: what the model and the person get of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.mcp import everything, mcp_tools, says, set_option, settle
from tests.acp.seen import call_in, calls, calls_in, turn
from tests.acp.seen import says as replies
from tests.acp.served import Served, served
from tests.agent import Message, text_in, updates_in
from tests.mcp_client.bench import over_http
from tests.settling import appears

NAMES = ("io", "web", "old")
ELICITATION = "elicitation/create"
PERMISSION = "session/request_permission"
FOLDER = "{folder}"
SECRETS = {"io": "io-secret-77", "web": "web-secret-78", "old": "old-secret-79"}


def script(folder: Path) -> Message:
    """`<server> <tool>` has the model call that."""
    arguments: dict[str, Message] = {
        "add": {"a": 2, "b": 3}, "echo": {"text": "abc"}, "mixed": {}, "count": {"to": 3}, "fail": {}, "ask": {},
        "visit": {}, "wipe": {}, "hang": {"folder": str(folder)}, "sample": {}, "roots": {},
        "grow": {"name": "fresh"}, "fresh": {}, "variable": {"name": "SECRET_WORD"}, "header": {"name": "x-token"},
        "read_resource": {"uri": "note://today"},
    }  # fmt: skip
    turns = [
        turn(rf"\b{name} {tool}$", calls(f"mcp__{name}__{tool}", **given), replies("Done."))
        for name in NAMES
        for tool, given in arguments.items()
    ]
    return {"turns": [*turns, turn("dot$", calls("mcp__web__read_resource", uri="picture://dot"), replies("A dot.")),
                      turn("", replies("Hello."))]}  # fmt: skip


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, str]]:
    with over_http("http") as web, over_http("sse") as old:
        yield {"web": web, "old": old}


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("mcp")
    with served(folder, script(folder), {"vision": True}) as made:
        yield made


def servers(urls: dict[str, str], *names: str) -> list[Message]:
    """In the protocol's form; `old` has its headers as a map."""
    every = {
        "io": everything("io", env=[{"name": "SECRET_WORD", "value": SECRETS["io"]}]),
        "web": {
            "name": "web", "type": "http", "url": urls["web"], "headers": [{"name": "X-Token", "value": SECRETS["web"]}]
        },
        "old": {"name": "old", "type": "sse", "url": urls["old"], "headers": {"X-Token": SECRETS["old"]}},
    }  # fmt: skip
    return [every[name] for name in names or NAMES]


@pytest.fixture(scope="module")
def session(one: Served, urls: dict[str, str]) -> str:
    """One with all three of them, ready."""
    opened = one.new(mcpServers=servers(urls))
    settle(one, opened, [f"mcp__{name}__add" for name in NAMES])
    return opened


@pytest.fixture
def web(one: Served, urls: dict[str, str]) -> str:
    """A session of the test's own, with one server."""
    opened = one.new(mcpServers=servers(urls, "web"))
    settle(one, opened, ["mcp__web__add"])
    return opened


def ask(one: Served, session: str, text: str, answer: str = "once") -> tuple[list[Message], list[Message]]:
    """Prompt and answer what is asked: (the updates, the questions)."""
    asked: list[Message] = []

    def decide(question: Message) -> str:
        asked.append(question)
        return answer

    updates, response = one.agent.prompt(session, text, permission=decide)
    assert response["result"] == {"stopReason": "end_turn"}
    return updates, asked


def read_by_model(one: Served) -> str:
    """The result of the last call, as the model read it."""
    content = [message["content"] for message in one.read() if message["role"] == "tool"][-1]
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def test_SESS_12_the_tools_of_all_are_there_in_one_order(one: Served, session: str) -> None:
    one.prompt(session, "hello")
    listed = [tool["function"]["name"] for tool in one.last.body["tools"]]
    ours = [name for name in listed if name.startswith("mcp__")]
    assert ours == sorted(ours)
    assert {f"mcp__{server}__{tool}" for server in NAMES for tool in ("add", "echo", "read_resource")} <= set(ours)


@pytest.mark.parametrize("name", NAMES)
def test_what_only_reads_runs_unasked_and_its_structured_result_is_shown(one: Served, session: str, name: str) -> None:
    updates, asked = ask(one, session, f"{name} add")
    assert asked == []
    call = call_in(updates)
    assert (call.status, call.first["title"], call.first["kind"]) == ("completed", f"{name}: Add up", "fetch")
    assert call.now["rawOutput"]["structured"] == {"total": 5}
    assert '"total": 5' in read_by_model(one)


@pytest.mark.parametrize("name", NAMES)
def test_environment_and_headers_arrive(one: Served, session: str, name: str) -> None:
    ask(one, session, f"{name} {'variable' if name == 'io' else 'header'}")
    assert SECRETS[name] in read_by_model(one)


def test_the_question_offers_the_tool_itself_as_a_rule(one: Served, web: str) -> None:
    updates, (question,) = ask(one, web, "web echo", "session")
    assert question["params"]["toolCall"]["toolCallId"] == call_in(updates).id
    options = {option["optionId"]: option["name"] for option in question["params"]["options"]}
    assert list(options) == ["deny", "once", "session", "repo", "full"]
    assert "mcp__web__echo" in options["session"]
    assert '"text": "abc"' in str(question["params"]["toolCall"])
    assert ask(one, web, "web echo")[1] == []
    assert len(ask(one, web, "web roots")[1]) == 1
    assert "mcp__web__echo" in says(one, web, "/permissions")


def test_a_refusal_is_told_to_the_model(one: Served, web: str) -> None:
    updates, asked = ask(one, web, "web wipe", "deny")
    assert "can destroy something" in str(asked)
    assert call_in(updates).status == "failed"


@pytest.mark.parametrize("approval", ["ask", "yolo"])
def test_in_plan_mode_what_only_reads_runs_and_all_else_is_refused(one: Served, web: str, approval: str) -> None:
    set_option(one.agent, web, "tool_approval", approval)
    set_option(one.agent, web, "mode", "plan")
    for text, status in (("add", "completed"), ("read_resource", "completed"), ("echo", "failed"), ("wipe", "failed")):
        updates, asked = ask(one, web, f"web {text}", "deny")
        tried = calls_in(updates)[0]
        assert tried.status == status, tried.now
        assert [question["params"]["toolCall"]["toolCallId"] for question in asked] != [tried.id]
        assert ("plan" in tried.text) is (status == "failed")


def test_plan_mode_that_begins_while_the_question_is_open(one: Served, web: str) -> None:
    answers = iter(["once", "deny"])

    def decide(_: Message) -> str:
        answer = next(answers)
        if answer == "once":
            one.agent.call("session/set_mode", {"sessionId": web, "modeId": "plan"})
        return answer

    updates, _ = one.agent.prompt(web, "web echo", permission=decide)
    tried = calls_in(updates)[0]
    assert tried.status == "failed"
    assert "plan" in tried.text


@pytest.mark.parametrize("name", NAMES)
def test_images_and_resources_are_shown(one: Served, session: str, name: str) -> None:
    updates, _ = ask(one, session, f"{name} mixed")
    shown = [item["content"] for item in call_in(updates).now["content"]]
    assert [block["type"] for block in shown] == ["text", "image", "resource_link", "resource"]
    assert b"data:image/png;base64," in one.last.raw  # the model sees it, too
    assert "[Audio (audio/wav) was left out" in read_by_model(one)


def test_resources_are_read(one: Served, session: str) -> None:
    for name in NAMES:
        updates, asked = ask(one, session, f"{name} read_resource")
        assert (asked, call_in(updates).status) == ([], "completed")
        assert "buy milk" in read_by_model(one)
    updates, _ = ask(one, session, "dot")
    assert "image" in [item["content"]["type"] for item in call_in(updates).now["content"]]


def test_a_tool_that_fails_has_failed(one: Served, session: str) -> None:
    updates, _ = ask(one, session, "old fail")
    assert call_in(updates).status == "failed"
    assert "Hello." in text_in(one.prompt(session, "hello"))


def test_sampling_is_refused_and_the_directories_are_told(one: Served, session: str) -> None:
    updates, _ = ask(one, session, "io sample")
    assert call_in(updates).status == "failed"
    ask(one, session, "io roots")
    assert f"file://{one.workspace}" in read_by_model(one)


def test_prompts_are_commands_with_arguments(one: Served, session: str) -> None:
    commands = [update["availableCommands"] for update in one.agent.updates(session) if "availableCommands" in update]
    listed = {command["name"]: command for command in commands[-1]}
    for name in NAMES:
        command = listed[f"mcp__{name}__review"]
        assert (command["description"], command["input"]["hint"]) == ("Review a file.", "file [focus]")
        one.prompt(session, f"/mcp__{name}__review 'a b.py' the small things")
        assert one.heard() == "Review a b.py with an eye on the small things."
    before = len(one.server.requests)
    assert "needs file" in says(one, session, "/mcp__io__review")
    assert len(one.server.requests) == before
    assert "/mcp__io__review" in says(one, session, "/help")


@pytest.mark.parametrize("name", NAMES)
def test_progress_is_live_and_a_cancel_reaches_the_server(one: Served, session: str, name: str) -> None:
    folder = one.workspace.parent
    since, id = len(one.agent.messages), one.agent.start_prompt(session, f"{name} hang")
    one.agent.decide(one.agent.expect_request(PERMISSION), "once")

    def is_live(message: Message) -> bool:
        return any("hanging (1/2)" in str(update.get("content")) for update in updates_in([message], session))

    one.agent.expect(is_live, "progress", since)
    appears(folder / "started")
    one.agent.notify("session/cancel", {"sessionId": session})
    assert one.agent.response(id)["result"] == {"stopReason": "cancelled"}
    assert calls_in(one.agent.updates(session, since))[0].status == "failed"
    appears(folder / "cancelled")
    for left in ("started", "cancelled"):
        (folder / left).unlink()
    assert call_in(one.prompt(session, f"{name} add")).status == "completed"


def test_what_a_server_asks_is_put_as_choices_where_there_are_no_forms(one: Served, web: str) -> None:
    updates, asked = ask(one, web, "web visit", "once")
    _, second = asked
    assert "https://example.org/x" in str(second["params"])
    labels = {option["name"]: option["optionId"] for option in second["params"]["options"]}
    assert "I opened it" in " ".join(labels)
    answers = iter(["once", next(id for name, id in labels.items() if "I opened it" in name)])
    updates, _ = one.agent.prompt(web, "web visit", permission=lambda _: next(answers))
    assert call_in(updates).status == "completed"
    assert "accept" in read_by_model(one)


@pytest.mark.parametrize("answer", ["accept", "decline", "cancel"])
def test_what_a_server_asks_is_a_form_where_there_are_forms(one: Served, forms: tuple[Any, str], answer: str) -> None:
    agent, session = forms
    id = agent.start_prompt(session, "web ask")
    agent.decide(agent.expect_request(PERMISSION), "once")
    form = agent.expect_request(ELICITATION)
    assert form["params"]["message"] == "web asks: Who are you?"
    assert form["params"]["requestedSchema"]["required"] == ["name", "age", "colour"]
    content = {"name": "Ada", "age": 36, "colour": "green", "news": True}
    agent.reply(form, {"action": answer, "content": content} if answer == "accept" else {"action": answer})
    assert agent.response(id)["result"] == {"stopReason": "end_turn"}
    assert read_by_model(one).startswith(answer)
    assert ("Ada" in read_by_model(one)) is (answer == "accept")


@pytest.fixture(scope="module")
def forms(one: Served, urls: dict[str, str]) -> Iterator[tuple[Any, str]]:
    """An agent whose editor shows forms, and a session of it."""
    agent = one.start()
    try:
        agent.initialize({"elicitation": {"form": {}}})
        session = agent.new_session(one.workspace, mcpServers=servers(urls, "web"))
        settle(one, session, ["mcp__web__ask"], agent=agent)
        yield agent, session
    finally:
        agent.close()


def test_a_list_that_grows_joins_between_turns(one: Served, tmp_path: Path) -> None:
    with over_http("http") as url:
        session = one.new(mcpServers=[{"name": "web", "type": "http", "url": url, "headers": []}])
        settle(one, session, ["mcp__web__grow"], ["mcp__web__fresh"])
        ask(one, session, "web grow")
        assert "mcp__web__fresh" not in mcp_tools(one.last)  # the turn goes on as it began
        settle(one, session, ["mcp__web__fresh"])
        assert call_in(ask(one, session, "web fresh")[0]).status == "completed"
        one.agent.call("session/close", {"sessionId": session})


def test_nothing_secret_is_written_down(one: Served, session: str) -> None:
    """The model was told by the tools themselves; no other place has it."""
    one.prompt(session, "hello")
    for folder, _, files in os.walk(one.home.path):
        for name in files:
            if not name.startswith("store"):
                assert b"-secret-7" not in Path(folder, name).read_bytes()
    assert "-secret-7" not in one.agent.stderr()
