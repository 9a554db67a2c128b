"""glob: files by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.core import bounds
from acpagent.core.catalogue import Phrase
from acpagent.core.phrases import titled
from acpagent.core.toolcalls import Effect, Kind, Location, Proposal, ToolContext, ToolResult
from acpagent.toolbox.arguments import STRING, Schema, closed, described
from acpagent.toolbox.patterns import matcher
from acpagent.toolbox.texts import name, place
from acpagent.toolbox.walk import Walk

MAX_MATCHES = 1000
MAX_LOCATIONS = 100
QUERY_CHARACTERS = 60
TITLE_CHARACTERS = 160


@dataclass(frozen=True, slots=True)
class _Search:
    path: str
    matches: Callable[[str], bool]


class Glob:
    name = "glob"
    description = (
        "Find files by name, those git ignores left out. * and ? stay within a name, ** spans directories, "
        "{a,b} is either; a pattern without / matches names at any depth."
    )
    schema: Schema = closed({"pattern": STRING, "path": described(STRING, "directory to look in")}, "pattern")
    reads_only = True
    kind: Kind = "search"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        path = place(ctx, args.get("path", "."))
        called, pattern = name(ctx, path), args["pattern"]
        return Proposal(
            title=title_of("title_find", pattern, called),
            kind=self.kind,
            effects=(Effect("read", path),),
            subject=called,
            locations=(Location(ctx.roots.shown(path)),),
            detail=_Search(path, matcher(pattern)),
            facts={"path": called, "query": pattern},
        )

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        search: _Search = proposal.detail
        ctx.scope.check()
        walk = Walk(search.path, ctx)
        found: list[str] = []
        for path in walk.files(links=True):
            if search.matches(path):
                found.append(os.path.join(search.path, path))
                if len(found) > MAX_MATCHES:
                    break
        full, found = len(found) > MAX_MATCHES, sorted(found[:MAX_MATCHES])
        excerpt = bounds.cut("\n".join(name(ctx, path) for path in found), ctx.output_bytes - 200)
        text = excerpt.text or "No file matches."
        if full:
            text += f"\n[stopped at {MAX_MATCHES} matches; use a narrower pattern]"
        elif not walk.complete:
            text += "\n[stopped: there are too many files; give a directory as path]"
        truncated = full or not walk.complete or excerpt.left_out > 0
        facts = {**proposal.facts, "match_count": len(found), "truncated": truncated}
        return ToolResult(
            text,
            raw=facts,
            facts=facts,
            title=Phrase("title_counted", title=proposal.title, count=counted(len(found), full)),
            locations=tuple(Location(ctx.roots.shown(path)) for path in found[:MAX_LOCATIONS]),
        )


def title_of(code: str, query: str, called: str) -> Phrase:
    return titled(code, TITLE_CHARACTERS, called, query=bounds.one_line(query, QUERY_CHARACTERS))


def counted(matches: int, more: bool) -> Phrase:
    """`1 match`, `12 matches`, `100+ matches`."""
    if matches == 1 and not more:
        return Phrase("count_match")
    return Phrase("count_matches_more" if more else "count_matches", count=matches)
