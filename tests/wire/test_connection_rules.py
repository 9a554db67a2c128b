"""What every end of a connection must get right: the checks of transport and envelope by their ids."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.wire.ends import DriverEnd, End, Message, notification, request, response
from tests.wire.process_ends import AgentEnd, ClientEnd


@pytest.fixture(params=["pipes", "sockets", "agent", "client"])
def end(request: pytest.FixtureRequest, agents: list[AgentEnd], tmp_path: Path) -> Iterator[End]:
    """A driver, the agent's process, the client."""
    if request.param == "agent":
        yield from _agent_end(agents, tmp_path)
        return
    subject = ClientEnd(tmp_path) if request.param == "client" else DriverEnd(request.param)
    yield subject
    subject.finish()
    every_line_is_a_message(subject.lines)


@pytest.fixture(params=["pipes", "sockets"])
def driver_end(request: pytest.FixtureRequest) -> Iterator[DriverEnd]:
    """A driver with a receiver that can be made to do what no agent and no client does."""
    subject = DriverEnd(request.param)
    yield subject
    subject.finish()
    every_line_is_a_message(subject.lines)


@pytest.fixture(scope="module")
def agents() -> Iterator[list[AgentEnd]]:
    """The agent that tests use one after the other, because its start takes longer than they do."""
    kept: list[AgentEnd] = []
    yield kept
    for agent in kept:
        agent.finish()


def _agent_end(agents: list[AgentEnd], folder: Path) -> Iterator[AgentEnd]:
    subject = agents.pop() if agents else AgentEnd(folder)
    before = len(subject.lines)
    yield subject
    try:
        if not subject.closed:
            subject.settle()
            agents.append(subject)
    finally:
        if not agents:
            subject.finish()
    every_line_is_a_message(subject.lines[before:])


def every_line_is_a_message(lines: list[bytes]) -> None:
    """TRN-01, RPC-01 and RPC-16, for whatever a test made the subject say."""
    for line in lines:
        assert line.endswith(b"\n")
        assert len(line.decode("utf-8").splitlines()) == 1
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        if "method" not in message:
            assert "id" in message
            assert ("result" in message) != ("error" in message)
        if "error" in message:
            assert type(message["error"]["code"]) is int
            text = message["error"]["message"]
            assert isinstance(text, str)
            assert 0 < len(text) < 500
            assert "\n" not in text


def echoes(end: End, text: str, id: Any = "probe") -> str:
    """Send a request and give back what it repeats; fails if anything else comes first."""
    end.send(end.repeat(id, text))
    answer = end.message()
    assert answer["id"] == id
    return end.repeated(answer)


def error_of(message: Message) -> tuple[Any, int]:
    return message["id"], message["error"]["code"]


# -- transport


def test_TRN_01_every_line_is_one_message(end: End) -> None:
    end.send(end.repeat(1, "one") + request(2, "nothing") + b"junk\n" + notification("nothing"))
    assert [len(end.readline().splitlines()) for _ in range(3)] == [1] * 3


@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "a\u2028b\u2029c\x85d", "\x0b\x0c\x1c\x1d\x1e", "a\0b"])
def test_TRN_02_no_raw_line_break_inside_a_message(end: End, text: str) -> None:
    assert echoes(end, text) == text


def test_TRN_03_utf_8_both_ways(end: End) -> None:
    assert echoes(end, "日本語 🧪 é") == "日本語 🧪 é"


def test_TRN_07_five_mebibytes_in_one_line(end: End) -> None:
    text = "x" * (5 * 1024 * 1024)
    sender = threading.Thread(target=end.send, args=(end.repeat(1, text),))
    sender.start()
    answer = end.message()
    sender.join()
    assert end.repeated(answer) == text


@pytest.mark.parametrize("line_end", [b"\r\n", b"  \t\n", b"\n\n   \n\r\n\t\n"])
def test_TRN_08_carriage_returns_and_blanks(end: End, line_end: bytes) -> None:
    end.send(b"\n \n\r\n  " + end.repeat(1, "one").rstrip() + line_end)
    assert end.repeated(end.message()) == "one"
    assert echoes(end, "two") == "two"


def test_TRN_09_split_anywhere(end: End) -> None:
    for byte in end.repeat(1, "日🧪"):
        end.send(bytes([byte]))
    assert end.repeated(end.message()) == "日🧪"
    assert echoes(end, "two") == "two"


def test_TRN_10_several_messages_in_one_write(end: End) -> None:
    texts = [f"text {number}" for number in range(3)]
    end.send(b"".join(end.repeat(number, text) for number, text in enumerate(texts)))
    answers = [end.message() for _ in texts]
    if end.in_order:
        assert [answer["id"] for answer in answers] == [0, 1, 2]
    assert {answer["id"]: end.repeated(answer) for answer in answers} == dict(enumerate(texts))


