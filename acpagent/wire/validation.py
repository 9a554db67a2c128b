"""Validating against normal forms with `jsonschema`, leniently or strictly, with texts a person can act on.

Importing this file imports `jsonschema`; `schema.py` does it on first use. No text here ever quotes the
value that was wrong: it may be a secret (RPC-24).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from acpagent.core.catalogue import Phrase
from acpagent.core.phrases import joined
from acpagent.wire.normalform import DEFAULT_ON_ERROR, DEFAULT_ON_NULL, SKIP_INVALID_ITEMS, UNION, Form, Union

Path = tuple[str | int, ...]
_Errors = Iterator[ValidationError]

_TEXT_LIMIT = 200
_REMOVE = object()


class _Finding(ValidationError):
    """An error whose `message` is already what we want to say."""


class _Repair(_Finding):
    """Something that the schema tells us to bear with: `value` takes its place, or it is removed.

    Without a message nothing was wrong: nothing was said in an unusual way.
    """

    def __init__(self, message: str, value: Any = _REMOVE) -> None:
        super().__init__(message)
        self.value = value


def findings(validator: Any, value: Any) -> list[tuple[Path, str]]:
    """All that is wrong: where, and what it must be."""
    return [_located(error) for error in validator.iter_errors(value)]


def cleaned(validator: Any, value: Any) -> tuple[Any, list[tuple[Path, str]], list[tuple[Path, str]]]:
    """The value with what is tolerated put right (then a copy), what that was, and what is really wrong."""
    errors = list(validator.iter_errors(value))
    if not errors:
        return value, [], []
    repairs = [error for error in errors if isinstance(error, _Repair)]
    wrong = [error for error in errors if not isinstance(error, _Repair)]
    if repairs and not wrong:
        value = copy.deepcopy(value)
        for repair in reversed(repairs):  # from the back: the places of earlier list items stay right
            _apply(repair, value)
    ignored = [_located(error) for error in repairs if error.message]
    return value, ignored, [_located(error) for error in wrong]


def strict(form: Form) -> Any:
    """A validator that tolerates nothing."""
    return _Strict(form)


def lenient(form: Form) -> Any:
    """A validator that honours the schema's tolerance annotations; for `cleaned`."""
    return _Lenient(form)


def _located(error: ValidationError) -> tuple[Path, str]:
    return tuple(error.absolute_path), _text(error)


def _apply(repair: _Repair, value: Any) -> None:
    *path, last = repair.absolute_path
    for key in path:
        value = value[key]
    if repair.value is _REMOVE:
        del value[last]
    else:
        value[last] = copy.deepcopy(repair.value)


# -- keywords; the signature is that of `jsonschema`


def _union(validator: Any, union: Union, instance: Any, schema: Form) -> _Errors:
    candidates = union.candidates(instance)
    if len(candidates) == 1 and (union.tag is None or candidates is not union.others):
        yield from validator.descend(instance, candidates[0])
        return
    best: list[ValidationError] | None = None
    for branch in candidates:
        errors = list(validator.descend(instance, branch))
        if all(isinstance(error, _Repair) for error in errors):
            yield from errors
            return
        if best is None or len(errors) < len(best):
            best = errors
    if not isinstance(instance, dict) or union.tag is None:
        yield from best or [_Finding(_must(_kinds(union.types)))]
    elif best and union.tag not in instance:
        yield from best
    else:
        code = "must_be" if union.tag in instance else "is_required_and"
        if union.others:
            code = "must_be_or_left" if union.tag in instance else "is_required_or_left"
        yield _at(union.tag, _Finding(Phrase(code, what=_one_of(sorted(union.table)))))


def _properties(validator: Any, properties: dict[str, Form], instance: Any, schema: Form) -> _Errors:
    if isinstance(instance, dict):
        for name in instance:
            if name in properties:
                yield from validator.descend(instance[name], properties[name], path=name)


def _lenient_properties(validator: Any, properties: dict[str, Form], instance: Any, schema: Form) -> _Errors:
    if not isinstance(instance, dict):
        return
    for name, value in instance.items():
        part = properties.get(name)
        if part is None:
            continue
        if value is None and part.get(DEFAULT_ON_NULL):
            yield _at(name, _Repair("", _nothing(part)))
            continue
        errors = validator.descend(value, part, path=name)
        if part.get(DEFAULT_ON_ERROR):
            errors = list(errors)
            wrong = next((error for error in errors if not isinstance(error, _Repair)), None)
            if wrong is not None:
                needed = name in schema.get("required", ())
                yield _at(name, _Repair(_text(wrong), _nothing(part) if needed else _REMOVE))
                continue
        yield from errors


