"""Which shell runs commands here."""

from __future__ import annotations

import os

_PATHS = ("/bin/bash", "/bin/sh")


def shell() -> str:
    """The path of the shell that runs commands."""
    return next((path for path in _PATHS if os.access(path, os.X_OK)), _PATHS[-1])


def is_bash(path: str) -> bool:
    """Whether a shell reads a line as bash does. A link such as /bin/sh -> bash does not count: called by that name,
    bash reads some things otherwise."""
    return os.path.basename(path) == "bash"
