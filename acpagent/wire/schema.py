"""The bundled schemas: what comes in is cleaned with their tolerance, what goes out is checked with none.

The protocol's methods and ours are looked up by the side that answers them ("agent" or "client") and by
name; no name stands in this file. Importing it is cheap, first use imports `jsonschema` and builds what is
asked for, once.
"""

from __future__ import annotations

import json
import os
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from acpagent.core.faults import TheirFault
from acpagent.wire.codes import INVALID_PARAMS

if TYPE_CHECKING:
    from acpagent.wire.normalform import Form

    Path = tuple[str | int, ...]

SIDES = ("agent", "client")
PARAMS = "params"
RESULT = "result"

_METHODS = ("acp-v1.json", "vendor.json", "plugin.json")  # the last for what the second refers to
_FIELD_OF = {"Request": PARAMS, "Notification": PARAMS, "Response": RESULT}
_PATH_LIMIT = 200


class Problem:
    """Something wrong in a document: `path` leads to it, `text` says what it must be. Quotes no value."""

    __slots__ = ("path", "text")

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text

    def __str__(self) -> str:
        return f"{_spelled(self.path)}: {self.text}"

    def __repr__(self) -> str:
        return f"Problem({str(self)!r})"


class SchemaFault(TheirFault):
    """What the peer sent cannot be used: -32602 with path and remedy, under 500 characters."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(INVALID_PARAMS, str(problem))
        self.path = problem.path
        self.remedy = problem.text


class Bundle:
    """The methods of one protocol version, ours included."""

    def __init__(self, names: tuple[str, ...] = _METHODS) -> None:
        self._documents = {name: load(name) for name in names}
        self._places: dict[tuple[str, str, str], tuple[str, str]] = {}
        self._variants: dict[tuple[str, str], list[tuple[str, str]]] = {}
        self._validators: dict[tuple[str, str], Any] = {}
        for home, document in self._documents.items():
            for name, definition in document["$defs"].items():
                if "x-method" in definition:
                    self._place(home, name, definition)
                if "x-variant-of" in definition:
                    place = (definition["x-side"], definition["x-variant-of"])
                    self._variants.setdefault(place, []).append((home, name))
        self._received = {side: self._named(side, PARAMS) for side in SIDES}
        self._notified = {side: self._received[side] - self._named(side, RESULT) for side in SIDES}

    def methods(self, side: str) -> frozenset[str]:
        """The methods, notifications included, that `side` receives."""
        return self._received[side]

    def notifications(self, side: str) -> frozenset[str]:
        """The methods that `side` receives and does not answer."""
        return self._notified[side]

    def clean_params(self, side: str, method: str, params: Any) -> tuple[Any, list[str]]:
        """What `side` may work with of the params it received, and a line about each thing put right.

        Absent params are `{}` (RPC-23); malformed optional values are absent, bad items of tolerant lists
        are left out, null is nothing where the schema says so (RPC-13, RPC-14). Raises `SchemaFault` for
        a malformed required value, `LookupError` for a method the schema does not have.
        """
        return self._clean(side, method, PARAMS, params)

    def clean_result(self, side: str, method: str, result: Any) -> tuple[Any, list[str]]:
        """The same for the result of a call that `side` answered."""
        return self._clean(side, method, RESULT, result)

    def warm_up(self, side: str) -> None:
        """Import and build ahead of time what cleaning the params of every method of `side` takes."""
        for method in sorted(self.methods(side)):
            self._validator(self._places[side, method, PARAMS], "lenient")

    def check_params(self, side: str, method: str, params: Any, variants: bool = False) -> list[Problem]:
        """What is wrong, every object closed, with params sent to `side`; None is absent. With `variants` they may also
        be what only a peer that asked for it gets."""
        params = {} if params is None else params
        for place in self._variants.get((side, method), ()) if variants else ():
            if not self._problems(self._validator(place, "strict"), (), params):
                return []
        return self._check(side, method, PARAMS, params)

    def check_result(self, side: str, method: str, result: Any) -> list[Problem]:
        """What is wrong, every object closed, with a result sent by `side`. Raises `LookupError`."""
        return self._check(side, method, RESULT, result)

    def check_definition(self, name: str, value: Any) -> list[Problem]:
        """What is wrong, every object closed, with a value of the protocol's definition `name`."""
        return self._problems(self._validator((_METHODS[0], name), "strict"), (), value)

    def _place(self, home: str, name: str, definition: Form) -> None:
        field = next(field for suffix, field in _FIELD_OF.items() if name.endswith(suffix))
        for side in SIDES:
            if definition["x-side"] in (side, "protocol"):
                self._places[side, definition["x-method"], field] = (home, name)

    def _named(self, side: str, field: str) -> frozenset[str]:
        return frozenset(method for who, method, what in self._places if (who, what) == (side, field))

    def _clean(self, side: str, method: str, field: str, value: Any) -> tuple[Any, list[str]]:
        from acpagent.wire.validation import cleaned

        validator = self._validator(self._places[side, method, field], "lenient")
        try:
            value, repaired, wrong = cleaned(validator, {} if value is None else value)
        except RecursionError:
            raise SchemaFault(Problem((field,), "is nested too deeply")) from None
        if wrong:
            raise SchemaFault(_first(field, wrong))
        return value, [f"{_spelled((field, *path))}: ignored, it {text}" for path, text in repaired]

    def _check(self, side: str, method: str, field: str, value: Any) -> list[Problem]:
        return self._problems(self._validator(self._places[side, method, field], "strict"), (field,), value)

    def _problems(self, validator: Any, start: Path, value: Any) -> list[Problem]:
        from acpagent.wire.validation import findings

        return [Problem((*start, *path), text) for path, text in findings(validator, value)]

    def _validator(self, place: tuple[str, str], how: str) -> Any:
        key = (f"{how} {place[0]}", place[1])
        found = self._validators.get(key)
        if found is None:
            # Two threads may both build it; either result is as good.
            found = self._validators[key] = self._built(place, how)
        return found

    def _built(self, place: tuple[str, str], how: str) -> Any:
        from acpagent.wire import validation
        from acpagent.wire.normalform import normal_form

        home, name = place
        definition = self._documents[home]["$defs"][name]
        form = normal_form(definition, home, self._documents, closed=how == "strict")
        return validation.strict(form) if how == "strict" else validation.lenient(form)


