"""list_dir: what is in a directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from acpagent.core import bounds
from acpagent.core.catalogue import Phrase
from acpagent.core.paths import unmoved
from acpagent.core.phrases import titled
from acpagent.core.toolcalls import Effect, Kind, Location, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox.arguments import STRING, Schema, closed
from acpagent.toolbox.texts import name, place

MAX_ENTRIES = 2000
TITLE_CHARACTERS = 120


class ListDir:
    name = "list_dir"
    description = "List the entries of a directory, hidden ones too. Directories end in /."
    schema: Schema = closed({"path": STRING})
    reads_only = True
    kind: Kind = "read"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        path = place(ctx, args.get("path", "."))
        called = name(ctx, path)
        return Proposal(
            title=titled("title_list", TITLE_CHARACTERS, called),
            kind=self.kind,
            effects=(Effect("read", path),),
            subject=called,
            locations=(Location(ctx.roots.shown(path)),),
            detail=path,
            facts={"path": called},
        )

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        ctx.scope.check()
        rows = _rows(proposal.detail, proposal.subject)
        excerpt = bounds.cut("\n".join(rows[:MAX_ENTRIES]), ctx.output_bytes - 100)
        truncated = len(rows) > MAX_ENTRIES or excerpt.left_out > 0
        count = Phrase("count_entry") if len(rows) == 1 else Phrase("count_entries", count=len(rows))
        text = f"{proposal.subject}: {count}\n{excerpt.text}".rstrip("\n")
        if len(rows) > MAX_ENTRIES:
            text += f"\n[... {len(rows) - MAX_ENTRIES} more entries]"
        facts = {"path": proposal.subject, "entry_count": len(rows), "truncated": truncated}
        title = Phrase("title_counted", title=proposal.title, count=count)
        return ToolResult(text, raw=facts, facts=facts, title=title)


def _rows(path: str, called: str) -> list[str]:
    """One row for each entry, in order of their names. Raises `ToolRefusal`."""
    if not unmoved(path):
        raise ToolRefusal(f"{called} leads elsewhere now: a symbolic link came in between. Call again.")
    try:
        with os.scandir(path) as entries:
            return sorted(_row(entry) for entry in entries)
    except FileNotFoundError:
        raise ToolRefusal(f"There is no directory {called}.") from None
    except NotADirectoryError:
        raise ToolRefusal(f"{called} is a file; read_file shows what is in it.") from None
    except OSError as error:
        raise ToolRefusal(f"{called} cannot be listed: {error.strerror}.") from None


def _row(entry: os.DirEntry[str]) -> str:
    shown = bounds.printable(entry.name)
    try:
        if entry.is_symlink():
            return f"{shown} -> {bounds.printable(os.readlink(entry.path))}"
        return f"{shown}/" if entry.is_dir() else shown
    except OSError:
        return shown
