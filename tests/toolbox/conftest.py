from __future__ import annotations

import time
from typing import Any

import pytest

from acpagent.core.jobs import Jobs
from acpagent.core.live import LiveOutput
from acpagent.core.paths import Roots
from acpagent.core.scope import Scope
from acpagent.core.toolcalls import Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox.registry import Registry, builtin_tools


class Bench:
    """A working directory `in` with a neighbour `out`, and the tools to try there."""

    def __init__(self, base):
        self.base, self.root = base, base / "in"
        self.root.mkdir()
        (base / "out").mkdir()
        self.registry = Registry(builtin_tools())
        self.output_bytes = 65_536
        self.hidden_env: frozenset[str] = frozenset()
        self.jobs = Jobs()

    def context(self, scope: Scope | None = None, live: LiveOutput | None = None) -> ToolContext:
        return ToolContext(
            Roots(str(self.root)),
            scope or Scope(),
            live or LiveOutput(),
            20,
            self.output_bytes,
            self.hidden_env,
            jobs=self.jobs,
        )

    def write(self, path: str, data: bytes | str = "") -> str:
        where = self.root / path
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(data.encode() if isinstance(data, str) else data)
        return str(where)

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def prepare(self, tool: str, ctx: ToolContext | None = None, **arguments: Any) -> Proposal:
        found = self.registry.get(tool)
        assert found is not None
        return found.prepare(arguments, ctx or self.context())

    def apply(self, tool: str, proposal: Proposal, ctx: ToolContext | None = None) -> ToolResult:
        found = self.registry.get(tool)
        assert found is not None
        return found.apply(proposal, ctx or self.context())

    def call(self, tool: str, **arguments: Any) -> ToolResult:
        ctx = self.context()
        return self.apply(tool, self.prepare(tool, ctx, **arguments), ctx)

    def refusal(self, tool: str, **arguments: Any) -> str:
        """The words of the refusal that the call meets."""
        with pytest.raises(ToolRefusal) as refused:
            self.call(tool, **arguments)
        return str(refused.value)

    def tree(self) -> dict[str, bytes]:
        found = [path for path in self.root.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.root)): path.read_bytes() for path in found}


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path.resolve())
    yield made
    assert made.jobs.close(time.monotonic() + 10)
