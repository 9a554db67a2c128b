"""grep: lines of files that match a regular expression."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from acpagent.core import bounds
from acpagent.core.catalogue import Phrase
from acpagent.core.paths import unmoved
from acpagent.core.toolcalls import Effect, Kind, Location, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox import apart, grepper
from acpagent.toolbox.arguments import FLAG, STRING, Schema, closed, described
from acpagent.toolbox.find import counted, title_of
from acpagent.toolbox.patterns import matcher
from acpagent.toolbox.texts import name, place
from acpagent.toolbox.walk import Walk

DEFAULT_MATCHES = 100
MAX_MATCHES = 1000
MAX_LOCATIONS = 100
FILE_BYTES = 8 << 20
ONE_FILE_BYTES = 1 << 40  # where the model names a single file; there is a limit of time as well
SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _Search:
    path: str
    pattern: str
    ignore_case: bool
    limit: int
    wanted: Callable[[str], bool] | None


@dataclass(slots=True)
class _Found:
    """Matches by absolute path, and why there may be more than these."""

    matches: list[tuple[str, int, str]] = field(default_factory=list)
    full: bool = False
    notes: list[str] = field(default_factory=list)


class Grep:
    name = "grep"
    description = (
        "Search file contents, line by line, for a Python regular expression. Binary files and those git ignores "
        "are left out; glob chooses files by name."
    )
    schema: Schema = closed(
        {
            "pattern": STRING,
            "path": described(STRING, "file or directory"),
            "glob": described(STRING, "such as *.py"),
            "ignore_case": FLAG,
            "limit": {"type": "integer", "minimum": 1, "maximum": MAX_MATCHES},
        },
        "pattern",
    )
    reads_only = True
    kind: Kind = "search"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        path = place(ctx, args.get("path", "."))
        called, pattern = name(ctx, path), args["pattern"]
        if not pattern:
            raise ToolRefusal("pattern is empty.")
        wanted = matcher(args["glob"]) if args.get("glob") else None
        limit = args.get("limit", DEFAULT_MATCHES)
        return Proposal(
            title=title_of("title_search", pattern, called),
            kind=self.kind,
            effects=(Effect("read", path),),
            subject=called,
            locations=(Location(ctx.roots.shown(path)),),
            detail=_Search(path, pattern, args.get("ignore_case", False), limit, wanted),
            facts={"path": called, "query": pattern},
        )

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        search: _Search = proposal.detail
        ctx.scope.check()
        found = _search(search, ctx)
        rows = [f"{name(ctx, path)}:{line}: {bounds.clean(text)}" for path, line, text in found.matches]
        excerpt = bounds.cut("\n".join(rows), ctx.output_bytes - 300)
        notes = [f"stopped at {search.limit} matches; narrow the search"] if found.full else []
        notes += found.notes
        facts = {
            **proposal.facts,
            "match_count": len(rows),
            "truncated": bool(notes) or excerpt.left_out > 0,
        }
        return ToolResult(
            "\n".join((excerpt.text or "No line matches.", *(f"[{note}]" for note in notes))),
            raw=facts,
            facts=facts,
            title=Phrase("title_counted", title=proposal.title, count=counted(len(rows), found.full)),
            locations=tuple(Location(ctx.roots.shown(path), line) for path, line, _ in found.matches[:MAX_LOCATIONS]),
        )


def _search(search: _Search, ctx: ToolContext) -> _Found:
    found = _Found()
    paths, file_bytes = _paths(search, ctx, found)
    options = {
        "pattern": search.pattern,
        "ignore_case": search.ignore_case,
        "limit": search.limit,
        "file_bytes": file_bytes,
    }
    listing = b"".join(os.fsencode(path) + b"\0" for path in paths)
    ran = apart.run(grepper.__file__, options, listing, SECONDS, ctx)
    if ran is not None:
        _take(ran, paths, found)
    else:
        _search_here(options, paths, found, ctx)
    return found


def _paths(search: _Search, ctx: ToolContext, found: _Found) -> tuple[list[str], int]:
    """What to look into, and the size from which on a file is left out."""
    if not unmoved(search.path):
        raise ToolRefusal("The path leads elsewhere now: a symbolic link came in between. Call again.")
    if os.path.isfile(search.path):
        return [search.path], ONE_FILE_BYTES
    walk = Walk(search.path, ctx)
    wanted = search.wanted or (lambda path: True)
    paths = [os.path.join(search.path, path) for path in walk.files() if wanted(path)]
    if not walk.complete:
        found.notes.append("there are too many files, not all were searched; give a directory as path")
    return paths, FILE_BYTES


def _take(ran: apart.Ran, paths: Sequence[str], found: _Found) -> None:
    summary: Mapping[str, Any] = {}
    for row in ran.rows:
        if isinstance(row, list):
            found.matches.append((paths[row[0]], row[1], row[2]))
        else:
            summary = row
    if ran.timed_out:
        found.notes.append(f"stopped after {SECONDS:g} s; narrow the search or simplify the pattern")
    elif not summary:
        raise ToolRefusal("The search broke off.")
    _take_summary(summary, found)


def _search_here(options: Mapping[str, Any], paths: Sequence[str], found: _Found, ctx: ToolContext) -> None:
    def checked() -> Iterator[bytes]:
        for path in paths:
            ctx.scope.check()
            yield os.fsencode(path)

    try:
        search = grepper.Search(**options)
    except (re.error, OverflowError, RecursionError) as fault:
        _take_summary({"error": str(fault)}, found)
        return
    found.matches += [(paths[number], line, text) for number, line, text in search.found(checked())]
    _take_summary({"skipped": search.skipped, "full": search.full}, found)


def _take_summary(summary: Mapping[str, Any], found: _Found) -> None:
    if "error" in summary:
        raise ToolRefusal(f"pattern is not a usable regular expression: {summary['error']}.")
    found.full = summary.get("full", False)
    if summary.get("skipped"):
        found.notes.append(f"{summary['skipped']} files left out: too large")
