"""A file as the person's editor has it, beside the file on the disk: which of the two counts, and how each spells it.

Editors that normalise what they show are common: line ends become `\\n`, the BOM and sometimes the last line end are
hidden. So a text counts as unsaved only where it differs by more than that; else the file is the one on the disk, byte
by byte, and what is written through the editor is spelled its way.
"""

from __future__ import annotations

import errno
import time
from dataclasses import dataclass, replace
from typing import Literal

from acpagent.core import files
from acpagent.core.files import NotText, TextFile
from acpagent.core.host import InDoubt
from acpagent.core.toolcalls import ToolContext

# A longer text would make a line that few clients read, and that we would skip ourselves (TRN-07).
MOST_CHARACTERS = 4_000_000
BOM = "\ufeff"

# Who takes a change: the disk, the editor, or nobody, because it would meet unsaved text in an editor that only reads.
Keeper = Literal["disk", "editor", "nobody"]


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it was found. `file` is None where there is none, `disk` what the disk has. `asked` is when the editor
    answered, by the monotonic clock, None where it was not asked; `shown` is its text, if it gave one."""

    file: TextFile | None
    keeper: Keeper
    disk: TextFile | None
    asked: float | None = None
    shown: str | None = None

    @property
    def unsaved(self) -> bool:
        """Whether the editor has changes that the disk has not."""
        return self.shown is not None and self.file is not self.disk

    def spelled(self, raw: str) -> str:
        """Text with final line ends as the editor spells it."""
        text = verbatim(raw, self.file)
        shown, file = self.shown, self.file
        if shown is None or file is None:
            return text
        if not shown.startswith(BOM):
            text = text.removeprefix(BOM)
        if "\r" in file.raw and "\r" not in shown:
            text = _plain(text)
        if file.raw.endswith("\n") and not shown.endswith("\n"):
            return text.removesuffix("\n")
        return f"{text}\n" if shown.endswith("\n") and not file.raw.endswith("\n") else text


def verbatim(raw: str, like: TextFile | None) -> str:
    """Text with final line ends as it stands in a file, BOM included."""
    return BOM + raw if like is not None and like.bom else raw


def find(path: str, ctx: ToolContext) -> Seen:
    """The file at a resolved path. Raises `NotText`, `InDoubt`, `Cancelled`, `ToolRefusal` where the call may not look
    at it, and OSError, as `files.read_text` does or with the editor's words."""
    ctx.veto(path)
    ctx.seen.setdefault(path, None)
    disk = _on_disk(path)
    if ctx.files is None or not _may_be_shown(disk):
        return Seen(disk, "disk", disk)
    keeper: Keeper = "disk" if ctx.files.write is None else "editor"
    if ctx.files.read is None:
        return Seen(disk, keeper, disk)
    try:
        shown = ctx.files.read(ctx.roots.shown(path), None, None, ctx.scope)
    except InDoubt:
        raise
    except OSError as refusal:
        return _unshown(path, disk, keeper, refusal, ctx)
    if disk is None and not shown:  # how several editors show a file that is not there
        return Seen(None, keeper, None, time.monotonic())
    return _shown(shown, disk, keeper)


def unsaved(ctx: ToolContext) -> list[str]:
    """The files that a call has looked at and of which the editor has text that the disk has not."""
    return [path for path, seen in ctx.seen.items() if isinstance(seen, Seen) and seen.unsaved]


def has_unsaved(path: str, ctx: ToolContext) -> bool:
    """Whether the editor has text of a file that the disk has not, or does not say. Raises `Cancelled`."""
    try:
        return find(path, ctx).unsaved
    except NotText:
        return False
    except OSError:
        return True


def _on_disk(path: str) -> TextFile | None:
    try:
        return files.read_text(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _may_be_shown(disk: TextFile | None) -> bool:
    """The protocol carries UTF-8 only, so anything else is for the disk alone (FS-08)."""
    return disk is None or (disk.encoding == "utf-8" and len(disk.raw) <= MOST_CHARACTERS)


def _unshown(path: str, disk: TextFile | None, keeper: Keeper, refusal: OSError, ctx: ToolContext) -> Seen:
    """What to make of an editor that shows nothing. Only where no unsaved text can be behind that does the disk stand
    in; raises `refusal` else."""
    now = time.monotonic()
    if disk is None:  # many editors have no code of their own for a missing file (FS-06)
        return Seen(None, keeper, None, now)
    if refusal.errno == errno.ENOSYS:
        return Seen(disk, keeper, disk, now)
    if isinstance(refusal, FileNotFoundError) or not ctx.roots.contains(path):
        return Seen(disk, "disk", disk, now)  # what it does not have open as its project, it does not write either
    raise refusal


def _shown(shown: str, disk: TextFile | None, keeper: Keeper) -> Seen:
    now = time.monotonic()
    if disk is not None and _loosely(shown) == _loosely(disk.raw):
        return Seen(disk, keeper, disk, now, shown)
    if keeper == "disk":
        keeper = "nobody"
    return Seen(_in_style(shown, disk), keeper, disk, now, shown)


def _in_style(shown: str, disk: TextFile | None) -> TextFile:
    """The editor's text with the line ends and the BOM of the file on the disk, if it is the editor that hides them."""
    try:
        file = files.decode(shown.encode())
    except UnicodeEncodeError:
        raise NotText("the editor's text is not valid Unicode") from None
    if disk is None or "\r" in shown:
        return file
    return replace(file, raw=disk.with_newlines(file.raw), newline=disk.newline, bom=disk.bom)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _loosely(text: str) -> str:
    """What is left of a text that any editor shows."""
    return _plain(text.removeprefix(BOM)).removesuffix("\n")
