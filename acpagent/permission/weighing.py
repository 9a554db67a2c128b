"""What a command line would do in the working directory. All that knows about commands is imported with the first."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from acpagent.core.paths import Roots
from acpagent.core.shellparse import Script

if TYPE_CHECKING:
    from acpagent.permission.commands import Step


def weigh(script: Script, roots: Roots) -> tuple[Step, ...]:
    """The steps of a command line; the worst of them says what the whole is. Never raises."""
    from acpagent.permission import commands

    return commands.weigh(script, roots, roots.all[0], os.path.expanduser("~"))
