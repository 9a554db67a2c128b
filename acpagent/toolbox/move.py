"""move_file: give a file, a link or a directory another path."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from acpagent.core import bounds, files
from acpagent.core.blocks import Text
from acpagent.core.catalogue import Phrase
from acpagent.core.paths import within
from acpagent.core.phrases import titled
from acpagent.core.scope import Scope
from acpagent.core.toolcalls import Diff, Effect, Kind, Location, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox import entries
from acpagent.toolbox.arguments import FLAG, STRING, Schema, closed, described
from acpagent.toolbox.entries import Entry, What
from acpagent.toolbox.texts import change, name, new_directories, remove_empty, words
from acpagent.toolbox.write import check_parents

TITLE_CHARACTERS = 160


@dataclass(frozen=True, slots=True)
class _Move:
    """`replaced` is what is at the target, None where nothing is."""

    entry: Entry
    target: str
    replaced: Entry | None


class MoveFile:
    name = "move_file"
    description = (
        "Move or rename a file, a directory, or a symbolic link itself. Makes the directories that target needs; "
        "replaces an existing file only with overwrite."
    )
    schema: Schema = closed(
        {"source": STRING, "target": described(STRING, "full new path"), "overwrite": FLAG}, "source", "target"
    )
    reads_only = False
    kind: Kind = "move"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        source, target = entries.place(ctx, args["source"]), entries.place(ctx, args["target"])
        entry = entries.find(ctx, source)
        replaced = _replaced(ctx, entry, target, args.get("overwrite", False))
        diff = _diff(ctx, entry, target, replaced)
        is_lost = replaced is not None and replaced.identity != entry.identity
        below = entry.what == "directory"
        return Proposal(
            title=titled("title_move", TITLE_CHARACTERS, name(ctx, source), target=name(ctx, target)),
            kind=self.kind,
            # Who may not read what lies at one path must not get to it by moving it to another.
            effects=(
                Effect("read", source, below=below),
                Effect("write", source, below=below),
                Effect("write", target, below=below),
            ),
            subject=name(ctx, source),
            locations=(Location(ctx.roots.shown(source)),),
            diff=diff,
            detail=_Move(entry, target, replaced),
            facts={"path": name(ctx, source)},
            note=Phrase("note_replaces", what=name(ctx, target)) if is_lost else "",
        )

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        move: _Move = proposal.detail
        target = name(ctx, move.target)
        with files.exclusive(move.entry.path, move.target):
            entries.check_same(ctx, move.entry)
            if entries.look(ctx, move.target) != move.replaced:
                raise ToolRefusal(f"{target} changed since this call was made; look at it, then call again.")
            ctx.scope.check()
            _carry_out(move, ctx)
        text = f"Moved {proposal.subject} to {target}."
        facts = {"path": target}
        return ToolResult(
            text,
            content=(proposal.diff, Text(text)) if proposal.diff else (),
            raw={"source": proposal.subject, "target": target, "what": move.entry.what},
            facts=facts,
            title=titled("title_moved", TITLE_CHARACTERS, proposal.subject, target=target),
            locations=(Location(ctx.roots.shown(move.target)),),
        )


def _replaced(ctx: ToolContext, entry: Entry, target: str, overwrite: bool) -> Entry | None:
    """What is at the target and would be replaced. Raises `ToolRefusal` if that must not be."""
    called = name(ctx, target)
    if entry.path == target:
        raise ToolRefusal("source and target are the same.")
    if entry.what == "directory" and within(target, entry.path):
        raise ToolRefusal(f"{name(ctx, entry.path)} cannot be moved into itself.")
    found = entries.look(ctx, target)
    if found is None:
        check_parents(target, called)
        return None
    if found.identity == entry.identity and target.lower() == entry.path.lower():
        return found  # a file system that ignores case shows the entry under both names
    if found.what == "directory":
        example = os.path.join(called, os.path.basename(entry.path))
        raise ToolRefusal(f"{called} is a directory; target must be the full new path, such as {example}.")
    if found.identity == entry.identity:
        raise ToolRefusal("source and target are two names of one file; delete one of them.")
    if entry.what == "directory":
        raise ToolRefusal(f"{called} is a file, which a directory cannot replace.")
    if not overwrite:
        raise ToolRefusal(f"There is a {called} already; choose another target, or set overwrite to replace it.")
    return found


def _diff(ctx: ToolContext, entry: Entry, target: str, replaced: Entry | None) -> Diff | None:
    """How the replaced file changes, if both are text."""
    new = entries.text_of(ctx, entry)
    old = entries.text_of(ctx, replaced) if replaced is not None else None
    return change(ctx, target, old, new) if old is not None and new is not None and old != new else None


def _carry_out(move: _Move, ctx: ToolContext) -> None:
    source, target = move.entry.path, move.target
    called = f"{name(ctx, source)} cannot be moved to {name(ctx, target)}"
    made = new_directories(target)
    try:
        for directory in made:
            os.mkdir(directory)
        with _held(target, move.entry.what) if move.replaced is None else nullcontext():
            copied = _rename(move.entry, target, ctx.scope)
    except OSError as error:
        remove_empty(made)
        raise ToolRefusal(f"{called}: {words(error)}.") from None
    except BaseException:
        remove_empty(made)
        raise
    if copied:
        try:
            _remove(source)
        except OSError as error:
            raise ToolRefusal(
                f"{name(ctx, target)} is there now, but {name(ctx, source)} could not be removed: {words(error)}."
            ) from None


@contextmanager
def _held(target: str, what: What) -> Iterator[None]:
    """Something empty stands where the entry will be, for a rename replaces whatever is there: it cannot be made where
    somebody else was first. Raises OSError."""
    if what == "directory":
        os.mkdir(target, 0o700)
    else:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        yield
    except BaseException:
        _remove(target)
        raise


def _rename(entry: Entry, target: str, scope: Scope) -> bool:
    """Bring the entry to the target in one step. True if the source is still there, because it is on another file
    system. Raises OSError, `Cancelled`."""
    try:
        os.rename(entry.path, target)
        return False
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    temporary = os.path.join(os.path.dirname(target), f".acpagent-{uuid.uuid4().hex[:12]}.tmp")
    try:
        _copy(entry, temporary, scope)
        scope.check()
        os.rename(temporary, target)
        return True
    except BaseException:
        if os.path.lexists(temporary):
            _remove(temporary)
        raise


def _copy(entry: Entry, target: str, scope: Scope) -> None:
    def copy_file(source: str, to: str) -> None:
        scope.check()
        if not stat.S_ISREG(os.lstat(source).st_mode):  # a pipe blocks, a device never ends
            raise OSError(errno.EINVAL, "not a regular file, and the target is on another file system")
        shutil.copy2(source, to, follow_symlinks=False)

    if entry.what == "link":
        os.symlink(os.readlink(entry.path), target)
    elif entry.what == "directory":
        try:
            shutil.copytree(entry.path, target, symlinks=True, copy_function=copy_file)
        except shutil.Error as error:
            source, _, reason = error.args[0][0]
            raise OSError(f"{bounds.printable(os.path.basename(source))}: {reason}") from None
    else:
        copy_file(entry.path, target)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
