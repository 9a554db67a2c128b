"""A plugin package's manifest: what the package adds, and what its program may be asked, be told and do."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from acpagent.config.document import Document, Path
from acpagent.config.problems import ConfigError
from acpagent.core import files
from acpagent.core.catalogue import Phrase
from acpagent.core.paths import within
from acpagent.core.phrases import told
from acpagent.extensions import jsonlines
from acpagent.extensions.problems import Problem, of_config
from acpagent.wire.schema import check_document, load

MANIFEST = "acpagent-plugin.json"
SCHEMA = "plugin.json"
API = 1
TIMEOUT_SECONDS = 5.0

# What a package can contribute: folders, or files.
FOLDERS = ("skills", "commands", "prompts")
FILES = ("hooks", "mcpServers")
KINDS = (*FOLDERS, *FILES)
_MAX_BYTES = 1 << 20
_NOTHING: Mapping[str, Any] = MappingProxyType({"type": "object", "properties": {}})


class ManifestError(Exception):
    """A package that cannot be used; `problems` has at least one entry."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """Something a program does when the person calls it by a command."""

    id: str
    label: str
    description: str = ""
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool of a program. One that is not `reads_only` may do anything."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(hash=False)
    reads_only: bool


@dataclass(frozen=True, slots=True)
class Runtime:
    """The program of a package, and all that it may be asked, be told and do. `timeout` in seconds, for each intercept;
    `required`: what it intercepts is refused where it does not answer."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, hash=False)
    required: bool = False
    timeout: float = TIMEOUT_SECONDS
    intercepts: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    ui: bool = False
    actions: tuple[ActionSpec, ...] = ()
    tools: tuple[ToolSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """`contributes` are paths inside the package by kind (`KINDS`)."""

    name: str
    version: str
    description: str
    contributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    runtime: Runtime | None = None


def read(root: str) -> Manifest:
    """The manifest of the package at `root`. Raises `ManifestError` with every mistake in it."""
    page = _parsed(os.path.join(root, MANIFEST))
    schema = load(SCHEMA)
    wrong = [
        Problem(
            "plugin",
            page.file,
            page.line(found.path),
            str(found) if found.path else found.text,
            _remedy(schema, found.path),
        )
        for found in check_document(SCHEMA, page.value)
    ]
    if wrong:
        raise ManifestError(*wrong)
    wrong = [*_misplaced(page, root), *_repeated(page)]
    if wrong:
        raise ManifestError(*wrong)
    return _made(page.value)


def is_name(text: str) -> bool:
    """Whether a plugin can be called so."""
    return re.search(load(SCHEMA)["properties"]["name"]["pattern"], text) is not None


def program(root: str, runtime: Runtime) -> str:
    """The program as it is started: what has a slash in it lies in the package."""
    return os.path.normpath(os.path.join(root, runtime.command)) if "/" in runtime.command else runtime.command


def _parsed(path: str) -> Document:
    try:
        data = files.read_bytes(path, _MAX_BYTES)
    except FileNotFoundError:
        raise ManifestError(_problem(path, Phrase("what_not_there"), Phrase("remedy_manifest"))) from None
    except OSError as error:
        what = Phrase("what_unreadable", cause=told(error))
        raise ManifestError(_problem(path, what, Phrase("remedy_readable_you"))) from None
    except files.NotText as error:
        raise ManifestError(_problem(path, told(error), Phrase("remedy_short_text"))) from None
    try:
        return jsonlines.parse(path, data)
    except ConfigError as error:
        raise ManifestError(*of_config("plugin", error)) from None


def _misplaced(page: Document, root: str) -> list[Problem]:
    """What the package names and does not have, or what leads out of it."""
    found: list[Problem] = []
    inside, written = os.path.realpath(root), page.value

    def note(place: Path, what: str, remedy: str) -> None:
        found.append(Problem("plugin", page.file, page.line(place), what, remedy))

    for kind, names in written.get("contributes", {}).items():
        for number, name in enumerate(names):
            real = os.path.realpath(os.path.join(root, name))
            there = os.path.isdir(real) if kind in FOLDERS else os.path.isfile(real)
            place, where = ("contributes", kind, number), f"contributes.{kind}[{number}]"
            if not within(real, inside):
                note(place, Phrase("what_leaves_package", where=where), Phrase("remedy_keep_inside"))
            elif not there:
                code = "what_no_folder" if kind in FOLDERS else "what_no_file"
                note(place, Phrase(code, where=where, name=name), Phrase("remedy_add_or_remove"))
    command = written.get("runtime", {}).get("command", "")
    if "/" in command and not within(os.path.realpath(os.path.join(root, command)), inside):
        note(
            ("runtime", "command"),
            Phrase("what_leaves_package", where="runtime.command"),
            Phrase("remedy_path_program"),
        )
    return found


def _repeated(page: Document) -> list[Problem]:
    able = page.value.get("runtime", {}).get("capabilities", {})
    found = []
    for kind, key in (("actions", "id"), ("tools", "name")):
        names = [one[key] for one in able.get(kind, ())]
        for name in sorted({name for name in names if names.count(name) > 1}):
            what = Phrase("what_name_twice", kind=kind, name=name)
            line = page.line(("runtime", "capabilities", kind))
            found.append(Problem("plugin", page.file, line, what, Phrase("remedy_own_name")))
    return found


def _made(written: dict[str, Any]) -> Manifest:
    contributes = {kind: tuple(names) for kind, names in written.get("contributes", {}).items()}
    runtime = _runtime(written["runtime"]) if "runtime" in written else None
    return Manifest(written["name"], written["version"], written["description"], contributes, runtime)


def _runtime(written: dict[str, Any]) -> Runtime:
    able = written.get("capabilities", {})
    return Runtime(
        command=written["command"],
        args=tuple(written.get("args", ())),
        env=dict(written.get("env", {})),
        required=written.get("required", False),
        timeout=float(written.get("timeout", TIMEOUT_SECONDS)),
        intercepts=tuple(able.get("intercepts", ())),
        events=tuple(able.get("events", ())),
        ui=able.get("ui", False),
        actions=tuple(
            ActionSpec(one["id"], one["label"], one.get("description", ""), one.get("hint"))
            for one in able.get("actions", ())
        ),
        tools=tuple(
            ToolSpec(one["name"], one["description"], _parameters(one), one.get("readOnly", False))
            for one in able.get("tools", ())
        ),
    )


def _parameters(written: dict[str, Any]) -> Mapping[str, Any]:
    """Every provider wants an object with properties."""
    return {**_NOTHING, **written.get("parameters", {})}


def _remedy(schema: dict[str, Any], path: tuple[str | int, ...]) -> str:
    """What the schema advises at a place, or at the nearest place around it that says something."""
    remedy, here = Phrase("remedy_plugin_docs"), schema
    for key in path:
        known = here.get("properties", {})
        if here.get("additionalProperties") is False and isinstance(key, str) and key not in known:
            return Phrase("remedy_known_here", names=", ".join(name for name in known if name != "$schema"))
        here = here.get("items", {}) if isinstance(key, int) else known.get(key, here.get("additionalProperties", {}))
        if "$ref" in here:
            here = schema["$defs"][here["$ref"].rpartition("/")[2]]
        remedy = Phrase(here["x-remedy"]) if "x-remedy" in here else remedy
    return remedy


def _problem(path: str, what: str, remedy: str) -> Problem:
    return Problem("plugin", path, None, what, remedy)
