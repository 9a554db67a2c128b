"""What the model may ask, and what it is told of the answer."""

from __future__ import annotations

from typing import Any

import pytest

from acpagent.core.forms import Answer, Form, Option
from acpagent.core.toolcalls import Effect, is_harmless
from acpagent.toolbox.registry import Registry, builtin_tools

DATABASES = [
    {"id": "pg", "label": "PostgreSQL", "description": "A server"},
    {"id": "lite", "label": "SQLite"},
]
WHICH = {"question": "Which database?", "options": DATABASES}
PLAIN = [{"label": "PostgreSQL", "description": "A server"}, {"label": "SQLite"}]
ASKED = {"header": "Database", "question": "Which database?", "options": PLAIN}


@pytest.fixture(params=["form", "choice"])
def asks(request, bench):
    """A bench with the tool that asks this way."""
    bench.registry = Registry(builtin_tools(asks=request.param))
    return request.param


@pytest.fixture
def form(bench):
    bench.registry = Registry(builtin_tools(asks="form"))
    return bench


@pytest.fixture
def choice(bench):
    bench.registry = Registry(builtin_tools(asks="choice"))
    return bench


def answered(bench: Any, tool: str, answer: Answer, **arguments: Any) -> tuple[Any, Form]:
    """The result of a call whose question is answered so, and what was asked."""
    asked: list[Form] = []

    def question(form: Form) -> Answer:
        asked.append(form)
        return answer

    ctx = bench.context()
    ctx.question = question
    result = bench.apply(tool, bench.prepare(tool, ctx, **arguments), ctx)
    return result, asked[0]


def accept(**values: Any) -> Answer:
    return Answer("accept", values)


def test_a_question_changes_nothing_and_runs_beside_nothing(form):
    tool = form.registry.get("ask_user")
    assert is_harmless(tool)
    assert not tool.reads_only
    proposal = form.prepare("ask_user", **WHICH)
    assert proposal.effects == (Effect("question"),)
    assert (proposal.title, proposal.kind) == ("Ask: Which database?", "other")
    assert proposal.note == "Which database?\n\n- PostgreSQL: A server\n- SQLite"


def test_one_question(form):
    result, asked = answered(form, "ask_user", accept(choice="pg"), **WHICH)
    assert asked.message == "Which database?"
    (field,) = asked.fields
    assert (field.name, field.kind, field.title, field.required) == ("choice", "choice", "Choose one", True)
    assert field.options == (Option("pg", "PostgreSQL", "A server"), Option("lite", "SQLite"))
    assert result.text == "User selected: PostgreSQL (pg)"
    assert result.title == "Which database? PostgreSQL"
    assert [block.text for block in result.content] == ["Which database?\n\nAnswer: PostgreSQL"]
    selected = [{"id": "pg", "label": "PostgreSQL"}]
    assert result.raw == {"status": "answered", "answers": [{"question": "Which database?", "selected": selected}]}
    assert not result.failed


def test_own_words(form):
    result, asked = answered(form, "ask_user", accept(choice="other", other=" DuckDB\n"), **WHICH, allowOther=True)
    choice, words = asked.fields
    assert choice.options[-1] == Option("other", "Other")
    assert (words.name, words.kind, words.required) == ("other", "text", False)
    assert result.text == "User selected: Other (other)\nUser wrote: DuckDB"
    assert result.title == "Which database? Other: DuckDB"
    assert result.raw["answers"][0]["other"] == "DuckDB"


def test_own_words_count_with_other_only(form):
    result, _ = answered(form, "ask_user", accept(choice="pg", other="DuckDB"), **WHICH, allowOther=True)
    assert result.text == "User selected: PostgreSQL (pg)"
    assert "other" not in result.raw["answers"][0]


def test_several_may_be_chosen(form):
    result, asked = answered(form, "ask_user", accept(choice=("pg", "lite")), **WHICH, multiSelect=True)
    assert (asked.fields[0].kind, asked.fields[0].title) == ("multi", "Choose any")
    assert result.text == "User selected: PostgreSQL (pg), SQLite (lite)"
    result, _ = answered(form, "ask_user", accept(choice=()), **WHICH, multiSelect=True)
    assert result.text == "User selected none of them"
    assert result.title == "Which database? None of them"


def test_several_questions(form):
    when = {"question": "When?", "options": [{"id": "now", "label": "Now"}, {"id": "later", "label": "Later"}]}
    answer = accept(choice_1="lite", choice_2="now")
    result, asked = answered(form, "ask_user", answer, questions=[WHICH, {**when, "allowOther": True}])
    assert asked.message == "2 questions"
    assert [field.name for field in asked.fields] == ["choice_1", "choice_2", "other_2"]
    assert [field.title for field in asked.fields] == ["Which database?", "When?", "Other details"]
    assert result.text == "Which database?\nUser selected: SQLite (lite)\n\nWhen?\nUser selected: Now (now)"
    assert result.title == "2 questions: SQLite; Now"


