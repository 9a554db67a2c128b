"""Keeping what files held before a call changed them, so that a session can be rewound with its files."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from acpagent.core import files
from acpagent.core.history import FileKept
from acpagent.core.toolcalls import Proposal
from acpagent.runtime.evidence.contents import Change, Changes

MOST_BYTES = 8 * 1024 * 1024  # of one file
# Why it is not known what a file held: codes of the catalogue, behind `rewind_lost_`.
FOLDER, SPECIAL, LARGE, UNREADABLE, NOT_KEPT = "folder", "special", "large", "unreadable", "not_kept"
MODE = "mode"  # a command deleted it, and nobody knows its permissions
# Changes that are known beforehand are kept by `before`.
_BY_COMMANDS = frozenset({"shell", "mcp", "unknown"})


@dataclass(frozen=True, slots=True)
class Held:
    """A file at one moment; `digest` None for nothing. `lost`: why it is not known what it held."""

    digest: str | None = None
    mode: int | None = None
    data: bytes | None = None
    lost: str = ""


def look(path: str) -> Held:
    """What lies at a path, a link not followed."""
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            return Held("", lost=FOLDER if stat.S_ISDIR(status.st_mode) else SPECIAL)
        if status.st_size > MOST_BYTES:
            return Held("", lost=LARGE)
        data = files.read_bytes(path, MOST_BYTES)
    except FileNotFoundError:
        return Held()
    except (OSError, files.NotText):
        return Held("", lost=UNREADABLE)
    return Held(hashlib.sha256(data).hexdigest(), stat.S_IMODE(status.st_mode), data)


@dataclass(slots=True)
class Kept:
    """The files of one call, as they were before it."""

    turn_id: str
    put: Callable[[bytes], str]
    before: dict[str, Held] = field(default_factory=dict)

    def changed(self) -> Iterable[FileKept]:
        """Once the call has ended: the files that it changed. Their old contents are stored first."""
        for path, held in self.before.items():
            now = look(path)
            if held.lost or (now.digest, now.mode) != (held.digest, held.mode):
                yield kept(self.turn_id, path, held, now, self.put)


def before(turn_id: str, proposal: Proposal, put: Callable[[bytes], str]) -> Kept:
    """Look at the files that a call says it writes, right before it does."""
    taken = Kept(turn_id, put)
    for effect in proposal.effects:
        if effect.kind == "write" and effect.path is not None:
            is_folder = effect.below and os.path.isdir(effect.path)
            taken.before[effect.path] = Held("", lost=FOLDER) if is_folder else look(effect.path)
    return taken


def by_commands(turn_id: str, changes: Changes, put: Callable[[bytes], str]) -> Iterable[FileKept]:
    """The files that were found changed by a call which did not say so, as far as it is known what they held."""
    for change in changes.files:
        if change.source in _BY_COMMANDS:
            now = look(change.path)
            yield kept(turn_id, change.path, _held(change, now), now, put)


def _held(change: Change, now: Held) -> Held:
    if change.before is None:
        return Held()
    if change.before.data is None:
        return Held("", lost=LARGE)
    if now.mode is None:
        return Held(change.before.mark, lost=MODE)
    return Held(change.before.mark, now.mode, change.before.data)


def kept(turn_id: str, path: str, held: Held, now: Held, put: Callable[[bytes], str]) -> FileKept:
    lost = held.lost or now.lost
    if not lost and held.data is not None:
        try:
            put(held.data)
        except OSError:
            lost = NOT_KEPT
    return FileKept(turn_id, path, held.digest, now.digest, held.mode, lost)