def test_TRN_11_the_last_line_needs_no_newline(end: End) -> None:
    if isinstance(end, ClientEnd):  # with its agent gone it answers nobody, so what ends this way is an answer
        end.send(end.ask(1))
        end.send(response(end.message()["id"], result=end.yes()).rstrip(b"\n"))
        end.close()
        assert end.answers.get(timeout=60) == end.yes()
        return
    end.send(end.repeat(1, "one").rstrip(b"\n"))
    end.close()
    assert end.repeated(end.message()) == "one"


def test_TRN_15_answers_are_flushed(end: End) -> None:
    for number in range(3):
        assert echoes(end, str(number)) == str(number)


def test_TRN_16_concurrent_writers_never_interleave(driver_end: DriverEnd) -> None:
    def speak(name: str) -> None:
        for number in range(5000):
            driver_end.driver.notify(name, {"number": number, "pad": "é" * (number % 50)})

    speakers = [threading.Thread(target=speak, args=(name,)) for name in ("first", "second")]
    for speaker in speakers:
        speaker.start()
    numbers: dict[str, list[int]] = {"first": [], "second": []}
    for _ in range(10_000):
        message = driver_end.message()
        numbers[message["method"]].append(message["params"]["number"])
    for speaker in speakers:
        speaker.join()
    assert numbers == {"first": list(range(5000)), "second": list(range(5000))}


def test_TRN_16_answers_of_many_threads_never_interleave(end: End) -> None:
    """Of the client each answer is written by a thread of its own."""
    texts = {number: f"{number} " + "é" * (number % 700) for number in range(500)}
    data = b"".join(end.repeat(number, text) for number, text in texts.items())
    sender = threading.Thread(target=end.send, args=(data,))
    sender.start()
    answers = [end.message() for _ in texts]
    sender.join()
    assert {answer["id"]: end.repeated(answer) for answer in answers} == texts


def test_TRN_17_the_response_is_last(driver_end: DriverEnd) -> None:
    driver_end.send(request(1, "burst", {"count": 500}))
    assert [driver_end.message()["params"]["number"] for _ in range(500)] == list(range(500))
    assert driver_end.message()["result"] == "done"


@pytest.mark.parametrize("junk", [b"\xff", b'"\xed\xa0\x80"', b'{"jsonrpc":"2.0","id":1,"method":"\xc3"}'])
def test_TRN_20_bad_utf_8_is_a_parse_error(end: End, junk: bytes) -> None:
    end.send(junk + b"\n")
    assert error_of(end.message()) == (None, -32700)
    assert echoes(end, "one") == "one"


def test_TRN_20_a_lone_surrogate_comes_back_replaced(end: End) -> None:
    line = end.repeat(1, "@").replace(b'"@"', b'"a\\ud800b \\udc00 \\ud83e\\uddea"')
    end.send(line)
    assert end.repeated(end.message()) == "a\ufffdb \ufffd 🧪"


# -- the envelope


def test_RPC_01_a_response_is_result_or_error(end: End) -> None:
    end.send(end.repeat(1, "one") + request(2, "nothing", {"token": 1}))
    for _ in range(2):
        answer = end.message()
        assert answer.keys() <= {"jsonrpc", "id", "result", "error"}
        assert len(answer) == 3


@pytest.mark.parametrize("id", [0, 1, -7, "abc", "1", "", 9007199254740993, 2**70, 1.0])
def test_RPC_02_an_id_comes_back_as_it_was(end: End, id: Any) -> None:
    end.send(end.repeat(id, "one"))
    answer = end.message()
    assert (answer["id"], type(answer["id"])) == (id, type(id))
    assert end.repeated(answer) == "one"


def test_RPC_02_ids_of_different_types_are_different(end: End) -> None:
    end.send(end.hold(1) + end.hold("1") + end.hold(1.0))
    assert echoes(end, "none of them is answered") == "none of them is answered"
    end.release()
    answers = [end.message() for _ in range(3)]
    assert {type(answer["id"]): answer["id"] for answer in answers} == {int: 1, str: "1", float: 1.0}
    assert all("result" in answer for answer in answers)


@pytest.mark.parametrize("id", [True, 1.5, [], {"a": 1}])
def test_RPC_02_what_cannot_be_an_id(end: End, id: Any) -> None:
    end.send(end.repeat(id, "one"))
    assert error_of(end.message()) == (None, -32600)


def test_RPC_03_a_null_id_is_a_request(end: End) -> None:
    assert echoes(end, "one", id=None) == "one"


