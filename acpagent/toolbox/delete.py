"""delete_file: take a file, a link or a directory away."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.core import bounds, files
from acpagent.core.blocks import Text
from acpagent.core.catalogue import Phrase
from acpagent.core.phrases import titled
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
        note: str = Phrase("note_delete", what=called, kind=what)
        if tree is not None and tree.names:
            note = Phrase("lines", first=note, second=entries.named(tree))
        return Proposal(
            title=titled("title_delete", TITLE_CHARACTERS, called),
            kind=self.kind,
            effects=_effects(path, tree),
            subject=called,
            locations=(Location(ctx.roots.shown(path)),),
            diff=change(ctx, path, text, "") if text else None,
            detail=_Delete(entry, tree, what),
            facts={"path": called},
            note=note,  # a diff cannot say that it is not just emptied (DIFF-03)
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
        text = Phrase("note_deleted", what=called, kind=delete.what)
        facts = {"path": called}
        return ToolResult(
            text,
            content=(proposal.diff, Text(text)) if proposal.diff else (),
            raw={**facts, "what": delete.entry.what},
            facts=facts,
            title=titled("title_deleted", TITLE_CHARACTERS, called),
            locations=(),
        )


def _effects(path: str, tree: Tree | None) -> tuple[Effect, ...]:
    """What is kept in a repository's own directories is judged as if it were deleted by name."""
    if tree is None:
        return (Effect("write", path),)
    return (Effect("write", path, below=bool(tree.names)), *(Effect("write", inside) for inside in tree.repositories))


def _in_words(entry: Entry, tree: Tree | None, text: str | None) -> str:
    if tree is not None:
        return Phrase("kind_folder", inside=entries.told(tree)) if tree.names else Phrase("kind_empty_folder")
    if entry.what == "link":
        return Phrase("kind_link", target=bounds.printable(os.readlink(entry.path)))
    if text is None:
        return Phrase("kind_binary", size=entries.counted(entry.size, "byte", "bytes"))
    lines = text.count("\n") + (text[-1:] not in ("", "\n"))
    return Phrase("kind_text", size=entries.counted(lines, "line", "lines"))


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
