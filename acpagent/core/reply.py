"""How a verb answers whoever asked, without knowing how the answer is spelled."""

from __future__ import annotations

from typing import Any, Protocol

from acpagent.core.faults import Fault


class Reply(Protocol):
    """Answered exactly once, under the session lock, by `done` or by `fail`."""

    def done(self, outcome: Any) -> None:
        """`outcome` is a value of the runtime; the adapter renders it."""

    def fail(self, fault: Fault) -> None: ...
