"""Protected places: a change there makes other programs run something, later and unasked. And what the agent itself
goes by: its own directory, and its own commands that say what may run.

A person decides each such change for itself: no approval, rule or earlier yes speaks for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from itertools import pairwise

from acpagent.core.paths import within

REASON = "a change there can make other programs run commands"
OURS = "it may decide what this agent trusts, which a person does"

# Directories, wherever they lie: what they hold is protected as a whole. In small letters, as are all names here: some
# file systems take no notice of case.
_DIRECTORIES = frozenset({".git", ".acpagent", ".soba", ".husky", ".githooks", ".devcontainer", "launchagents", ".ssh"})
_FILES = frozenset(
    {".mcp.json", ".envrc", ".gitconfig", ".pre-commit-config.yaml", ".lefthook.yml", "lefthook.yml"}
    | {".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".login", ".logout"}
    | {".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".xprofile"}
)
# A directory and what in it is protected; an empty set stands for all of it.
_BELOW = {
    ".vscode": frozenset({"tasks.json", "launch.json", "settings.json"}),
    ".zed": frozenset({"tasks.json", "debug.json", "settings.json"}),
    ".idea": frozenset({"runconfigurations", "workspace.xml", "externaldependencies.xml"}),
    ".config": frozenset({"fish", "git", "autostart", "systemd", "direnv"}),
    ".claude": frozenset({"settings.json", "settings.local.json", "hooks"}),
}


# Our own commands that decide what may run, our modules, and our store, wherever in a line they are named.
_OURSELVES = re.compile(r"\bacpagent\b(?![/\w-])")
_DECISIONS = re.compile(r"(?<![\w/-])(trust|plugin)\b(?![/-])")
_INSIDE = re.compile(
    r"\b(from|import)\s+acpagent\b|\bacpagent\.(cli|extensions|store)\b|\$\{?ACPAGENT_HOME\b|\bstore\.sqlite3\b"
)


def decides_trust(text: str, kept: Iterable[str] = ()) -> bool:
    """Whether a command line that does more than read may decide what is trusted, as far as its text tells."""
    if _INSIDE.search(text) or (_OURSELVES.search(text) and _DECISIONS.search(text)):
        return True
    return any(re.search(rf"{re.escape(directory)}(?![\w.-])", text) for directory in kept)


def is_protected(path: str, relative: str, kept: Iterable[str] = ()) -> bool:
    """Whether a change of a resolved path is to be decided by a person. `relative` is the path as seen from the
    working directory, whose own name does not count; `kept` are directories that are protected as well."""
    parts = relative.lower().split("/")
    if not _DIRECTORIES.isdisjoint(parts) or parts[-1] in _FILES:
        return True
    for place, inside in pairwise(parts):
        if inside in _BELOW.get(place, ()):
            return True
    return any(within(path, directory) for directory in kept)


def holds_protected(directory: str, kept: Iterable[str] = ()) -> bool:
    """Whether what changes all of a resolved directory changes something protected: right in it, for who looked
    through everything below would look for long."""
    if any(within(one, directory) for one in kept):
        return True
    try:
        names = [name.lower() for name in os.listdir(directory)]
    except OSError:
        return False
    return any(name in _DIRECTORIES or name in _FILES or name in _BELOW for name in names)
