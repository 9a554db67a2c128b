"""bash: a command in the foreground."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.core import bounds, process
from acpagent.core.process import Result
from acpagent.core.scope import Cancelled
from acpagent.core.toolcalls import Effect, Kind, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox.arguments import STRING, Schema, closed, described

MAX_SECONDS = 3600
COMMAND_CHARACTERS = 120
FACT_CHARACTERS = 2000
STATUS_BYTES = 100  # kept free for the last line, which says how the command ended
_SHELLS = ("/bin/bash", "/bin/sh")


@dataclass(frozen=True, slots=True)
class _Command:
    text: str
    seconds: float


class Bash:
    name = "bash"
    description = (
        "Run a shell command in the working directory and wait for it. There is no input and no terminal. "
        "Children left in the background are ended with it."
    )
    schema: Schema = closed(
        {
            "command": STRING,
            "timeout_seconds": {"type": "number", "minimum": 1, "maximum": MAX_SECONDS},
            "description": described(STRING, "what it is for, in a few words"),
        },
        "command",
    )
    reads_only = False
    kind: Kind = "execute"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        command = args["command"]
        if not command.strip():
            raise ToolRefusal("command is empty.")
        if "\0" in command:
            raise ToolRefusal("command has a NUL character.")
        facts = {"command": command[:FACT_CHARACTERS]}
        if args.get("description"):
            facts["description"] = bounds.one_line(args["description"], COMMAND_CHARACTERS)
        return Proposal(
            title=_title(command),
            kind=self.kind,
            effects=(Effect("execute", command=command),),
            subject=command,
            detail=_Command(command, args.get("timeout_seconds", ctx.command_seconds)),
            facts=facts,
        )

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        command: _Command = proposal.detail
        if not os.path.isdir(ctx.roots.cwd):
            raise ToolRefusal("The working directory is gone.")
        ctx.scope.check()
        try:
            result = process.run(
                [shell(), "-c", command.text],
                cwd=ctx.roots.cwd,
                env=environment(ctx),
                output=ctx.live,
                scope=ctx.scope,
                timeout=command.seconds,
            )
        except Cancelled:  # what it printed so far is worth telling
            return _told(command, ctx, None)
        return _told(command, ctx, result)


def shell() -> str:
    """The shell that runs commands."""
    return next((path for path in _SHELLS if os.access(path, os.X_OK)), _SHELLS[-1])


def environment(ctx: ToolContext) -> dict[str, str]:
    """What a child of ours gets: our environment without the secrets in it."""
    environment = {key: value for key, value in os.environ.items() if key not in ctx.hidden_env}
    return {**environment, "PWD": ctx.roots.cwd}


def _told(command: _Command, ctx: ToolContext, result: Result | None) -> ToolResult:
    """The outcome; `result` None means cancelled."""
    excerpt = ctx.live.excerpt(max(ctx.output_bytes - STATUS_BYTES, 0))
    suffix, status = _ending(command, result)
    output = excerpt.text if not excerpt.text or excerpt.text.endswith("\n") else f"{excerpt.text}\n"
    facts: dict[str, Any] = {
        "command": command.text[:FACT_CHARACTERS],
        "exit_code": result.exit_code if result else None,
        "signal": result.signal if result else None,
        "timed_out": bool(result and result.timed_out),
        "truncated": excerpt.left_out > 0,
    }
    if result is None:
        facts["aborted"] = True
    else:
        facts["duration_ms"] = round(result.seconds * 1000)
    failed = result is None or result.exit_code != 0 or result.timed_out
    return ToolResult(
        f"{output}[{status}]", failed, raw=facts, facts=facts, title=_title(command.text) + suffix
    )


def _ending(command: _Command, result: Result | None) -> tuple[str, str]:
    """How a command ended: what the title says of it, and what the model reads."""
    if result is None:
        return " (aborted)", "cancelled before it ended"
    if result.timed_out:
        return " (timed out)", f"timed out after {command.seconds:g} s and was ended"
    if result.exit_code is None:
        return " (failed)", f"ended by {result.signal or 'nothing: it could not be killed'}"
    return (f" (exit {result.exit_code})" if result.exit_code else ""), f"exit {result.exit_code}"


def _title(command: str) -> str:
    return f"Run: {bounds.one_line(command, COMMAND_CHARACTERS)}"
