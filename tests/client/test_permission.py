"""How questions of the agent are answered."""

from __future__ import annotations

import json
import sys
import threading

import pytest

from acpagent.client.faults import AgentFault

ALL = ["allow_always", "allow_once", "reject_always", "reject_once"]
CANCELLED = {"outcome": {"outcome": "cancelled"}}


def selected(option):
    return {"outcome": {"outcome": "selected", "optionId": option}}


def asked(client, **wish):
    """How the question was answered, as the agent saw it."""
    turn = client.open("/tmp").prompt(json.dumps({"options": ALL} | wish))
    assert turn.wait(60) == "end_turn"
    return json.loads(turn.text)


def fails(request):
    raise ValueError("the dialog broke")


@pytest.mark.parametrize(
    "callback",
    [None, fails, lambda _: None, lambda _: "made up", lambda _: True, lambda _: ["allow_once"]],
    ids=["none", "raises", "returns None", "unknown id", "True", "list"],
)
@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (ALL, selected("reject_once")),
        (["allow_once", "reject_always"], selected("reject_always")),
        (["allow_once"], CANCELLED),
        ([], CANCELLED),
    ],
    ids=["once", "always", "no reject", "nothing"],
)
def test_without_a_usable_decision_the_answer_is_no(launch, callback, options, answer):
    assert asked(launch("asks", permission=callback), options=options) == answer


@pytest.mark.parametrize("option", ALL)
def test_the_callback_decides(launch, option):
    assert asked(launch("asks", permission=lambda _: option)) == selected(option)


def test_the_callback_sees_what_it_is_about(launch):
    seen = []

    def decide(request):
        seen.append(request)
        assert threading.current_thread() is not threading.main_thread()
        return request.option("allow_once")

    assert asked(launch("asks", permission=decide)) == selected("allow_once")
    (request,) = seen
    assert request.title == "Write a file"
    assert request.tool_call["toolCallId"] == "c1"
    assert [(option.id, option.kind, option.allows) for option in request.options] == [
        (kind, kind, kind.startswith("allow")) for kind in ALL
    ]
    assert request.option("no such kind") is None
    assert request.session.cwd == "/tmp"
    assert not request.withdrawn.is_set()


def test_a_question_can_be_closed_unanswered(launch):
    def decide(request):
        request.cancel()
        return "allow_once"

    assert asked(launch("asks", permission=decide)) == CANCELLED


def test_a_slow_person_holds_nothing_up(launch):
    thinking, decided = threading.Event(), threading.Event()

    def decide(request):
        thinking.set()
        assert decided.wait(60)
        return "allow_once"

    client = launch("asks", permission=decide)
    turn = client.open("/tmp").prompt(json.dumps({"options": ALL}))
    assert thinking.wait(60)
    assert client.open("/tmp").id == "s2"
    assert turn.next_update(60).begins
    decided.set()
    assert turn.wait(60) == "end_turn"
    assert json.loads(turn.text) == selected("allow_once")


def test_cancelling_the_turn_answers_its_question(launch):
    thinking, done = threading.Event(), threading.Event()

    def decide(request):
        thinking.set()
        assert request.withdrawn.wait(60)
        done.set()
        return "allow_once"  # too late, and dropped

    client = launch("asks", permission=decide)
    turn = client.open("/tmp").prompt(json.dumps({"options": ALL}))
    assert thinking.wait(60)
    turn.cancel()
    assert turn.wait(60) == "end_turn"
    assert turn.text == "cancel " + json.dumps(CANCELLED)  # first the cancel, then the answer
    assert done.wait(60)
    assert client.call("session/list", {})["sessions"]


def test_a_question_that_crosses_the_cancel_is_answered_cancelled(launch):
    client = launch("asks", permission=lambda _: "allow_once")
    session = client.open("/tmp")
    with session.changed:  # so that the question cannot come in between
        turn = session.prompt(json.dumps({"options": ALL}))
        turn.cancel()
    assert turn.wait(60) == "end_turn"
    assert turn.text.replace("cancel ", "") == json.dumps(CANCELLED)


def test_a_question_taken_back_is_answered_cancelled(launch):
    withdrawn = threading.Event()

    def decide(request):
        if request.withdrawn.wait(60):
            withdrawn.set()
        return "allow_once"

    assert asked(launch("asks", permission=decide), withdraw=True) == CANCELLED
    assert withdrawn.wait(60)


def test_questions_are_withdrawn_when_the_agent_ends(launch):
    thinking, withdrawn = threading.Event(), threading.Event()

    def decide(request):
        thinking.set()
        if request.withdrawn.wait(60):
            withdrawn.set()

    client = launch("asks", permission=decide)
    client.open("/tmp").prompt(json.dumps({"options": ALL}))
    assert thinking.wait(60)
    client.close()
    assert withdrawn.wait(60)


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        ({"method": "fs/read_text_file"}, -32601),
        ({"method": "_vendor/thing"}, -32601),
        ({"params": {"sessionId": "other", "options": [], "toolCall": {}}}, -32002),
        ({"params": {"sessionId": "s1", "options": 3}}, -32602),
        ({"params": {}}, -32602),
    ],
)
def test_what_cannot_be_answered_is_refused(launch, wish, code):
    assert asked(launch("asks", permission=lambda _: "allow_once"), **wish)["code"] == code


def refuses(params):
    raise AgentFault(-32002, "no such file", {"uri": params["uri"]})


@pytest.mark.parametrize(
    ("handler", "answer"),
    [
        (lambda params: {"content": params["uri"]}, {"content": "x"}),
        (refuses, {"code": -32002, "message": "no such file", "data": {"uri": "x"}}),
        (fails, {"code": -32603, "message": "the client's handler failed (ValueError)"}),
    ],
    ids=["answers", "refuses", "fails"],
)
def test_further_methods_have_handlers(launch, handler, answer):
    client = launch("asks", handlers={"_vendor/read": handler})
    assert asked(client, method="_vendor/read", params={"uri": "x"}) == answer


def test_a_handlers_request_taken_back_is_refused(launch):
    go = threading.Event()
    client = launch("asks", handlers={"_vendor/read": lambda _: go.wait(60)})
    answer = asked(client, method="_vendor/read", withdraw=True)
    go.set()
    assert answer == {"code": -32800, "message": "cancelled"}


def test_decision_and_cancel_at_once_give_one_answer(launch):
    """The toy would die of a second answer."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        gate = threading.Barrier(2)

        def decide(request):
            gate.wait(60)
            return "allow_once"

        client = launch("asks", permission=decide)
        session = client.open("/tmp")
        answers = set()
        for _ in range(100):
            turn = session.prompt(json.dumps({"options": ALL}))
            gate.wait(60)
            turn.cancel()
            assert turn.wait(60) == "end_turn"
            answers.add(turn.text.replace("cancel ", ""))
    finally:
        sys.setswitchinterval(interval)
    assert answers <= {json.dumps(CANCELLED), json.dumps(selected("allow_once"))}
    assert client.call("session/list", {})["sessions"]
