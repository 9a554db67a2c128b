"""Forms of every kind of field as the protocol spells them, and what each answer to them means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acpagent.acp.v1 import elicit
from acpagent.core.forms import Answer, Field, Form, Option
from acpagent.core.toolcalls import ToolCall
from acpagent.wire import pending
from acpagent.wire.schema import bundle

CALL = ToolCall("call_1", "ask", "Ask", "other", "in_progress")
OPTIONS = (Option("a", "Apples", "red"), Option("b", "Pears"), Option("done", "Plums"))
CHOICE = Field("one", "choice", "Which one?", "About one", OPTIONS)
MULTI = Field("many", "multi", "Which?", options=OPTIONS, required=False)
TEXT = Field("words", "text", "Words", required=False, least=1, most=9)
SURE = Field("sure", "boolean", "Sure?", required=False)
FORM = Form(
    "Say",
    (CHOICE, MULTI, TEXT, Field("size", "number", "Size", least=0), Field("count", "integer", "Count"), SURE),
    CALL,
)


def chosen(id: Any) -> pending.Answer:
    return pending.Answer({"outcome": {"outcome": "selected", "optionId": id}})


def fill(action: Any, **more: Any) -> pending.Answer:
    return pending.Answer({"action": action, **more})


def test_ELI_02_ELI_03_every_kind_of_field() -> None:
    params = elicit.form_params(FORM)
    sent = {"sessionId": "s1", **params}
    assert bundle().check_params("client", "elicitation/create", sent) == []
    assert (params["mode"], params["message"], params["toolCallId"]) == ("form", "Say", "call_1")
    titled = [
        {"const": "a", "title": "Apples", "description": "red"},
        {"const": "b", "title": "Pears"},
        {"const": "done", "title": "Plums"},
    ]
    assert params["requestedSchema"] == {
        "type": "object",
        "properties": {
            "one": {"type": "string", "title": "Which one?", "description": "About one", "oneOf": titled},
            "many": {"type": "array", "title": "Which?", "items": {"anyOf": titled}},
            "words": {"type": "string", "title": "Words", "minLength": 1, "maxLength": 9},
            "size": {"type": "number", "title": "Size", "minimum": 0},
            "count": {"type": "integer", "title": "Count"},
            "sure": {"type": "boolean", "title": "Sure?"},
        },
        "required": ["one", "size", "count"],
    }


@pytest.mark.parametrize(
    ("answer", "kind", "reason"),
    [
        (fill("accept", content={"one": "a"}), "accept", ""),
        (fill("accept", content={"one": "z"}), "nobody", "one is none of the choices"),
        (fill("accept", content={}), "nobody", "one was left out"),
        (fill("accept", content=None), "nobody", "one was left out"),
        (fill("accept"), "nobody", "one was left out"),
        (fill("accept", content=["one"]), "nobody", "the answer is no filled-in form"),
        (fill("decline"), "decline", ""),
        (fill("decline", content={"one": "a"}), "decline", ""),
        (fill("cancel"), "cancel", ""),
        (fill("postpone"), "nobody", "the answer names nothing that was offered"),
        (fill([]), "nobody", "the answer names nothing that was offered"),
        (pending.Answer({}), "nobody", "the answer names nothing that was offered"),
        (pending.Answer(None), "nobody", "the answer names nothing that was offered"),
        (pending.Answer("accept"), "nobody", "the answer names nothing that was offered"),
        (
            pending.Answer(error={"code": -32602, "message": "?"}),
            "nobody",
            "the client answered with an error (-32602)",
        ),
        (pending.Answer(lost=True), "closed", ""),
    ],
)
def test_ELI_05_ELI_06_ELI_11_what_an_answer_means(answer: pending.Answer, kind: str, reason: str) -> None:
    got = elicit.form_answer(Form("Say", (CHOICE,)), answer)
    assert (got.kind, got.reason) == (kind, reason)
    assert got.values == ({"one": "a"} if kind == "accept" else {})


class Client:
    """Answers permission requests with what it is given, and keeps them."""

    def __init__(self, *answers: pending.Answer | str) -> None:
        self._answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def __call__(self, params: dict[str, Any]) -> pending.Answer:
        assert bundle().check_params("client", "session/request_permission", {"sessionId": "s1", **params}) == []
        self.asked.append(params)
        answer = self._answers.pop(0)
        return chosen(answer) if isinstance(answer, str) else answer

    def ask(self, *fields: Field) -> Answer:
        answer = elicit.by_choices(Form("What?", fields, CALL), self)
        assert not self._answers, "not asked as often"
        return answer

    def offered(self, number: int = 0) -> list[tuple[str, str, str]]:
        options = self.asked[number]["options"]
        return [(option["optionId"], option["name"], option["kind"]) for option in options]


def test_a_choice_is_a_permission_request_on_the_real_call() -> None:
    client = Client("q1:b")
    assert client.ask(CHOICE) == Answer("accept", {"one": "b"})
    call = client.asked[0]["toolCall"]
    assert (call["toolCallId"], call["title"], call["status"]) == ("call_1", "What?", "in_progress")
    assert call["content"][0]["content"]["text"] == "About one\n\nWhat?"
    assert client.offered() == [
        ("q1:a", "Apples - red", "allow_once"),
        ("q1:b", "Pears", "allow_once"),
        ("q1:done", "Plums", "allow_once"),
        ("skip", "Skip this question", "reject_once"),
    ]


def test_questions_come_one_after_another() -> None:
    client = Client("q1:a", "skip", "q3:yes")
    assert client.ask(CHOICE, MULTI, TEXT, SURE) == Answer("accept", {"one": "a", "sure": True})
    assert [params["toolCall"]["title"] for params in client.asked] == ["Which one?", "Which?", "Sure?"]
    assert Client("q1:no").ask(SURE) == Answer("accept", {"sure": False})


def test_several_are_chosen_one_after_another() -> None:
    client = Client("q1:done", "q1:a", "done")
    assert client.ask(MULTI) == Answer("accept", {"many": ("a", "done")})
    assert [id for id, _, _ in client.offered(0)] == ["q1:a", "q1:b", "q1:done", "skip"]
    assert [id for id, _, _ in client.offered(1)] == ["q1:a", "q1:b", "done", "skip"]
    assert client.offered(2)[1] == ("done", "Done: Plums, Apples", "allow_once")
    assert "Chosen so far: Plums" in client.asked[1]["toolCall"]["content"][0]["content"]["text"]


def test_when_all_are_chosen_nothing_is_left_to_ask() -> None:
    assert Client("q1:a", "q1:b", "q1:done").ask(MULTI) == Answer("accept", {"many": ("a", "b", "done")})


def test_skipping_drops_what_was_chosen() -> None:
    assert Client("q1:a", "skip").ask(MULTI) == Answer("accept", {})


CLOSED = pending.Answer({"outcome": {"outcome": "cancelled"}})
REFUSED = pending.Answer(error={"code": -32601, "message": "?"})


@pytest.mark.parametrize(
    ("answer", "kind", "values"),
    [
        (CLOSED, "closed", {}),
        (pending.Answer(lost=True), "closed", {}),
        (REFUSED, "nobody", {"one": "a"}),
        (pending.Answer({}), "nobody", {"one": "a"}),
        (pending.Answer(None), "nobody", {"one": "a"}),
        (pending.Answer({"outcome": "selected"}), "nobody", {"one": "a"}),
        (chosen("q1:a"), "nobody", {"one": "a"}),
        (chosen("done"), "nobody", {"one": "a"}),
        (chosen(None), "nobody", {"one": "a"}),
        (chosen(["skip"]), "nobody", {"one": "a"}),
    ],
)
def test_PERM_05_PERM_06_what_ends_the_questions(answer: pending.Answer, kind: str, values: dict[str, str]) -> None:
    got = Client("q1:a", answer).ask(CHOICE, MULTI)
    assert (got.kind, got.values) == (kind, values)


@pytest.mark.parametrize(
    "ask", [lambda form: elicit.by_choices(form, Client()), lambda form: Client().ask(*form.fields)]
)
def test_what_cannot_be_asked_by_choices(ask: Callable[[Form], Answer]) -> None:
    must_type = Form("Say", (CHOICE, Field("words", "text", "Words")))
    assert ask(must_type).kind == "nobody"
