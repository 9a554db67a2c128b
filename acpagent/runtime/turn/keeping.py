"""Keeping what files held before a call changed them, so that a session can be rewound with its files."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from acpagent.core import files
from acpagent.core.history import FileKept
from acpagent.core.toolcalls import Proposal
from acpagent.runtime.evidence.contents import Change, Changes

MOST_BYTES = 32 * 1024 * 1024  # of one file
MOST_FILES, MOST_FOLDER_BYTES = 2_000, 64 * 1024 * 1024  # of one folder
# Why it is not known what a file held: codes of the catalogue, behind `rewind_lost_`.
FOLDER, SPECIAL, LARGE, UNREADABLE, NOT_KEPT = "folder", "special", "large", "unreadable", "not_kept"
MODE = "mode"  # a command deleted it, and nobody knows its permissions
EDITOR = "editor"  # an editor had text of it that was not saved, before or after the change
# Changes that are known beforehand are kept by `before`.
_BY_COMMANDS = frozenset({"shell", "mcp", "unknown"})
_EDITORS = "delegated_editor"


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

    def changed(self, changes: Changes | None) -> Iterable[FileKept]:
        """Once the call has ended: the files that it changed. Their old contents are stored first. `changes` are what
        it was found to have changed."""
        buffered = {change.path for change in changes.files if change.source == _EDITORS} if changes else set()
        for path, held in self.before.items():
            now = look(path)
            if held == Held() and now.lost == FOLDER:
                for inside, there in _below(path).items():
                    yield kept(self.turn_id, inside, held, there, self.put)
            elif held.lost or (now.digest, now.mode) != (held.digest, held.mode):
                yield kept(self.turn_id, path, held, now, self.put)
            elif path in buffered:
                yield FileKept(self.turn_id, path, held.digest, now.digest, held.mode, EDITOR)


def before(turn_id: str, proposal: Proposal, unsaved: Collection[str], put: Callable[[bytes], str]) -> Kept:
    """Look at the files that a call says it writes, right before it does; of a folder at all that is below it, which is
    what can be brought back. `unsaved` are those of which an editor has newer text."""
    taken = Kept(turn_id, put)
    for effect in proposal.effects:
        path = effect.path
        if effect.kind != "write" or path is None:
            continue
        if os.path.isdir(path) and not os.path.islink(path):
            taken.before |= _below(path)
        else:
            taken.before[path] = Held("", lost=EDITOR) if path in unsaved else look(path)
    return taken


def _below(folder: str) -> dict[str, Held]:
    """The files below a folder; the folder itself as lost where they are too many."""
    found, left = dict[str, Held](), MOST_FOLDER_BYTES
    for path in _files(folder):
        found[path] = held = look(path)
        left -= len(held.data or b"")
        if len(found) > MOST_FILES or left < 0:
            return {folder: Held("", lost=FOLDER)}
    return found


def _files(folder: str) -> Iterator[str]:
    """All that is no folder, links to folders included."""
    for parent, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        yield from (os.path.join(parent, name) for name in [*names, *links])


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
