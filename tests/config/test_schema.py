"""The schema of `config.yaml` agrees with the code that reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from acpagent.config.settings import Limits, ModelSettings, PermissionSettings, Price, Settings, Timeouts
from acpagent.wire.schema import load

SCHEMA = load("config.json")
PROVIDER = SCHEMA["properties"]["providers"]["additionalProperties"]
MODEL = PROVIDER["properties"]["models"]["additionalProperties"]


def parts(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema inside a schema, with its place."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from parts(inner, f"{path}.{name}")
    for key in ("additionalProperties", "items"):
        if isinstance(schema.get(key), dict):
            yield from parts(schema[key], f"{path}.*")


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_every_object_is_closed() -> None:
    open_ones = [
        path
        for path, part in parts(SCHEMA)
        if part.get("type") == "object" and part.get("additionalProperties", True) is True
    ]
    assert not open_ones


def test_every_place_has_a_remedy() -> None:
    """Its own, that of what holds it (items and values of maps), or the list of its keys."""
    without = [
        path for path, part in parts(SCHEMA) if not {"x-remedy", "properties"} & part.keys() and path[-1:] != "*"
    ]
    assert not without


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        (SCHEMA, Settings),
        (SCHEMA["properties"]["limits"], Limits),
        (SCHEMA["properties"]["permissions"], PermissionSettings),
        (PROVIDER["properties"]["timeouts"], Timeouts),
        (MODEL, ModelSettings),
        (MODEL["properties"]["price"], Price),
    ],
)
def test_defaults_are_the_same_in_both(schema: dict[str, Any], kind: type) -> None:
    defaults = {field.name: field.default for field in fields(kind) if field.default is not MISSING}
    written = {name: part["default"] for name, part in schema["properties"].items() if "default" in part}
    assert written == {name: defaults[name] for name in written}
