"""Halves of UTF-16 pairs, which JSON and YAML can spell but UTF-8 cannot carry."""

from __future__ import annotations

import re

_HALF = re.compile("[\ud800-\udfff]")


def repair(text: str) -> str:
    """`text` with two halves that belong together joined, and U+FFFD for one alone."""
    if text.isascii() or not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Joiner:
    """Repairs a text that comes in pieces: some servers cut it in the middle of a pair."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = ""

    def take(self, piece: str) -> str:
        """What can be passed on of `piece` and what was held back before; a first half at the end is held back."""
        text = self._held + piece
        self._held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return repair(text[:-1] if self._held else text)
