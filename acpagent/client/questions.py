"""An agent's questions in a form, and the answer when nobody gives one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from threading import Event
from typing import TYPE_CHECKING, Any, Literal

from acpagent.client.updates import dicts_of, text_of

if TYPE_CHECKING:
    from acpagent.client.session import Session

FieldKind = Literal["choice", "multi", "text", "number", "integer", "boolean"]

DISMISSED: dict[str, Any] = {"action": "cancel"}
_DECLINED: dict[str, Any] = {"action": "decline"}


class FieldOption:
    """One of the choices of a field: `id` is the answer, `title` and `description` are for the person."""

    __slots__ = ("description", "id", "title")

    def __init__(self, id: str, title: str, description: str = "") -> None:
        self.id = id
        self.title = title
        self.description = description

    def __repr__(self) -> str:
        return f"FieldOption({self.id!r}, {self.title!r})"


class FormField:
    """One thing asked. Its `kind` says what the answer to it is: `choice` the id of one of `options`, `multi` a list of
    such ids, `text` a string, `number`, `integer` and `boolean` what they say. `raw` is its whole schema, with bounds
    and a default if it has them."""

    __slots__ = ("description", "kind", "name", "options", "raw", "required", "title")

    def __init__(self, name: str, raw: dict[str, Any], required: bool) -> None:
        self.name = name
        self.raw = raw
        self.required = required
        self.title = text_of(raw, "title") or name
        self.description = text_of(raw, "description") or ""
        self.options = _options(raw)
        self.kind = _kind(raw, self.options)

    def __repr__(self) -> str:
        return f"FormField({self.name!r}, kind={self.kind!r})"


class QuestionRequest:
    """What a question callback answers. It returns a dict from the fields' names to answers, or None to decline.

    `withdrawn` is set as soon as nobody waits for the answer any longer, as for permission requests. `session` is None
    for a question that belongs to none, such as one in the middle of signing in.
    """

    __slots__ = ("_cancel", "fields", "raw", "session", "withdrawn")

    def __init__(
        self, session: Session | None, raw: dict[str, Any], withdrawn: Event, cancel: Callable[[], None]
    ) -> None:
        self.session = session
        self.raw = raw
        self.fields = _fields(raw)
        self.withdrawn = withdrawn
        self._cancel = cancel

    @property
    def message(self) -> str:
        """What it is about; the question itself, if there is one field only."""
        return text_of(self.raw, "message") or ""

    @property
    def tool_call_id(self) -> str | None:
        """The tool call that asks, if the agent says so."""
        return text_of(self.raw, "toolCallId")

    def cancel(self) -> None:
        """Close the form without an answer, not even that one would rather not say."""
        self._cancel()


def filled(answer: object) -> dict[str, Any]:
    """The answer on the wire for what a callback returned; for what is no filled-in form, that the person declined."""
    if not isinstance(answer, Mapping):
        return _DECLINED
    content = {name: _plain(value) for name, value in answer.items() if value is not None}
    if None in content.values() or not all(isinstance(name, str) for name in content):
        return _DECLINED
    return {"action": "accept", "content": content}


def _plain(value: Any) -> Any:
    """The value as the protocol takes it, any collection of ids as a list; None for what it does not take."""
    if isinstance(value, tuple | list | set | frozenset):
        return list(value) if all(isinstance(one, str) for one in value) else None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float) else None


def _fields(raw: dict[str, Any]) -> list[FormField]:
    schema = raw.get("requestedSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    required = schema.get("required") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return []
    needed = required if isinstance(required, list) else []
    return [FormField(name, field, name in needed) for name, field in properties.items() if isinstance(field, dict)]


def _options(raw: dict[str, Any]) -> list[FieldOption]:
    """The choices of a field, in whichever of the protocol's four forms they are written."""
    holder = raw.get("items") if raw.get("type") == "array" else raw
    titled = dicts_of(holder, "oneOf") or dicts_of(holder, "anyOf")
    if titled:
        found = [(text_of(one, "const"), text_of(one, "title"), text_of(one, "description") or "") for one in titled]
        return [FieldOption(id, title or id, about) for id, title, about in found if id is not None]
    plain = holder.get("enum") if isinstance(holder, dict) else None
    return [FieldOption(id, id) for id in plain if isinstance(id, str)] if isinstance(plain, list) else []


def _kind(raw: dict[str, Any], options: list[FieldOption]) -> FieldKind:
    """What is not known is asked for as text."""
    if raw.get("type") == "array":
        return "multi"
    if options:
        return "choice"
    return _KINDS.get(text_of(raw, "type") or "", "text")


_KINDS: dict[str, FieldKind] = {"number": "number", "integer": "integer", "boolean": "boolean"}
