"""Forms: what the person is asked, all at once, and what they answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from acpagent.core.toolcalls import ToolCall

FieldKind = Literal["choice", "multi", "text", "number", "integer", "boolean"]
Value = str | int | float | bool | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Option:
    """One thing to choose: `id` is what the answer says, the rest is what the person reads."""

    id: str
    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """One thing asked; `name` is its own within the form.

    `choice` takes one of `options`, `multi` any of them. `least` and `most` bound a number, the length of a text, or
    how many options are taken.
    """

    name: str
    kind: FieldKind
    title: str
    description: str = ""
    options: tuple[Option, ...] = ()
    required: bool = True
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """`message` says what it is about; of a form with one question, it is the question. `call`: the tool call that
    asks, as it stands."""

    message: str
    fields: tuple[Field, ...]
    call: ToolCall | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. `values`, by a field's name, lack what the person left out.

    `nobody`: there is nobody to ask, or the answer makes no sense, as `reason` says; `values` are what had been
    answered by then. `closed`: the question was closed in the way that ends a turn (PERM-05).
    """

    kind: Literal["accept", "decline", "cancel", "nobody", "closed"]
    values: Mapping[str, Value] = field(default_factory=dict)
    reason: str = ""


def check(form: Form, content: Any) -> dict[str, Value]:
    """What was filled in, judged by the form itself, for clients need not (ELI-06); None is an empty form.

    Raises ValueError that says in words what does not fit; it repeats no value.
    """
    given = {} if content is None else content
    if not isinstance(given, dict):
        raise ValueError("the answer is no filled-in form")
    known = {one.name for one in form.fields}
    if not known.issuperset(given):
        raise ValueError("the answer has fields that were not asked for")
    values: dict[str, Value] = {}
    for one in form.fields:
        value = given.get(one.name)
        if value is not None:
            values[one.name] = _value(one, value)
        elif one.required:
            raise ValueError(f"{one.name} was left out")
        elif one.kind == "multi":  # some clients leave out a list that has nothing in it
            values[one.name] = _several(one, [])
    return values


def _value(one: Field, value: Any) -> Value:
    if one.kind == "multi":
        return _several(one, value)
    right = _TYPES[one.kind]
    if not isinstance(value, right) or (isinstance(value, bool) and right is not bool):
        raise ValueError(f"{one.name} has the wrong type")
    if one.kind == "choice" and value not in {option.id for option in one.options}:
        raise ValueError(f"{one.name} is none of the choices")
    if one.kind == "integer" and isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{one.name} is no whole number")
    if one.kind in ("text", "number", "integer"):
        _bounded(one, len(value) if one.kind == "text" else value)
    result: Value = int(value) if one.kind == "integer" else value
    return result


def _several(one: Field, value: Any) -> tuple[str, ...]:
    """The options taken, in the order in which they were offered."""
    if not isinstance(value, list):
        raise ValueError(f"{one.name} has the wrong type")
    taken = [option.id for option in one.options if option.id in value]
    if len(taken) != len(value):
        raise ValueError(f"{one.name} has what is none of the choices, or has one twice")
    _bounded(one, len(taken))
    return tuple(taken)


def _bounded(one: Field, size: float) -> None:
    # Written so that NaN is out of bounds.
    if (one.least is not None and not size >= one.least) or (one.most is not None and not size <= one.most):
        raise ValueError(f"{one.name} is out of bounds")


_TYPES: Mapping[FieldKind, Any] = {
    "choice": str,
    "text": str,
    "number": (int, float),
    "integer": (int, float),
    "boolean": bool,
}
