"""What the tests of servers work with: pools that are closed and checked, contexts for tools, servers over HTTP."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from acpagent.core.forms import Answer, Form
from acpagent.core.live import LiveOutput
from acpagent.core.paths import Roots
from acpagent.core.scope import Scope
from acpagent.core.toolcalls import Tool, ToolContext, ToolResult
from acpagent.mcp_client.pool import Hooks, Pool
from acpagent.mcp_client.spec import ServerSpec, read
from tests.descendants import new_mark, survivors

HERE = Path(__file__).parent
READY_SECONDS = 60.0  # a loaded machine takes its time to import the package


def plain(name: str, *habits: str, **more: Any) -> ServerSpec:
    return read({"name": name, "command": sys.executable, "args": [str(HERE / "plain.py"), *habits], **more})


def everything(name: str = "all", *habits: str, **more: Any) -> ServerSpec:
    return read(
        {"name": name, "command": sys.executable, "args": [str(HERE / "everything.py"), "stdio", *habits], **more}
    )


class Bench:
    """One pool with all that it says."""

    def __init__(self, cwd: Path, home: Path | None = None, pauses: tuple[float, ...] = (0.0, 0.0, 0.0)) -> None:
        self.cwd = cwd
        self.mark = new_mark()
        self.notices: queue.SimpleQueue[tuple[str, dict[str, Any]]] = queue.SimpleQueue()
        self.changes: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        hooks = Hooks(
            lambda level, code, params: self.notices.put((code, params)),
            lambda: self.changes.put(None),
            self.lines.put,
        )
        self.pool = Pool(
            str(cwd),
            {**os.environ, **self.mark},
            hooks,
            home=None if home is None else str(home),
            roots=lambda: [str(cwd)],
            pauses=pauses,
        )

    def open(self, *specs: ServerSpec, seconds: float = READY_SECONDS) -> bool:
        """Have these servers; whether all got somewhere in time."""
        plan = self.pool.prepare(specs)
        settled = self.pool.wait(plan, Scope(), seconds)
        self.pool.adopt(plan)
        return settled

    def states(self) -> dict[str, str]:
        return {status.name: status.state for status in self.pool.status()}

    def tool(self, name: str) -> Tool:
        return next(tool for tool in self.pool.tools() if tool.name == name)

    def names(self) -> list[str]:
        return [tool.name for tool in self.pool.tools()]

    def call(self, name: str, ctx: ToolContext | None = None, /, **arguments: Any) -> ToolResult:
        tool, ctx = self.tool(name), ctx or self.context()
        return tool.apply(tool.prepare(arguments, ctx), ctx)

    def context(
        self,
        scope: Scope | None = None,
        limit: int = 65_536,
        question: Callable[[Form], Answer] | None = None,
        live: LiveOutput | None = None,
    ) -> ToolContext:
        return ToolContext(Roots(str(self.cwd)), scope or Scope(), live or LiveOutput(), 10.0, limit, question=question)

    def notice(self, code: str, seconds: float = READY_SECONDS) -> Mapping[str, Any]:
        """The next notice of this kind."""
        while True:
            found, params = self.notices.get(timeout=seconds)
            if found == code:
                return params

    def line(self, part: str, seconds: float = 10.0) -> str:
        """The next line on stderr that has this in it."""
        while part not in (line := self.lines.get(timeout=seconds)):
            pass
        return line

    def close(self, seconds: float = 4.0) -> None:
        """Close it, and see that nothing is left."""
        assert self.pool.close(time.monotonic() + seconds)
        assert not survivors(self.mark, 0.0)


@contextmanager
def bench(cwd: Path, **more: Any) -> Iterator[Bench]:
    made = Bench(cwd, **more)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def over_http(how: str, script: str = "everything.py", *arguments: str) -> Iterator[str]:
    """A server as a process of its own, `http` or `sse`: its address."""
    command = [sys.executable, str(HERE / script), how, *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    )
    assert process.stdout is not None
    try:
        port = process.stdout.readline().strip()
        yield f"http://127.0.0.1:{port}/{'sse' if how == 'sse' else 'mcp'}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
