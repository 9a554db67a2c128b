"""Bringing a plugin package into acpagent's home: fetched, looked at, and only then put in its place.

Nothing of a package runs while it is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from acpagent.core import process
from acpagent.core.catalogue import Phrase
from acpagent.core.live import LiveOutput
from acpagent.core.scope import Scope
from acpagent.extensions import manifest, plugins
from acpagent.extensions.manifest import Manifest
from acpagent.extensions.plugins import PluginError, Record

MAX_FILES = 5000
MAX_BYTES = 200 * 1024 * 1024
CLONE_SECONDS = 300.0
_SCHEMES = ("https", "file")
_LEFT_OUT = frozenset({".git", "__pycache__"})
_STAGING = ".new-"
_OF_ANOTHER_REPOSITORY = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"})
# What git may do: fetch by these two ways, and run nothing that the repository or a template brings.
_GIT = (
    "git",
    *("-c", "protocol.allow=never", "-c", "protocol.https.allow=always", "-c", "protocol.file.allow=always"),
    *("-c", "core.hooksPath=/dev/null", "-c", "core.symlinks=true"),
    *("clone", "--quiet", "--depth", "1", "--single-branch", "--no-recurse-submodules", "--template=", "--"),
)


@dataclass(frozen=True, slots=True)
class Staged:
    """A package that is ready to be put in its place. `path` is where it lies now; of a linked one, where it stays."""

    path: str
    source: str
    linked: bool
    manifest: Manifest


@contextmanager
def staged(home: str, source: str, link: bool = False) -> Iterator[Staged]:
    """Fetch a package, from a directory or a git repository (https or file), and read its manifest. What was not
    committed at the end is thrown away.

    Raises `PluginError`, `ManifestError`, OSError.
    """
    if link:
        if _is_url(source) or not os.path.isdir(source):
            raise PluginError(Phrase("install_link"))
        path = os.path.realpath(source)
        yield Staged(path, path, True, manifest.read(path))
        return
    target = plugins.make_folder(home)  # beside its place, so that it gets there in one step
    try:
        with tempfile.TemporaryDirectory(prefix=_STAGING, dir=target, ignore_cleanup_errors=True) as scratch:
            origin = _cloned(source, os.path.join(scratch, "clone")) if _is_url(source) else _directory(source)
            package = os.path.join(scratch, "package")
            _Copy(origin).into(package)
            yield Staged(package, source if _is_url(source) else origin, False, manifest.read(package))
    finally:
        with suppress(OSError):  # there are others in it
            os.rmdir(target)


def commit(home: str, one: Staged, replace: bool = False) -> Record:
    """Put a package in its place and on record; one of the same name only goes with `replace`. What was in use or not
    stays so. Raises `PluginError`, OSError."""
    plugins.check_person()
    name, place = one.manifest.name, plugins.folder(home, one.manifest.name)
    with plugins.changing(home) as records:
        old = records.get(name)
        if old is not None and not replace:
            raise PluginError(Phrase("install_there", name=name, version=old.version))
        aside = os.path.join(plugins.folder(home), f".old-{name}")
        plugins.discard(aside)
        if os.path.lexists(place):
            os.rename(place, aside)
        try:
            if one.linked:
                os.symlink(one.path, place)
            else:
                os.rename(one.path, place)
        except OSError:
            if os.path.lexists(aside):
                os.rename(aside, place)
            raise
        records[name] = Record(name, one.source, one.manifest.version, old.enabled if old else True, one.linked)
    plugins.discard(aside)
    return records[name]


def _is_url(source: str) -> bool:
    return "://" in source or re.match(r"[\w.-]+@[\w.-]+:", source) is not None


def _directory(source: str) -> str:
    path = os.path.realpath(os.path.expanduser(source))
    if not os.path.isdir(path):
        raise PluginError(Phrase("install_no_directory", source=source))
    return path


def _cloned(source: str, into: str) -> str:
    address = urlsplit(source)
    if address.scheme not in _SCHEMES:
        raise PluginError(Phrase("install_scheme"))
    if "@" in address.netloc:
        raise PluginError(Phrase("install_password"))
    if not re.fullmatch(r"[!-~]+", source):
        raise PluginError(Phrase("install_character"))
    kept = {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER_REPOSITORY}
    environment = {**kept, "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": ""}
    said = LiveOutput(limit=4096)
    try:
        argv = (*_GIT, source, into)
        done = process.run(
            argv, cwd=os.path.dirname(into), env=environment, output=said, scope=Scope(), timeout=CLONE_SECONDS
        )
    except FileNotFoundError:
        raise PluginError(Phrase("install_no_git")) from None
    if done.exit_code != 0:
        why = Phrase("install_slow") if done.timed_out else said.snapshot().strip() or Phrase("install_git_failed")
        raise PluginError(Phrase("install_not_fetched", cause=why))
    return into


class _Copy:
    """One package being copied: regular files and folders, within bounds, and no link that could lead elsewhere."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._files = 0
        self._bytes = 0

    def into(self, target: str) -> None:
        if not os.path.isfile(os.path.join(self._origin, manifest.MANIFEST)):
            raise PluginError(Phrase("install_no_manifest", manifest=manifest.MANIFEST, place=self._origin))
        self._folder(self._origin, target)

    def _folder(self, source: str, target: str) -> None:
        os.mkdir(target, 0o700)
        with os.scandir(source) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            if entry.name in _LEFT_OUT:
                continue
            path = os.path.join(target, entry.name)
            if entry.is_symlink():
                raise PluginError(Phrase("install_is_link", path=self._shown(entry)))
            if entry.is_dir(follow_symlinks=False):
                self._folder(entry.path, path)
            elif entry.is_file(follow_symlinks=False):
                self._file(entry, path)
            else:
                raise PluginError(Phrase("install_neither", path=self._shown(entry)))

    def _file(self, entry: os.DirEntry[str], path: str) -> None:
        status = entry.stat(follow_symlinks=False)
        self._files += 1
        self._bytes += status.st_size
        if self._files > MAX_FILES or self._bytes > MAX_BYTES:
            raise PluginError(Phrase("install_large", most=MAX_FILES, size=MAX_BYTES >> 20))
        shutil.copyfile(entry.path, path, follow_symlinks=False)
        os.chmod(path, 0o700 if status.st_mode & stat.S_IXUSR else 0o600)

    def _shown(self, entry: os.DirEntry[str]) -> str:
        return os.path.relpath(entry.path, self._origin)
