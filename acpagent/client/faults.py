"""What can go wrong with an agent, as exceptions."""

from __future__ import annotations

from typing import Any

from acpagent.core.faults import Fault
from acpagent.wire.codes import INTERNAL_ERROR

_QUOTED = 500


class AgentFault(Fault):
    """The agent answered with an error: its `code`, `message` and `data` as they came."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)


class AgentEnded(AgentFault):
    """The agent is gone, or closed the connection, before it answered.

    `exit_code` is None while the process still lives, negative for the signal that killed it. `stderr`
    is the last of what it wrote there.
    """

    def __init__(self, exit_code: int | None, stderr: str) -> None:
        super().__init__(INTERNAL_ERROR, _sentence(exit_code, stderr))
        self.exit_code = exit_code
        self.stderr = stderr


def _sentence(exit_code: int | None, stderr: str) -> str:
    if exit_code is None:
        ending = "the agent closed the connection"
    elif exit_code < 0:
        ending = f"the agent was ended by signal {-exit_code}"
    else:
        ending = f"the agent ended with exit code {exit_code}"
    last_words = stderr.strip()
    if len(last_words) > _QUOTED:
        last_words = "…" + last_words[-_QUOTED:]
    return f"{ending}: {last_words}" if last_words else ending
