"""Rewinding: a session goes on from before one of its turns. Nothing is erased; what came since is a branch left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from acpagent.core.blocks import Block, Image, Text
from acpagent.core.bounds import one_line
from acpagent.core.history import (
    Compacted,
    Entry,
    FileKept,
    Rewound,
    Tombstone,
    TurnOpened,
    UsageSet,
    UserSaid,
)
from acpagent.core.scope import Scope
from acpagent.core.toolcalls import is_harmless
from acpagent.runtime.session import restoring
from acpagent.runtime.session.keep import Keep
from acpagent.runtime.turn.branches import live
from acpagent.store import entries
from acpagent.store.database import Store

_WORDS = 80
_LEAST_ID = 4


@dataclass(frozen=True, slots=True)
class Point:
    """Where a session can be rewound to. `number` counts turns, 0 for a checkpoint, which is a summary of the
    conversation; `turn_id` is the first turn that is left, empty for a checkpoint with none behind it. `words` say
    what it is on one line; `prompt` is what the person sent in that turn, and `attached` what came with it."""

    number: int
    id: str
    turn_id: str
    at: str
    words: str
    prompt: str = ""
    attached: tuple[str, ...] = ()


@dataclass(slots=True)
class Rewinder:
    """Made for a turn in which the person asks for it; that turn is not part of what is rewound."""

    keep: Keep
    store: Store
    turn_id: str
    scope: Scope
    has_unsaved: Callable[[str, Scope], bool]

    def points(self) -> list[Point]:
        """Turns and checkpoints of the live branch, oldest first. Raises `Fault`."""
        self.keep.journal.commit()
        return list(_points(entries.read_timed(self.store, self.keep.row.id), self.turn_id))

    def rewind(self, point: Point, with_files: bool) -> Rewound:
        """Go back to before the turn that a point names. Raises `Fault`, `Cancelled`, and `restoring.Blocked` where a
        file cannot be brought back; then nothing has changed."""
        keep = self.keep
        keep.journal.commit()
        past = entries.read(self.store, keep.row.id)
        restored = self._restore(past, point) if with_files else []
        counted = live([*past, self._entry(point, restored, 0)])
        rewound = self._entry(point, restored, _used(counted))
        with self.scope.lock:
            keep.journal.add(*restored, rewound)
            keep.begin_anew([*counted[:-1], *restored, rewound])
        keep.journal.commit()
        return rewound

    def _restore(self, past: Sequence[Entry], point: Point) -> list[FileKept]:
        """What was left before is brought back as well: the files stand as all of it made them."""
        begin = next(at for at, entry in enumerate(past) if _opens(entry, point.turn_id))
        contents = self.keep.contents
        wanted = restoring.targets(past[begin:], contents.get, self._only_reads)
        # Through the editor neither exact bytes nor all or nothing could be promised: it must have nothing to lose.
        unsaved = [target.path for target in wanted if self.has_unsaved(target.path, self.scope)]
        if unsaved:
            raise restoring.Blocked([restoring.Obstacle(path, "rewind_unsaved") for path in unsaved])
        for target in wanted:
            if target.now.data is not None:
                contents.put(target.now.data)
        restoring.restore(wanted)
        return [
            FileKept(self.turn_id, target.path, target.now.digest, target.digest, target.now.mode) for target in wanted
        ]

    def _only_reads(self, name: str) -> bool:
        tool = self.keep.loadout.tools.get(name)
        return tool is not None and is_harmless(tool)

    def _entry(self, point: Point, restored: list[FileKept], used: int) -> Rewound:
        keep, provider = self.keep, self.keep.loadout.provider
        paths = tuple(entry.path for entry in restored)
        window = provider.context_window
        return Rewound(self.turn_id, point.turn_id, paths, min(used, window), window, keep.cost, provider.currency)


def find(points: Sequence[Point], wanted: str) -> Point | None:
    """The point that a number or the beginning of an id names; None for no or several."""
    if wanted.isdigit() and len(wanted) < _LEAST_ID:
        return next((point for point in points if point.number == int(wanted)), None)
    if len(wanted) < _LEAST_ID:
        return None
    named = [point for point in points if point.id.startswith(wanted) or point.id.partition("_")[2].startswith(wanted)]
    return named[0] if len(named) == 1 else None


def _points(timed: Sequence[tuple[str, Entry]], own: str) -> Iterator[Point]:
    times = {id(entry): at for at, entry in timed}
    branch = live(entry for _, entry in timed)
    buried = {entry.turn_id for entry in branch if isinstance(entry, Tombstone)} | {own}
    opened, number, waiting = "", 0, list[tuple[Compacted, str]]()
    for entry in branch:
        if isinstance(entry, TurnOpened):
            opened = times[id(entry)]
        elif isinstance(entry, Compacted):
            waiting.append((entry, times[id(entry)]))
        elif isinstance(entry, UserSaid) and not entry.steer and entry.turn_id not in buried:
            for summary, at in waiting:
                if summary.turn_id != entry.turn_id:
                    yield replace(_checkpoint(summary, at, entry.turn_id), **_sent(entry))
            waiting = [(summary, at) for summary, at in waiting if summary.turn_id == entry.turn_id]
            number += 1
            sent = _sent(entry)
            yield Point(number, entry.turn_id, entry.turn_id, opened, one_line(sent["prompt"], _WORDS), **sent)
    for summary, at in waiting:
        yield _checkpoint(summary, at, "")


def _checkpoint(entry: Compacted, at: str, turn_id: str) -> Point:
    return Point(0, entry.compaction_id, turn_id, at, f"{entry.before} -> {entry.after}")


def _sent(entry: UserSaid) -> dict[str, Any]:
    texts = [block.text for block in entry.blocks if isinstance(block, Text)]
    attached = tuple(_called(block) for block in entry.blocks if not isinstance(block, Text))
    return {"prompt": "\n\n".join(texts), "attached": attached}


def _called(block: Block) -> str:
    return block.media_type if isinstance(block, Image) else getattr(block, "uri", "")


def _opens(entry: Entry, turn_id: str) -> bool:
    return isinstance(entry, TurnOpened) and entry.turn_id == turn_id


def _used(branch: Sequence[Entry]) -> int:
    """Tokens in the window at the end of a branch."""
    for entry in reversed(branch[:-1]):
        if isinstance(entry, UsageSet):
            return entry.used
        if isinstance(entry, Compacted):
            return entry.after
    return 0
