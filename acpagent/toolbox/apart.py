"""Programs of our own in a child process: for work that can take for ever, and then no thread of its process gets a
turn. They need the standard library alone."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.core import process
from acpagent.core.toolcalls import ToolContext
from acpagent.toolbox.shell import environment


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a program: the lines of its output that are JSON, and whether its time was up."""

    rows: list[Any]
    timed_out: bool


def run(program: str, options: Mapping[str, Any], data: bytes, seconds: float, ctx: ToolContext) -> Ran | None:
    """Run the file `program` with `options` as a JSON argument and `data` as its input; None where there is no Python
    to run it. Raises `Cancelled`, OSError."""
    python = _interpreter(program)
    if python is None:
        return None
    output = _Collected()
    with tempfile.TemporaryFile() as prepared:
        prepared.write(data)
        prepared.seek(0)
        ended = process.run(
            [python, "-I", "-S", program, json.dumps(options)],
            cwd="/",
            env=environment(ctx),
            output=output,
            scope=ctx.scope,
            timeout=seconds,
            stdin=prepared.fileno(),
        )
    return Ran(list(output.rows()), ended.timed_out)


def _interpreter(program: str) -> str | None:
    """None where we run inside another program, or from an archive."""
    python = os.path.basename(sys.executable or "")
    return sys.executable if python.startswith(("python", "pypy")) and os.path.isfile(program) else None


class _Collected:
    """Everything the child writes; it writes little."""

    def __init__(self) -> None:
        self._data = bytearray()

    def write(self, data: bytes) -> None:
        self._data += data

    def rows(self) -> Iterator[Any]:
        """Its lines, but for one that was cut off by the end."""
        for line in self._data.split(b"\n"):
            try:
                yield json.loads(line)
            except ValueError:
                continue