@pytest.mark.parametrize(
    "line",
    [b"{nope", b"[1,", b'{"jsonrpc":"2.0","id":1,"method":"echo","params":[NaN]}', b"[" * 100_000,
     b"1" * 5000, b'{"jsonrpc":"2.0","id":1,"method":"echo","params":[1e400]}', b"\xef\xbb\xbf{}", b"Infinity"],
)  # fmt: skip
def test_RPC_04_an_unparsable_line(end: End, line: bytes) -> None:
    end.send(line + b"\n")
    assert error_of(end.message()) == (None, -32700)
    assert echoes(end, "one") == "one"


@pytest.mark.parametrize(
    "line",
    [b"42", b'"x"', b"null", b"{}", b'{"jsonrpc":"1.0","id":1,"method":"echo"}', b'{"id":1,"method":"echo"}',
     b'{"jsonrpc":"2.0","id":1,"method":3}', b'{"jsonrpc":"2.0","params":{}}'],
)  # fmt: skip
def test_RPC_05_no_request_object(end: End, line: bytes) -> None:
    end.send(line + b"\n")
    assert error_of(end.message()) == (None, -32600)
    assert echoes(end, "one") == "one"


@pytest.mark.parametrize("line", [b'{"jsonrpc":"2.0","id":1}', b'{"id":1}', b'{"result":1}', b'{"error":{}}'])
def test_RPC_05_shaped_like_a_response(end: End, line: bytes) -> None:
    end.send(line + b"\n")
    assert echoes(end, "one") == "one"


@pytest.mark.parametrize("batch", [b"[]", b"[1,2]", b"[%s]"])
def test_RPC_06_a_batch_is_refused_once(end: End, batch: bytes) -> None:
    end.send(batch.replace(b"%s", end.repeat(1, "not executed").strip()) + b"\n")
    assert error_of(end.message()) == (None, -32600)
    assert echoes(end, "one") == "one"


@pytest.mark.parametrize("method", ["session/frobnicate", "foo", ""])
def test_RPC_07_an_unknown_method(end: End, method: str) -> None:
    end.send(request(1, method))
    assert error_of(end.message()) == (1, -32601)


def test_RPC_08_an_unknown_extension_request(end: End) -> None:
    end.send(request(1, "_vendor/thing", {}))
    assert error_of(end.message()) == (1, -32601)


@pytest.mark.parametrize("method", ["_x/n", "$/progress", "session/nothing"])
def test_RPC_09_an_unknown_notification(end: End, method: str) -> None:
    end.send(notification(method, {"a": 1}) + notification(method))
    assert echoes(end, "one") == "one"


def test_RPC_10_a_notification_gets_no_response_whatever_happens(driver_end: DriverEnd) -> None:
    driver_end.send(notification("stumble", {"token": "canary"}))
    assert echoes(driver_end, "one") == "one"


@pytest.mark.parametrize("params", [None, [], {}, {"sessionId": 7}, {"requestId": {}}, {"update": 3}])
@pytest.mark.parametrize("method", ["session/cancel", "session/update", "$/cancel_request"])
def test_RPC_10_nor_when_a_known_one_is_malformed(end: End, method: str, params: Any) -> None:
    end.send(notification(method, params))
    assert echoes(end, "one") == "one"


def test_RPC_16_an_error_is_a_code_and_a_sentence(end: End) -> None:
    end.send(b"{\n" + request(1, "nothing") + b"[]\n")
    every_line_is_a_message([end.readline() for _ in range(3)])


def test_RPC_17_a_crash_is_told_without_details(driver_end: DriverEnd, capfd: pytest.CaptureFixture[str]) -> None:
    driver_end.send(request(1, "crash", {"token": "canary-4711"}))
    line = driver_end.readline()
    assert error_of(json.loads(line)) == (1, -32603)
    assert b"Traceback" not in line
    assert b"canary" not in line
    assert echoes(driver_end, "one") == "one"
    said = capfd.readouterr().err
    assert "do_crash" in said
    assert "canary" not in said  # RPC-24


@pytest.mark.parametrize("id", [999, "1", None, 1.0, True, [], {}])
def test_RPC_18_a_response_to_nothing_is_ignored(end: End, id: Any) -> None:
    end.send(end.ask("mine"))
    question = end.message()
    assert end.asked_for(question) == "mine"
    end.send(response(id, result={}) + response(id, error={"code": 1, "message": "x"}))
    assert echoes(end, "one") == "one"
    end.send(response(question["id"], result=end.yes()))
    assert end.took_yes(end.message())


