"""Two peers back to back, without I/O. Each rule is tried in both directions: the class is the same."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.wire.messages import Notification, Request
from acpagent.wire.peer import Answered, Event, Peer, Refusal
from acpagent.wire.pending import Answer, Inbound, id_key


class Pair:
    """A caller and an answerer; what one makes is fed to the other."""

    def __init__(self, **options: Any) -> None:
        self.caller, self.answerer = Peer(**options), Peer(**options)
        self.answers: list[Answer] = []

    def call(self, method: str, params: Any = None) -> Request:
        _, line = self.caller.call(method, params, self.answers.append)
        assert line is not None
        (event,) = self.answerer.feed(line)
        assert isinstance(event, Request)
        return event

    def deliver(self, line: bytes) -> list[Event]:
        events = list(self.caller.feed(line))
        for event in events:
            if isinstance(event, Answered):
                event.call.on_answer(event.answer)
        return events


def test_call_and_answer() -> None:
    pair = Pair()
    request = pair.call("m", {"a": 1})
    assert (request.method, request.params) == ("m", {"a": 1})
    pair.deliver(pair.answerer.respond(request.id, {"b": 2}))
    (answer,) = pair.answers
    assert (answer.result, answer.error, answer.lost) == ({"b": 2}, None, False)


def test_call_and_error() -> None:
    pair = Pair()
    pair.deliver(pair.answerer.refuse(pair.call("m").id, -32602, "no", {"why": 1}))
    assert pair.answers[0].error == {"code": -32602, "message": "no", "data": {"why": 1}}


def test_notify() -> None:
    pair = Pair()
    (event,) = pair.answerer.feed(pair.caller.notify("n", [1]))
    assert isinstance(event, Notification)
    assert (event.method, event.params) == ("n", [1])


def test_absent_params_are_left_out() -> None:
    peer = Peer()
    assert json.loads(peer.notify("n")) == {"jsonrpc": "2.0", "method": "n"}
    line = peer.call("m", None, None)[1]
    assert line is not None
    assert "params" not in json.loads(line)


def test_a_request_is_answered_exactly_once() -> None:
    pair = Pair()
    request = pair.call("m")
    assert pair.answerer.owed() == 1
    pair.answerer.respond(request.id, 1)
    assert pair.answerer.owed() == 0
    with pytest.raises(RuntimeError, match="exactly once"):
        pair.answerer.respond(request.id, 2)
    with pytest.raises(RuntimeError, match="exactly once"):
        pair.answerer.refuse(request.id, 1, "x")


def test_of_racing_answers_one_wins() -> None:
    for _ in range(200):
        pair = Pair()
        id = pair.call("m").id
        start, won = threading.Barrier(2), []

        def answer(value: int, pair: Pair = pair, id: Any = id, start: Any = start, won: Any = won) -> None:
            start.wait()
            try:
                won.append(pair.answerer.respond(id, value))
            except RuntimeError:
                pass

        racers = [threading.Thread(target=answer, args=(number,)) for number in range(2)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        assert len(won) == 1


def test_an_answer_that_cannot_be_encoded_leaves_the_request_answerable() -> None:
    pair = Pair()
    request = pair.call("m")
    with pytest.raises(ValueError, match="JSON"):
        pair.answerer.respond(request.id, float("nan"))
    pair.deliver(pair.answerer.refuse(request.id, -32603, "failed"))
    assert pair.answers[0].error is not None


def test_check_sees_every_message_with_its_method() -> None:
    seen: list[tuple[str | None, list[str]]] = []
    pair = Pair(check=lambda message, method: seen.append((method, sorted(message))))
    pair.answerer.respond(pair.call("asked").id, 1)
    pair.caller.notify("told")
    list(pair.caller.feed(b"junk\n"))
    assert seen == [
        ("asked", ["id", "jsonrpc", "method"]),
        ("asked", ["id", "jsonrpc", "result"]),
        ("told", ["jsonrpc", "method"]),
        (None, ["error", "id", "jsonrpc"]),
    ]


def test_a_call_that_fails_the_check_is_not_pending() -> None:
    def check(message: dict[str, Any], method: str | None) -> None:
        raise LookupError(method)

    peer = Peer(check=check)
    with pytest.raises(LookupError):
        peer.call("m", None, None)
    assert list(peer.eof()) == []


def test_eof_loses_what_is_pending_after_the_last_line() -> None:
    pair = Pair()
    first, second = pair.call("first"), pair.call("second")
    assert list(pair.caller.feed(pair.answerer.respond(second.id, 2).rstrip())) == []
    events = list(pair.caller.eof())
    assert [(event.call.id, event.answer.lost) for event in events if isinstance(event, Answered)] == [
        (second.id, False),
        (first.id, True),
    ]
    assert pair.caller.call("third", None, lambda answer: None)[1] is None
    id, line = pair.caller.call("fourth", None, None)  # nobody waits for its answer: it may still be of use
    assert line is not None
    assert json.loads(line)["id"] == id


def test_abandoning() -> None:
    pair, late = Pair(), []
    dropped, kept, lost = pair.call("a"), pair.call("b"), pair.call("c")
    assert pair.caller.abandon(dropped.id)
    assert pair.caller.abandon(kept.id, late.append)
    assert pair.caller.abandon(lost.id, late.append)
    pair.deliver(pair.answerer.respond(dropped.id, 1))
    pair.deliver(pair.answerer.respond(kept.id, 2))
    assert [answer.result for answer in late] == [2]
    assert not pair.answers
    assert list(pair.caller.eof()) == []
    assert not pair.caller.abandon(kept.id)


def test_what_nobody_waits_for_is_not_remembered() -> None:
    """Some peers never answer what was withdrawn."""
    pair, late = Pair(), []
    asked = [pair.call("a") for _ in range(3)]
    assert pair.caller.call("b", None, None)[1] is not None
    assert len(pair.caller._outbound) == 3
    assert pair.caller.abandon(asked[0].id)
    assert pair.caller.abandon(asked[1].id, late.append)
    assert len(pair.caller._outbound) == 2
    assert not pair.caller.abandon(asked[0].id)
    assert pair.deliver(pair.answerer.respond(asked[0].id, 1)) == []
    for request in asked[1:]:
        pair.deliver(pair.answerer.respond(request.id, 1))
    assert len(pair.caller._outbound) == 0
    assert (len(late), len(pair.answers)) == (1, 1)


def test_a_refused_line_says_why_and_echoes_nothing() -> None:
    peer = Peer(limit=200)
    lines = [b'{"jsonrpc":"canary","id":1,"method":"m"}', b'"canary"', b"[canary", b"canary" * 100]
    refusals = list(peer.feed(b"\n".join(lines) + b"\n"))
    assert [type(refusal) for refusal in refusals] == [Refusal] * 4
    assert all(isinstance(refusal, Refusal) and b"canary" not in refusal.data for refusal in refusals)


ids = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.lists(st.none())


@given(ids, ids)
def test_id_keys_tell_json_types_apart(one: Any, other: Any) -> None:
    alike = type(one) is type(other) and (one == other or type(one) is list)
    assert (id_key(one) == id_key(other)) == alike


def test_can_19_no_other_type_finds_a_request() -> None:
    inbound = Inbound()
    inbound.begin(1, "m")
    assert [inbound.method(id) for id in ("1", 1.0, True, None, [1], {}, 1)] == [None] * 6 + ["m"]


def test_trace_sees_what_came_in() -> None:
    seen: list[bytes] = []
    peer = Peer(trace=seen.append)
    list(peer.feed(b'junk\n{"jsonrpc":"2.0","method":"n"}\r\n'))
    assert seen == [b"junk", b'{"jsonrpc":"2.0","method":"n"}']