def load(name: str) -> Any:
    """A document of the package `acpagent.schemas`, by its file name."""
    folder = import_module("acpagent.schemas").__path__[0]
    with open(os.path.join(folder, name), "rb") as file:
        return json.load(file)


@cache
def bundle() -> Bundle:
    """The one bundle of this process."""
    return Bundle()


def check_document(name: str, value: Any, part: str | None = None) -> list[Problem]:
    """What is wrong with a document by the schema of that file name (`config.json`), or by its definition `part`."""
    from acpagent.wire.validation import findings

    return [Problem(path, text) for path, text in findings(_document_validator(name, part), value)]


@cache
def _document_validator(name: str, part: str | None) -> Any:
    from acpagent.wire.normalform import normal_form
    from acpagent.wire.validation import strict

    document = load(name)
    schema = document if part is None else document["$defs"][part]
    return strict(normal_form(schema, name, {name: document}, closed=False))


def _first(field: str, wrong: list[tuple[Path, str]]) -> Problem:
    path, text = wrong[0]
    return Problem((field, *path), text)


def _spelled(path: Path) -> str:
    """`params.prompt[0].text`; the middle of a very long one is left out."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else str(key)
    if len(text) > _PATH_LIMIT:
        text = f"{text[: _PATH_LIMIT // 2]}…{text[-_PATH_LIMIT // 2 :]}"
    return text
