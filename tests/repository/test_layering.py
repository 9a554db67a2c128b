"""Imports point down only, and the protocol's vocabulary stays in the rooms that speak it."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from tests.repository.sources import ROOT, Module, imports, modules

LEAVES = {"providers", "toolbox", "permission", "mcp_client", "extensions", "store"}

# From the top down. Rooms on one line stand beside each other and never import one another.
ORDER: list[set[str]] = [
    {"__main__"},
    {"cli"},
    {"conformance"},
    {"client", "agent"},
    {"assembly"},
    {"acp.connection"},
    {"acp.v1"},
    {"acp"},
    {"runtime.commands"},
    {"runtime.session"},
    {"runtime.turn"},
    {"runtime.evidence"},
    LEAVES,
    {"config"},
    {"wire"},
    {"core"},
    {"schemas", "version"},
]
FLOOR = {room: floor for floor, rooms in enumerate(ORDER) for room in rooms}
ALLOWED = {"client": {"client", "wire", "core", "schemas", "version"}}
SPEAKERS = ("acp", "client", "conformance", "cli")

# What the protocol calls things, beyond its methods: fields that a lower room could be tempted to use.
FIELDS = {
    "sessionId", "sessionUpdate", "toolCallId", "stopReason", "protocolVersion", "agentCapabilities",
    "clientCapabilities", "promptCapabilities", "availableCommands", "rawInput", "rawOutput", "newText",
    "oldText", "optionId", "agent_message_chunk", "agent_thought_chunk", "user_message_chunk",
    "tool_call_update", "additionalDirectories", "configOptions", "terminalId",
}  # fmt: skip


def room_of(name: str) -> str | None:
    """The room of a module named in an import; None for what is not ours, and for the package itself."""
    parts = name.split(".")
    if parts[0] != "acpagent" or len(parts) == 1:
        return None
    return Module(name, ROOT).room


def misplaced(importer: str, imported: str) -> str | None:
    """Why a file of one room must not import from another, or None if it may."""
    if importer == imported:
        return None
    if imported not in ALLOWED.get(importer, {imported}):
        return f"{importer} may import {', '.join(sorted(ALLOWED[importer]))} only"
    if FLOOR[importer] == FLOOR[imported]:
        return f"{importer} and {imported} stand beside each other"
    return f"{importer} lies below {imported}" if FLOOR[importer] > FLOOR[imported] else None


def test_imports_point_down() -> None:
    wrong = []
    for module in modules():
        if module.path.name == "__init__.py":
            continue
        assert module.room in FLOOR, f"{module.name} is in no known room: give it a place in ORDER"
        for name, line in imports(module):
            room = room_of(name)
            if room is not None:
                assert room in FLOOR, f"{module.name}:{line} imports the unknown room {room}"
                reason = misplaced(module.room, room)
                if reason:
                    wrong.append(f"{module.name}:{line} imports {name}: {reason}")
    assert not wrong, "\n".join(wrong)


def test_only_the_package_itself_hands_names_on() -> None:
    full = [m.name for m in modules() if m.path.name == "__init__.py" and m.path.stat().st_size]
    assert full == ["acpagent"]


@pytest.mark.parametrize(
    ("importer", "imported", "allowed"),
    [
        ("cli", "core", True),
        ("core", "wire", False),
        ("store", "toolbox", False),
        ("store", "config", True),
        ("client", "wire", True),
        ("client", "config", False),
        ("agent", "client", False),
        ("runtime.turn", "runtime.session", False),
        ("runtime.session", "runtime.turn", True),
        ("acp.v1", "acp.connection", False),
        ("acp.connection", "acp.v1", True),
        ("assembly", "acp.connection", True),
    ],
)
def test_the_order_itself(importer: str, imported: str, allowed: bool) -> None:
    assert (misplaced(importer, imported) is None) is allowed


def test_imports_are_read_wherever_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "sample.py"
    path.write_text(
        "import acpagent.core.scope\n"
        "from . import framing\n"
        "from ..config.locate import home\n"
        "if TYPE_CHECKING:\n"
        "    from acpagent.store.entries import Entry\n"
        "def late():\n"
        "    from acpagent import config, version\n"
        "    importlib.import_module('acpagent.cli')\n"
    )
    assert list(imports(Module("acpagent.wire.sample", path))) == [
        ("acpagent.core.scope", 1),
        ("acpagent.wire.framing", 2),
        ("acpagent.config.locate", 3),
        ("acpagent.store.entries", 5),
        ("acpagent.config", 7),
        ("acpagent.version", 7),
        ("acpagent.cli", 8),
    ]


def vocabulary() -> set[str]:
    """Every method of the bundled schema, and FIELDS."""
    text = (ROOT / "schemas" / "acp-v1.json").read_text(encoding="utf-8")
    methods = {found["x-method"] for found in json.loads(text)["$defs"].values() if "x-method" in found}
    return {method for method in methods if "/" in method} | FIELDS


def test_only_the_speaking_rooms_use_the_words_of_the_protocol() -> None:
    words = vocabulary()
    assert "session/prompt" in words
    said = re.compile(rf"(?<![\w/])(?:{'|'.join(map(re.escape, sorted(words)))})(?![\w/])")
    wrong = [
        f"{module.name}:{line} says {text[:60]!r}"
        for module in modules()
        if not module.room.startswith(SPEAKERS)
        for text, line in texts(module.tree)
        if said.search(text)
    ]
    assert not wrong, "\n".join(wrong)


def texts(tree: ast.Module) -> list[tuple[str, int]]:
    """The string literals of a file. Docstrings are prose and may name what they explain."""
    prose = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        (node.value, node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
    ]
