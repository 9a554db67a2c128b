"""Where acpagent keeps its files. Nothing here touches the disk.

This file lies on the path to `initialize`, hence plain strings instead of pathlib.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def home(environ: Mapping[str, str] = os.environ) -> str:
    """The absolute path of acpagent's home directory, which need not exist.

    `ACPAGENT_HOME` wins; otherwise it is `acpagent` in the platform's directory for user configuration.
    """
    chosen = environ.get("ACPAGENT_HOME")
    if chosen:
        return os.path.abspath(os.path.expanduser(chosen))
    if sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Application Support")
    else:
        base = environ.get("XDG_CONFIG_HOME", "")
        if not os.path.isabs(base):  # the XDG specification: a relative path is invalid and is ignored
            base = os.path.expanduser("~/.config")
    return os.path.join(base, "acpagent")


def config_file(home: str) -> str:
    """The settings of the person who uses acpagent."""
    return os.path.join(home, "config.yaml")


def credentials_file(home: str) -> str:
    """Keys by provider name, readable by their owner only."""
    return os.path.join(home, "credentials.yaml")


def store_file(home: str) -> str:
    """The database of sessions, grants and trust."""
    return os.path.join(home, "store.sqlite3")


def startup_file(home: str) -> str:
    """The checked copy of the few settings that the start needs."""
    return os.path.join(home, "cache", "startup.json")


def from_home(home: str, path: str) -> str:
    """A path as written in the configuration, made absolute: relative to `home`, `~` the person's own."""
    return os.path.normpath(os.path.join(home, os.path.expanduser(path)))
