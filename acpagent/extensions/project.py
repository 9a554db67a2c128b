"""What a project brings that can execute, read once: its files, and a fingerprint over all of them."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from acpagent.core import files as disk
from acpagent.core.bounds import printable
from acpagent.core.catalogue import Phrase
from acpagent.core.paths import within
from acpagent.core.phrases import told
from acpagent.core.repositories import repository_of, top_of
from acpagent.extensions import naming

# Where a project can bring what runs, or steers the model.
PLACES = (
    ".acpagent",
    ".agents/skills",
    ".claude/commands",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/skills",
    ".mcp.json",
    ".soba/mcp.json",
    ".soba/skills",
)
# Of these only the hooks count: the rest is another agent's, and changes with its every permission.
SHARED_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
SERVER_FILES = (".acpagent/mcp.json", ".mcp.json", ".soba/mcp.json")

MAX_ENTRIES = 4000
MAX_DEPTH = 24
MAX_FILE = 16 * 1024 * 1024
MAX_TOTAL = 64 * 1024 * 1024
_MAX_KEPT = 1024 * 1024  # a larger file is fingerprinted, but its content is nothing that we read
_KEPT = (".md", ".json")
_MAX_NAMED = 20_000  # paths that words of the files could mean
_MAX_FOLDERS = 8  # in which a line may be said
_SETTLED_SECONDS = 0.1  # coarser than the clock of file systems that we trust


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A file by its `path` below the project's root; `data` is None where the content is nothing to be parsed."""

    path: str
    mode: int
    digest: str
    link: str = ""
    data: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Project:
    """What was found at `root`, a resolved directory; `git` names its repository. `fingerprint` is empty where there
    is nothing, and where there is a `refusal`, the reason why this cannot be trusted at all: then `files` is empty."""

    root: str
    git: str | None
    home: str
    files: Mapping[str, ProjectFile] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    fingerprint: str = ""
    refusal: str | None = None
    stamps: Mapping[str, tuple[int, ...] | None] = field(default_factory=dict, repr=False, compare=False)
    settled: bool = field(default=False, compare=False)

    @property
    def is_empty(self) -> bool:
        return not self.files and self.refusal is None

    def still_stands(self) -> bool:
        """Whether what is on the disk is still what was read. A few stats if so: cheap enough to ask each time before
        something of the project runs."""
        if self.settled and all(_stamp(path) == stamp for path, stamp in self.stamps.items()):
            return _git_of(self.root) == self.git
        now = scan(self.root, self.home)
        return (now.fingerprint, now.refusal, now.git) == (self.fingerprint, self.refusal, self.git)


def scan(cwd: str, home: str) -> Project:
    """Read what the project at `cwd` brings. `home` is acpagent's own directory, which is no project's. Never raises
    for what is on the disk: what cannot be read whole is a reason for a refusal."""
    root = os.path.realpath(cwd)
    git = _git_of(root)
    home = os.path.realpath(home)
    if root == os.path.realpath(os.path.expanduser("~")):
        return Project(root, git, home)  # what lies there is the person's, and read as such
    walk = _Walk(root, home)
    began = time.time()
    try:
        for place in PLACES:
            walk.visit(place, (root,))
        walk.visit_named()
    except _Refused as refused:
        return Project(root, git, home, refusal=told(refused), stamps=walk.stamps)
    found = dict(sorted(walk.files.items()))
    newest = max((max(stamp[-2:]) for stamp in walk.stamps.values() if stamp), default=0)
    settled = newest / 1e9 < began - _SETTLED_SECONDS
    return Project(root, git, home, MappingProxyType(found), fingerprint(found.values()), None, walk.stamps, settled)


def _git_of(root: str) -> str | None:
    return None if top_of(root) is None else repository_of(root)


def fingerprint(files: Iterable[ProjectFile]) -> str:
    """One SHA-256 over path, mode, link and content of all files; empty for none. Lengths keep fields apart."""
    total, any_of_them = hashlib.sha256(b"acpagent project 1\n"), False
    for one in files:
        any_of_them = True
        for part in (os.fsencode(one.path), b"%o" % one.mode, os.fsencode(one.link), one.digest.encode()):
            total.update(b"%d:" % len(part) + part)
    return total.hexdigest() if any_of_them else ""


class _Refused(Exception):
    """Why a project cannot be trusted."""


class _Walk:
    """One pass over a project: what was found, and a stamp of everything looked at."""

    def __init__(self, root: str, home: str) -> None:
        self.root = root
        self.home = home
        self.files: dict[str, ProjectFile] = {}
        self.stamps: dict[str, tuple[int, ...] | None] = {}
        self._entries = 0
        self._bytes = 0

    def visit(self, relative: str, above: tuple[str, ...]) -> None:
        """Read a file or, with all that is below it, a directory. `above` are the real directories it lies in: a link
        back to one of them has no end."""
        path = os.path.join(self.root, relative)
        self.stamps[path] = _stamp(path)
        if self.stamps[path] is None:
            return
        self._count()
        real = os.path.realpath(path)
        if within(real, self.home) or within(self.home, real):
            return
        if not within(real, self.root):
            raise self._refused(relative, Phrase("what_leaves_project"))
        self.stamps[real] = _stamp(real)
        try:
            status = os.stat(real)
        except FileNotFoundError:
            return  # a link to nothing; its stamp tells when that changes
        except OSError as error:
            raise self._refused(relative, Phrase("what_unreadable", cause=told(error))) from None
        if stat.S_ISDIR(status.st_mode):
            self._visit_directory(relative, real, above)
        elif stat.S_ISREG(status.st_mode):
            self._read(relative, path, real)
        else:
            raise self._refused(relative, Phrase("what_neither"))

    def visit_named(self) -> None:
        """Read the files that servers and hooks name, but for what they only write to: what runs is them."""
        found: dict[str, bool] = {}  # whether only data is kept there, wherever it is named
        for one in list(self.files.values()):
            if one.data is None or not (one.path in SERVER_FILES or one.path in SHARED_SETTINGS or _is_own(one.path)):
                continue
            for path, data in self._named_in(one.data):
                found[path] = data and found.get(path, True)
                if len(found) > _MAX_NAMED:
                    raise self._refused(one.path, Phrase("what_many_things", most=_MAX_NAMED))
        for path, data in found.items():
            self._visit_if_file(path, data)

    def _named_in(self, data: bytes) -> Iterator[tuple[str, bool]]:
        """Paths below the root that a file names. A directory that a line names may be where the rest of it is said."""
        for line in naming.lines(data):
            folders = dict.fromkeys((self.root, self._below(self.root, line.folder) or self.root))
            for name in line.names:
                inner = [path for folder in folders if (path := self._below(folder, name.path))]
                folders.update(dict.fromkeys(path for path in inner if len(folders) < _MAX_FOLDERS and _is_dir(path)))
            for folder in folders:
                for name in line.names:
                    if path := self._below(folder, name.path):
                        yield path, name.data
                        if not os.path.isfile(path):
                            yield from ((f"{folder}/{more}", False) for more in naming.endings(name))

    def _below(self, folder: str, named: str) -> str | None:
        path = os.path.normpath(os.path.join(folder, named))
        return path if within(path, self.root) else None

    def _visit_if_file(self, path: str, data: bool) -> None:
        if not within(path := os.path.normpath(path), self.root):
            return
        self.stamps.setdefault(path, _stamp(path))  # for what is not there can be there later
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return
        relative = os.path.relpath(path, self.root)
        if not stat.S_ISREG(status.st_mode) or relative in self.files or relative in SHARED_SETTINGS:
            return
        if data and not naming.is_code(path, status.st_mode, _beginning(path)):
            return
        self.visit(relative, (self.root,))

    def _visit_directory(self, relative: str, real: str, above: tuple[str, ...]) -> None:
        if real in above:
            raise self._refused(relative, Phrase("what_circle"))
        if len(above) > MAX_DEPTH:
            raise self._refused(relative, Phrase("what_deep", depth=MAX_DEPTH))
        try:
            names = sorted(os.listdir(real))
        except OSError as error:
            raise self._refused(relative, Phrase("what_unreadable", cause=told(error))) from None
        for name in names:
            self.visit(f"{relative}/{name}", (*above, real))

    def _read(self, relative: str, path: str, real: str) -> None:
        try:
            data, mode = _content(real)
        except disk.NotText as fault:
            raise self._refused(relative, told(fault)) from None
        except OSError as error:
            raise self._refused(relative, Phrase("what_unreadable", cause=told(error))) from None
        self._bytes += len(data)
        if self._bytes > MAX_TOTAL:
            raise _Refused(Phrase("what_brings_much", size=MAX_TOTAL >> 20))
        if relative in SHARED_SETTINGS:
            hooks = _hooks_alone(data)
            if hooks is None:
                return
            data = hooks
        link = os.path.relpath(real, self.root) if real != path else ""
        kept = data if relative.endswith(_KEPT) and len(data) <= _MAX_KEPT else None
        self.files[relative] = ProjectFile(relative, mode, hashlib.sha256(data).hexdigest(), link, kept)

    def _count(self) -> None:
        self._entries += 1
        if self._entries > MAX_ENTRIES:
            raise _Refused(Phrase("what_brings_many", most=MAX_ENTRIES))

    def _refused(self, relative: str, what: str) -> _Refused:
        return _Refused(Phrase("path_what", path=printable(relative), what=what))


def _stamp(path: str) -> tuple[int, ...] | None:
    """What changes with an entry; None if there is none."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _content(real: str) -> tuple[bytes, int]:
    """A file's bytes and permission bits, of one and the same file whoever swaps it meanwhile."""
    with open(real, "rb", opener=lambda path, flags: disk.at_once(path, flags | os.O_NOFOLLOW)) as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise disk.NotText(Phrase("file_irregular"))
        data = stream.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise disk.NotText(Phrase("file_large", size=MAX_FILE >> 20))
    return data, stat.S_IMODE(status.st_mode)


def _is_dir(path: str) -> bool:
    try:
        return os.path.isdir(path)
    except ValueError:
        return False


def _beginning(path: str) -> bytes:
    """How a file begins; what cannot be read begins like a script."""
    try:
        with open(path, "rb", opener=disk.at_once) as stream:
            return stream.read(2)
    except OSError:
        return b"#!"


def _hooks_alone(data: bytes) -> bytes | None:
    """The hooks of a settings file as a file of their own; None if it has none. What cannot be read counts whole."""
    try:
        written = json.loads(data)
    except (ValueError, RecursionError):
        return data
    hooks = written.get("hooks") if isinstance(written, dict) else None
    return json.dumps({"hooks": hooks}, indent=2).encode() if hooks else None


def _is_own(path: str) -> bool:
    """Whether it is a JSON file right in `.acpagent`."""
    return path.startswith(".acpagent/") and path.count("/") == 1
