"""A memory that forgets with the test."""

from __future__ import annotations

from collections.abc import Sequence

from acpagent.core.memory import Full, Note


class Notes:
    """`most`: how many are kept of a repository."""

    def __init__(self, most: int = 500) -> None:
        self.kept: dict[str, dict[str, Note]] = {}
        self._most = most

    def notes(self, repository: str) -> tuple[Note, ...]:
        return tuple(sorted(self.kept.get(repository, {}).values(), key=lambda note: note.at, reverse=True))

    def keep(self, repository: str, note: Note) -> None:
        found = self.kept.setdefault(repository, {})
        if len(found) >= self._most and note.id not in found:
            raise Full
        found[note.id] = note

    def forget(self, repository: str, ids: Sequence[str]) -> None:
        for each in ids:
            self.kept.get(repository, {}).pop(each, None)
