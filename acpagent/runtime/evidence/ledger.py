"""The ledger: what was done for the task at hand, read off a session's history as it happens, or as it is loaded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from acpagent.core import shellparse
from acpagent.core.evidence import CheckStatus
from acpagent.core.history import CallSettled, Entry, PlanSet, TurnOpened
from acpagent.core.paths import Roots
from acpagent.core.shellparse import Command, Script
from acpagent.core.toolcalls import Diff, PlanEntry, ToolCall
from acpagent.permission import weighing
from acpagent.runtime.evidence import checks, outcomes
from acpagent.runtime.evidence.checks import Check
from acpagent.runtime.evidence.watch import CHANGES, COMPLETE

SHELL_TOOL, SIGN_OFF_TOOL = "bash", "complete_step"
_CHANGES = frozenset({"edit", "delete", "move"})
_LOOKS = frozenset({"read"})
_REVIEWS = (("git", "diff"), ("git", "status"), ("git", "show"), ("jj", "diff"), ("hg", "diff"), ("svn", "diff"))
# Files that nothing but a reader checks.
_DOCUMENT_ENDINGS = (".md", ".mdx", ".rst", ".adoc")


@dataclass(frozen=True, slots=True)
class Passed:
    """A check that passed: when, by the ledger's own count, and the whole command line that ran it."""

    at: int
    check: Check
    line: str


@dataclass(frozen=True, slots=True)
class Ran:
    """A check that was run, and how it went. `covers`: the last moment whose changes it saw."""

    at: int
    covers: int
    call_id: str
    check: Check
    line: str
    status: CheckStatus
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Unread:
    """A command that nobody has looked at yet."""

    at: int
    line: str
    call: ToolCall
    output: str


