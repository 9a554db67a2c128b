"""Asking git how a working tree stands, without running anything that the repository could bring along."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from shutil import which

from acpagent.core import process
from acpagent.core.paths import within
from acpagent.core.scope import Scope
from acpagent.runtime.evidence import contents
from acpagent.runtime.evidence.contents import Content

SECONDS = 5.0
_MOST_BYTES = 4 * 1024 * 1024
# No hook, no monitor of the file system, and nothing written: not even the index is refreshed.
_QUIET = ("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
# An object that is not there must not be fetched: that runs what the configuration names for it.
_OFFLINE = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
_MODULES = r"^submodule\..*\.path$"
_FILTERS = r"^filter\..*\.(clean|smudge|process|required)$"


@dataclass(frozen=True, slots=True)
class State:
    """`head` is the last commit, empty before the first; `paths` are absolute: all that differs from it; `inner` are
    repositories within this one, which is not told what is in them."""

    head: str
    paths: frozenset[str]
    inner: frozenset[str] = frozenset()


class _Bytes:
    """Takes output up to a limit."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.whole = True

    def write(self, data: bytes) -> None:
        self.whole = self.whole and len(self.data) + len(data) <= _MOST_BYTES
        if self.whole:
            self.data += data


@dataclass(frozen=True, slots=True)
class Git:
    """`top` is the top of a working tree, `root` the directory in it that matters; both resolved. `hidden_env` are
    variables that git must not see."""

    top: str
    root: str
    hidden_env: frozenset[str] = frozenset()

    def status(self) -> State | None:
        """None where git cannot say, is not there, or says too much."""
        words = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames")
        place = os.path.relpath(self.root, self.top)
        output = self._ask(*words, "--ignore-submodules=all", "--", place)
        return None if output is None else self._with_modules(self._read(output))

    def between(self, old: str, new: str) -> frozenset[str] | None:
        """The paths that differ between two commits."""
        if not old or not new:
            listed = self._ask("ls-tree", "-r", "-z", "--name-only", old or new)
        else:
            listed = self._ask("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new)
        if listed is None:
            return None
        paths = (self._path(name) for name in listed.split(b"\0") if name)
        return frozenset(path for path in paths if within(path, self.root))

    def content(self, commit: str, path: str) -> Content | None:
        """What a file held in a commit, with the line ends of the working tree; None if it was not there."""
        name = f"{commit}:{os.path.relpath(path, self.top)}"
        if not commit or self._ask("cat-file", "-e", name) is None:
            return None
        data = self._ask("cat-file", "--filters", name)
        return Content(name) if data is None else contents.of_bytes(data)

    def _read(self, output: bytes) -> State:
        head, paths, inner = "", set(), set()
        for row in output.split(b"\0"):
            kind, _, rest = row.partition(b" ")
            if kind == b"#" and rest.startswith(b"branch.oid "):
                head = rest.removeprefix(b"branch.oid ").decode()
            elif kind in _FIELDS:
                name = rest.split(b" ", _FIELDS[kind])[_FIELDS[kind]]
                if name.endswith(b"/"):
                    inner.add(self._path(name.rstrip(b"/")))
                else:
                    paths.add(self._path(name))
        return State("" if head == "(initial)" else head, frozenset(paths), frozenset(inner))

    def _with_modules(self, state: State) -> State:
        """With the submodules that are there."""
        named = os.path.join(self.top, ".gitmodules")
        if not os.path.isfile(named):
            return state
        listed = self._run(("config", "--file", named, "-z", "--get-regexp", _MODULES), (0, 1)) or b""
        names = (row.partition(b"\n")[2] for row in listed.split(b"\0"))
        paths = {os.path.normpath(self._path(name)) for name in names if name}
        found = {path for path in paths if within(path, self.root) and os.path.lexists(os.path.join(path, ".git"))}
        return replace(state, inner=state.inner | found)

    def _path(self, name: bytes) -> str:
        return os.path.join(self.top, os.fsdecode(name))

    def _ask(self, *words: str) -> bytes | None:
        unfiltered = self._unfiltered()
        return None if unfiltered is None else self._run((*unfiltered, *words))

    def _unfiltered(self) -> Sequence[str] | None:
        """Settings that make of every filter one that runs nothing: a project's configuration may name programs."""
        listed = self._run(("config", "--name-only", "-z", "--get-regexp", _FILTERS), (0, 1))
        if listed is None:
            return None
        names = {os.fsdecode(name) for name in listed.split(b"\0") if name}
        return [word for name in sorted(names) for word in ("-c", f"{name}={_NEUTRAL[name.rpartition('.')[2]]}")]

    def _run(self, words: Sequence[str], codes: Sequence[int] = (0,)) -> bytes | None:
        program = which("git")
        if program is None:
            return None
        output, problems = _Bytes(), _Bytes()
        argv = [program, "-C", self.top, *_QUIET, *words]
        try:
            result = process.run(
                argv, cwd=self.top, env=self._environment(), output=problems, scope=Scope(), timeout=SECONDS,
                stdout=output,
            )  # fmt: skip
        except OSError:
            return None
        return bytes(output.data) if result.exit_code in codes and output.whole else None

    def _environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in self.hidden_env and not name.startswith("GIT_")
        }
        return {**kept, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", **_OFFLINE}


# Kind of a row -> how many fields stand before the path.
_FIELDS = {b"1": 7, b"u": 9, b"?": 0}
_NEUTRAL = {"clean": "", "smudge": "", "process": "", "required": "false"}