def test_the_one_of_questions_is_asked_as_one_question(form):
    _, asked = answered(form, "ask_user", accept(choice="pg"), questions=[WHICH])
    assert (asked.message, asked.fields[0].name) == ("Which database?", "choice")


def test_choices_are_told_by_their_labels(choice):
    result, asked = answered(choice, "ask", accept(choice_1="2"), questions=[ASKED])
    assert asked.message == "Which database?"
    assert [option.id for option in asked.fields[0].options] == ["1", "2"]
    assert asked.fields[0].description == "Database"
    assert result.text == "User selected: SQLite"


def test_a_skipped_question_is_an_answer(choice):
    result, asked = answered(choice, "ask", accept(choice_2="1"), questions=[ASKED, {**ASKED, "question": "Sure?"}])
    assert [field.title for field in asked.fields] == ["Which database?", "Sure?"]
    assert result.text == "Which database?\nUser skipped this question\n\nSure?\nUser selected: PostgreSQL"
    assert result.title == "2 questions: Skipped.; PostgreSQL"
    assert [one["selected"] for one in result.raw["answers"]] == [None, [{"id": "1", "label": "PostgreSQL"}]]


@pytest.mark.parametrize(
    ("kind", "status", "words"),
    [
        ("decline", "declined", "declined to answer. Do not ask the same again"),
        ("cancel", "cancelled", "dismissed the question without an answer. Do not ask the same again"),
        ("nobody", "unavailable", "no usable answer: it is late. Take it that nobody is there. Do not ask again"),
    ],
)
def test_no_answer_is_told_and_is_no_failure(form, kind, status, words):
    result, _ = answered(form, "ask_user", Answer(kind, reason="it is late"), **WHICH)
    assert words in result.text
    assert not result.failed
    assert result.raw["status"] == status
    assert result.raw["answers"][0]["selected"] is None


def test_what_was_answered_before_nobody_was_there_is_kept(choice):
    answer = Answer("nobody", {"choice_1": "1"}, "it is late")
    result, _ = answered(choice, "ask", answer, questions=[ASKED, ASKED])
    assert result.text.startswith(
        "Which database?\nUser selected: PostgreSQL\n\nThere is no usable answer: it is late."
    )
    assert result.title == "2 questions: PostgreSQL; Nobody answered."


def test_where_questions_cannot_be_shown(form):
    assert "no usable answer" in form.call("ask_user", **WHICH).text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "question and options are missing"),
        ({"question": "What?"}, "question and options are missing"),
        ({**WHICH, "questions": [WHICH]}, "Give either"),
        ({"questions": [WHICH] * 5}, "1 to 4"),
        ({"question": "Which?", "options": DATABASES[:1]}, "2 to 5 options"),
        ({"question": "Which?", "options": [{"id": f"o{n}", "label": "x"} for n in range(6)]}, "2 to 5 options"),
        ({"question": " \n", "options": DATABASES}, "question must have 1 to 500"),
        ({"question": "x" * 501, "options": DATABASES}, "question must have 1 to 500"),
        ({"question": "x", "options": [{"id": "a", "label": "x" * 121}, *DATABASES]}, "label must have 1 to 120"),
        (
            {"question": "x", "options": [{"id": "a", "label": "x", "description": "y" * 301}, *DATABASES]},
            "description must have 0 to 300",
        ),
        ({"question": "x", "options": [DATABASES[0]] * 2}, "ids of options must differ"),
        ({"question": "x", "options": [{"id": "1", "label": "x"}, *DATABASES]}, "each is a letter"),
        ({"question": "x", "options": [{"id": "other", "label": "x"}, *DATABASES], "allowOther": True}, "leave out"),
    ],
)
def test_what_cannot_be_asked_in_a_form(form, arguments, words):
    assert words in form.refusal("ask_user", **arguments)


@pytest.mark.parametrize(
    ("questions", "words"),
    [
        ([], "1 to 3"),
        ([ASKED] * 4, "1 to 3"),
        ([{**ASKED, "options": PLAIN[:1]}], "2 to 5 options"),
        ([{**ASKED, "header": ""}], "header must have"),
        ([{"question": "x", "options": PLAIN}], "header is missing"),
    ],
)
def test_what_cannot_be_asked_by_choices(choice, questions, words):
    assert words in choice.refusal("ask", questions=questions)


def test_text_of_the_person_is_fit_to_keep(form):
    answer = accept(choice="other", other="a\x1b[31mb\ud800\x00c")
    result, _ = answered(form, "ask_user", answer, **WHICH, allowOther=True)
    assert result.raw["answers"][0]["other"] == "abc"
