"""The account of a turn: its entries so far, and how its files stood before the turn first changed them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from acpagent.core.evidence import ChangedFile, Operation, Source
from acpagent.core.history import CallSettled, Entry, GoalSet, Permitted, Said, TurnOpened, UsageSet
from acpagent.core.paths import Roots
from acpagent.runtime.evidence import contents
from acpagent.runtime.evidence.contents import Change, Changes, Content

HELD_BYTES = 16 * 1024 * 1024


@dataclass(slots=True)
class _File:
    """One file in a turn: what it held before the first change and after the last."""

    before: Content | None
    after: Content | None
    source: Source
    calls: list[str]
    old_path: str | None = None


@dataclass(slots=True)
class Account:
    """Of the turn that runs or ran last. Owned by the session worker; needs no lock."""

    turn_id: str = ""
    settled: list[CallSettled] = field(default_factory=list)
    permitted: list[Permitted] = field(default_factory=list)
    blocked: bool = False
    model_calls: int = 0
    complete: bool = True
    _files: dict[str, _File] = field(default_factory=dict)
    _held: int = 0
    _message: tuple[str, list[str]] = ("", [])

    def feed(self, entries: Iterable[Entry]) -> None:
        """Take entries in the order they happened."""
        for entry in entries:
            if isinstance(entry, TurnOpened):
                self._begin(entry.turn_id)
            elif isinstance(entry, CallSettled):
                self.settled.append(entry)
            elif isinstance(entry, Permitted):
                self.permitted.append(entry)
            elif isinstance(entry, GoalSet):
                self.blocked = entry.phase == "blocked"
            elif isinstance(entry, UsageSet):
                self.model_calls += 1
            elif isinstance(entry, Said) and entry.role == "assistant":
                self._hear(entry)

    @property
    def last_words(self) -> str:
        """What the model said last."""
        return "".join(self._message[1])

    def changed(self, call_id: str, changes: Changes) -> None:
        """A call changed files."""
        self.complete = self.complete and changes.complete
        for change in changes.files:
            self._take(call_id, change)

    def strays(self, found: Changes) -> Changes:
        """Of what something in the background was found to have changed, what no call of the turn has told yet; with
        the files that are not any more as a call left them. What the editor holds is not on the disk."""
        fresh = [file for file in found.files if file.path not in self._files or not self._knows(file)]
        named = {file.path for file in found.files}
        for path, file in self._files.items():
            if path not in named and file.source != "delegated_editor":
                now = contents.look(path)
                if not _same(now, file.after):
                    fresh.append(Change(path, file.after, now, "shell"))
        return Changes(tuple(fresh), found.complete)

    def _knows(self, change: Change) -> bool:
        return _same(self._files[change.path].after, change.after)

    def paths(self, call_id: str) -> list[str]:
        """The files that a call changed."""
        return [path for path, file in self._files.items() if call_id in file.calls]

    def files(self, roots: Roots) -> dict[str, ChangedFile]:
        """How files stand against the beginning of the turn, by resolved path; without those that are as they were."""
        names = {path: self._origin(path) for path, file in self._files.items() if file.before is None and file.after}
        moved = {old: new for new, old in names.items() if old is not None}
        found = {}
        for path, file in self._files.items():
            if file.before == file.after or path in moved:
                continue
            old = names.get(path)
            before = file.before if old is None else self._files[old].before
            lines = contents.counted(before, file.after)
            found[path] = ChangedFile(
                path=roots.relative(path),
                operation=_operation(file, old),
                source=file.source,
                added=lines.added,
                removed=lines.removed,
                binary=lines.binary,
                old_path=None if old is None else roots.relative(old),
                mutation_ids=tuple(f"ev_mutation_{call}" for call in file.calls),
            )
        return dict(sorted(found.items()))

    def _begin(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self.blocked, self.complete, self.model_calls, self._held = False, True, 0, 0
        self._message = ("", [])
        for record in (self.settled, self.permitted, self._files):
            record.clear()

    def _hear(self, said: Said) -> None:
        if said.message_id != self._message[0]:
            self._message = (said.message_id, [])
        self._message[1].append(said.text)

    def _take(self, call_id: str, change: Change) -> None:
        file = self._files.get(change.path)
        after = self._kept(change.after)
        if file is None:
            before = self._kept(change.before)
            self._files[change.path] = _File(before, after, change.source, [call_id], change.old_path)
            return
        file.after, file.source = after, change.source
        file.old_path = change.old_path if change.old_path is not None else file.old_path
        if call_id not in file.calls:
            file.calls.append(call_id)

    def _kept(self, content: Content | None) -> Content | None:
        """A content as it is kept: beyond a limit its lines cannot be counted any more."""
        if content is None or content.data is None:
            return content
        self._held += len(content.data)
        return content if self._held <= HELD_BYTES else Content(content.mark)

    def _origin(self, path: str) -> str | None:
        """What a file was called at the beginning of the turn, if it was there under another name that is gone."""
        seen, at = {path}, path
        while (file := self._files.get(at)) is not None and file.before is None and file.old_path is not None:
            if file.old_path in seen:
                return None
            at = file.old_path
            seen.add(at)
        origin = self._files.get(at)
        gone = origin is not None and origin.before is not None and origin.after is None
        return at if at != path and gone else None


def _same(one: Content | None, other: Content | None) -> bool:
    """Whether two contents are the same, be one of them kept by its mark alone."""
    return one == other or (one is not None and other is not None and one.mark == other.mark)


def _operation(file: _File, old: str | None) -> Operation:
    if old is not None:
        return "renamed"
    if file.before is None:
        return "created"
    return "deleted" if file.after is None else "modified"
