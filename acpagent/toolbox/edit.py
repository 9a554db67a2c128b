"""edit_file: replace one passage of a file, found by its exact text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.core.blocks import Text
from acpagent.core.files import TextFile
from acpagent.core.phrases import titled
from acpagent.core.toolcalls import Effect, Kind, Location, Proposal, ToolContext, ToolResult
from acpagent.toolbox import passages
from acpagent.toolbox.arguments import FLAG, STRING, Schema, closed, described
from acpagent.toolbox.texts import Texts, change, name, place

TITLE_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Edit:
    """A file that becomes `raw`; `lines` tell of each edit which line it is at."""

    path: str
    base: TextFile
    raw: str
    lines: tuple[int, ...]


class EditFile:
    name = "edit_file"
    description = (
        "Replace old by new in a file. old must be the exact text, without line numbers, and occur once, "
        "unless replace_all is set."
    )
    schema: Schema = closed(
        {
            "path": STRING,
            "old": described(STRING, "exact text, with enough lines around it to be unique"),
            "new": STRING,
            "replace_all": FLAG,
        },
        "path",
        "old",
        "new",
    )
    reads_only = False
    kind: Kind = "edit"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        path = place(ctx, args["path"])
        base = Texts(ctx).read(path)
        raw, spans = passages.replaced(base, name(ctx, path), args["old"], args["new"], args.get("replace_all", False))
        return proposed(Edit(path, base, raw, passages.line_numbers(base.text, passages.starts(spans))), ctx)

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        return carried_out(proposal, ctx)


def proposed(edit: Edit, ctx: ToolContext) -> Proposal:
    """What the edit would do. Raises `ToolRefusal` if the file cannot hold it."""
    path, called = edit.path, name(ctx, edit.path)
    Texts(ctx).encode(path, edit.raw, edit.base)
    return Proposal(
        title=titled("title_edit", TITLE_CHARACTERS, called),
        kind=EditFile.kind,
        effects=(Effect("write", path),),
        subject=called,
        locations=(Location(ctx.roots.shown(path), edit.lines[0]),),
        diff=change(ctx, path, edit.base.raw, edit.raw),
        detail=edit,
        facts={"path": called},
    )


def carried_out(proposal: Proposal, ctx: ToolContext) -> ToolResult:
    """Do what `proposed` told of. Raises `ToolRefusal`, `Cancelled`."""
    edit: Edit = proposal.detail
    Texts(ctx).write(edit.path, edit.raw, edit.base)
    count = len(edit.lines)
    many = f" ({count} edits)" if count > 1 else ""
    text = f"Edited {proposal.subject}{many} at {passages.listed(edit.lines)}."
    code = "title_edited_often" if count > 1 else "title_edited"
    facts = {"path": proposal.subject, "edit_count": count}
    return ToolResult(
        text,
        content=(proposal.diff, Text(text)) if proposal.diff else (),
        raw={**facts, "lines": list(edit.lines[:100])},
        facts=facts,
        title=titled(code, TITLE_CHARACTERS, proposal.subject, count=count),
    )
