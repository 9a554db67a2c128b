"""write_file: create a file, or replace all that is in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.core.blocks import Text
from acpagent.core.files import TextFile
from acpagent.core.paths import within
from acpagent.core.phrases import titled
from acpagent.core.toolcalls import Effect, Kind, Location, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox.arguments import STRING, Schema, closed
from acpagent.toolbox.texts import Texts, change, name, place

TITLE_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class _Write:
    path: str
    base: TextFile | None
    raw: str
    size: int


class WriteFile:
    name = "write_file"
    description = "Create a file, with its directories, or replace all of its text. To change a part, use edit_file."
    schema: Schema = closed({"path": STRING, "content": STRING}, "path", "content")
    reads_only = False
    kind: Kind = "edit"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        path, content = place(ctx, args["path"]), args["content"]
        texts, called = Texts(ctx), name(ctx, path)
        base = texts.look(path)
        if base is None:
            check_parents(path, called)
        raw = content if base is None or "\r\n" in content else base.with_newlines(content)
        size = len(texts.encode(path, raw, base))
        return Proposal(
            title=titled("title_write", TITLE_CHARACTERS, called),
            kind=self.kind,
            effects=(Effect("write", path),),
            subject=called,
            locations=(Location(ctx.roots.shown(path)),),
            diff=change(ctx, path, base.raw if base else None, raw),
            detail=_Write(path, base, raw, size),
            facts={"path": called},
        )

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        write: _Write = proposal.detail
        Texts(ctx).write(write.path, write.raw, write.base)
        done = "Created" if write.base is None else "Updated"
        lines = write.raw.count("\n") + (not write.raw.endswith("\n") and write.raw != "")
        text = f"{done} {proposal.subject} ({write.size} bytes, {lines} line{'s' * (lines != 1)})."
        facts = {"path": proposal.subject, "bytes": write.size, "total_lines": lines}
        return ToolResult(
            text,
            content=(proposal.diff, Text(text)) if proposal.diff else (),
            raw={**facts, "created": write.base is None},
            facts=facts,
            title=titled(f"title_{done.lower()}", TITLE_CHARACTERS, proposal.subject),
        )


def check_parents(path: str, called: str) -> None:
    """Refuse a path below something that is no directory, or that names a directory to be."""
    parent = os.path.dirname(path)
    while not os.path.lexists(parent):
        parent = os.path.dirname(parent)
    if not os.path.isdir(parent) and within(path, parent):
        raise ToolRefusal(f"{called} cannot be created: a part of its path is a file.")
