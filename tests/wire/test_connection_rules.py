"""What every end of a connection must get right: the checks of transport and envelope by their ids."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.wire.ends import DriverEnd, End, Message


@pytest.fixture(params=["pipes", "sockets"])
def end(request: pytest.FixtureRequest) -> Iterator[End]:
    subject = DriverEnd(request.param)
    yield subject
    subject.finish()
    every_line_is_a_message(subject.lines)


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


def request(id: Any, method: str, params: Any = None) -> bytes:
    message: Message = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        message["params"] = params
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"


def notification(method: str, params: Any = None) -> bytes:
    message: Message = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return json.dumps(message).encode() + b"\n"


def response(id: Any, **what: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, **what}).encode() + b"\n"


def echoes(end: End, value: Any, id: Any = "probe") -> Any:
    """Send a request and give back its result; fails if anything else comes first."""
    end.send(request(id, "echo", value))
    answer = end.message()
    assert answer["id"] == id
    return answer["result"]


def error_of(message: Message) -> tuple[Any, int]:
    return message["id"], message["error"]["code"]


# -- transport


def test_trn_01_every_line_is_one_message(end: End) -> None:
    end.send(request(1, "echo", [1]) + request(2, "nothing") + b"junk\n" + request(3, "burst", {"count": 3}))
    assert [len(end.readline().splitlines()) for _ in range(7)] == [1] * 7


@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "a\u2028b\u2029c\x85d", "\x0b\x0c\x1c\x1d\x1e", "a\0b"])
def test_trn_02_no_raw_line_break_inside_a_message(end: End, text: str) -> None:
    assert echoes(end, [text]) == [text]


def test_trn_03_utf_8_both_ways(end: End) -> None:
    assert echoes(end, {"text": "日本語 🧪 é"}) == {"text": "日本語 🧪 é"}


def test_trn_07_five_mebibytes_in_one_line(end: End) -> None:
    size = 5 * 1024 * 1024
    sender = threading.Thread(target=end.send, args=(request(1, "echo", ["x" * size]),))
    sender.start()
    (text,) = end.message()["result"]
    sender.join()
    assert len(text) == size


@pytest.mark.parametrize("line_end", [b"\r\n", b"  \t\n", b"\n\n   \n\r\n\t\n"])
def test_trn_08_carriage_returns_and_blanks(end: End, line_end: bytes) -> None:
    end.send(b"\n \n\r\n  " + request(1, "echo", [1]).rstrip() + line_end)
    assert end.message()["result"] == [1]
    assert echoes(end, [2]) == [2]


def test_trn_09_split_anywhere(end: End) -> None:
    for byte in request(1, "echo", ["日🧪"]):
        end.send(bytes([byte]))
    assert end.message()["result"] == ["日🧪"]
    assert echoes(end, [2]) == [2]


def test_trn_10_several_messages_in_one_write(end: End) -> None:
    end.send(b"".join(request(number, "echo", [number]) for number in range(3)))
    assert [end.message()["result"] for _ in range(3)] == [[0], [1], [2]]


def test_trn_11_the_last_line_needs_no_newline(end: End) -> None:
    end.send(request(1, "echo", [1]).rstrip(b"\n"))
    end.close()
    assert end.message()["result"] == [1]


def test_trn_15_answers_are_flushed(end: End) -> None:
    for number in range(3):
        assert echoes(end, [number]) == [number]


def test_trn_16_concurrent_writers_never_interleave(end: DriverEnd) -> None:
    def speak(name: str) -> None:
        for number in range(5000):
            end.driver.notify(name, {"number": number, "pad": "é" * (number % 50)})

    speakers = [threading.Thread(target=speak, args=(name,)) for name in ("first", "second")]
    for speaker in speakers:
        speaker.start()
    numbers: dict[str, list[int]] = {"first": [], "second": []}
    for _ in range(10_000):
        message = end.message()
        numbers[message["method"]].append(message["params"]["number"])
    for speaker in speakers:
        speaker.join()
    assert numbers == {"first": list(range(5000)), "second": list(range(5000))}


def test_trn_17_the_response_is_last(end: End) -> None:
    end.send(request(1, "burst", {"count": 500}))
    assert [end.message()["params"]["number"] for _ in range(500)] == list(range(500))
    assert end.message()["result"] == "done"


@pytest.mark.parametrize("junk", [b"\xff", b'"\xed\xa0\x80"', b'{"jsonrpc":"2.0","id":1,"method":"\xc3"}'])
def test_trn_20_bad_utf_8_is_a_parse_error(end: End, junk: bytes) -> None:
    end.send(junk + b"\n")
    assert error_of(end.message()) == (None, -32700)
    assert echoes(end, [1]) == [1]


def test_trn_20_a_lone_surrogate_comes_back_replaced(end: End) -> None:
    end.send(b'{"jsonrpc":"2.0","id":1,"method":"echo","params":["a\\ud800b","\\udc00","\\ud83e\\uddea"]}\n')
    assert end.message()["result"] == ["a\ufffdb", "\ufffd", "🧪"]


# -- the envelope


@pytest.mark.parametrize("method", ["echo", "nothing", "crash"])
def test_rpc_01_a_response_is_result_or_error(end: End, method: str) -> None:
    end.send(request(1, method, {"token": 1}))
    answer = end.message()
    assert answer.keys() <= {"jsonrpc", "id", "result", "error"}
    assert len(answer) == 3


@pytest.mark.parametrize("id", [0, 1, -7, "abc", "1", "", 9007199254740993, 2**70, 1.0])
def test_rpc_02_an_id_comes_back_as_it_was(end: End, id: Any) -> None:
    end.send(request(id, "echo", [1]))
    answer = end.message()
    assert (answer["id"], type(answer["id"])) == (id, type(id))


def test_rpc_02_ids_of_different_types_are_different(end: End) -> None:
    end.send(request(1, "hold") + request("1", "hold") + request(1.0, "hold") + notification("release"))
    answers = [end.message() for _ in range(3)]
    assert [(answer["id"], type(answer["id"])) for answer in answers] == [(1, int), ("1", str), (1.0, float)]
    assert {answer["result"] for answer in answers} == {"released"}


@pytest.mark.parametrize("id", [True, 1.5, [], {"a": 1}])
def test_rpc_02_what_cannot_be_an_id(end: End, id: Any) -> None:
    end.send(request(id, "echo", [1]))
    assert error_of(end.message()) == (None, -32600)


def test_rpc_03_a_null_id_is_a_request(end: End) -> None:
    assert echoes(end, [1], id=None) == [1]


@pytest.mark.parametrize(
    "line",
    [b"{nope", b"[1,", b'{"jsonrpc":"2.0","id":1,"method":"echo","params":[NaN]}', b"[" * 100_000,
     b"1" * 5000, b'{"jsonrpc":"2.0","id":1,"method":"echo","params":[1e400]}', b"\xef\xbb\xbf{}", b"Infinity"],
)  # fmt: skip
def test_rpc_04_an_unparsable_line(end: End, line: bytes) -> None:
    end.send(line + b"\n")
    assert error_of(end.message()) == (None, -32700)
    assert echoes(end, [1]) == [1]


@pytest.mark.parametrize(
    "line",
    [b"42", b'"x"', b"null", b"{}", b'{"jsonrpc":"1.0","id":1,"method":"echo"}', b'{"id":1,"method":"echo"}',
     b'{"jsonrpc":"2.0","id":1,"method":3}', b'{"jsonrpc":"2.0","params":{}}'],
)  # fmt: skip
def test_rpc_05_no_request_object(end: End, line: bytes) -> None:
    end.send(line + b"\n")
    assert error_of(end.message()) == (None, -32600)
    assert echoes(end, [1]) == [1]


@pytest.mark.parametrize("line", [b'{"jsonrpc":"2.0","id":1}', b'{"id":1}', b'{"result":1}', b'{"error":{}}'])
def test_rpc_05_shaped_like_a_response(end: End, line: bytes) -> None:
    end.send(line + b"\n")
    assert echoes(end, [1]) == [1]


@pytest.mark.parametrize("batch", ["[]", "[1,2]", '[{"jsonrpc":"2.0","id":1,"method":"echo"}]'])
def test_rpc_06_a_batch_is_refused_once(end: End, batch: str) -> None:
    end.send(batch.encode() + b"\n")
    assert error_of(end.message()) == (None, -32600)
    assert echoes(end, [1]) == [1]


@pytest.mark.parametrize("method", ["session/frobnicate", "foo", ""])
def test_rpc_07_an_unknown_method(end: End, method: str) -> None:
    end.send(request(1, method))
    assert error_of(end.message()) == (1, -32601)


def test_rpc_08_an_unknown_extension_request(end: End) -> None:
    end.send(request(1, "_vendor/thing", {}))
    assert error_of(end.message()) == (1, -32601)


@pytest.mark.parametrize("method", ["_x/n", "$/progress", "session/nothing"])
def test_rpc_09_an_unknown_notification(end: End, method: str) -> None:
    end.send(notification(method, {"a": 1}) + notification(method))
    assert echoes(end, [1]) == [1]


def test_rpc_10_a_notification_gets_no_response_whatever_happens(end: End) -> None:
    end.send(notification("stumble", {"token": "canary"}))
    assert echoes(end, [1]) == [1]


def test_rpc_16_an_error_is_a_code_and_a_sentence(end: End) -> None:
    end.send(b"{\n" + request(1, "nothing") + request(2, "crash", {"token": "t"}) + b"[]\n")
    every_line_is_a_message([end.readline() for _ in range(4)])


def test_rpc_17_a_crash_is_told_without_details(end: End, capfd: pytest.CaptureFixture[str]) -> None:
    end.send(request(1, "crash", {"token": "canary-4711"}))
    line = end.readline()
    assert error_of(json.loads(line)) == (1, -32603)
    assert b"Traceback" not in line
    assert b"canary" not in line
    assert echoes(end, [1]) == [1]
    said = capfd.readouterr().err
    assert "do_crash" in said
    assert "canary" not in said  # RPC-24


@pytest.mark.parametrize("id", [999, "1", None, 1.0, True, [], {}])
def test_rpc_18_a_response_to_nothing_is_ignored(end: End, id: Any) -> None:
    end.send(request("mine", "ask"))
    question = end.message()
    assert question["method"] == "question"
    end.send(response(id, result={}) + response(id, error={"code": 1, "message": "x"}))
    assert echoes(end, [1]) == [1]
    end.send(response(question["id"], result="yes"))
    assert end.message()["result"] == {"answer": "yes", "error": None}


def test_rpc_18_only_the_first_response_counts(end: End) -> None:
    end.send(request("mine", "ask"))
    id = end.message()["id"]
    end.send(response(id, result="first") + response(id, result="second"))
    assert end.message()["result"]["answer"] == "first"
    assert echoes(end, [1]) == [1]


def test_rpc_19_the_same_ids_in_both_directions(end: End) -> None:
    end.send(b"".join(request(id, "ask") for id in (0, 1, 2, 3)))
    questions = [end.message() for _ in range(4)]
    assert len({question["id"] for question in questions}) == 4
    for question in reversed(questions):
        end.send(response(question["id"], result=question["params"]["for"]))
    answers = [end.message() for _ in range(4)]
    assert [answer["id"] for answer in answers] == [3, 2, 1, 0]
    assert all(answer["result"]["answer"] == answer["id"] for answer in answers)


@pytest.mark.parametrize(
    ("what", "failed"),
    [
        ({"result": {}}, False),
        ({"result": None}, False),
        ({"result": {}, "error": None}, False),
        ({"result": {}, "error": {"code": 1, "message": "x"}}, True),
        ({"error": None}, True),
        ({"error": "no"}, True),
        ({"error": {"code": "1", "message": "x"}}, True),
        ({"error": {"code": True, "message": "x"}}, True),
        ({"error": {"code": 1}}, True),
    ],
)
def test_rpc_20_a_malformed_response_fails_only_its_call(end: End, what: Message, failed: bool) -> None:
    end.send(request("mine", "ask"))
    end.send(response(end.message()["id"], **what))
    answer = end.message()["result"]
    assert (answer["error"] is not None) == failed
    assert echoes(end, [1]) == [1]


@pytest.mark.parametrize("code", [-32601, -32603, -32002, 7])
def test_rpc_21_an_error_response_is_not_fatal(end: End, code: int) -> None:
    end.send(request("mine", "ask"))
    error = {"code": code, "message": "no", "data": {"why": "because"}}
    end.send(response(end.message()["id"], error=error))
    assert end.message()["result"] == {"answer": None, "error": error}
    assert echoes(end, [1]) == [1]


def test_rpc_23_params_may_be_left_out_or_null(end: End) -> None:
    end.send(b'{"jsonrpc":"2.0","id":1,"method":"echo"}\n{"jsonrpc":"2.0","id":2,"method":"echo","params":null}\n')
    assert [end.message()["result"] for _ in range(2)] == [None, None]


def test_rpc_27_an_id_in_flight_is_refused_to_the_newcomer(end: End) -> None:
    end.send(request(1, "hold") + request(1, "echo", [1]))
    assert error_of(end.message()) == (1, -32600)
    end.send(notification("release"))
    assert end.message() == {"jsonrpc": "2.0", "id": 1, "result": "released"}
    assert echoes(end, [2], id=1) == [2]  # and is free again


def test_rpc_27_an_answered_id_is_free_within_one_write(end: End) -> None:
    end.send(request(1, "echo", [1]) + request(1, "echo", [2]))
    assert [end.message()["result"] for _ in range(2)] == [[1], [2]]


def test_a_line_over_the_limit_is_refused_and_skipped(end: End) -> None:
    piece = b"x" * (1 << 20)
    for _ in range(33):
        end.send(piece)
    assert error_of(end.message()) == (None, -32600)
    end.send(b"\n")
    assert echoes(end, [1]) == [1]


def test_descriptors_are_closed(end: DriverEnd) -> None:
    before = len(os.listdir("/dev/fd"))
    other = DriverEnd("pipes")
    other.finish()
    assert len(os.listdir("/dev/fd")) == before
