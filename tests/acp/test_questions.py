"""The model asks the person: in a form where the client shows forms, by permission requests elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acpagent.config import locate
from acpagent.core.history import CallMade
from acpagent.store import entries
from acpagent.store.database import Store
from tests.acp.seen import Call, call_in, calls, calls_in, says, text_of, turn
from tests.acp.served import Served, served
from tests.agent import Agent, Message, text_in, updates_in
from tests.conftest import Home, StartAgent
from tests.settling import PATIENCE, await_files

FORMS: Message = {"elicitation": {"form": {}}}
ELICIT, PERMISSION = "elicitation/create", "session/request_permission"

DATABASES = [
    {"id": "pg", "label": "PostgreSQL", "description": "A server"},
    {"id": "lite", "label": "SQLite"},
]
WHICH = {"question": "Which database?", "options": DATABASES}
WHEN = {"question": "When?", "options": [{"id": "now", "label": "Now"}, {"id": "later", "label": "Later"}]}
PLAIN = [{"label": "PostgreSQL", "description": "A server"}, {"label": "SQLite"}, {"label": "Files"}]
ASKED = {"header": "Database", "question": "Which database?", "options": PLAIN}
FORM_DONE, CHOICE_DONE = says("Form done."), says("Choice done.")
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("form$", calls("ask_user", **WHICH), FORM_DONE),
        turn("form with other$", calls("ask_user", **WHICH, allowOther=True), FORM_DONE),
        turn("form of many$", calls("ask_user", **WHICH, multiSelect=True), FORM_DONE),
        turn("form of several$", calls("ask_user", questions=[WHICH, {**WHEN, "allowOther": True}]), FORM_DONE),
        turn("malformed question$", calls("ask_user", question="Which?", options=[]), FORM_DONE),
        turn("form and reads$", [calls("list_dir"), calls("ask_user", **WHICH), calls("list_dir")], FORM_DONE),
        turn("two forms$", [calls("ask_user", **WHICH), calls("ask_user", **WHEN)], FORM_DONE),
        turn("choice$", calls("ask", questions=[ASKED]), CHOICE_DONE),
        turn("choice of many$", calls("ask", questions=[{**ASKED, "multiSelect": True}]), CHOICE_DONE),
        turn("choices$", calls("ask", questions=[ASKED, {**ASKED, "question": "Sure?"}]), CHOICE_DONE),
        turn("choice and edit$", [calls("ask", questions=[ASKED]), calls("todo_write", todos=[])], CHOICE_DONE),
        turn("", says("Done.")),
    ]
}  # fmt: skip


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A client that shows forms."""
    with served(tmp_path_factory.mktemp("forms"), SCRIPT) as made:
        made.agent.initialize(FORMS)
        yield made


