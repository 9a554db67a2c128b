"""Russian: the commands of the terminal."""

from __future__ import annotations

SENTENCES: dict[str, str] = {}
