"""What a model passes to a tool, checked against the tool's schema before the tool sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from acpagent.core.toolcalls import ToolRefusal

Schema = Mapping[str, Any]

STRING: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 1}
FLAG: Schema = {"type": "boolean"}

_WORDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


def closed(properties: Mapping[str, Schema], *required: str) -> Schema:
    """The schema of an object with these keys and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def described(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


def check(tool: str, schema: Schema, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments in the types the schema asks for, without those that are null.

    Understands what `closed` and the constants here write. A number given as a string of digits is taken as
    meant. Raises `ToolRefusal` naming the argument and what it should be; it repeats no value.
    """
    checked: dict[str, Any] = _check(schema, arguments, "")
    return checked


def _check(schema: Schema, value: Any, where: str) -> Any:
    value = _READERS[schema["type"]](value)
    if value is None or ("enum" in schema and value not in schema["enum"]) or not _in_range(schema, value):
        raise ToolRefusal(f"{where or 'The arguments'} must be {expected(schema)}.")
    if schema["type"] == "object":
        return _check_object(schema, value, where)
    if schema["type"] == "array":
        return [_check(schema["items"], item, f"{where}[{number}]") for number, item in enumerate(value)]
    if schema["type"] == "string" and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ToolRefusal(f"{where} has half of a surrogate pair; send valid Unicode.")
    return value


def _check_object(schema: Schema, value: Mapping[str, Any], where: str) -> dict[str, Any]:
    properties, prefix = schema["properties"], f"{where}." if where else ""
    given = {key: item for key, item in value.items() if item is not None}
    for key in given:
        if key not in properties:
            raise ToolRefusal(f"There is no argument {prefix}{key[:40]}; {shape(schema)}.")
    for key in schema["required"]:
        if key not in given:
            raise ToolRefusal(f"{prefix}{key} is missing: {expected(properties[key])}; {shape(schema)}.")
    return {key: _check(properties[key], item, f"{prefix}{key}") for key, item in given.items()}


def shape(schema: Schema) -> str:
    """The keys of an object in words: `it takes path, line?, limit?`."""
    keys = [key if key in schema["required"] else f"{key}?" for key in schema["properties"]]
    return f"it takes {', '.join(keys)}"


def expected(schema: Schema) -> str:
    """What a value should be, in words."""
    if "enum" in schema:
        return "one of " + ", ".join(schema["enum"])
    words = _WORDS[schema["type"]]
    if "minimum" in schema:
        words += f" of at least {schema['minimum']}"
    if "maximum" in schema:
        words += f"{' and' if 'minimum' in schema else ' of'} at most {schema['maximum']}"
    return words


def _in_range(schema: Schema, value: Any) -> bool:
    low, high = schema.get("minimum"), schema.get("maximum")
    return (low is None or value >= low) and (high is None or value <= high)


def _integer(value: Any) -> int | None:
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 20:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return _integer(value)


def _boolean(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return value if isinstance(value, bool) else None


def _instance(kind: type) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, kind) else None


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "string": _instance(str),
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "array": _instance(list),
    "object": _instance(dict),
}