@pytest.fixture(scope="module")
def choices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A client that shows permission requests only."""
    with served(tmp_path_factory.mktemp("choices"), SCRIPT) as made:
        made.agent.initialize()
        yield made


Reply = Callable[[Agent, Message], None]


def accept(**content: Any) -> Reply:
    return result(action="accept", content=content)


def result(**fields: Any) -> Reply:
    return lambda agent, request: agent.reply(request, fields)


def choose(option: str | None) -> Reply:
    return lambda agent, request: agent.decide(request, option)


def error(code: int) -> Reply:
    return lambda agent, request: agent.refuse(request, code)


def ask(
    one: Served, prompt: str, *replies: Reply, session: str = "", stop: str = "end_turn"
) -> tuple[Call, list[Message]]:
    """Prompt; each reply answers one question. The one call, and the params of what was asked."""
    updates, asked = asks(one, prompt, *replies, session=session, stop=stop)
    return call_in(updates), asked


def asks(
    one: Served, prompt: str, *replies: Reply, session: str = "", stop: str = "end_turn"
) -> tuple[list[Message], list[Message]]:
    session, since = session or one.new(), len(one.agent.messages)
    id, asked = one.agent.start_prompt(session, prompt), []
    while "method" in (message := one.agent.next_event(id, [ELICIT, PERMISSION])):
        asked.append({"method": message["method"], **message["params"]})
        replies[len(asked) - 1](one.agent, message)
    assert message["result"] == {"stopReason": stop}
    assert len(asked) == len(replies)
    return updates_in(one.agent.messages[since : one.agent.transcript.responses[(int, id)]], session), asked


def told(one: Served) -> str:
    """What the model read of its last call."""
    text: str = one.last.messages[-1]["content"]
    assert one.last.messages[-1]["role"] == "tool"
    return text


def tools(one: Served) -> set[str]:
    return {tool["function"]["name"] for tool in one.last.body["tools"]}


# -- which of the two


@pytest.mark.parametrize(
    ("capabilities", "tool"),
    [
        ({}, "ask"),
        (FORMS, "ask_user"),
        ({"elicitation": {"form": {}, "url": {}}}, "ask_user"),
        ({"elicitation": {}}, "ask"),
        ({"elicitation": None}, "ask"),
        ({"elicitation": {"form": None}}, "ask"),
        ({"elicitation": {"form": True}}, "ask"),
        ({"elicitation": {"url": {}}}, "ask"),
        ({"elicitation": True}, "ask"),
    ],
)
def test_ELI_01_INIT_11_the_model_has_the_way_that_the_client_shows(
    capabilities: Message, tool: str, agent: StartAgent, serve: Any, workspace: Path
) -> None:
    server, one = serve(SCRIPT), agent()
    one.initialize(capabilities)
    one.prompt(one.new_session(workspace), "hello")
    names = {offered["function"]["name"] for offered in server.requests[-1].body["tools"]}
    assert names & {"ask", "ask_user"} == {tool}


def test_ELI_09_the_other_tool_is_none_of_the_session(forms: Served, choices: Served) -> None:
    call, _ = ask(choices, "form")
    assert call.status == "failed"
    call, _ = ask(forms, "choice")
    assert call.status == "failed"
    assert "There is no tool named 'ask'" in told(forms)


def test_the_tools_stay_the_same_whatever_is_answered(forms: Served) -> None:
    session = forms.new()
    for prompt, reply in (
        ("form", accept(choice="pg")),
        ("form", result(action="decline")),
        ("form", error(-32601)),
    ):
        ask(forms, prompt, reply, session=session)
    requests = [request.body["tools"] for request in forms.server.requests[-6:]]
    assert all(listed == requests[0] for listed in requests)


# -- forms


def test_ELI_02_ELI_03_one_question(forms: Served) -> None:
    session = forms.new()
    call, (params,) = ask(forms, "form", accept(choice="pg"), session=session)
    assert params == {
        "method": ELICIT,
        "sessionId": session,
        "toolCallId": call.id,
        "mode": "form",
        "message": "Which database?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "choice": {
                    "type": "string",
                    "title": "Choose one",
                    "oneOf": [
                        {"const": "pg", "title": "PostgreSQL", "description": "A server"},
                        {"const": "lite", "title": "SQLite"},
                    ],
                }
            },
            "required": ["choice"],
        },
    }
    assert told(forms) == "User selected: PostgreSQL (pg)"


def test_question_and_answer_can_be_read_in_the_call(forms: Served) -> None:
    call, _ = ask(forms, "form", accept(choice="lite"))
    assert call.statuses == ["pending", "in_progress", "completed"]
    assert call.first["title"] == "Ask: Which database?"
    assert text_of(call.first) == "Which database?\n\n- PostgreSQL: A server\n- SQLite"
    assert call.now["title"] == "Which database? SQLite"
    assert call.text == "Which database?\n\nAnswer: SQLite"
    assert call.now["kind"] == "other"
    selected = [{"id": "lite", "label": "SQLite"}]
    answers = [{"question": "Which database?", "selected": selected}]
    assert call.now["rawOutput"] == {"status": "answered", "answers": answers}


def test_own_words(forms: Served) -> None:
    call, (params,) = ask(forms, "form with other", accept(choice="other", other="  DuckDB "))
    fields = params["requestedSchema"]["properties"]
    assert fields["choice"]["oneOf"][-1] == {"const": "other", "title": "Other"}
    assert fields["other"]["type"] == "string"
    assert params["requestedSchema"]["required"] == ["choice"]
    assert told(forms) == "User selected: Other (other)\nUser wrote: DuckDB"
    assert call.now["rawOutput"]["answers"][0]["other"] == "DuckDB"


def test_own_words_are_ignored_beside_another_choice(forms: Served) -> None:
    ask(forms, "form with other", accept(choice="pg", other="DuckDB"))
    assert told(forms) == "User selected: PostgreSQL (pg)"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"choice": ["lite", "pg"]}, "User selected: PostgreSQL (pg), SQLite (lite)"),
        ({"choice": []}, "User selected none of them"),
        ({}, "User selected none of them"),
    ],
)
def test_several_may_be_chosen(forms: Served, content: Message, words: str) -> None:
    _, (params,) = ask(forms, "form of many", accept(**content))
    field = params["requestedSchema"]["properties"]["choice"]
    assert (field["type"], [option["const"] for option in field["items"]["anyOf"]]) == ("array", ["pg", "lite"])
    assert told(forms) == words


def test_several_questions_are_one_form(forms: Served) -> None:
    answer = accept(choice_1="pg", choice_2="other", other_2="Never")
    call, (params,) = ask(forms, "form of several", answer)
    assert params["message"] == "2 questions"
    fields = params["requestedSchema"]["properties"]
    assert {name: field["title"] for name, field in fields.items()} == {
        "choice_1": "Which database?", "choice_2": "When?", "other_2": "Other details",
    }  # fmt: skip
    assert params["requestedSchema"]["required"] == ["choice_1", "choice_2"]
    assert told(forms) == (
        "Which database?\nUser selected: PostgreSQL (pg)\n\nWhen?\nUser selected: Other (other)\nUser wrote: Never"
    )
    assert call.now["title"] == "2 questions: PostgreSQL; Other: Never"


@pytest.mark.parametrize(("action", "status"), [("decline", "declined"), ("cancel", "cancelled")])
def test_ELI_05_declining_is_an_answer_and_the_turn_goes_on(forms: Served, action: str, status: str) -> None:
    updates, _ = asks(forms, "form", result(action=action))
    call = call_in(updates)
    assert (call.status, call.now["rawOutput"]["status"]) == ("completed", status)
    assert "Do not ask the same again" in told(forms)
    assert text_in(updates) == "Form done."


@pytest.mark.parametrize(
    "reply",
    [
        error(-32601),
        error(-32602),
        error(-32603),
        error(-32800),
        result(),
        result(action="postpone"),
        result(action=None),
        result(action="accept"),
        result(action="accept", content=None),
        accept(),
        accept(choice="mysql"),
        accept(choice=1),
        accept(choice=["pg"]),
        accept(choice="pg", more="x"),
        accept(other="pg"),
        lambda agent, request: agent.reply(request, None),
        lambda agent, request: agent.reply(request, ["accept"]),
        lambda agent, request: agent.reply(request, "accept"),
    ],
)
def test_ELI_05_ELI_06_ELI_11_no_usable_answer_is_nobody(forms: Served, reply: Reply) -> None:
    updates, _ = asks(forms, "form", reply)
    call = call_in(updates)
    assert (call.status, call.now["rawOutput"]["status"]) == ("completed", "unavailable")
    assert "nobody is there" in told(forms)
    assert "state the assumption" in told(forms)
    assert text_in(updates) == "Form done."


def test_a_question_that_cannot_be_asked_is_told_to_the_model(forms: Served) -> None:
    call, _ = ask(forms, "malformed question")
    assert call.status == "failed"
    assert "2 to 5 options" in told(forms)


def test_nothing_else_runs_while_the_person_is_asked(forms: Served) -> None:
    session, since = forms.new(), len(forms.agent.messages)
    id = forms.agent.start_prompt(session, "form and reads")
    request = forms.agent.expect_request(ELICIT)
    made = calls_in(updates_in(forms.agent.messages[since:], session))
    assert [call.status for call in made] == ["completed", "in_progress"]
    forms.agent.reply(request, {"action": "accept", "content": {"choice": "pg"}})
    assert forms.agent.response(id)["result"] == {"stopReason": "end_turn"}
    made = calls_in(updates_in(forms.agent.messages[since:], session))
    assert [call.status for call in made] == ["completed"] * 3


def test_questions_of_one_reply_come_one_after_another(forms: Served) -> None:
    id = forms.agent.start_prompt(forms.new(), "two forms")
    first = forms.agent.expect_request(ELICIT)
    assert first["params"]["message"] == "Which database?"
    before = len(forms.agent.transcript.requests)
    forms.agent.reply(first, {"action": "accept", "content": {"choice": "pg"}})
    second = forms.agent.expect_request(ELICIT)
    assert len(forms.agent.transcript.requests) == before + 1
    forms.agent.reply(second, {"action": "accept", "content": {"choice": "now"}})
    assert forms.agent.response(id)["result"] == {"stopReason": "end_turn"}


# -- choices


def test_one_choice_on_the_real_call(choices: Served) -> None:
    session = choices.new()
    call, (params,) = ask(choices, "choice", choose("q1:2"), session=session)
    assert (params["method"], params["sessionId"]) == (PERMISSION, session)
    assert (params["toolCall"]["toolCallId"], params["toolCall"]["title"]) == (call.id, "Which database?")
    assert params["options"] == [
        {"optionId": "q1:1", "name": "PostgreSQL - A server", "kind": "allow_once"},
        {"optionId": "q1:2", "name": "SQLite", "kind": "allow_once"},
        {"optionId": "q1:3", "name": "Files", "kind": "allow_once"},
        {"optionId": "skip", "name": "Skip this question", "kind": "reject_once"},
    ]
    assert told(choices) == "User selected: SQLite"
    assert call.statuses == ["pending", "in_progress", "completed"]
    assert call.now["title"] == "Which database? SQLite"
    assert call.text == "Which database?\n\nAnswer: SQLite"


def test_several_choices_one_after_another(choices: Served) -> None:
    _, asked = ask(choices, "choice of many", choose("q1:3"), choose("q1:1"), choose("done"))
    assert told(choices) == "User selected: PostgreSQL, Files"
    assert [option["optionId"] for option in asked[2]["options"]] == ["q1:2", "done", "skip"]


def test_skipping_is_an_answer(choices: Served) -> None:
    call, asked = ask(choices, "choices", choose("skip"), choose("q2:1"))
    assert [params["toolCall"]["title"] for params in asked] == ["Which database?", "Sure?"]
    assert told(choices) == "Which database?\nUser skipped this question\n\nSure?\nUser selected: PostgreSQL"
    assert (call.status, call.now["rawOutput"]["status"]) == ("completed", "answered")


def test_PERM_05_a_closed_question_ends_the_turn(choices: Served) -> None:
    session = choices.new()
    updates, _ = asks(choices, "choice and edit", choose(None), session=session, stop="cancelled")
    assert [call.status for call in calls_in(updates)] == ["failed", "failed"]
    ask(choices, "choice", choose("q1:1"), session=session)


@pytest.mark.parametrize(
    "reply",
    [
        error(-32601),
        error(-32602),
        choose("q1:9"),
        choose("once"),
        result(),
        result(outcome="selected"),
        result(outcome={"outcome": "selected"}),
        lambda agent, request: agent.reply(request, None),
    ],
)
def test_PERM_06_no_usable_choice_is_nobody(choices: Served, reply: Reply) -> None:
    updates, _ = asks(choices, "choices", choose("q1:1"), reply)
    call = call_in(updates)
    assert (call.status, call.now["rawOutput"]["status"]) == ("completed", "unavailable")
    assert told(choices).startswith("Which database?\nUser selected: PostgreSQL\n\nThere is no usable answer")
    assert text_in(updates) == "Choice done."


def test_RPC_25_ELI_01_a_form_is_asked_by_choices_once_the_client_shows_none(agent: StartAgent, home: Home) -> None:
    home.use_script(SCRIPT)
    one = agent()
    one.initialize(FORMS)
    session = one.new_session(home.path)
    one.initialize()
    id = one.start_prompt(session, "form with other")
    question = one.expect_request(PERMISSION)
    assert [option["optionId"] for option in question["params"]["options"]] == ["q1:pg", "q1:lite", "q1:other", "skip"]
    one.decide(question, "q1:lite")
    assert one.response(id)["result"] == {"stopReason": "end_turn"}
    assert call_in(one.updates(session)).now["title"] == "Which database? SQLite"


# -- cancelling


@pytest.mark.parametrize(("way", "prompt", "method"), [("forms", "form", ELICIT), ("choices", "choice", PERMISSION)])
def test_ELI_10_cancelling_the_turn_withdraws_the_question(
    way: str, prompt: str, method: str, request: pytest.FixtureRequest
) -> None:
    one: Served = request.getfixturevalue(way)
    session, since = one.new(), len(one.agent.messages)
    id = one.agent.start_prompt(session, prompt)
    question = one.agent.expect_request(method)
    one.agent.notify("session/cancel", {"sessionId": session})
    assert one.agent.response(id)["result"] == {"stopReason": "cancelled"}
    withdrawn = [note for note in one.agent.messages[since:] if note.get("method") == "$/cancel_request"]
    assert [note["params"] for note in withdrawn] == [{"requestId": question["id"]}]
    assert call_in(updates_in(one.agent.messages[since:], session)).status == "failed"
    one.agent.refuse(question, -32800)  # late: dropped
    updates, answer = one.agent.prompt(session, "go on")
    assert answer["result"] == {"stopReason": "end_turn"}
    assert text_in(updates) == "Done."


# -- modes, and what is kept


@pytest.mark.parametrize("approval", ["ask", "auto", "yolo"])
@pytest.mark.parametrize("mode", ["normal", "plan"])
@pytest.mark.parametrize(("way", "reply"), [("form", accept(choice="pg")), ("choice", choose("q1:1"))])
def test_no_mode_asks_first_or_answers_for_the_person(
    approval: str, mode: str, way: str, reply: Reply, forms: Served, choices: Served
) -> None:
    one = forms if way == "form" else choices
    session = one.new()
    for option, value in (("tool_approval", approval), ("mode", mode)):
        params = {"sessionId": session, "configId": option, "value": value}
        one.agent.call("session/set_config_option", params)
    # In plan mode, what the model says in the end is a plan, which is put to the person.
    replies = [reply, choose("deny")] if mode == "plan" else [reply]
    updates, asked = asks(one, way, *replies, session=session)
    assert calls_in(updates)[0].status == "completed"
    assert asked[0]["method"] == (ELICIT if way == "form" else PERMISSION)
    assert [params["toolCall"]["kind"] for params in asked[1:]] == ["switch_mode"] * (mode == "plan")


def load(one: Agent, session: str, cwd: Path) -> list[Call]:
    """Load; the calls that were shown again."""
    one.call("session/load", {"sessionId": session, "cwd": str(cwd), "mcpServers": []})
    return calls_in(one.updates(session))


def test_question_and_answer_are_shown_again(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    first = agent()
    first.initialize(FORMS)
    session = first.new_session(workspace)
    id = first.start_prompt(session, "form with other")
    first.reply(first.expect_request(ELICIT), {"action": "accept", "content": {"choice": "other", "other": "DuckDB"}})
    first.response(id)
    before = call_in(first.updates(session))
    first.close()
    second = agent()
    second.initialize()
    (again,) = load(second, session, workspace)
    assert again.now["title"] == before.now["title"] == "Which database? Other: DuckDB"
    assert again.text == before.text == "Which database?\n\nAnswer: Other: DuckDB"
    assert again.now["rawOutput"] == before.now["rawOutput"]


def wait_until_stored(home: Home, session: str) -> None:
    """Until the call is on the disk, which nothing on the wire tells."""
    store = Store(locate.store_file(str(home.path)))

    def stored() -> bool:
        return any(isinstance(entry, CallMade) for entry in entries.read(store, session))

    await_files(home.path, stored, "the call to be stored")


@pytest.mark.parametrize(
    ("capabilities", "prompt", "method"),
    [(FORMS, "form", ELICIT), ({}, "choice", PERMISSION)],
    ids=["form", "choice"],
)
def test_killed_while_a_question_is_open(
    agent: StartAgent, home: Home, workspace: Path, capabilities: Message, prompt: str, method: str
) -> None:
    home.use_script(SCRIPT)
    first = agent(exit_code=None)
    first.initialize(capabilities)
    session = first.new_session(workspace)
    first.start_prompt(session, prompt)
    first.expect_request(method)
    wait_until_stored(home, session)
    first.process.signal(9)
    assert first.process.ended.wait(PATIENCE)
    second = agent()
    second.initialize(capabilities)
    (call,) = load(second, session, workspace)
    assert call.status == "failed"
    assert "Which database?" in str(call.now["rawInput"])
    id = second.start_prompt(session, prompt)
    question = second.expect_request(method)
    if method == ELICIT:
        second.reply(question, {"action": "accept", "content": {"choice": "pg"}})
    else:
        second.decide(question, "q1:1")
    assert second.response(id)["result"] == {"stopReason": "end_turn"}
