"""The servers that files of a project or a plugin name, as written: an entry is read by who connects to it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from acpagent.config.document import Document, Path
from acpagent.config.problems import ConfigError, ConfigProblem
from acpagent.core.bounds import one_line
from acpagent.core.catalogue import Phrase
from acpagent.extensions import jsonlines
from acpagent.extensions.problems import Problem, of_config
from acpagent.extensions.project import SERVER_FILES, Project

_FORM = Phrase("remedy_servers_form")


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
        except ConfigError as error:
            problems += of_config("server", error)
            continue
        for entry in listed:
            if entry.name in entries:
                what = Phrase("what_also_named", name=one_line(entry.name, 60), source=entries[entry.name].source)
                problems.append(Problem("server", file.path, entry.line, what, Phrase("remedy_remove_one"), False))
            else:
                entries[entry.name] = entry
    return tuple(entries.values()), tuple(problems)


def _entries(file: ServerFile) -> Iterator[ServerEntry]:
    """Raises `ConfigError`."""
    if file.data is None:
        raise ConfigError(ConfigProblem(file.path, None, Phrase("what_too_large"), Phrase("remedy_short")))
    page = jsonlines.parse(file.path, file.data)
    if not isinstance(page.value, dict):
        raise ConfigError(page.problem((), Phrase("what_one_object"), _FORM))
    if "mcpServers" in page.value and "servers" in page.value:
        raise ConfigError(page.problem(("servers",), Phrase("what_beside"), Phrase("remedy_keep_one_of")))
    key = "servers" if "servers" in page.value else "mcpServers"
    for name, place, entry in _named(page, key):
        if not isinstance(entry, dict):
            raise ConfigError(page.problem(place, Phrase("what_object"), _FORM))
        if entry.get("enabled") is not False and entry.get("disabled") is not True:
            written = {**entry, "name": name}
            yield ServerEntry(name, written, file.source, file.path, file.folder, page.line(place), file.owner)


def _named(page: Document, key: str) -> Iterator[tuple[str, Path, Any]]:
    """Servers by name, each with its place in the page: of a map, or of a list of objects with an `id`, as SOBA has it,
    or a `name`."""
    listed = page.value.get(key, {})
    if isinstance(listed, dict):
        for name, entry in listed.items():
            yield name, (key, name), entry
        return
    if not isinstance(listed, list):
        raise ConfigError(page.problem((key,), Phrase("what_by_names"), _FORM))
    seen: set[str] = set()
    for number, entry in enumerate(listed):
        name = (entry.get("id") or entry.get("name")) if isinstance(entry, dict) else None
        if not isinstance(name, str) or name in seen:
            what = Phrase("what_second_name") if name in seen else Phrase("what_no_name")
            raise ConfigError(page.problem((key, number), what, Phrase("remedy_own_id")))
        seen.add(name)
        yield name, (key, number), entry
