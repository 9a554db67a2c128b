"""How this installation is started by somebody else: an absolute command, which needs no PATH.

On the path to `initialize`, which tells it to editors that can open a terminal: no heavy imports.
"""

from __future__ import annotations

import os
import sys


def own() -> list[str]:
    """The command `acpagent`, to be followed by its arguments."""
    script = os.path.join(os.path.dirname(sys.executable), "acpagent")
    if os.access(script, os.X_OK):
        return [script]
    # -P: the folder that the command is called in may hold modules of any name, which must not be imported.
    return [sys.executable, "-P", "-m", "acpagent"]


def lasting() -> list[str]:
    """The same for settings that are kept: what the person calls `acpagent`, if that leads here. It stays when the
    environment behind it is made anew."""
    from shutil import which

    command, found = own(), which("acpagent")
    if len(command) == 1 and found is not None and os.path.realpath(found) == os.path.realpath(command[0]):
        return [os.path.abspath(found)]
    return command
