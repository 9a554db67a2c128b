"""What a filled-in form must be like."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.core.forms import Field, Form, Option, check

OPTIONS = (Option("a", "A"), Option("b", "B"), Option("c", "C"))
FORM = Form(
    "Say",
    (
        Field("one", "choice", "One", options=OPTIONS),
        Field("many", "multi", "Many", options=OPTIONS, required=False, most=2),
        Field("words", "text", "Words", required=False, least=1, most=5),
        Field("size", "number", "Size", required=False, least=0, most=9),
        Field("count", "integer", "Count", required=False, least=1),
        Field("sure", "boolean", "Sure", required=False),
    ),
)


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ({"one": "a"}, {"one": "a", "many": ()}),
        ({"one": "b", "many": ["c", "a"]}, {"one": "b", "many": ("a", "c")}),
        ({"one": "b", "many": [], "words": None}, {"one": "b", "many": ()}),
        ({"one": "a", "words": "hello", "size": 0.5}, {"one": "a", "many": (), "words": "hello", "size": 0.5}),
        ({"one": "a", "count": 3.0, "sure": False}, {"one": "a", "many": (), "count": 3, "sure": False}),
    ],
)
def test_what_fits_is_taken(content: Any, values: Any) -> None:
    assert check(FORM, content) == values


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "one was left out"),
        ({}, "one was left out"),
        ({"one": None}, "one was left out"),
        ([], "no filled-in form"),
        ("a", "no filled-in form"),
        ({"one": "a", "else": 1}, "not asked for"),
        ({"one": "d"}, "one is none of the choices"),
        ({"one": ["a"]}, "one has the wrong type"),
        ({"one": 1}, "one has the wrong type"),
        ({"one": "a", "many": "a"}, "many has the wrong type"),
        ({"one": "a", "many": ["a", "a"]}, "many has what is none"),
        ({"one": "a", "many": ["d"]}, "many has what is none"),
        ({"one": "a", "many": [["a"]]}, "many has what is none"),
        ({"one": "a", "many": ["a", "b", "c"]}, "many is out of bounds"),
        ({"one": "a", "words": ""}, "words is out of bounds"),
        ({"one": "a", "words": "sixteen"}, "words is out of bounds"),
        ({"one": "a", "words": 5}, "words has the wrong type"),
        ({"one": "a", "size": 10}, "size is out of bounds"),
        ({"one": "a", "size": float("nan")}, "size is out of bounds"),
        ({"one": "a", "size": True}, "size has the wrong type"),
        ({"one": "a", "count": 1.5}, "count is no whole number"),
        ({"one": "a", "count": float("nan")}, "count is no whole number"),
        ({"one": "a", "count": float("inf")}, "count is no whole number"),
        ({"one": "a", "count": 0}, "count is out of bounds"),
        ({"one": "a", "sure": 1}, "sure has the wrong type"),
        ({"one": "a", "sure": "true"}, "sure has the wrong type"),
    ],
)
def test_what_does_not_fit_is_named(content: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check(FORM, content)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3) | st.sampled_from(["a", "b", "one"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["one", "many", "x"]), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*(one.name for one in FORM.fields), "else"]), ANYTHING) | ANYTHING)
def test_any_content_is_taken_or_refused(content: Any) -> None:
    try:
        values = check(FORM, content)
    except ValueError:
        return
    assert values["one"] in ("a", "b", "c")
    assert set(values) <= {one.name for one in FORM.fields}
