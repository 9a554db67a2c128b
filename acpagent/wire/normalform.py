"""Schemas made ready for validating: references inlined, `allOf` merged, unions told apart by their tags.

Plain JSON Schema tries every branch of a union and complains about all of them. In normal form a union
knows which branch an instance means, so that validating is fast and an error names the real mistake; and
because an object's keys are all in one place, it can be closed against unknown ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

Form = dict[str, Any]

DEFAULT_ON_ERROR = "x-deserialize-default-on-error"
SKIP_INVALID_ITEMS = "x-deserialize-skip-invalid-items"
DEFAULT_ON_NULL = "x-deserialize-default-on-null"
UNION = "x-union"

# What is said about a place rather than about the value there: it stays with the place when a schema
# that stands there by reference is merged in.
_NOTES = (DEFAULT_ON_ERROR, SKIP_INVALID_ITEMS, DEFAULT_ON_NULL, "default", "x-remedy")
_COMBINERS = ("$ref", "allOf", "oneOf", "anyOf")
_IGNORED = frozenset(("title", "description", "format", "discriminator", "x-side", "x-method", "$schema", "$defs"))
_BRANCHES = "x-branches"  # a union before its branches are final
_OPEN_KEY = "_meta"  # the one place for keys that the schema does not know (EXT-01)


class Union:
    """Branches of which an instance means one: by its JSON type, by a tag (a property that is a different
    constant in each branch), or by which required keys it has."""

    __slots__ = ("_by_type", "_keys", "others", "table", "tag", "types")

    def __init__(self, branches: list[Form]) -> None:
        self._by_type = _by_type(branches)
        self.types = sorted({kind for branch in branches for kind in _types(branch) or ()})
        self.tag: str | None
        objects = self._by_type.get("object", [])
        self.tag, self.table, self.others = _tagged(objects)
        self._keys = [] if self.tag else _telling_keys(objects)

    def candidates(self, instance: Any) -> list[Form]:
        """The branches that `instance` may mean; more than one only where nothing tells them apart."""
        if not isinstance(instance, dict):
            return self._by_type.get(_type_of(instance), [])
        if self.tag is not None:
            value = instance.get(self.tag)
            known = self.table.get(value) if isinstance(value, str) else None
            return self.others if known is None else [known]
        fitting = [branch for key, branch in self._keys if key is None or key in instance]
        return fitting or self._by_type.get("object", [])


def normal_form(schema: Any, home: str, documents: dict[str, Any], *, closed: bool) -> Form:
    """The normal form of `schema`, which stands in document `home`; `documents` holds what references name.

    With `closed`, objects refuse unknown keys unless the schema opens them expressly. Raises `ValueError`
    for what cannot be merged, `LookupError` for a reference that leads nowhere.
    """
    return _finished(_Merger(documents).merged(schema, home), closed)


class _Merger:
    """First half: references and `allOf` are gone, unions have the keys around them pushed into them."""

    def __init__(self, documents: dict[str, Any]) -> None:
        self._documents = documents

    def merged(self, schema: Any, home: str) -> Form:
        if not isinstance(schema, dict):
            return {} if schema else {"not": {}}
        own, notes = {}, {}
        for key, value in schema.items():
            if key in _NOTES:
                notes[key] = value
            elif key not in _COMBINERS and key not in _IGNORED:
                own[key] = self._inside(key, value, home)
        parts = [self._referred(schema["$ref"], home)] if "$ref" in schema else []
        parts += [self.merged(part, home) for part in schema.get("allOf", ())]
        for key in ("oneOf", "anyOf"):
            if key in schema:
                parts.append(_joined(self.merged(branch, home) for branch in schema[key]))
        return reduce(_merge, parts, own) | notes

    def _inside(self, key: str, value: Any, home: str) -> Any:
        if key in ("properties", "patternProperties"):
            return {name: self.merged(part, home) for name, part in value.items()}
        if key in ("items", "additionalProperties", "propertyNames") and isinstance(value, dict):
            return self.merged(value, home)
        return value

    def _referred(self, reference: str, home: str) -> Form:
        document, _, pointer = reference.partition("#/")
        target: Any = self._documents[document or home]
        for step in pointer.split("/"):
            target = target[step]
        return self.merged(target, document or home)


def _merge(first: Form, second: Form) -> Form:
    """What is valid under both."""
    for one, other in ((first, second), (second, first)):
        if _BRANCHES in one:
            return {_BRANCHES: [_merge(branch, other) for branch in one[_BRANCHES]]}
    both = dict(first)
    for key, value in second.items():
        if key not in both or both[key] == value:
            both[key] = value
        elif key == "properties":
            mine = both[key]
            both[key] = mine | {
                name: _merge(mine[name], part) if name in mine else part for name, part in value.items()
            }
        elif key == "required":
            both[key] = [*both[key], *(name for name in value if name not in both[key])]
        elif key not in _NOTES:
            raise ValueError(f"cannot merge two different {key!r}")
    return both


def _joined(branches: Iterable[Form]) -> Form:
    """What is valid under one of `branches`; constants and plain types become one `enum` or `type`."""
    flat: list[Form] = []
    for branch in branches:
        flat += branch[_BRANCHES] if branch.keys() == {_BRANCHES} else [branch]
    kinds: list[str] = []
    values: list[Any] = []
    rest: list[Form] = []
    for branch in flat:
        if branch.keys() == {"type"}:
            kinds += _types(branch) or ()
        elif branch.keys() <= {"type", "const", "enum"}:
            values += branch.get("enum", [branch.get("const")])
        else:
            rest.append(branch)
    values = [value for value in values if _type_of(value) not in kinds]
    if values and kinds == ["null"]:
        values, kinds = [*values, None], []
    if values:
        rest.append({"enum": values})
    if kinds:
        rest.append({"type": kinds if len(kinds) > 1 else kinds[0]})
    return rest[0] if len(rest) == 1 else {_BRANCHES: rest}


def _finished(form: Form, closed: bool) -> Form:
    """Second half: unions get their tables, objects are closed."""
    done = dict(form)
    if _BRANCHES in done:
        done[UNION] = Union([_finished(branch, closed) for branch in done.pop(_BRANCHES)])
        return done
    for key in ("properties", "patternProperties"):
        if key in done:
            done[key] = {name: _finished(part, closed) for name, part in done[key].items()}
    for key in ("items", "additionalProperties", "propertyNames"):
        if isinstance(done.get(key), dict):
            done[key] = _finished(done[key], closed)
    opened = done.pop("unevaluatedProperties", False)
    if closed and not opened and "object" in (_types(done) or ()) and "additionalProperties" not in done:
        done["properties"] = {_OPEN_KEY: {}} | done.get("properties", {})
        done["additionalProperties"] = False
    return done


def _tagged(objects: list[Form]) -> tuple[str | None, dict[str, Form], list[Form]]:
    """The tag property, branch by constant, and the branches without a constant."""
    best: dict[str, list[Form]] = {}
    tag = None
    for name in {name for branch in objects for name in branch.get("properties", ())}:
        groups: dict[str, list[Form]] = {}
        for branch in objects:
            constant = _constant(branch, name)
            if constant is not None:
                groups.setdefault(constant, []).append(branch)
        if len(objects) > 1 and len(groups) > len(best):
            tag, best = name, groups
    if tag is None:
        return None, {}, []
    table = {}
    for constant, group in best.items():
        untagged = [_without_tag(branch, tag) for branch in group]
        table[constant] = group[0] if len(group) == 1 else {UNION: Union(untagged)}
    return tag, table, [branch for branch in objects if _constant(branch, tag) is None]


def _constant(branch: Form, name: str) -> str | None:
    value = branch.get("properties", {}).get(name, {}).get("const")
    return value if isinstance(value, str) and name in branch.get("required", ()) else None


def _without_tag(branch: Form, tag: str) -> Form:
    """The branch once its tag is known to be right: nothing must be told apart by it any more."""
    return branch | {"properties": branch["properties"] | {tag: {}}}


def _telling_keys(objects: list[Form]) -> list[tuple[str | None, Form]]:
    """For each branch a required key that no other branch requires, or None."""
    keys: list[tuple[str | None, Form]] = []
    for branch in objects:
        elsewhere = {key for other in objects if other is not branch for key in other.get("required", ())}
        keys.append((next((key for key in branch.get("required", ()) if key not in elsewhere), None), branch))
    return keys


def _by_type(branches: list[Form]) -> dict[str, list[Form]]:
    table: dict[str, list[Form]] = {}
    for branch in branches:
        for kind in _types(branch) or ("null", "boolean", "integer", "number", "string", "array", "object"):
            table.setdefault(kind, []).append(branch)
    for kind, other in (("integer", "number"), ("number", "integer")):
        extra = [branch for branch in table.get(other, ()) if branch not in table.get(kind, ())]
        if extra:
            table.setdefault(kind, []).extend(extra)
    return table


def _types(form: Form) -> list[str] | None:
    """The JSON types a form allows; None means any."""
    if "type" in form:
        return [form["type"]] if isinstance(form["type"], str) else list(form["type"])
    if "enum" in form or "const" in form:
        return sorted({_type_of(value) for value in form.get("enum", [form.get("const")])})
    if UNION in form:
        return list(form[UNION].types) or None
    return ["object"] if "properties" in form else None


def _type_of(value: Any) -> str:
    return _JSON_TYPES[type(value)]


_JSON_TYPES = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
