"""A work mode: the tools of a session, how its system prompt ends, and whether the host checks the work."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from acpagent.config import work_modes
from acpagent.core.toolcalls import Tool
from acpagent.toolbox import sources
from acpagent.toolbox.complete_step import CompleteStep

_ECONOMY = """
To save tokens only a few tools are loaded; connect_tool_source loads more, and until then bash does what they would do.
"""
_DELIVERY = """
<delivery-profile>
This session delivers: work counts once it was checked, and calls or answers that skip a step are sent back.
1. Before the first change or check, write acceptance criteria with todo_write: one entry for each thing that can be
   observed once the work is done, and how. Until then what changes or checks something is not run.
2. Make the changes. Set an entry to completed once it is so.
3. Look at what you changed as it is now, with read_file or git diff.
4. Run a check that covers the change (tests, linter, type checker, build) as a command of its own in the foreground:
   no pipe, no `|| true`, nothing behind it. After any further change look and check again.
5. Sign off with complete_step; its evidence quotes the check letter by letter, and what it printed.
Then answer. If something cannot be done or checked, say so instead of claiming it.
</delivery-profile>
"""


@dataclass(frozen=True, slots=True)
class WorkMode:
    """A row of the table. `lean`: it begins with few tools. `block` ends the system prompt. `delivers`: work is held to
    acceptance criteria, a look back, a check and a sign-off."""

    lean: bool = False
    block: str = ""
    delivers: bool = False

    def tools(self, every: list[Tool], connected: Collection[str]) -> list[Tool]:
        """The tools of a session that could have `every` one and has `connected` these sources."""
        if self.lean:
            return sources.lean(every, connected)
        return [*every, CompleteStep()] if self.delivers else every


WORK_MODES: Mapping[str, WorkMode] = {
    work_modes.ECONOMY: WorkMode(lean=True, block=_ECONOMY),
    work_modes.BALANCED: WorkMode(),
    work_modes.DELIVERY: WorkMode(block=_DELIVERY, delivers=True),
}
