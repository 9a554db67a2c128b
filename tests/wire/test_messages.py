from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.wire.messages import Malformed, Notification, Request, Response, encode, parse

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
any_text = st.text(st.characters(exclude_categories=()))  # lone surrogates included


@given(values)
def test_what_is_encoded_is_read_back(value: Any) -> None:
    message = parse(encode({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"value": value}}))
    assert isinstance(message, Request)
    assert message.params == {"value": value}


@given(any_text)
def test_any_text_leaves_as_one_line_of_utf_8(text: str) -> None:
    line = encode({"text": text}).decode("utf-8")
    assert line.splitlines() == [line.removesuffix("\n")]
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert json.loads(line)["text"] == whole


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_json_cannot_say_is_not_sent(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode({"value": value})


def test_encoding_is_compact_and_keeps_letters() -> None:
    assert encode({"a": ["é", 1]}) == '{"a":["é",1]}\n'.encode()


@given(st.binary())
def test_any_bytes_are_read_as_something(line: bytes) -> None:
    assert parse(line) is None or isinstance(parse(line), Request | Notification | Response | Malformed)


@given(st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"]), values))
def test_any_object_is_read_as_something(value: dict[str, Any]) -> None:
    message = parse(encode(value))
    if isinstance(message, Request | Notification):
        assert value["jsonrpc"] == "2.0"
        assert message.method == value["method"]
        assert message.params == value.get("params")
        assert isinstance(message, Request) == ("id" in value)
    if isinstance(message, Response) and message.error is not None:
        assert type(message.error["code"]) is int
        assert type(message.error["message"]) is str


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"m"}', Request),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', Request),
        (b'{"jsonrpc":"2.0","method":"m"}', Notification),
        (b'{"jsonrpc":"2.0","id":1,"result":null}', Response),
        (b'{"id":1,"error":{"code":1,"message":"m"}}', Response),
        (b'{"jsonrpc":"2.0","id":1}', type(None)),
        (b'{"jsonrpc":"2.0","result":1}', type(None)),
        (b"[]", Malformed),
        (b"1", Malformed),
    ],
)
def test_kinds(line: bytes, kind: type) -> None:
    assert type(parse(line)) is kind


def test_a_line_nested_too_deeply_is_malformed() -> None:
    message = parse(b'{"jsonrpc":"2.0","id":1,"method":"m","params":' + b"[" * 50_000 + b"]" * 50_000 + b"}")
    assert isinstance(message, Malformed)
    assert message.code == -32700
