"""What of a request the model reads, as the very bytes that were sent: key order and spacing count.

No protocol is assumed: chat completions, Anthropic messages, OpenAI responses and Gemini contents differ only in names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_LISTS = ("messages", "input", "contents")
_SYSTEMS = ("system", "instructions", "systemInstruction", "system_instruction")
_INSTRUCTING = ("system", "developer")  # roles
_ANSWERING = ("assistant", "model")  # roles
_SPACE = re.compile(r"[ \t\n\r]*")
_decoder = json.JSONDecoder()


class Unreadable(ValueError):
    """Not a request to a model."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """`messages` are those after the ones that instruct; `listed` are the same with what stands between them.
    `roles` and `meanings` belong to `messages`: what has no role has ""; meanings are the same however a message is
    spelled. `size` is the body's."""

    model: bytes
    tools: bytes
    system: bytes
    messages: tuple[bytes, ...]
    roles: tuple[str, ...]
    meanings: tuple[int, ...]
    listed: bytes
    size: int

    @property
    def text(self) -> bytes:
        """All of it, in the order in which models read it, wherever it stands in the body."""
        return self.tools + self.system + self.listed

    def replies(self, count: int) -> int:
        """How many of the first `count` messages are the model's."""
        return sum(role in _ANSWERING for role in self.roles[:count])


def read(body: bytes) -> Prompt:
    """Raises `Unreadable`."""
    text = body.decode("latin-1")  # a letter for each byte, so that places in it are places in the body
    try:
        return _read(body, text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from error


def _read(body: bytes, text: str) -> Prompt:
    fields = {name: (value, start, end) for name, value, start, end in _members(text)}
    listed = next((fields[name] for name in _LISTS if name in fields and isinstance(fields[name][0], list)), None)
    if listed is None:
        raise Unreadable("no list of messages")
    items = list(_items(text, listed[1]))
    first = next((place for place, item in enumerate(items) if _role(item[0]) not in _INSTRUCTING), len(items))
    system = [body[slice(*fields[name][1:])] for name in _SYSTEMS if name in fields]
    system += [body[start:end] for _, start, end in items[:first]]
    said = items[first:]
    return Prompt(
        model=_field(body, fields, "model"),
        tools=_field(body, fields, "tools"),
        system=b"\n".join(system),
        messages=tuple(body[start:end] for _, start, end in said),
        roles=tuple(_role(value) for value, _, _ in said),
        meanings=tuple(hash(json.dumps(value, sort_keys=True)) for value, _, _ in said),
        listed=body[said[0][1] : said[-1][2]] if said else b"",
        size=len(body),
    )


def _field(body: bytes, fields: dict[str, tuple[Any, int, int]], name: str) -> bytes:
    return body[slice(*fields[name][1:])] if name in fields else b""


def _role(message: Any) -> str:
    role = message.get("role") if isinstance(message, dict) else None
    return role if isinstance(role, str) else ""


def _members(text: str) -> Iterator[tuple[str, Any, int, int]]:
    """The members of the object that is the whole text: name, value, where the value's bytes begin and end."""
    place = _past(text, _skip(text, 0), "{")
    while text[place : place + 1] != "}":
        name, place = _decoder.raw_decode(text, place)
        start = _past(text, _skip(text, place), ":")
        value, end = _decoder.raw_decode(text, start)
        yield str(name), value, start, end
        place = _separated(text, end, "}")


def _items(text: str, start: int) -> Iterator[tuple[Any, int, int]]:
    """The items of the list that begins at `start`: value, where its bytes begin and end."""
    place = _past(text, start, "[")
    while text[place : place + 1] != "]":
        value, end = _decoder.raw_decode(text, place)
        yield value, place, end
        place = _separated(text, end, "]")


def _separated(text: str, end: int, closing: str) -> int:
    """Where the next item begins, or the closing bracket stands."""
    place = _skip(text, end)
    return place if text[place : place + 1] == closing else _past(text, place, ",")


def _past(text: str, place: int, mark: str) -> int:
    """Where something stands after the mark that must be here."""
    if text[place : place + 1] != mark:
        raise Unreadable(f"no {mark} at byte {place}")
    return _skip(text, place + 1)


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place
