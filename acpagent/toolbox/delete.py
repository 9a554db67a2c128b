"""delete_file: take a file, a link or a directory away."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.core import bounds, files
from acpagent.core.blocks import Text
from acpagent.core.toolcalls import Effect, Kind, Location, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox import entries
from acpagent.toolbox.arguments import FLAG, STRING, Schema, closed
from acpagent.toolbox.entries import Entry, Tree
from acpagent.toolbox.texts import change, name, words

TITLE_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class _Delete:
    """`tree` is what goes with a directory, None for anything else; `what` says it in words."""

    entry: Entry
    tree: Tree | None
    what: str


class DeleteFile:
    name = "delete_file"
    description = (
        "Delete a file, a symbolic link (not what it leads to) or an empty directory; with recursive, a directory "
        "and all in it."
    )
    schema: Schema = closed({"path": STRING, "recursive": FLAG}, "path")
    reads_only = False
    kind: Kind = "delete"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        path = entries.place(ctx, args["path"])
        called, entry = name(ctx, path), entries.find(ctx, path)
        text = entries.text_of(ctx, entry)
        tree = entries.tree(ctx, path) if entry.what == "directory" else None
        if tree is not None and tree.names and not args.get("recursive"):
            raise ToolRefusal(f"{called} is not empty ({entries.told(tree)}); set recursive to delete all of it.")
        what = _in_words(entry, tree, text)
        inside = "\n" + entries.named(tree) if tree is not None and tree.names else ""
        return Proposal(
            title=bounds.one_line(f"Delete {called}", TITLE_CHARACTERS),
            kind=self.kind,
            effects=_effects(path, tree),
            subject=called,
            locations=(Location(ctx.roots.shown(path)),),
            diff=change(ctx, path, text, "") if text else None,
            detail=_Delete(entry, tree, what),
            facts={"path": called},
            note=f"Deletes {called}: {what}.{inside}",  # a diff cannot say that it is not just emptied (DIFF-03)
        )

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        delete: _Delete = proposal.detail
        path, called = delete.entry.path, proposal.subject
        with files.exclusive(path):
            entries.check_same(ctx, delete.entry)
            if delete.tree is not None and entries.tree(ctx, path) != delete.tree:
                raise ToolRefusal(f"What is in {called} changed since this call was made; look again, then call again.")
            ctx.scope.check()
            _remove(delete, called)
        text = f"Deleted {called}: {delete.what}."
        facts = {"path": called}
        return ToolResult(
            text,
            content=(proposal.diff, Text(text)) if proposal.diff else (),
            raw={**facts, "what": delete.entry.what},
            facts=facts,
            title=bounds.one_line(f"Deleted {called}", TITLE_CHARACTERS),
            locations=(),
        )


def _effects(path: str, tree: Tree | None) -> tuple[Effect, ...]:
    """What is kept in a repository's own directories is judged as if it were deleted by name."""
    if tree is None:
        return (Effect("write", path),)
    return (Effect("write", path, below=bool(tree.names)), *(Effect("write", inside) for inside in tree.repositories))


def _in_words(entry: Entry, tree: Tree | None, text: str | None) -> str:
    if tree is not None:
        return f"a directory with {entries.told(tree)}" if tree.names else "an empty directory"
    if entry.what == "link":
        return f"a symbolic link to {bounds.printable(os.readlink(entry.path))}, which stays"
    if text is None:
        return f"a file of {entries.counted(entry.size, 'byte', 'bytes')}, not text"
    return f"a file of {entries.counted(text.count(chr(10)) + (text[-1:] not in ('', chr(10))), 'line', 'lines')}"


def _remove(delete: _Delete, called: str) -> None:
    path = delete.entry.path
    try:
        if delete.tree is None:
            os.unlink(path)
        elif not delete.tree.names:
            os.rmdir(path)
        else:
            shutil.rmtree(path)
    except OSError as error:
        part = " completely" if delete.tree is not None and delete.tree.names else ""
        where = f" ({bounds.printable(os.path.relpath(error.filename, path))})" if part and error.filename else ""
        raise ToolRefusal(f"{called} cannot be deleted{part}: {words(error)}{where}.") from None
