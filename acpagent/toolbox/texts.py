"""How tools get at text files: one small object per call, so that another keeper of files can stand in for the disk."""

from __future__ import annotations

import difflib
import os

from acpagent.core import bounds, files
from acpagent.core.files import NotText, TextFile
from acpagent.core.paths import unmoved
from acpagent.core.toolcalls import Diff, ToolContext, ToolRefusal

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


class Texts:
    """The text files of one call. Paths are resolved ones; every problem is a `ToolRefusal`."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx

    def read(self, path: str) -> TextFile:
        """The file as it is now."""
        found = self.look(path)
        if found is None:
            raise ToolRefusal(f"There is no file {name(self._ctx, path)}.{self._alike(path)}")
        return found

    def look(self, path: str) -> TextFile | None:
        """The file as it is now, None if there is none."""
        called = name(self._ctx, path)
        if not unmoved(path):
            raise ToolRefusal(f"{called} leads elsewhere now: a symbolic link came in between. Call again.")
        try:
            return files.read_text(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except IsADirectoryError:
            raise ToolRefusal(f"{called} is a directory; list_dir shows what is in it.") from None
        except NotText as reason:
            raise ToolRefusal(f"{called} cannot be used as text: {reason}.") from None
        except OSError as error:
            raise ToolRefusal(f"{called} cannot be read: {error.strerror}.") from None

    def encode(self, path: str, raw: str, like: TextFile | None) -> bytes:
        """The bytes that `write` would write."""
        try:
            return files.encode(raw, like)
        except UnicodeEncodeError as error:
            letter = f"U+{ord(error.object[error.start]):04X}"
            encoding = like.encoding if like else "utf-8"
            called = name(self._ctx, path)
            raise ToolRefusal(f"{called} is {encoding}, which has no {letter}.") from None

    def write(self, path: str, raw: str, base: TextFile | None) -> None:
        """Put `raw` where `base` was (None: where nothing was), in the encoding of `base`. Refused if something
        else is there by now: an approval may take minutes."""
        data = self.encode(path, raw, base)
        with files.exclusive(path):
            now = self.look(path)
            if (now and now.digest) != (base and base.digest):
                called = name(self._ctx, path)
                raise ToolRefusal(
                    f"{called} changed since this call was made; read it again, then call again."
                )
            self._ctx.scope.check()
            try:
                if base is None:
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                files.write_bytes(path, data)
            except OSError as error:
                reason = error.strerror or error
                raise ToolRefusal(f"{name(self._ctx, path)} cannot be written: {reason}.") from None

    def _alike(self, path: str) -> str:
        """Names in the same directory that could have been meant."""
        parent, wanted = os.path.split(path)
        try:
            names = os.listdir(parent) if self._ctx.roots.contains(parent) else []
        except OSError:
            return ""
        close = difflib.get_close_matches(wanted, names[:2000], 3)
        return f" Close to it: {', '.join(bounds.printable(found) for found in close)}." if close else ""
