"""Watching a call: which files it changed, found by looking before and after it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from acpagent.core import shellparse
from acpagent.core.evidence import Operation, Source
from acpagent.core.paths import Roots, within
from acpagent.core.repositories import top_of
from acpagent.core.toolcalls import Proposal, Tool, ToolResult, is_harmless
from acpagent.permission import weighing
from acpagent.runtime.evidence import contents
from acpagent.runtime.evidence.bases import Base, Cache, Paths, Repository, Tree
from acpagent.runtime.evidence.contents import Change, Changes
from acpagent.runtime.evidence.git import Git

# How many changed files are kept with a call; those beyond count as changed when the last of these was.
MOST_ROWS = 500
MOST_REPOSITORIES = 20  # in one folder
CHANGES, COMPLETE = "changes", "changes_complete"
_HARMLESS = frozenset({"read", "plan", "question", "job", "end_job"})
_SOURCES: Mapping[str, Source] = {"execute": "shell", "edit": "tool_edit"}
_WRITE_TOOL = "write_file"


@dataclass(slots=True)
class Watch:
    """Of one session. Used on the helper thread of a call that changes things, of which there is one at a time, and on
    the session worker while there is none; needs no lock. `_too_large` are roots that are not looked at again, `_jobs`
    what the turn has started in the background, with how files stood then."""

    roots: Roots
    hidden_env: frozenset[str] = frozenset()
    _cache: Cache = field(default_factory=Cache)
    _too_large: set[str] = field(default_factory=set)
    _jobs: dict[str, tuple[str, Watched]] = field(default_factory=dict)

    def begin(self, tool: Tool, proposal: Proposal, through_editor: bool) -> Watched | None:
        """Look before a call. None for one that changes nothing. `through_editor`: the client writes files. Never
        raises."""
        try:
            return self._begin(tool, proposal, through_editor)
        except Exception:  # a look that fails must not cost the call: it is known that nothing is known
            return Watched((), proposal, complete=False)

    def _begin(self, tool: Tool, proposal: Proposal, through_editor: bool) -> Watched | None:
        effects = [effect for effect in proposal.effects if effect.kind not in _HARMLESS]
        if is_harmless(tool) or (not effects and proposal.effects):
            return None
        if all(effect.kind == "network" and effect.host for effect in effects) and effects:
            return None
        source = _source(tool, proposal)
        if effects and all(effect.kind == "write" and effect.path and not effect.below for effect in effects):
            named = [effect.path for effect in effects if effect.path]
            base = Paths.take(named, source)
            shown = proposal if through_editor and proposal.diff and proposal.kind == "edit" else None
            return Watched((base,), shown)
        if any(effect.kind == "execute" and self._only_reads(effect.command or "") for effect in effects):
            return None
        taken = [base for root in self._tops() for base in self._take(root, source)]
        return Watched(tuple(base for base in taken if base is not None), None, self, None not in taken)

    def _only_reads(self, line: str) -> bool:
        steps = weighing.weigh(shellparse.parse(line), self.roots)
        return bool(steps) and all(step.level == "reads" for step in steps)

    def _tops(self) -> list[str]:
        """The roots, without those that lie in another."""
        every = self.roots.all
        return [root for root in every if not any(other != root and within(root, other) for other in every)]

    def _take(self, root: str, source: Source) -> Sequence[Base | None]:
        """How a root stands, and the repositories in it; None for what cannot be looked at."""
        if root in self._too_large:
            return [None]
        top = top_of(root)
        if top is not None:
            found = self._repositories(top, root, source)
            if found[0] is not None:
                return found
        tree = Tree.take(root, self._cache, source)
        if not tree.complete:
            self._too_large.add(root)
            return [None]
        return [tree]

    def _repositories(self, top: str, root: str, source: Source) -> Sequence[Base | None]:
        waiting, found = [(top, root)], list[Base | None]()
        while waiting:
            if len(found) == MOST_REPOSITORIES:
                return [*found, None]
            one = Repository.take(Git(*waiting.pop(0), self.hidden_env), self._cache, source)
            found.append(one)
            waiting += [(path, path) for path in sorted(one.inner)] if one is not None else []
        return found

    def follow(self, job_id: str, call_id: str, watched: Watched) -> None:
        """A call has started a job, which goes on."""
        self._jobs[job_id] = (call_id, watched)

    def forget_jobs(self) -> None:
        """The turn is over: what its jobs do from here on is not looked at."""
        self._jobs.clear()

    def by_jobs(self) -> Iterator[tuple[str, Changes]]:
        """What was changed since jobs were started, by whatever, with the call that started each. On the session
        worker, while no call changes anything. Never raises."""
        for call_id, watched in self._jobs.values():
            yield call_id, watched.end(False)

    def gone_large(self, base: Base) -> None:
        """A directory has become too large to be looked at."""
        if isinstance(base, Tree):
            self._too_large.add(base.root)


@dataclass(frozen=True, slots=True)
class Watched:
    """A call that is looked at. `shown` is its proposal where the editor writes what the diff shows."""

    bases: tuple[Base, ...]
    shown: Proposal | None = None
    watch: Watch | None = None
    complete: bool = True

    def end(self, failed: bool) -> Changes:
        """What the call changed. Never raises."""
        if self.shown is not None and self.shown.diff is not None and not failed:
            diff = self.shown.diff
            before, after = contents.of_text(diff.old), contents.of_text(diff.new)
            path = os.path.realpath(diff.path)
            return Changes((Change(path, before, after, "delegated_editor"),) if before != after else ())
        try:
            return self._look()
        except Exception:
            return Changes(complete=False)

    def _look(self) -> Changes:
        found: list[Change] = []
        complete = self.complete
        for base in self.bases:
            changed, whole = base.changes()
            found += changed
            complete = complete and whole
            if not whole and self.watch is not None:
                self.watch.gone_large(base)
        return Changes(contents.paired(found), complete)


def _source(tool: Tool, proposal: Proposal) -> Source:
    if tool.name == _WRITE_TOOL:
        return "tool_write"
    if "server" in proposal.facts:
        return "mcp"
    return _SOURCES.get(proposal.kind, "tool_edit" if proposal.kind in ("delete", "move") else "unknown")


def with_changes(result: ToolResult, changes: Changes) -> ToolResult:
    """The result with what the call changed among its facts, as they are stored."""
    rows = [row(change) for change in changes.files[:MOST_ROWS]]
    return replace(result, facts={**result.facts, CHANGES: rows, COMPLETE: changes.complete})


def row(change: Change) -> list[Any]:
    """A change as plain data: path, operation, lines added, lines removed, whether binary, the path before."""
    lines = contents.counted(change.before, change.after)
    return [change.path, operation(change), lines.added, lines.removed, lines.binary, change.old_path]


def operation(change: Change) -> Operation:
    if change.old_path is not None:
        return "renamed"
    if change.before is None:
        return "created"
    return "deleted" if change.after is None else "modified"
