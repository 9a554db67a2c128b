"""Where files lie, after every symlink is followed."""

from __future__ import annotations

import os


class Roots:
    """The directories a session works in.

    `cwd` is the working directory as the client spelled it; `all` holds it and the additional directories,
    resolved. A *resolved* path is absolute and free of symlinks, as `resolve` returns it.
    """

    __slots__ = ("all", "cwd")

    def __init__(self, cwd: str, additional: tuple[str, ...] | list[str] = ()) -> None:
        self.cwd = _spelled(cwd)
        resolved = dict.fromkeys(os.path.realpath(root) for root in (cwd, *additional))
        self.all: tuple[str, ...] = tuple(resolved)

    def resolve(self, text: str) -> str:
        """The absolute path that `text` leads to, every symlink followed, relative to `cwd`; `~/` is the home
        directory. What does not exist yet is kept as named. Raises ValueError for what can be no path."""
        return os.path.realpath(self._absolute(text))

    def entry(self, text: str) -> str:
        """Like `resolve`, but a symlink that `text` itself names is not followed: this is where the link lies."""
        path = self._absolute(text)
        directory, name = os.path.split(path.rstrip("/"))
        if name in ("", os.curdir, os.pardir):
            return os.path.realpath(path)
        return os.path.join(os.path.realpath(directory), name)

    def _absolute(self, text: str) -> str:
        if not text:
            raise ValueError("the path is empty")
        if "\0" in text:
            raise ValueError("the path has a NUL character")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("the path is not valid Unicode") from None
        if text == "~" or text.startswith("~/"):
            text = os.path.expanduser(text)
        return os.path.join(self.all[0], text)

    def contains(self, resolved: str) -> bool:
        """Whether a resolved path is one of the roots or lies in one."""
        return any(within(resolved, root) for root in self.all)

    def relative(self, resolved: str) -> str:
        """A resolved path as people write it: relative to the working directory if it lies there."""
        return os.path.relpath(resolved, self.all[0]) if within(resolved, self.all[0]) else resolved

    def shown(self, resolved: str) -> str:
        """A resolved path as an absolute path the client knows: below `cwd` as the client spelled it."""
        if not within(resolved, self.all[0]):
            return resolved
        return os.path.normpath(os.path.join(self.cwd, os.path.relpath(resolved, self.all[0])))


def within(resolved: str, directory: str) -> bool:
    """Whether a resolved path is `directory` or lies in it; both without a final slash."""
    return resolved == directory or resolved.startswith(directory.rstrip("/") + "/")


def unmoved(resolved: str) -> bool:
    """Whether a path that was resolved earlier still leads to itself: no symlink has come in between."""
    return os.path.realpath(resolved) == resolved


def _spelled(cwd: str) -> str:
    """`cwd` without redundant slashes. With `..` in it only the resolved form is safe to show."""
    if not os.path.isabs(cwd) or ".." in cwd.split("/"):
        return os.path.realpath(cwd)
    return os.path.normpath(cwd)
