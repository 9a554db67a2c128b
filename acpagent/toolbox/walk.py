"""The files below a directory that are worth looking at."""

from __future__ import annotations

import os
from collections.abc import Iterator

from acpagent.core.paths import unmoved
from acpagent.core.toolcalls import ToolContext, ToolRefusal
from acpagent.toolbox.ignore import Ignored
from acpagent.toolbox.texts import name

MAX_ENTRIES = 200_000
_REPOSITORIES = frozenset({".git", ".hg", ".svn", ".jj"})


class Walk:
    """Goes through a directory, without what git ignores and without following symbolic links.

    `complete` is False once the walk stopped early because there was too much.
    """

    def __init__(self, start: str, ctx: ToolContext) -> None:
        self.complete = True
        self._start = start
        self._ctx = ctx
        self._left = MAX_ENTRIES

    def files(self, links: bool = False) -> Iterator[str]:
        """Paths relative to the start, of each directory the files in order, then its directories. `links` takes
        symbolic links in, as themselves. Raises `ToolRefusal` if there is no such directory."""
        self._check_start()
        waiting = [("", Ignored.root(self._start))]
        while waiting and self.complete:
            inside, rules = waiting.pop()
            self._ctx.scope.check()
            found, directories = self._entries(inside, rules, links)
            yield from found
            waiting += [(path, rules.below(os.path.join(self._start, path))) for path in reversed(directories)]

    def _check_start(self) -> None:
        called = name(self._ctx, self._start)
        if not unmoved(self._start):
            raise ToolRefusal(f"{called} leads elsewhere now: a symbolic link came in between. Call again.")
        if not os.path.isdir(self._start):
            raise ToolRefusal(f"There is no directory {called}.")

    def _entries(self, inside: str, rules: Ignored, links: bool) -> tuple[list[str], list[str]]:
        """The files and the directories in one directory; none where it may not be read."""
        found: list[str] = []
        directories: list[str] = []
        try:
            with os.scandir(os.path.join(self._start, inside)) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    self._left -= 1
                    if self._left < 0:
                        self.complete = False
                        break
                    self._sort_in(entry, inside, rules, links, found, directories)
        except OSError:
            return found, directories
        return found, directories

    def _sort_in(
        self,
        entry: os.DirEntry[str],
        inside: str,
        rules: Ignored,
        links: bool,
        found: list[str],
        directories: list[str],
    ) -> None:
        directory = entry.is_dir(follow_symlinks=False)
        wanted = directory or entry.is_file(follow_symlinks=False) or (links and entry.is_symlink())
        if not wanted or entry.name in _REPOSITORIES or rules.hides(entry.path, directory):
            return
        (directories if directory else found).append(os.path.join(inside, entry.name))
