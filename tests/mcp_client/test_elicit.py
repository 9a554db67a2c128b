"""Questions of servers as forms."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from acpagent.core.forms import Answer, Field, Option
from acpagent.mcp_client import elicit


def asked(properties: Any, required: tuple[str, ...] = ()) -> SimpleNamespace:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return SimpleNamespace(mode="form", message="Well?", requested_schema=schema)


def field(written: Any) -> Field:
    return elicit.form("s", asked({"x": written})).fields[0]


RED, BLUE = Option("r", "Red"), Option("b", "Blue")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"type": "string"}, Field("x", "text", "x", required=False)),
        (
            {"type": "string", "title": "T", "minLength": 1, "maxLength": 9},
            Field("x", "text", "T", "", (), False, 1, 9),
        ),
        ({"type": "string", "format": "email", "description": "D"}, Field("x", "text", "x", "D (email)", (), False)),
        ({"type": "integer", "minimum": 0.0}, Field("x", "integer", "x", "", (), False, 0)),
        ({"type": "number", "maximum": 1.5}, Field("x", "number", "x", "", (), False)),
        ({"type": "boolean", "default": True}, Field("x", "boolean", "x", "(if in doubt: True)", (), False)),
        ({"type": "string", "enum": ["r"]}, Field("x", "choice", "x", "", (Option("r", "r"),), False)),
        (
            {"type": "string", "enum": ["r", "b"], "enumNames": ["Red", "Blue"]},
            Field("x", "choice", "x", "", (RED, BLUE), False),
        ),
        (
            {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]},
            Field("x", "choice", "x", "", (RED, BLUE), False),
        ),
        (
            {"type": "array", "minItems": 1, "items": {"anyOf": [{"const": "r", "title": "Red"}]}},
            Field("x", "multi", "x", "", (RED,), False, 1),
        ),
        ({"type": "array", "items": {"enum": ["r"]}}, Field("x", "multi", "x", "", (Option("r", "r"),), False)),
    ],
)
def test_fields(written: Any, expected: Field) -> None:
    assert field(written) == expected


@pytest.mark.parametrize("written", [3, {}, {"type": "object"}, {"type": ["string"]}, {"type": "array", "items": []}])
def test_what_cannot_be_asked(written: Any) -> None:
    with pytest.raises(elicit.Unfit):
        field(written)


def test_what_is_required_and_who_asks() -> None:
    form = elicit.form("files", asked({"a": {"type": "string"}, "b": {"type": "string"}}, ("b",)))
    assert form.message == "files asks: Well?"
    assert [one.required for one in form.fields] == [False, True]


def test_answers() -> None:
    params = asked({})
    assert elicit.answered(params, Answer("accept", {"a": ("x", "y"), "b": 2})) == ("accept", {"a": ["x", "y"], "b": 2})
    assert elicit.answered(params, Answer("decline")) == ("decline", None)
    for kind in ("cancel", "nobody", "closed"):
        assert elicit.answered(params, Answer(kind)) == ("cancel", None)


def test_an_address() -> None:
    params = SimpleNamespace(mode="url", message="Go", url="https://x.org/\u202efdp")
    form = elicit.form("s", params)
    assert form.message == "s asks: Go\n\nhttps://x.org/<U+202E>fdp"
    assert elicit.answered(params, Answer("accept", {"opened": "no"})) == ("decline", None)
    with pytest.raises(elicit.Unfit):
        elicit.form("s", SimpleNamespace(mode="url", message="Go", url="file:///etc/passwd"))
