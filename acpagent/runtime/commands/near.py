"""Whether a word is nearly the name of a command: one slip of a finger, or two in a long word."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAME = re.compile(r"[a-z][a-z-]*")
_LEAST = 3  # letters; of a shorter word nobody knows what it was meant to be
_LONG = 7


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The one name that a word in small letters is nearly; None if it is far from all, near to several, or no name."""
    if len(word) < _LEAST or _NAME.fullmatch(word) is None:
        return None
    found = sorted((slips(word, name), name) for name in names)
    near = [name for count, name in found if count <= (2 if min(len(word), len(name)) >= _LONG else 1)]
    return near[0] if near and (len(near) == 1 or found[0][0] < found[1][0]) else None


def slips(one: str, other: str) -> int:
    """How many letters must be added, left out, exchanged, or swapped with the next to come from one word to the
    other."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        above, before, row = before, row, [i] + [0] * len(other)
        for j, sought in enumerate(other, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != sought))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == sought:
                row[j] = min(row[j], above[j - 2] + 1)
    return row[-1]
