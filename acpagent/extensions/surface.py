"""What a plugin shows and asks, in words of our own, and what the person answered, in the plugin's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from acpagent.core import bounds, forms
from acpagent.core.catalogue import Phrase
from acpagent.core.events import Surface, SurfaceKind
from acpagent.core.forms import Answer, Field, FieldKind, Form, Option
from acpagent.core.phrases import joined, titled, told
from acpagent.core.toolcalls import ToolCall

_KINDS: Mapping[str, FieldKind] = {"confirm": "boolean", "input": "text", "select": "choice", "multiselect": "multi"}
_LABEL_LETTERS = 200
_TITLE_LETTERS = 120

Values = dict[str, Any]


class UnfitForm(ValueError):
    """A form that cannot be put to a person; says why."""


def surface(plugin: str, generation: int, published: Mapping[str, Any], instance: str = "") -> Surface:
    """The event of what was published, which fits the schema. Controls are taken out of all of its text."""
    kind: SurfaceKind = published["kind"]
    return Surface(plugin, published["surfaceId"], generation, kind, _clean(published["payload"]), instance)


def check(payload: Mapping[str, Any]) -> None:
    """Look at what a schema cannot say of a form. Raises `UnfitForm`."""
    keys = [one["key"] for one in payload["fields"]]
    if len(set(keys)) != len(keys):
        raise UnfitForm(Phrase("form_same_key"))
    for one in payload["fields"]:
        offered = [option["value"] for option in one.get("options", ())]
        if len(set(offered)) != len(offered):
            raise UnfitForm(Phrase("form_same_value", key=one["key"]))
        default = one.get("default", ())
        chosen = [default] if one["kind"] == "select" and "default" in one else default
        if one["kind"] in ("select", "multiselect") and not set(chosen) <= set(offered):
            raise UnfitForm(Phrase("form_odd_default", key=one["key"]))


def form(plugin: str, payload: Mapping[str, Any], types: bool) -> Form:
    """A plugin's form for a host. With `types` false nothing can be typed in: such a field keeps its default, and is
    not asked about. Raises `UnfitForm`."""
    check(payload)
    fields = tuple(_field(one) for one in payload["fields"] if types or one["kind"] != "input")
    if not fields or (not types and any(one["kind"] == "input" and _is_open(one) for one in payload["fields"])):
        raise UnfitForm(Phrase("form_no_typing"))
    words = [payload["title"], payload.get("message", "")]
    if not types and len(fields) == 1:  # then the message is the question
        words.append(next(one["label"] for one in payload["fields"] if one["key"] == fields[0].name))
    text = "\n\n".join(dict.fromkeys(_text(one) for one in words if one))
    return Form(Phrase("form_says", who=plugin, text=text), fields)


def asking_call(id: str, plugin: str, payload: Mapping[str, Any]) -> ToolCall:
    """The call that a form is asked on where there are only permission requests."""
    title = titled("form_asks_title", _TITLE_LETTERS, bounds.visible(payload["title"]), who=plugin)
    return ToolCall(id, f"plugin__{plugin}", title, "other", "pending")


def with_call(asked: Form, call: ToolCall) -> Form:
    return replace(asked, call=call)


def values(payload: Mapping[str, Any], answer: Answer) -> Values | None:
    """What was filled in, by the plugin's keys, defaults in place of what was left out; None if it was not, or if
    what it needs was left out. To close or decline a form is an answer, too."""
    if answer.kind != "accept":
        return None
    found: Values = {one["key"]: one["default"] for one in payload["fields"] if "default" in one}
    found |= {key: list(value) if isinstance(value, tuple) else value for key, value in answer.values.items()}
    return found if all(one["key"] in found for one in payload["fields"] if _is_open(one)) else None


def submitted(payload: Mapping[str, Any], given: Mapping[str, Any]) -> Values:
    """What a client handed in for a form that it showed by itself, judged by the form. Raises `UnfitForm`."""
    try:
        answer = Answer("accept", forms.check(form("", payload, types=True), dict(given)))
    except ValueError as error:
        raise UnfitForm(told(error)) from None
    return values(payload, answer) or {}


def _is_open(one: Mapping[str, Any]) -> bool:
    return bool(one.get("required", True)) and "default" not in one


def _field(one: Mapping[str, Any]) -> Field:
    options = tuple(
        Option(option["value"], _line(option.get("label", option["value"]))) for option in one.get("options", ())
    )
    return Field(one["key"], _KINDS[one["kind"]], _line(one["label"]), _described(one), options, _is_open(one))


def _described(one: Mapping[str, Any]) -> str:
    parts: list[str] = [_text(one["description"])] if one.get("description") else []
    if "default" in one:
        parts.append(Phrase("form_default", value=_said(one, one["default"])))
    return joined("spaced", parts)


def _said(one: Mapping[str, Any], default: Any) -> str:
    labels: dict[str, str] = {one["value"]: one.get("label", one["value"]) for one in one.get("options", ())}
    if isinstance(default, bool):
        return Phrase("form_yes" if default else "form_no")
    if isinstance(default, list):
        return ", ".join(_line(labels[value]) for value in default) or Phrase("form_none")
    return _line(labels[default] if labels else default) or Phrase("form_nothing")


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return bounds.clean(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return {key: _clean(item) for key, item in value.items()} if isinstance(value, dict) else value


def _line(text: str) -> str:
    return bounds.one_line(bounds.visible(text), _LABEL_LETTERS)


def _text(text: str) -> str:
    return bounds.visible(bounds.clean(text))
