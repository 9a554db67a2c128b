"""How an agent's forms are answered."""

from __future__ import annotations

import json
import threading

import pytest

from acpagent.client.questions import FormField

CHOICE = {"type": "string", "title": "Pick", "oneOf": [{"const": "a", "title": "Apples"}, {"const": "b", "title": "B"}]}
FORM = {"type": "object", "properties": {"pick": CHOICE, "words": {"type": "string"}}, "required": ["pick"]}
CANCEL, DECLINE = {"action": "cancel"}, {"action": "decline"}


def asked(client, **wish):
    """How the form was answered, as the agent saw it."""
    turn = client.open("/tmp").prompt(json.dumps({"form": FORM} | wish))
    assert turn.wait(60) == "end_turn"
    return json.loads(turn.text)


def accepted(**content):
    return {"action": "accept", "content": content}


def fails(request):
    raise ValueError("the dialog broke")


@pytest.mark.parametrize(
    ("returned", "answer"),
    [
        ({"pick": "a"}, accepted(pick="a")),
        ({"pick": "a", "words": None}, accepted(pick="a")),
        ({"pick": ("a", "b"), "n": 1, "x": 0.5, "sure": False}, accepted(pick=["a", "b"], n=1, x=0.5, sure=False)),
        ({}, accepted()),
        (None, DECLINE),
        (False, DECLINE),
        ("a", DECLINE),
        ({"pick": object()}, DECLINE),
        ({"pick": [1]}, DECLINE),
        ({"pick": float("nan")}, DECLINE),
        ({1: "a"}, DECLINE),
    ],
)
def test_what_the_callback_returns_is_the_answer(launch, returned, answer):
    assert asked(launch("asks", question=lambda _: returned)) == answer


def test_a_callback_that_raises_closes_the_form(launch):
    assert asked(launch("asks", question=fails)) == CANCEL


def test_a_form_can_be_closed(launch):
    def question(request):
        request.cancel()
        return {"pick": "a"}

    assert asked(launch("asks", question=question)) == CANCEL


def test_the_callback_sees_the_form(launch):
    seen = []

    def question(request):
        seen.append(request)
        assert threading.current_thread() is not threading.main_thread()
        return {"pick": "b"}

    assert asked(launch("asks", question=question)) == accepted(pick="b")
    (request,) = seen
    assert (request.message, request.tool_call_id, request.session.cwd) == ("Which?", "c1", "/tmp")
    pick, words = request.fields
    assert (pick.name, pick.kind, pick.title, pick.required) == ("pick", "choice", "Pick", True)
    assert [(option.id, option.title) for option in pick.options] == [("a", "Apples"), ("b", "B")]
    assert (words.name, words.kind, words.title, words.required, words.options) == ("words", "text", "words", False, [])


@pytest.mark.parametrize(
    ("schema", "kind", "options"),
    [
        ({"type": "string", "enum": ["x", "y"]}, "choice", ["x", "y"]),
        ({"type": "string", "oneOf": [{"const": "x", "title": "X"}, {"title": "no const"}]}, "choice", ["x"]),
        ({"type": "array", "items": {"type": "string", "enum": ["x"]}}, "multi", ["x"]),
        ({"type": "array", "items": {"anyOf": [{"const": "x", "title": "X"}]}}, "multi", ["x"]),
        ({"type": "array"}, "multi", []),
        ({"type": "number"}, "number", []),
        ({"type": "integer"}, "integer", []),
        ({"type": "boolean"}, "boolean", []),
        ({"type": "colour"}, "text", []),
        ({"type": 3, "enum": 3, "oneOf": 3, "title": 3}, "text", []),
        ({}, "text", []),
    ],
)
def test_every_kind_of_field(schema, kind, options):
    field = FormField("f", schema, False)
    assert (field.kind, [option.id for option in field.options]) == (kind, options)


def test_ELI_01_forms_are_offered_with_a_callback_only(launch, tmp_path):
    log = tmp_path / "log"
    for options, offered in (
        ({}, {}),
        ({"question": lambda _: None}, {"elicitation": {"form": {}}}),
        (
            {"question": lambda _: None, "capabilities": {"elicitation": {"url": {}}, "x": 1}},
            {"elicitation": {"url": {}, "form": {}}, "x": 1},
        ),
    ):
        log.write_text("")
        launch("asks", env={"TOY_LOG": str(log)}, **options)
        first = json.loads(log.read_text().splitlines()[0])
        assert first["params"]["clientCapabilities"] == offered


def test_without_a_callback_there_is_no_such_method(launch):
    assert asked(launch("asks"))["code"] == -32601


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"mode": "url", "url": "https://x", "elicitationId": "e", "sessionId": "s1", "message": ""}, -32602),
        ({"sessionId": "s1", "message": "", "requestedSchema": FORM}, -32602),
        ({"mode": "form", "sessionId": "s1", "message": ""}, -32602),
        ({"mode": "form", "sessionId": "other", "message": "", "requestedSchema": FORM}, -32002),
        ({"mode": "form", "message": "", "requestedSchema": FORM}, -32002),
        ({}, -32602),
    ],
)
def test_what_cannot_be_asked_is_refused(launch, params, code):
    client = launch("asks", question=lambda _: {})
    turn = client.open("/tmp").prompt(json.dumps({"method": "elicitation/create", "params": params}))
    assert turn.wait(60) == "end_turn"
    assert json.loads(turn.text)["code"] == code


def test_a_question_of_no_session_is_answered(launch):
    sessions = []
    client = launch("asks", question=lambda request: sessions.append(request.session))
    params = {"mode": "form", "requestId": 1, "message": "", "requestedSchema": FORM}
    turn = client.open("/tmp").prompt(json.dumps({"method": "elicitation/create", "params": params}))
    assert turn.wait(60) == "end_turn"
    assert json.loads(turn.text) == DECLINE
    assert sessions == [None]


def test_a_handler_of_the_program_wins(launch):
    client = launch("asks", question=lambda _: {}, handlers={"elicitation/create": lambda _: DECLINE})
    assert asked(client) == DECLINE


def test_ELI_10_a_form_taken_back_is_closed(launch):
    withdrawn = threading.Event()

    def question(request):
        if request.withdrawn.wait(60):
            withdrawn.set()
        return {"pick": "a"}

    assert asked(launch("asks", question=question), withdraw=True) == CANCEL
    assert withdrawn.wait(60)


def test_cancelling_the_turn_closes_its_form(launch):
    thinking = threading.Event()

    def question(request):
        thinking.set()
        assert request.withdrawn.wait(60)
        return {"pick": "a"}  # too late, and dropped

    turn = launch("asks", question=question).open("/tmp").prompt(json.dumps({"form": FORM}))
    assert thinking.wait(60)
    turn.cancel()
    assert turn.wait(60) == "end_turn"
    assert turn.text == "cancel " + json.dumps(CANCEL)  # first the cancel, then the answer


def test_a_form_that_crosses_the_cancel_is_closed(launch):
    session = launch("asks", question=lambda _: {"pick": "a"}).open("/tmp")
    with session.changed:  # so that the form cannot come in between
        turn = session.prompt(json.dumps({"form": FORM}))
        turn.cancel()
    assert turn.wait(60) == "end_turn"
    assert turn.text.replace("cancel ", "") == json.dumps(CANCEL)