def _lenient_items(validator: Any, items: Form, instance: Any, schema: Form) -> _Errors:
    if not isinstance(instance, list):
        return
    skip = schema.get(SKIP_INVALID_ITEMS)
    for index, item in enumerate(instance):
        errors = validator.descend(item, items, path=index)
        if skip:
            errors = list(errors)
            wrong = next((error for error in errors if not isinstance(error, _Repair)), None)
            if wrong is not None:
                yield _at(index, _Repair(_text(wrong)))
                continue
        yield from errors


def _required(validator: Any, required: list[str], instance: Any, schema: Form) -> _Errors:
    if isinstance(instance, dict):
        for name in required:
            if name not in instance:
                part = schema.get("properties", {}).get(name, {})
                yield _at(name, _Finding(_expected(part)))


def _lenient_required(validator: Any, required: list[str], instance: Any, schema: Form) -> _Errors:
    for error in _required(validator, required, instance, schema):
        part = schema.get("properties", {}).get(error.path[0], {})
        # What may be null may as well be left out (RPC-15).
        if part.get(DEFAULT_ON_NULL):
            error = _at(error.path[0], _Repair("", _nothing(part)))
        yield error


def _additional(validator: Any, additional: Any, instance: Any, schema: Form) -> _Errors:
    if not isinstance(instance, dict) or additional is True:
        return
    known = schema.get("properties", {})
    for name, value in instance.items():
        if name in known:
            continue
        if additional is False:
            yield _at(name, _Finding(Phrase("is_unknown_key")))
        else:
            yield from validator.descend(value, additional, path=name)


def _property_names(validator: Any, names: Form, instance: Any, schema: Form) -> _Errors:
    if isinstance(instance, dict):
        for name in instance:
            for error in validator.descend(name, names):
                yield _at(name, _Finding(Phrase("its_name", what=_text(error))))


def _at(key: str | int, error: _Finding) -> _Finding:
    error.path.appendleft(key)
    return error


def _nothing(part: Form) -> Any:
    """The value that stands for nothing at a place."""
    if "default" in part:
        return part["default"]
    return [] if part.get("type") == "array" else {}


_Strict = extend(
    Draft202012Validator,
    {
        UNION: _union,
        "properties": _properties,
        "required": _required,
        "additionalProperties": _additional,
        "propertyNames": _property_names,
    },
)
_Lenient = extend(_Strict, {"properties": _lenient_properties, "items": _lenient_items, "required": _lenient_required})


# -- texts


def _text(error: ValidationError) -> str:
    if isinstance(error, _Finding):
        return error.message
    say = _TEXTS.get(str(error.validator))
    return Phrase("is_not_valid") if say is None else say(error.validator_value)


def _expected(part: Form) -> Phrase:
    if "type" in part:
        return Phrase("is_required_and", what=_kinds(part["type"]))
    if "enum" in part:
        return Phrase("is_required_and", what=_one_of(part["enum"]))
    return Phrase("is_required")


def _must(what: str) -> Phrase:
    return Phrase("must_be", what=what)


def _kinds(types: str | list[str]) -> str:
    return joined("either", [Phrase(f"kind_{kind}") for kind in ([types] if isinstance(types, str) else types)])


def _one_of(values: list[Any]) -> str:
    words = [value if isinstance(value, str) else json.dumps(value) for value in values]
    if len(words) == 1:
        return words[0]
    listed = ", ".join(words)
    return Phrase("one_of", values=listed if len(listed) <= _TEXT_LIMIT else f"{listed[: _TEXT_LIMIT - 1]}…")


def _count(least: str, most: str = "") -> Callable[[Any], Phrase]:
    def say(limit: Any) -> Phrase:
        return Phrase("not_empty") if least and limit == 1 else Phrase(least or most, limit=limit)

    return say


_TEXTS: dict[str, Callable[[Any], Phrase]] = {
    "type": lambda types: _must(_kinds(types)),
    "enum": lambda values: _must(_one_of(values)),
    "const": lambda value: _must(_one_of([value])),
    "minimum": lambda limit: Phrase("at_least", limit=limit),
    "maximum": lambda limit: Phrase("at_most", limit=limit),
    "exclusiveMinimum": lambda limit: Phrase("more_than", limit=limit),
    "exclusiveMaximum": lambda limit: Phrase("less_than", limit=limit),
    "minLength": _count("least_characters"),
    "maxLength": _count("", "most_characters"),
    "minItems": _count("least_items"),
    "maxItems": _count("", "most_items"),
    "minProperties": _count("least_keys"),
    "pattern": lambda _: Phrase("wrong_form"),
    "uniqueItems": lambda _: Phrase("nothing_twice"),
}
