"""How tools get at text files: through the person's editor where it offers that, else on the disk."""

from __future__ import annotations

import difflib
import os
import threading
import time

from acpagent.core import bounds, files
from acpagent.core.files import NotText, TextFile
from acpagent.core.host import InDoubt
from acpagent.core.paths import unmoved
from acpagent.core.toolcalls import Diff, ToolContext, ToolRefusal
from acpagent.toolbox import buffers, large
from acpagent.toolbox.buffers import Seen
from acpagent.toolbox.large import Lines

FRESH_SECONDS = 1.0
DIFF_CHARACTERS = 1_000_000  # of both sides; a larger change is shown in words alone


def place(ctx: ToolContext, text: str) -> str:
    """The resolved path that the model means. Raises `ToolRefusal`."""
    try:
        return ctx.roots.resolve(text or ".")
    except ValueError as fault:
        raise ToolRefusal(f"Not a usable path: {fault}.") from None


def name(ctx: ToolContext, path: str) -> str:
    """A resolved path as titles and texts say it."""
    return bounds.printable(ctx.roots.relative(path))


def change(ctx: ToolContext, path: str, old: str | None, new: str) -> Diff | None:
    """The diff of a change, or None where it is too large to send."""
    if len(old or "") + len(new) > DIFF_CHARACTERS:
        return None
    return Diff(ctx.roots.shown(path), old, new)


