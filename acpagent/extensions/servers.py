"""The servers that files of a project or a plugin name, as written: an entry is read by who connects to it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from acpagent.core.bounds import one_line
from acpagent.extensions.problems import Problem
from acpagent.extensions.project import SERVER_FILES, Project

_FORM = 'write `{"mcpServers": {"name": {"command": ...}}}`'


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """One server: `written` as it stands in the file, with its `name`. Values may be secrets: not in the repr. `source`
    is the file as people call it, `file` and `line` where it stands; `folder` is the directory of the project, or of
    the plugin that `owner` names."""

    name: str
    written: Mapping[str, Any] = field(repr=False)
    source: str
    file: str
    folder: str
    line: int | None = None
    owner: str = ""


@dataclass(frozen=True, slots=True)
class ServerFile:
    """A file that names servers, as it was read; the rest as in an entry."""

    data: bytes | None = field(repr=False)
    source: str
    folder: str
    owner: str = ""

    @property
    def path(self) -> str:
        return os.path.join(self.folder, self.source)


Found = tuple[tuple[ServerEntry, ...], tuple[Problem, ...]]


class _Unusable(Exception):
    """Why a file names no servers: line, what, remedy."""

    def __init__(self, line: int | None, what: str, remedy: str) -> None:
        super().__init__(line, what, remedy)
        self.args: tuple[int | None, str, str] = (line, what, remedy)


def of_project(project: Project) -> tuple[ServerFile, ...]:
    """The files of a trusted project, those that win first."""
    found = ((source, project.files.get(source)) for source in SERVER_FILES)
    return tuple(ServerFile(one.data, source, project.root) for source, one in found if one is not None)


def find(files: Iterable[ServerFile]) -> Found:
    """The servers of all files; of two with one name the first counts. A file with a mistake names none."""
    entries: dict[str, ServerEntry] = {}
    problems: list[Problem] = []
    for file in files:
        try:
            listed = list(_entries(file))
        except _Unusable as fault:
            problems.append(Problem("server", file.path, *fault.args))
            continue
        for entry in listed:
            if entry.name in entries:
                what = f"{one_line(entry.name, 60)}: is named in {entries[entry.name].source} as well, which counts"
                problems.append(Problem("server", file.path, entry.line, what, "remove one of the two", False))
            else:
                entries[entry.name] = entry
    return tuple(entries.values()), tuple(problems)


def _entries(file: ServerFile) -> Iterator[ServerEntry]:
    """Raises `_Unusable`."""
    if file.data is None:
        raise _Unusable(None, "is too large", "keep it short")
    text, written = _parsed(file.data)
    if "mcpServers" in written and "servers" in written:
        raise _Unusable(_line(text, "servers"), "has both `mcpServers` and `servers`", "keep one of them")
    for name, entry in _named(written.get("mcpServers", written.get("servers", {}))):
        line = _line(text, name)
        if not isinstance(entry, dict):
            raise _Unusable(line, f"{one_line(name, 60)}: must be an object", _FORM)
        if entry.get("enabled") is not False and entry.get("disabled") is not True:
            yield ServerEntry(name, {**entry, "name": name}, file.source, file.path, file.folder, line, file.owner)


def _named(listed: Any) -> Iterator[tuple[str, Any]]:
    """Servers by name: a map, or a list of objects that each have an `id` or a `name`."""
    if isinstance(listed, dict):
        yield from listed.items()
        return
    if not isinstance(listed, list):
        raise _Unusable(None, "must hold servers by their names", _FORM)
    seen: set[str] = set()
    for entry in listed:
        name = (entry.get("name") or entry.get("id")) if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name:
            raise _Unusable(None, "has a server without a name", "give it an `id`")
        if name in seen:
            raise _Unusable(None, f"has two servers called {one_line(name, 60)}", "rename one of them")
        seen.add(name)
        yield name, entry


def _parsed(data: bytes) -> tuple[str, dict[str, Any]]:
    try:
        text = data.decode("utf-8-sig")
        written = json.loads(text, object_pairs_hook=_once)
    except UnicodeDecodeError:
        raise _Unusable(None, "is not UTF-8 text", "save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise _Unusable(error.lineno, f"is not valid JSON ({error.msg})", "check commas, quotes and brackets") from None
    except RecursionError:
        raise _Unusable(None, "is nested too deeply", "nest less") from None
    if not isinstance(written, dict):
        raise _Unusable(1, "must hold one object", _FORM)
    return text, written


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key that stands twice would say one thing to a reader and another to a program."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Unusable(None, "has a key twice in one object", "keep one of the two")
    return found


def _line(text: str, key: str) -> int | None:
    """Where a name stands first."""
    place = text.find(json.dumps(key, ensure_ascii=False))
    return None if place < 0 else text.count("\n", 0, place) + 1
