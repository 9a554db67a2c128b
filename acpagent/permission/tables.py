"""Tables of words, written as lines of text."""

from __future__ import annotations


def words(*lines: str) -> frozenset[str]:
    """The words of some lines."""
    return frozenset(word for line in lines for word in line.split())
