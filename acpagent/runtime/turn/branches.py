"""The live branch of a session: its entries without what was rewound."""

from __future__ import annotations

from collections.abc import Iterable

from acpagent.core.history import Entry, Rewound, TurnOpened


def live(stored: Iterable[Entry]) -> list[Entry]:
    """The entries that count, in order. A rewinding takes out everything from its target up to its own turn, in which
    the person asked for it; one whose target is not there takes out nothing."""
    kept: list[Entry] = []
    opened: dict[str, int] = {}
    for entry in stored:
        if isinstance(entry, TurnOpened):
            opened[entry.turn_id] = len(kept)
        elif isinstance(entry, Rewound):
            _cut(kept, opened, entry)
        kept.append(entry)
    return kept


def _cut(kept: list[Entry], opened: dict[str, int], rewound: Rewound) -> None:
    begin, own = opened.get(rewound.to_turn), opened.pop(rewound.turn_id, len(kept))
    if begin is None or own <= begin:
        return
    while opened and opened[next(reversed(opened))] >= begin:
        opened.popitem()
    opened[rewound.turn_id] = begin
    del kept[begin:own]
