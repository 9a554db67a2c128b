"""The plugins that a person has installed: packages in `plugins/` below acpagent's home, and a record of them."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from acpagent.core import bounds, files
from acpagent.core.catalogue import Phrase
from acpagent.core.phrases import told
from acpagent.extensions import lineage, manifest
from acpagent.extensions.manifest import Manifest, ManifestError
from acpagent.extensions.problems import Problem

_PRIVATE = 0o600
_VERSION = 1
_MAX_BYTES = 1 << 20


class PluginError(Exception):
    """What was asked for cannot be; the text says what to do instead."""


class UnknownPlugin(PluginError):
    """There is none of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(Phrase("no_plugin", name=bounds.printable(name)))


@dataclass(frozen=True, slots=True)
class Record:
    """What is noted of one plugin: where it came from, and whether it is in use. `linked`: its folder is a link to
    where it is worked on."""

    name: str
    source: str
    version: str
    enabled: bool = True
    linked: bool = False


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin that can be used. `root` is its folder, absolute."""

    name: str
    root: str
    manifest: Manifest

    def paths(self, kind: str) -> tuple[str, ...]:
        """Where what it contributes of a kind lies, absolute. Prompts are command files, and are found with those."""
        kinds = (kind, "prompts") if kind == "commands" else (kind,)
        names = (name for one in kinds for name in self.manifest.contributes.get(one, ()))
        return tuple(os.path.join(self.root, name) for name in names)


@dataclass(frozen=True, slots=True)
class Installed:
    """A plugin on record; `manifest` is None where it cannot be used, as `problems` say."""

    record: Record
    root: str
    manifest: Manifest | None
    problems: tuple[Problem, ...] = ()


def folder(home: str, name: str = "") -> str:
    """Where packages lie, or one of them."""
    return os.path.join(home, "plugins", name) if name else os.path.join(home, "plugins")


def record_file(home: str) -> str:
    return os.path.join(home, "plugins.json")


def installed(home: str) -> tuple[Installed, ...]:
    """All on record, by name, in use or not. Raises `PluginError` where the record cannot be used."""
    return tuple(_look(home, record) for record in sorted(read_records(home).values(), key=lambda one: one.name))


def enabled(home: str) -> tuple[tuple[Plugin, ...], tuple[Problem, ...]]:
    """The plugins in use, by name, and what is wrong with others that should be. Raises nothing for what is on the
    disk."""
    try:
        found = [one for one in installed(home) if one.record.enabled]
    except PluginError as error:
        remedy = Phrase("remedy_record")
        return (), (Problem("plugin", record_file(home), None, told(error), remedy),)
    plugins = tuple(Plugin(one.record.name, one.root, one.manifest) for one in found if one.manifest is not None)
    return plugins, tuple(problem for one in found for problem in one.problems)


def find(home: str, name: str) -> Installed:
    """The plugin of that name. Raises `PluginError`."""
    record = read_records(home).get(name)
    if record is None:
        raise UnknownPlugin(name)
    return _look(home, record)


def check_person() -> None:
    """What may run beside sessions is no agent's to say. Raises `PluginError`."""
    if lineage.is_under_agent():
        raise PluginError(lineage.REFUSAL)


def set_enabled(home: str, name: str, use: bool) -> bool:
    """Use a plugin from the next session or reload on, or no more. Whether that changed anything. Raises `PluginError`,
    OSError."""
    if use:
        check_person()
    with changing(home) as records:
        if name not in records:
            raise UnknownPlugin(name)
        changed = records[name].enabled is not use
        records[name] = replace(records[name], enabled=use)
    return changed


def remove(home: str, name: str) -> None:
    """Take a plugin off the record and delete its folder; of a linked one only the link. Raises `PluginError`,
    OSError."""
    with changing(home) as records:
        if records.pop(name, None) is None:
            raise UnknownPlugin(name)
    discard(folder(home, name))


def discard(path: str) -> None:
    """Delete a folder, or a link to one. Raises OSError."""
    if os.path.islink(path):
        os.unlink(path)
    elif os.path.lexists(path):
        shutil.rmtree(path)


def make_folder(home: str) -> str:
    """Where packages lie, made for the person alone. Raises OSError."""
    os.makedirs(home, mode=0o700, exist_ok=True)
    os.makedirs(folder(home), mode=0o700, exist_ok=True)
    return folder(home)


@contextmanager
def changing(home: str) -> Iterator[dict[str, Record]]:
    """The records, to be changed: written back if nothing is raised. One process at a time. Raises `PluginError`,
    OSError."""
    make_folder(home)
    handle = os.open(folder(home), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        records = read_records(home)
        yield records
        _write(home, records)
    finally:
        os.close(handle)


def read_records(home: str) -> dict[str, Record]:
    """What is on record, by name. Raises `PluginError` where that cannot be read or understood."""
    try:
        written = json.loads(files.read_bytes(record_file(home), _MAX_BYTES))
        if not isinstance(written, dict) or written["version"] != _VERSION:
            raise PluginError(Phrase("record_other_version"))
        return {one["name"]: _record(one) for one in written["plugins"]}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise PluginError(Phrase("record_unreadable", cause=told(error))) from None
    except (files.NotText, KeyError, TypeError, ValueError, RecursionError):
        raise PluginError(Phrase("record_none")) from None


def _record(written: Mapping[str, Any]) -> Record:
    name, source, version = written["name"], written["source"], written["version"]
    use, linked = written["enabled"], written["linked"]
    plain = all(isinstance(text, str) for text in (name, source, version))
    # The name is a path below `plugins/`, so that it must be no other one.
    if not plain or not isinstance(use, bool) or not isinstance(linked, bool) or not manifest.is_name(name):
        raise ValueError("no record")
    return Record(name, source, version, use, linked)


def _write(home: str, records: Mapping[str, Record]) -> None:
    written = {
        "version": _VERSION,
        "plugins": [
            {
                "name": one.name,
                "source": one.source,
                "version": one.version,
                "enabled": one.enabled,
                "linked": one.linked,
            }
            for one in sorted(records.values(), key=lambda one: one.name)
        ],
    }
    data = json.dumps(written, indent=1, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    files.write_bytes(os.path.realpath(record_file(home)), data, _PRIVATE)


def _look(home: str, record: Record) -> Installed:
    place = folder(home, record.name)
    root = os.path.realpath(place)
    if not os.path.isdir(place):
        what, remedy = Phrase("what_not_there"), Phrase("remedy_install_or_remove", name=record.name)
        return Installed(record, root, None, (Problem("plugin", place, None, what, remedy),))
    if os.path.islink(place) and not record.linked:
        what, remedy = Phrase("what_foreign_link"), Phrase("remedy_link")
        return Installed(record, root, None, (Problem("plugin", place, None, what, remedy),))
    try:
        found = manifest.read(root)
    except ManifestError as error:
        return Installed(record, root, None, error.problems)
    if found.name != record.name:
        what = Phrase("what_renamed", now=found.name, name=record.name)
        path = os.path.join(root, manifest.MANIFEST)
        return Installed(record, root, None, (Problem("plugin", path, None, what, Phrase("remedy_install_it_again")),))
    return Installed(record, root, found)
