"""What the agent's process holds while it rests, and whether that levels off."""

from __future__ import annotations

import os
import statistics
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.descendants import marked

MIB = 1 << 20


@dataclass(frozen=True)
class Sample:
    """Bytes and counts; `minute` since the start, `turns` and `lines` so far."""

    minute: float
    turns: int
    lines: int
    memory: float
    threads: int
    descriptors: int
    processes: int
    store: int


@dataclass(frozen=True)
class Column:
    """`of` is what must level off: the second half may lie above the first by `share` of it and `more`. How many of the
    sessions are open when everybody rests differs, and their descriptors with them."""

    title: str
    show: Callable[[Sample], str]
    of: Callable[[Sample], float] | None = None
    share: float = 0.0
    more: float = 0.0


COLUMNS = (
    Column("minute", lambda s: f"{s.minute:.1f}"),
    Column("turns", lambda s: f"{s.turns}"),
    Column("lines", lambda s: f"{s.lines}"),
    Column("PSS MiB", lambda s: f"{s.memory / MIB:.1f}", lambda s: s.memory, 0.03, MIB),
    Column("threads", lambda s: f"{s.threads}", lambda s: s.threads, 0.0, 1.0),
    Column("descriptors", lambda s: f"{s.descriptors}", lambda s: s.descriptors, 0.0, 6.0),
    Column("processes", lambda s: f"{s.processes}", lambda s: s.processes),
    Column("store MiB", lambda s: f"{s.store / MIB:.2f}", lambda s: s.store, 0.1, MIB),
)
SETTLING = 0.25  # of the samples, from the first, before anything has to be level
LEAST_MINUTES = 4.0  # a shorter run is over before anything could settle


def sample(pid: int, home: str, mark: dict[str, str], minute: float, turns: int, lines: int) -> Sample:
    """Look at a process that has nothing to do; what has just ended may still be going, so it is given a moment."""
    threads = descriptors = 10**9
    for _ in range(10):
        threads = min(threads, len(os.listdir(f"/proc/{pid}/task")))
        descriptors = min(descriptors, len(os.listdir(f"/proc/{pid}/fd")))
        threading.Event().wait(0.02)
    store = sum(path.stat().st_size for path in Path(home).glob("store*"))
    return Sample(minute, turns, lines, _memory(pid), threads, descriptors, len(marked(mark)), store)


def _memory(pid: int) -> float:
    """Proportional set size in bytes."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise OSError("no Pss")


def head() -> str:
    return "  ".join(column.title for column in COLUMNS)


def row(one: Sample) -> str:
    return "  ".join(column.show(one).rjust(len(column.title)) for column in COLUMNS)


def long_enough(samples: Sequence[Sample]) -> bool:
    return bool(samples) and samples[-1].minute >= LEAST_MINUTES


def rising(samples: Sequence[Sample]) -> list[str]:
    """What does not level off: its mean in the last half of the settled samples against that in the first half."""
    if not long_enough(samples):
        return []
    settled = samples[int(len(samples) * SETTLING) :]
    middle = len(settled) // 2
    found = []
    for column in COLUMNS:
        if column.of is None:
            continue
        early, late = (statistics.fmean(map(column.of, part)) for part in (settled[:middle], settled[middle:]))
        if late > early * (1 + column.share) + column.more:
            found.append(f"{column.title} rose from {early:.0f} to {late:.0f}")
    return found