@dataclass(slots=True)
class Ledger:
    """Owned by the session worker; needs no lock. Commands are kept as they come, and read when somebody wants to know.

    Times are numbers that only grow, two at a time: what comes at an odd one came before a change by the same call. A
    task begins with a prompt while nothing of the plan is left to do, and then what was done before no longer counts.
    """

    plan: tuple[PlanEntry, ...] = ()
    changed: dict[str, int] = field(default_factory=dict)  # path -> when last
    passed: list[Passed] = field(default_factory=list)
    ran: list[Ran] = field(default_factory=list)
    changes: set[int] = field(default_factory=set)  # when anything was
    signed: list[tuple[int, str]] = field(default_factory=list)  # when, and all that was quoted
    turn_began: int = 0
    _unread: list[_Unread] = field(default_factory=list)
    _unseen: set[int] = field(default_factory=set)  # when there was too much to look at
    _looked: dict[str, int] = field(default_factory=dict)
    _reviewed: int = 0
    _now: int = 0

    def feed(self, entries: Iterable[Entry]) -> None:
        """Take entries in the order they happened."""
        for entry in entries:
            self._now += 2
            if isinstance(entry, TurnOpened):
                self._begin_turn()
            elif isinstance(entry, PlanSet):
                self.plan = entry.entries
            elif isinstance(entry, CallSettled):
                self._take(entry.call, entry.text)

    def read(self, roots: Roots) -> None:
        """Catch up with the commands that came in. What is written outside the `roots` is nobody's work."""
        for unread in self._unread:
            self._read(unread, roots)
        self._unread.clear()

    def _read(self, unread: _Unread, roots: Roots) -> None:
        at, facts, script = unread.at, unread.call.facts, shellparse.parse(unread.line)
        if checks.rewrites(script):  # another check is cheap, whatever was seen
            self._change([unread.line], at)
        if not facts.get(COMPLETE):  # nobody looked, or not at all of it: the command is taken at its word
            self._change(_written(script, roots), at)
        found = checks.recognise(script)
        for check in found:
            status, reason = outcomes.of(check, facts, unread.output, len(found))
            covers = at if check.last else at - 1
            self.ran.append(Ran(at, covers, unread.call.id, check, unread.line, status, reason))
            if status == "passed":
                self.passed.append(Passed(covers, check, unread.line))
        if facts.get("exit_code") == 0 and any(_reviews(command) for command in script.commands):
            self._reviewed = at

    def saw(self, paths: Iterable[str]) -> None:
        """Files were found changed by a job, at some time until now."""
        self._now += 2
        self._change(paths, self._now)

    def blind(self) -> bool:
        """Whether something may have been changed that nobody could look at, and no check has passed since."""
        return not all(any(passed.at >= at for passed in self.passed) for at in self._unseen)

    @property
    def last_change(self) -> int:
        """When something was changed last; 0 for never."""
        return max(self.changed.values(), default=0)

    @property
    def changed_in_turn(self) -> bool:
        return self.last_change > self.turn_began

    def open_steps(self) -> list[PlanEntry]:
        """What of the plan is not completed."""
        return [entry for entry in self.plan if entry.status != "completed"]

    def unreviewed(self) -> list[str]:
        """The changed files that nobody looked at since: neither read one by one, nor all by one look at the diff."""
        return [
            path
            for path, changed in self.changed.items()
            if max(self._reviewed, self._looked.get(path, 0)) <= changed and os.path.isfile(path)
        ]

    def only_documents(self) -> bool:
        """Whether everything that changed is for readers, so that reading it is all the checking there is."""
        return all(path.lower().endswith(_DOCUMENT_ENDINGS) for path in self.changed)

    def proofs(self) -> list[Passed]:
        """The checks that passed after the last change, or by the command line that made it."""
        return [passed for passed in self.passed if passed.at >= self.last_change]

    def changed_at(self, path: str) -> int:
        """When a file was changed last; of one that is not known by name, when anything was."""
        return self.changed.get(path, self.last_change)

    def verified(self, path: str) -> bool:
        """Whether a changed file was checked as it is now; of one that is for readers, whether it was read."""
        changed = self.changed_at(path)
        if any(passed.at >= changed for passed in self.passed):
            return True
        return self.inspected(path) is not None

    def inspected(self, path: str) -> Literal["diff_inspection", "manual_inspection"] | None:
        """How a changed file that is for readers was read since; None for any other, and for one that was not."""
        changed = self.changed_at(path)
        if not path.lower().endswith(_DOCUMENT_ENDINGS):
            return None
        if self._reviewed > changed:
            return "diff_inspection"
        return "manual_inspection" if self._looked.get(path, 0) > changed else None

    def signed_for(self, proof: Passed | None) -> bool:
        """Whether work was signed off after a proof, quoting it; without one, after the last change."""
        if proof is None:
            return any(at > self.last_change for at, _ in self.signed)
        return any(at > proof.at and quotes(words, proof) for at, words in self.signed)

    def _begin_turn(self) -> None:
        self.turn_began = self._now
        if not self.open_steps():
            self.plan, self._reviewed = (), 0
            self.changes.clear()
            self._unseen.clear()
            for record in (self.changed, self.passed, self.ran, self.signed, self._looked, self._unread):
                record.clear()

    def _take(self, call: ToolCall, output: str) -> None:
        seen = changed_paths(call)
        self._change(seen, self._now)
        if call.facts.get(COMPLETE) is False:
            self._unseen.add(self._now)
        if call.name == SHELL_TOOL:
            self._note_command(call, output)
        elif call.status == "completed" and call.name == SIGN_OFF_TOOL:
            self.signed.append((self._now, "\n".join(listed(call.raw_output, "evidence"))))
        elif call.status == "completed" and call.kind in _CHANGES and not seen:
            self._change(_places(call) or [call.title], self._now)
        elif call.status == "completed" and call.kind in _LOOKS:
            self._looked.update(dict.fromkeys(_places(call), self._now))

    def _note_command(self, call: ToolCall, output: str) -> None:
        """One that failed may have written all the same. Of a background job no end is known, so that it shows
        nothing."""
        line = call.raw_input.get("command") if isinstance(call.raw_input, dict) else None
        if isinstance(line, str):
            self._unread.append(_Unread(self._now, line, call, output))

    def _change(self, paths: Iterable[str], at: int) -> None:
        for path in paths:
            self.changed[path] = max(at, self.changed.get(path, 0))
            self.changes.add(at)


def changed_paths(call: ToolCall) -> list[str]:
    """The files that a call was seen to change, those that it took away included."""
    rows = call.facts.get(CHANGES)
    return [str(row[0]) for row in rows] if isinstance(rows, list) else []


def quotes(words: str, proof: Passed) -> bool:
    """Whether some words quote a command, be it in other quotation marks and spacing."""
    return quotes_line(words, proof.line, proof.check.command)


def quotes_line(words: str, *lines: str) -> bool:
    """Whether some words quote one of some command lines, in whatever quotation marks and spacing."""
    said = _plain(words)
    return any(_plain(line) in said for line in lines)


def _plain(text: str) -> str:
    return " ".join(text.translate(_UNQUOTED).split()).lower()


_UNQUOTED = str.maketrans(dict.fromkeys("'\"`\\", ""))


def _written(script: Script, roots: Roots) -> list[str]:
    """The files in the roots that a command line is known to write."""
    return [path for step in weighing.weigh(script, roots) for path in step.writes if roots.contains(path)]


def _reviews(command: Command) -> bool:
    words = checks.unwrapped([word.text for word in command.words])
    plain = tuple(word for word in words if not word.startswith("-"))
    return plain[:2] in _REVIEWS


def _places(call: ToolCall) -> list[str]:
    """The files that a call was about."""
    paths = [place.path for place in call.locations] + [item.path for item in call.content if isinstance(item, Diff)]
    return list(dict.fromkeys(os.path.realpath(path) for path in paths))


def listed(raw: Any, name: str) -> Sequence[str]:
    """The texts of a list in a call's data."""
    found = raw.get(name) if isinstance(raw, dict) else None
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []
