"""Bringing files back to what they held before some turns: all of them, or none."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from acpagent.core import files
from acpagent.core.catalogue import Phrase
from acpagent.core.faults import OurFault
from acpagent.core.history import CallSettled, Entry, FileKept
from acpagent.core.phrases import why
from acpagent.runtime.session.replay import ABANDONED
from acpagent.runtime.turn import keeping
from acpagent.runtime.turn.keeping import Held

_DEFAULT_MODE = 0o644


@dataclass(frozen=True, slots=True)
class Target:
    """A file that is to be brought back: what it must hold now, and what it held then (`data` None: there was none)."""

    path: str
    now: Held
    digest: str | None
    data: bytes | None
    mode: int | None


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a file cannot be brought back: a code of the catalogue."""

    path: str
    code: str


class Blocked(Exception):
    """Nothing was changed, because of these."""

    def __init__(self, obstacles: list[Obstacle]) -> None:
        super().__init__("files cannot be brought back")
        self.obstacles = obstacles


@dataclass(slots=True)
class _Chain:
    first: FileKept
    last: FileKept
    obstacle: Obstacle | None = None


def targets(
    since: Iterable[Entry], get: Callable[[str], bytes | None], only_reads: Callable[[str], bool] = lambda name: False
) -> list[Target]:
    """The files that calls changed in these entries, whatever branch they are of. Raises `Blocked` where one of them
    was changed by somebody else between or since, or cannot be brought back, or where nobody knows what a call changed;
    `only_reads` says of a tool's name that it changes nothing."""
    chains: dict[str, _Chain] = {}
    found, obstacles = list[Target](), list[Obstacle]()
    for entry in since:
        if isinstance(entry, FileKept):
            _link(chains, entry)
        elif isinstance(entry, CallSettled) and entry.call.facts.get(ABANDONED) and not only_reads(entry.call.name):
            obstacles.append(Obstacle(entry.call.name, "rewind_lost_killed"))
    for path, chain in chains.items():
        target = chain.obstacle or _target(path, chain, get)
        if isinstance(target, Obstacle):
            obstacles.append(target)
        elif target is not None:
            found.append(target)
    if obstacles:
        raise Blocked(obstacles)
    return found


def _link(chains: dict[str, _Chain], entry: FileKept) -> None:
    chain = chains.setdefault(entry.path, _Chain(entry, entry))
    if entry.lost:
        chain.obstacle = chain.obstacle or Obstacle(entry.path, f"rewind_lost_{entry.lost}")
    elif chain.last is not entry and chain.last.after != entry.before:
        chain.obstacle = chain.obstacle or Obstacle(entry.path, "rewind_changed_between")
    chain.last = entry


def _target(path: str, chain: _Chain, get: Callable[[str], bytes | None]) -> Target | Obstacle | None:
    """None where the file is as it was."""
    wanted, now = chain.first, keeping.look(path)
    if os.path.realpath(path) != path or now.lost:
        return Obstacle(path, f"rewind_lost_{now.lost or keeping.SPECIAL}")
    if now.digest == wanted.before and (wanted.before is None or now.mode == wanted.mode):
        return None
    if now.digest != chain.last.after:
        return Obstacle(path, "rewind_changed_since")
    data = None if wanted.before is None else now.data if now.digest == wanted.before else get(wanted.before)
    if wanted.before is not None and data is None:
        return Obstacle(path, "rewind_lost_not_kept")
    return Target(path, now, wanted.before, data, wanted.mode)


@dataclass(slots=True)
class _Step:
    """One file on its way: `new` is the temporary with what it is to hold, `old` where what it held is set aside."""

    target: Target
    new: str | None = None
    old: str | None = None
    placed: bool = False


@dataclass(slots=True)
class _Change:
    steps: list[_Step] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)


def restore(wanted: list[Target]) -> None:
    """Bring the files back. Everything that is new is written first and put in place last. Raises `Blocked` where a
    file changed at the last moment, `OurFault` where that failed; then all is as before."""
    with files.exclusive(*(target.path for target in wanted)):
        changed = [Obstacle(one.path, "rewind_changed_since") for one in wanted if not _stands(one)]
        if changed:
            raise Blocked(changed)
        change = _Change()
        try:
            for target in wanted:
                _prepare(change, target)
            for step in change.steps:
                _place(step)
        except BaseException as error:
            _undo(change)
            if isinstance(error, OSError):
                code = "files_not_restored_at" if error.filename else "files_not_restored"
                raise OurFault(Phrase(code, path=error.filename, cause=why(error))) from None
            raise
        for step in change.steps:
            if step.old is not None:
                _remove(step.old)


def _stands(target: Target) -> bool:
    return keeping.look(target.path) == target.now


def _prepare(change: _Change, target: Target) -> None:
    step = _Step(target)
    change.steps.append(step)
    if target.data is None:
        return
    folder = os.path.dirname(target.path)
    _make(change, folder)
    step.new = _beside(target.path)
    mode = target.mode if target.mode is not None else _DEFAULT_MODE
    handle = os.open(step.new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(handle, "wb") as stream:
        stream.write(target.data)
        stream.flush()
        os.fchmod(stream.fileno(), mode)


def _make(change: _Change, folder: str) -> None:
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for one in reversed(missing):
        os.mkdir(one)
        change.folders.append(one)


def _place(step: _Step) -> None:
    moved = False
    if step.target.now.digest is not None:
        old = _beside(step.target.path)
        try:
            os.link(step.target.path, old, follow_symlinks=False)
        except OSError:  # not every file system has links; then the file is missing for a moment
            os.rename(step.target.path, old)
            moved = True
        step.old = old
    if step.new is not None:
        os.replace(step.new, step.target.path)
    elif not moved:
        os.unlink(step.target.path)
    step.placed = True


def _undo(change: _Change) -> None:
    for step in reversed(change.steps):
        with contextlib.suppress(OSError):
            if step.old is not None:
                os.replace(step.old, step.target.path)
            elif step.placed:
                os.unlink(step.target.path)
        if step.old is not None:  # two names of one file are not replaced by each other
            _remove(step.old)
        if step.new is not None:
            _remove(step.new)
    for folder in reversed(change.folders):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def _beside(path: str) -> str:
    return os.path.join(os.path.dirname(path), f".acpagent-{uuid.uuid4().hex[:12]}.tmp")


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