class _Written:
    """When this process last wrote through an editor, by the monotonic clock. Its lock is a leaf."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at = 0.0

    def note(self) -> None:
        with self._lock:
            self._at = time.monotonic()

    def since(self, moment: float) -> bool:
        with self._lock:
            return self._at >= moment


_written = _Written()


class Texts:
    """The text files of one call. Paths are resolved ones; every problem is a `ToolRefusal`. Raises `Cancelled`."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx

    def read(self, path: str) -> TextFile:
        """The file as it is now, unsaved changes included."""
        found = self.look(path)
        if found is None:
            raise ToolRefusal(f"There is no file {name(self._ctx, path)}.{self._alike(path)}")
        return found

    def look(self, path: str) -> TextFile | None:
        """The file as it is now, None if there is none."""
        seen = self._ctx.seen[path] = self._find(path)
        return seen.file

    def lines(self, path: str, first: int, count: int, budget: int) -> Lines:
        """`count` lines of the file from the 1-based `first` on. Of a file that is too large to be read whole they come
        from the disk, and no more than `budget` bytes of them."""
        if not large.is_large(path):
            every = self.read(path).text.split("\n")
            if every[-1] == "":
                every.pop()
            rest = every[first - 1 :]
            return Lines(rest[:count], len(every), len(rest) > count)
        called = name(self._ctx, path)
        self._check_unmoved(path, called)
        try:
            return large.part(path, first, count, budget, self._ctx.scope)
        except NotText as reason:
            raise ToolRefusal(f"{called} cannot be used as text: {reason}.") from None
        except OSError as error:
            raise ToolRefusal(f"{called} cannot be read: {words(error)}.") from None

    def unsaved(self, path: str) -> bool:
        """Whether what was last read is in the editor alone."""
        seen: Seen | None = self._ctx.seen.get(path)
        return seen is not None and seen.unsaved

    def encode(self, path: str, raw: str, like: TextFile | None) -> bytes:
        """The bytes that `write` would write."""
        called, seen = name(self._ctx, path), self._ctx.seen.get(path)
        if seen is not None and seen.file is like:
            self._check_keeper(seen, called)
        if "\0" in raw:
            raise ToolRefusal(f"{called} would be binary: the text has a NUL character.")
        try:
            return files.encode(raw, like)
        except UnicodeEncodeError as error:
            letter = f"U+{ord(error.object[error.start]):04X}"
            raise ToolRefusal(f"{called} is {like.encoding if like else 'utf-8'}, which has no {letter}.") from None

    def write(self, path: str, raw: str, base: TextFile | None) -> None:
        """Put `raw` where `base` was (None: where nothing was), in the encoding of `base`. Refused if something
        else is there by now: an approval may take minutes."""
        data = self.encode(path, raw, base)
        with files.exclusive(path):
            seen = self._as_it_was(path, base)
            self._ctx.scope.check()
            if seen.keeper == "disk":
                self._to_disk(path, data, base is None)
            else:
                self._through_editor(path, raw, data, seen)

    def _find(self, path: str) -> Seen:
        called = name(self._ctx, path)
        self._check_unmoved(path, called)
        try:
            return buffers.find(path, self._ctx)
        except IsADirectoryError:
            raise ToolRefusal(f"{called} is a directory; list_dir shows what is in it.") from None
        except NotText as reason:
            raise ToolRefusal(f"{called} cannot be used as text: {reason}.") from None
        except InDoubt as silence:
            raise ToolRefusal(f"{called} cannot be read: {words(silence)}.") from silence
        except OSError as error:
            raise ToolRefusal(f"{called} cannot be read: {words(error)}.") from None

    def _check_unmoved(self, path: str, called: str) -> None:
        if not unmoved(path):
            raise ToolRefusal(f"{called} leads elsewhere now: a symbolic link came in between. Call again.")

    def _as_it_was(self, path: str, base: TextFile | None) -> Seen:
        """The file, which must still be `base`."""
        seen: Seen | None = self._ctx.seen.get(path)
        if seen is not None and seen.file is base and self._is_fresh(path, seen):
            return seen
        called, now = name(self._ctx, path), self._find(path)
        if not _same(now.file, base, now.asked is not None):
            raise ToolRefusal(f"{called} changed since this call was made; read it again, then call again.")
        self._check_keeper(now, called)
        return now

    def _is_fresh(self, path: str, seen: Seen) -> bool:
        """Whether the editor need not be asked again. A second answer would be as old as the first by the time the
        write gets there: in less than a second a person changes nothing between them that they could not change after
        both. Other calls of ours and programs that write to the disk are quicker, so those are looked for."""
        if seen.asked is None or time.monotonic() - seen.asked >= FRESH_SECONDS or _written.since(seen.asked):
            return False
        try:
            return unmoved(path) and files.digest(files.read_bytes(path)) == (seen.disk and seen.disk.digest)
        except FileNotFoundError:
            return seen.disk is None
        except (OSError, NotText):
            return False

    def _check_keeper(self, seen: Seen, called: str) -> None:
        """Writing below an editor's unsaved text would lose one of the two as soon as the person saves."""
        if seen.keeper == "nobody":
            raise ToolRefusal(
                f"{called} has unsaved changes in the editor, which lets nobody else change them. Ask the person to "
                "save it, then call again."
            )

    def _to_disk(self, path: str, data: bytes, new: bool) -> None:
        try:
            if new:
                os.makedirs(os.path.dirname(path), exist_ok=True)
            files.write_bytes(path, data)
        except OSError as error:
            raise ToolRefusal(f"{name(self._ctx, path)} cannot be written: {words(error)}.") from None

    def _through_editor(self, path: str, raw: str, data: bytes, seen: Seen) -> None:
        """An editor's refusal is final: nothing is ever written behind its back (FS-05)."""
        called, text = name(self._ctx, path), seen.spelled(raw)
        made = new_directories(path) if seen.file is None else []
        try:
            for directory in made:  # not every editor makes them
                os.mkdir(directory)
            self._send(path, text)
        except InDoubt as doubt:
            raise ToolRefusal(
                f"It is not known whether {called} was written: {words(doubt)}. Read it before you go on."
            ) from None
        except OSError as error:
            remove_empty(made)
            raise ToolRefusal(f"{called} was not written: {words(error)}.") from None
        finally:
            _written.note()
        if self._kept_as_sent(path, text, data, seen):
            self._send_exactly(path, buffers.verbatim(raw, seen.file))

    def _send_exactly(self, path: str, text: str) -> None:
        try:
            self._send(path, text)
        except OSError as error:
            raise ToolRefusal(
                f"{name(self._ctx, path)} was written, but its line ends could not be kept: {words(error)}."
            ) from None

    def _send(self, path: str, text: str) -> None:
        ctx = self._ctx
        if ctx.files is None or ctx.files.write is None:
            raise OSError("the editor no longer takes changes")
        ctx.files.write(ctx.roots.shown(path), text, ctx.scope)

    def _kept_as_sent(self, path: str, text: str, data: bytes, seen: Seen) -> bool:
        """Whether an editor that hides line ends, a BOM or the last line end when it shows a file did not put them back
        when it saved: then the file must be sent once more, as it is to be on the disk (DIFF-04)."""
        sent = text.encode()
        if seen.shown is None or sent == data:
            return False
        try:
            return files.read_bytes(path) == sent  # an editor that has not saved yet shows the old file
        except (OSError, NotText):
            return False

    def _alike(self, path: str) -> str:
        """Names in the same directory that could have been meant."""
        parent, wanted = os.path.split(path)
        try:
            names = os.listdir(parent) if self._ctx.roots.contains(parent) else []
        except OSError:
            return ""
        close = difflib.get_close_matches(wanted, names[:2000], 3)
        return f" Close to it: {', '.join(bounds.printable(found) for found in close)}." if close else ""


def words(error: OSError) -> str:
    """What went wrong, without the number and the path."""
    return error.strerror or str(error)


def _same(now: TextFile | None, base: TextFile | None, in_editor: bool) -> bool:
    """Whether a file is what it was. When an editor saves, bytes may change although the text does not."""
    if now is None or base is None:
        return now is base
    return now.digest == base.digest or (in_editor and now.text == base.text)


def new_directories(path: str) -> list[str]:
    """The directories that a file needs and that are not there, outermost first."""
    missing: list[str] = []
    parent = os.path.dirname(path)
    while not os.path.lexists(parent):
        missing.insert(0, parent)
        parent = os.path.dirname(parent)
    return missing


def remove_empty(directories: list[str]) -> None:
    """Take back the directories that were made for something that did not come."""
    for directory in reversed(directories):
        try:
            os.rmdir(directory)
        except OSError:
            return
