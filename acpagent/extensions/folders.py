"""Directories that extensions are found in: on the disk, or as a project's files were read once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Protocol

from acpagent.config.problems import ConfigError, ConfigProblem
from acpagent.core import files
from acpagent.core.catalogue import Phrase
from acpagent.core.paths import within
from acpagent.core.phrases import told
from acpagent.extensions.project import Project

MAX_NAMES = 2000  # in one directory
_OUTSIDE = Phrase("what_leaves_folder")


class Folder(Protocol):
    """A directory; `path` is absolute. Names inside are given relative to it, with `/` between them."""

    @property
    def path(self) -> str: ...
    def names(self, inside: str = "") -> tuple[tuple[str, bool], ...]:
        """What is right in it, or in a directory inside: sorted names, each with whether it is a directory. Nothing
        where there is none. Raises `ConfigError`."""

    def read(self, name: str, limit: int) -> bytes:
        """The content of a file of at most `limit` bytes. Raises `ConfigError`."""

    def real(self, name: str) -> str:
        """The absolute path of what a name leads to."""


class DiskFolder:
    """A directory of the person's, or of a plugin. Links in it may lead within `allowed` directories, itself at
    first, and no further."""

    def __init__(self, path: str, allowed: Iterable[str] = ()) -> None:
        self.path = path
        self._allowed = tuple(os.path.realpath(one) for one in (path, *allowed))

    def names(self, inside: str = "") -> tuple[tuple[str, bool], ...]:
        path = self._checked(inside)
        try:
            with os.scandir(path) as entries:
                found = sorted((entry.name, _is_directory(entry)) for entry in entries)
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise _fault(path, Phrase("what_unreadable", cause=told(error)), Phrase("remedy_readable")) from None
        if len(found) > MAX_NAMES:
            raise _fault(path, Phrase("what_many_names", most=MAX_NAMES), Phrase("remedy_own_directory"))
        return tuple(found)

    def read(self, name: str, limit: int) -> bytes:
        path = self._checked(name)
        try:
            return files.read_bytes(self.real(name), limit)
        except files.NotText as error:
            raise _fault(path, told(error), Phrase("remedy_short_text")) from None
        except OSError as error:
            raise _fault(path, Phrase("what_unreadable", cause=told(error)), Phrase("remedy_readable_file")) from None

    def real(self, name: str) -> str:
        return os.path.realpath(os.path.join(self.path, name))

    def _checked(self, name: str) -> str:
        path = os.path.join(self.path, name) if name else self.path
        if not any(within(os.path.realpath(path), one) for one in self._allowed):
            raise _fault(path, _OUTSIDE, Phrase("remedy_file_or_path"))
        return path


class ScannedFolder:
    """A directory of a project as it was fingerprinted: nothing of it is read a second time."""

    def __init__(self, project: Project, place: str) -> None:
        self.path = os.path.join(project.root, place)
        self._project = project
        self._place = place
        self._inside: dict[str, dict[str, bool]] = {}
        for path in project.files:
            if path.startswith(f"{place}/"):
                self._note(path.removeprefix(f"{place}/"))

    def names(self, inside: str = "") -> tuple[tuple[str, bool], ...]:
        return tuple(sorted(self._inside.get(inside, {}).items()))

    def _note(self, path: str) -> None:
        is_directory = False
        while path:
            path, _, name = path.rpartition("/")
            self._inside.setdefault(path, {})[name] = is_directory
            is_directory = True

    def read(self, name: str, limit: int) -> bytes:
        data = self._project.files[f"{self._place}/{name}"].data
        if data is None or len(data) > limit:
            raise _fault(
                os.path.join(self.path, name), Phrase("what_large", size=limit // 1024), Phrase("remedy_short")
            )
        return data

    def real(self, name: str) -> str:
        path = f"{self._place}/{name}"
        one = self._project.files.get(path)
        return os.path.join(self._project.root, one.link if one and one.link else path)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link to itself


def _fault(path: str, what: str, remedy: str) -> ConfigError:
    return ConfigError(ConfigProblem(path, None, what, remedy))
