"""bash: a command in the foreground, or one that goes on in the background."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.core import bounds, process
from acpagent.core.blocks import Text
from acpagent.core.catalogue import Phrase
from acpagent.core.jobs import NotStarted
from acpagent.core.process import Result
from acpagent.core.scope import Cancelled
from acpagent.core.shells import shell
from acpagent.core.toolcalls import Content, Effect, Kind, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox import terminal
from acpagent.toolbox.arguments import FLAG, STRING, Schema, closed, described
from acpagent.toolbox.terminal import Ran

MAX_SECONDS = 3600
COMMAND_CHARACTERS = 120
SHOWN_BYTES = 16_384  # of a command that is asked about
FACT_CHARACTERS = 2000
STATUS_BYTES = 100  # kept free for the last line, which says how the command ended


@dataclass(frozen=True, slots=True)
class _Command:
    """`seconds` is None for a background job that may run for ever."""

    text: str
    seconds: float | None
    background: bool = False


class Bash:
    name = "bash"
    description = (
        "Run a shell command in the working directory and wait for it. There is no input and no terminal. Children "
        "that it leaves behind are ended with it: what is to go on, such as a server, needs background, which starts "
        "a job and returns its id for job_output and job_kill at once."
    )
    schema: Schema = closed(
        {
            "command": STRING,
            "timeout_seconds": {"type": "number", "minimum": 1, "maximum": MAX_SECONDS},
            "background": FLAG,
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
        background = args.get("background", False)
        seconds = args.get("timeout_seconds", None if background else ctx.command_seconds)
        return Proposal(
            title=_title(command, background),
            kind=self.kind,
            effects=(Effect("execute", command=command),),
            subject=command,
            detail=_Command(command, seconds, background),
            facts=facts,
            note=_whole(command),
        )

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        command: _Command = proposal.detail
        if not os.path.isdir(ctx.roots.cwd):
            raise ToolRefusal("The working directory is gone.")
        argv = [shell(), "-c", command.text]  # the shell whose language was judged
        if command.background:
            return _started(command, argv, ctx)
        assert command.seconds is not None
        room = max(ctx.output_bytes - STATUS_BYTES, 0)
        ran = terminal.run(argv, command.seconds, room, ctx) if ctx.shell is not None else None
        return _told(command, ran or _run_here(argv, command.seconds, room, ctx))


def _started(command: _Command, argv: list[str], ctx: ToolContext) -> ToolResult:
    """Start a job. It is ours even where foreground commands run in the editor."""
    if ctx.jobs is None:
        raise ToolRefusal("Nothing can run in the background here.")
    ctx.scope.check()
    try:
        job = ctx.jobs.start(command.text, argv, cwd=ctx.roots.cwd, env=environment(ctx), seconds=command.seconds)
    except NotStarted as reason:
        raise ToolRefusal(f"Not started: {reason}.") from None
    facts = {"command": command.text[:FACT_CHARACTERS], "job_id": job.id}
    return ToolResult(f"Started as {job.id}.", raw=facts, facts=facts)


def _run_here(argv: list[str], seconds: float, room: int, ctx: ToolContext) -> Ran:
    ctx.scope.check()
    result: Result | None = None
    try:
        result = process.run(
            argv, cwd=ctx.roots.cwd, env=environment(ctx), output=ctx.live, scope=ctx.scope, timeout=seconds
        )
    except Cancelled:  # what it printed so far is worth telling
        pass
    excerpt = ctx.live.excerpt(room)
    return Ran(result, excerpt, excerpt.left_out > 0)


def environment(ctx: ToolContext) -> dict[str, str]:
    """What a child of ours gets: our environment without the secrets in it."""
    environment = {key: value for key, value in os.environ.items() if key not in ctx.hidden_env}
    return {**environment, "PWD": ctx.roots.cwd}


def _told(command: _Command, ran: Ran) -> ToolResult:
    result, output = ran.result, ran.output.text
    how, status = _ending(command, ran)
    title = _title(command.text)
    facts: dict[str, Any] = {
        "command": command.text[:FACT_CHARACTERS],
        "exit_code": result.exit_code if result else None,
        "signal": result.signal if result else None,
        "timed_out": bool(result and result.timed_out),
        "truncated": ran.truncated,
    }
    if result is None:
        facts["aborted"] = True
    else:
        facts["duration_ms"] = round(result.seconds * 1000)
    failed = result is None or result.exit_code != 0 or result.timed_out or bool(ran.problem)
    text = f"{output}[{status}]" if not output or output.endswith("\n") else f"{output}\n[{status}]"
    shown: tuple[Content, ...] = (ran.terminal,) if ran.terminal else ()
    return ToolResult(
        text,
        failed,
        content=shown if failed or not shown else (*shown, Text(text)),
        raw=facts,
        facts=facts,
        title=Phrase("title_ended", title=title, how=how) if how else title,
    )


def _ending(command: _Command, ran: Ran) -> tuple[Phrase | None, str]:
    """How a command ended: what the title says of it, and what the model reads."""
    how, status = _exit(command, ran.result)
    if not ran.problem:
        return how, status
    return how or Phrase("ended_failed"), f"{status}; {ran.problem}" if ran.ending_known else ran.problem


def _exit(command: _Command, result: Result | None) -> tuple[Phrase | None, str]:
    if result is None:
        return Phrase("ended_aborted"), "cancelled before it ended"
    if result.timed_out:
        return Phrase("ended_timed_out"), f"timed out after {command.seconds:g} s and was ended"
    if result.exit_code is None:
        return Phrase("ended_failed"), ending(result)
    return (Phrase("ended_exit", code=result.exit_code) if result.exit_code else None), ending(result)


def ending(result: Result) -> str:
    """How a command ended, in words: `exit 1`, `ended by SIGKILL`."""
    if result.exit_code is not None:
        return f"exit {result.exit_code}"
    return f"ended by {result.signal or 'nothing: it could not be killed'}"


def _whole(command: str) -> str:
    """The command as it is, line by line, where the title does not show it so: nobody should allow what they cannot
    see."""
    if bounds.asked_line(command, COMMAND_CHARACTERS) == command:
        return ""
    return bounds.cut(bounds.visible(command), SHOWN_BYTES).text


def _title(command: str, background: bool = False) -> Phrase:
    return Phrase("title_start" if background else "title_run", command=bounds.asked_line(command, COMMAND_CHARACTERS))
