"""Which repository a directory belongs to."""

from __future__ import annotations

import os

from acpagent.core.paths import within


def repository_of(directory: str) -> str:
    """What names a repository: its git directory, which all of its worktrees share, or else the directory itself.

    A file that names a git directory elsewhere counts only where that directory names the file in turn: a project
    must not pass itself off as another, in which more is allowed.
    """
    top = top_of(directory)
    if top is None:
        return os.path.realpath(directory)
    git = os.path.join(top, ".git")
    if os.path.islink(git):
        return top
    return git if os.path.isdir(git) else _shared_git_directory(git) or top


def top_of(directory: str) -> str | None:
    """The top directory of the working tree that a directory lies in, resolved; None outside of any repository."""
    place = os.path.realpath(directory)
    while True:
        git = os.path.join(place, ".git")
        if os.path.islink(git) or os.path.isdir(git) or os.path.isfile(git):
            return place
        above = os.path.dirname(place)
        if above == place:
            return None
        place = above


def _shared_git_directory(file: str) -> str | None:
    """The git directory that a worktree's `.git` file belongs to, if that knows of the worktree."""
    named = _first_line(file)
    if not named.startswith("gitdir:"):
        return None
    own = os.path.realpath(os.path.join(os.path.dirname(file), named.removeprefix("gitdir:").strip()))
    common, back = _first_line(os.path.join(own, "commondir")), _first_line(os.path.join(own, "gitdir"))
    if not common or not back or os.path.realpath(os.path.join(own, back)) != file:
        return None
    shared = os.path.realpath(os.path.join(own, common))
    return shared if own != shared and within(own, os.path.join(shared, "worktrees")) else None


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(4096).strip()
    except OSError:
        return ""
