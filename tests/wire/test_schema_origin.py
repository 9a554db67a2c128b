"""The bundled schema is the recorded import of the pinned package. No network."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("import_schema", ROOT / "tools" / "import_schema.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_is_the_recorded_one(tool: ModuleType) -> None:
    assert tool.check() == []


def test_a_changed_file_is_noticed(tool: ModuleType, tmp_path: Path) -> None:
    changed = tmp_path / "acp-v1.json"
    changed.write_text(tool.SCHEMA.read_text() + "\n")
    tool.SCHEMA = changed
    assert [problem.split(": ")[1].split(";")[0] for problem in tool.check()] == [
        "its digest is not the one recorded in acp-v1.origin.json",
        "not in canonical form",
    ]


def test_another_archive_is_refused(tool: ModuleType) -> None:
    with pytest.raises(SystemExit, match="is not the pinned one"):
        tool.verify(b"something else")


def test_prose_goes_and_fields_that_look_like_prose_stay(tool: ModuleType) -> None:
    schema = {
        "description": "prose",
        "properties": {"description": {"type": "string", "description": "prose", "default": {"description": "data"}}},
        "$defs": {"examples": {"examples": [1], "x-deserialize-default-on-error": True}},
    }
    assert tool.without_prose(schema) == {
        "properties": {"description": {"type": "string", "default": {"description": "data"}}},
        "$defs": {"examples": {"x-deserialize-default-on-error": True}},
    }


def test_the_notice_names_the_origin(tool: ModuleType) -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert f"{tool.PACKAGE} {tool.VERSION}" in notice
    assert tool.MEMBER.removeprefix("package/") in notice


def schemas_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from schemas_in(item)


def test_every_reference_leads_somewhere() -> None:
    names = ("acp-v1.json", "vendor.json", "plugin.json")
    documents = {name: json.loads((ROOT / "schemas" / name).read_text()) for name in names}
    for home, document in documents.items():
        for schema in schemas_in(document):
            if isinstance(schema.get("$ref"), str):
                name, pointer = schema["$ref"].split("#/$defs/")
                assert pointer in documents[name or home]["$defs"]
