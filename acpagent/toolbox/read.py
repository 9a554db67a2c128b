"""read_file: a text file, or a part of it, with line numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.core import bounds
from acpagent.core.blocks import Text
from acpagent.core.phrases import titled
from acpagent.core.toolcalls import Effect, Kind, Location, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox.arguments import COUNT, STRING, Schema, closed, described
from acpagent.toolbox.large import Lines
from acpagent.toolbox.texts import Texts, name, place

DEFAULT_LINES = 2000
LINE_CHARACTERS = 2000
TITLE_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class _Part:
    path: str
    line: int
    limit: int


class ReadFile:
    name = "read_file"
    description = (
        f"Read a text file. Each line comes as its 1-based number, a tab, its text. Up to {DEFAULT_LINES} lines; "
        "line and limit choose a part."
    )
    schema: Schema = closed(
        {
            "path": STRING,
            "line": described(COUNT, "first line"),
            "limit": described(COUNT, "number of lines"),
        },
        "path",
    )
    reads_only = True
    kind: Kind = "read"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        path = place(ctx, args["path"])
        part = _Part(path, args.get("line", 1), args.get("limit", DEFAULT_LINES))
        called = name(ctx, path)
        code = "title_read_lines" if "limit" in args else "title_read_from" if "line" in args else "title_read"
        return Proposal(
            title=titled(code, TITLE_CHARACTERS, called, first=part.line, last=part.line + part.limit - 1),
            kind=self.kind,
            effects=(Effect("read", path),),
            subject=called,
            locations=(Location(ctx.roots.shown(path), part.line),),
            detail=part,
            facts={"path": called},
        )

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        part: _Part = proposal.detail
        ctx.scope.check()
        texts = Texts(ctx)
        lines = texts.lines(part.path, part.line, part.limit, ctx.output_bytes)
        note = ", with changes that are not saved yet" if texts.unsaved(part.path) else ""
        if lines.total == 0:
            facts = {"path": proposal.subject, "total_lines": 0, "read_lines": 0, "truncated": False}
            title = titled("title_read_empty", TITLE_CHARACTERS, proposal.subject)
            return ToolResult(f"{proposal.subject} is empty{note}.", raw=facts, facts=facts, title=title)
        if not lines.chosen and lines.total is not None:
            raise ToolRefusal(f"{proposal.subject} has {_counted(lines.total)}; there is no line {part.line}.")
        return self._shown(proposal, part, lines, note, ctx.output_bytes)

    def _shown(self, proposal: Proposal, part: _Part, lines: Lines, note: str, budget: int) -> ToolResult:
        body, count = _numbered(lines.chosen, part.line, budget - 200)
        last = part.line + count - 1
        truncated = count < len(lines.chosen)
        where = f"lines {part.line}-{last}" + (f" of {lines.total}" if lines.total is not None else "")
        head = f"{proposal.subject}: {where}{note}"
        if truncated or lines.more:
            head += f" (go on with line {last + 1})"
        facts = {
            "path": proposal.subject,
            "start_line": part.line,
            "end_line": last,
            "read_lines": count,
            "truncated": truncated,
        }
        if lines.total is not None:
            facts["total_lines"] = lines.total
        code = "title_read_lines" if lines.total is None else "title_read_lines_of"
        text = f"{head}\n{body}"
        shown = bounds.clean(text)
        return ToolResult(
            text,
            content=() if shown == text else (Text(shown),),
            raw=facts,
            facts=facts,
            title=titled(code, TITLE_CHARACTERS, proposal.subject, first=part.line, last=last, total=lines.total),
        )


def _numbered(lines: list[str], first: int, budget: int) -> tuple[str, int]:
    """As many lines as fit into `budget` bytes, at least one, and how many they are."""
    out: list[str] = []
    for number, line in enumerate(lines, first):
        row = f"{number}\t{_shortened(line)}"
        budget -= len(row.encode()) + 1
        if budget < 0 and out:
            break
        out.append(row)
    if budget < 0 and len(out) == 1:
        return bounds.cut(out[0], budget + len(out[0].encode()) + 1).text, 1
    return "\n".join(out), len(out)


def _shortened(line: str) -> str:
    over = len(line) - LINE_CHARACTERS
    return line if over <= 0 else f"{line[:LINE_CHARACTERS]} [... {over} more characters]"


def _counted(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"