def test_RPC_18_only_the_first_response_counts(end: End) -> None:
    end.send(end.ask("mine"))
    id = end.message()["id"]
    refused = response(id, error={"code": -32603, "message": "too late"})
    end.send(response(id, result=end.yes()) + refused)
    assert end.took_yes(end.message())
    end.send(refused)
    assert echoes(end, "one") == "one"


def test_RPC_19_the_same_ids_in_both_directions(end: End) -> None:
    end.send(b"".join(end.ask(id) for id in (0, 1, 2, 3)))
    questions = [end.message() for _ in range(4)]
    assert len({question["id"] for question in questions}) == 4
    assert {end.asked_for(question) for question in questions} == {0, 1, 2, 3}
    for question in reversed(questions):
        mine = end.asked_for(question)
        end.send(response(question["id"], result=end.yes()))
        answer = end.message()
        assert answer["id"] == mine
        assert end.took_yes(answer)


MALFORMED: list[Message] = [
    {"result": {}},
    {"result": None},
    {"result": {}, "error": None},
    {"result": {}, "error": {"code": 1, "message": "x"}},
    {"error": None},
    {"error": "no"},
    {"error": {"code": "1", "message": "x"}},
    {"error": {"code": True, "message": "x"}},
    {"error": {"code": 1}},
]


@pytest.mark.parametrize("what", MALFORMED)
def test_RPC_20_a_malformed_response_fails_only_its_call(end: End, what: Message) -> None:
    end.send(end.ask("mine"))
    end.send(response(end.message()["id"], **what))
    answer = end.message()
    assert answer["id"] == "mine"
    assert not end.took_yes(answer)
    assert echoes(end, "one") == "one"


@pytest.mark.parametrize("what", MALFORMED)
def test_RPC_20_what_makes_a_response_malformed(driver_end: DriverEnd, what: Message) -> None:
    driver_end.send(driver_end.ask("mine"))
    driver_end.send(response(driver_end.message()["id"], **what))
    failed = driver_end.message()["result"]["error"] is not None
    assert failed == (what.get("error") is not None or "result" not in what)


@pytest.mark.parametrize("code", [-32601, -32603, -32002, 7])
def test_RPC_21_an_error_response_is_not_fatal(end: End, code: int) -> None:
    end.send(end.ask("mine"))
    error = {"code": code, "message": "no", "data": {"why": "because"}}
    end.send(response(end.message()["id"], error=error))
    answer = end.message()
    assert (answer["id"], "result" in answer) == ("mine", True)
    assert not end.took_yes(answer)
    assert echoes(end, "one") == "one"


def test_RPC_21_what_an_error_response_says_arrives(driver_end: DriverEnd) -> None:
    driver_end.send(driver_end.ask("mine"))
    error = {"code": 7, "message": "no", "data": {"why": "because"}}
    driver_end.send(response(driver_end.message()["id"], error=error))
    assert driver_end.message()["result"] == {"answer": None, "error": error}


@pytest.mark.parametrize("params", [b"", b',"params":null', b',"params":{}'])
def test_RPC_23_params_may_be_left_out_or_null(end: End, params: bytes) -> None:
    end.send(b'{"jsonrpc":"2.0","id":1,"method":"%s"%s}\n' % (end.bare_method.encode(), params))
    answer = end.message()
    assert (answer["id"], "result" in answer) == (1, True)


def test_RPC_27_an_id_in_flight_is_refused_to_the_newcomer(end: End) -> None:
    end.send(end.hold(1) + end.repeat(1, "one"))
    assert error_of(end.message()) == (1, -32600)
    end.release()
    answer = end.message()
    assert (answer["id"], "result" in answer) == (1, True)
    assert echoes(end, "free again", id=1) == "free again"


def test_RPC_27_an_answered_id_is_free_within_one_write(end: End) -> None:
    end.send(end.repeat(1, "one") + end.repeat(1, "two"))
    answers = [end.message() for _ in range(2)]
    if end.in_order or "error" not in answers[0] | answers[1]:
        assert {end.repeated(answer) for answer in answers} == {"one", "two"}
    else:  # a thread that has not answered yet
        assert sorted(answer.get("error", {}).get("code", 0) for answer in answers) == [-32600, 0]


def test_a_line_over_the_limit_is_refused_and_skipped(end: End) -> None:
    piece = b"x" * (1 << 20)
    for _ in range(33):
        end.send(piece)
    assert error_of(end.message()) == (None, -32600)
    end.send(b"\n")
    assert echoes(end, "one") == "one"


def test_descriptors_are_closed(driver_end: DriverEnd) -> None:
    before = len(os.listdir("/dev/fd"))
    other = DriverEnd("pipes")
    other.finish()
    assert len(os.listdir("/dev/fd")) == before
