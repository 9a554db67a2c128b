"""A server's question to the person, as a form of ours; and the answer, as it wants it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from acpagent.core import bounds
from acpagent.core.catalogue import Phrase
from acpagent.core.forms import Answer, Field, FieldKind, Form, Option
from acpagent.core.phrases import joined

MESSAGE_LETTERS = 4000
TITLE_LETTERS = 300
_OPENED = "opened"
_NUMBERS: Mapping[str, FieldKind] = {"number": "number", "integer": "integer", "boolean": "boolean"}


class Unfit(ValueError):
    """A question that cannot be put to a person; says why."""


def form(server: str, params: Any) -> Form:
    """What a server asks, with its name, as a person should know who asks. Raises `Unfit`."""
    message = Phrase("form_asks", who=server, text=_text(params.message))
    if params.mode == "url":
        return _visit(message, params.url)
    schema = params.requested_schema
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        raise Unfit("the form has no fields")
    required = schema.get("required") or ()
    return Form(message, tuple(_field(name, written, name in required) for name, written in properties.items()))


def answered(params: Any, answer: Answer) -> tuple[str, dict[str, Any] | None]:
    """What to tell the server: the action, and what was filled in. Where nobody is there to ask, it was dismissed."""
    if answer.kind != "accept":
        return ("decline" if answer.kind == "decline" else "cancel"), None
    if params.mode == "url":
        return ("accept" if answer.values.get(_OPENED) == "yes" else "decline"), None
    return "accept", {name: list(value) if isinstance(value, tuple) else value for name, value in answer.values.items()}


def _visit(message: Phrase, url: str) -> Form:
    """The person goes to an address by themselves: nobody here opens it, or sees what they do there."""
    if not re.match(r"https?://[^\s]+$", url):
        raise Unfit("the address is none of the web")
    options = (Option("yes", Phrase("form_opened")), Option("no", Phrase("form_not_opened")))
    asked = Phrase("paragraphs", first=message, second=bounds.visible(url))
    return Form(asked, (Field(_OPENED, "choice", Phrase("form_open"), "", options),))


def _field(name: str, written: Any, required: bool) -> Field:
    if not isinstance(written, dict):
        raise Unfit(f"its field {bounds.one_line(name, 80)} is not understood")
    title = _line(written.get("title") or name)
    description = _described(written)
    kind = written.get("type")
    if kind == "array":
        items = written.get("items")
        options = _options(items if isinstance(items, dict) else {})
        least, most = _whole(written.get("minItems")), _whole(written.get("maxItems"))
        if options:
            return Field(name, "multi", title, description, options, required, least, most)
    elif options := _options(written):
        return Field(name, "choice", title, description, options, required)
    elif kind == "string":
        least, most = _whole(written.get("minLength")), _whole(written.get("maxLength"))
        return Field(name, "text", title, description, (), required, least, most)
    elif isinstance(kind, str) and kind in _NUMBERS:
        least, most = _whole(written.get("minimum")), _whole(written.get("maximum"))
        return Field(name, _NUMBERS[kind], title, description, (), required, least, most)
    raise Unfit(f"its field {bounds.one_line(name, 80)} is of a kind that is not known here")


def _options(written: Mapping[str, Any]) -> tuple[Option, ...]:
    """The choices, in any of the ways there have been to write them."""
    for key in ("oneOf", "anyOf"):
        listed = written.get(key)
        if isinstance(listed, list) and all(isinstance(one, dict) and "const" in one for one in listed):
            return tuple(Option(str(one["const"]), _line(one.get("title") or one["const"])) for one in listed)
    values, names = written.get("enum"), written.get("enumNames")
    if not isinstance(values, list):
        return ()
    labels = names if isinstance(names, list) and len(names) == len(values) else values
    return tuple(Option(str(value), _line(label)) for value, label in zip(values, labels, strict=True))


def _described(written: Mapping[str, Any]) -> str:
    parts: list[str] = [_line(written["description"])] if isinstance(written.get("description"), str) else []
    if isinstance(written.get("format"), str):
        parts.append(f"({_line(written['format'])})")
    if isinstance(written.get("default"), str | int | float | bool):
        parts.append(Phrase("form_in_doubt", value=_line(str(written["default"]))))
    return joined("spaced", parts)


def _whole(bound: Any) -> int | None:
    return (
        int(bound) if isinstance(bound, int | float) and not isinstance(bound, bool) and bound == int(bound) else None
    )


def _line(text: Any) -> str:
    return bounds.one_line(bounds.visible(str(text)), TITLE_LETTERS)


def _text(text: str) -> str:
    return bounds.visible(bounds.clean(text))[:MESSAGE_LETTERS]
