"""job_output and job_kill: what came of commands in the background."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.core import bounds
from acpagent.core.catalogue import Phrase
from acpagent.core.jobs import Job, Jobs
from acpagent.core.process import Result
from acpagent.core.toolcalls import Effect, EffectKind, Kind, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox.arguments import STRING, Schema, closed, described
from acpagent.toolbox.shell import COMMAND_CHARACTERS, STATUS_BYTES, ending

MAX_WAIT_SECONDS = 600
KILL_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Look:
    job: Job
    wait_seconds: float = 0.0


class JobOutput:
    name = "job_output"
    description = "What a background job printed since you last looked, and whether it still runs."
    schema: Schema = closed(
        {
            "job_id": STRING,
            "wait_seconds": described(
                {"type": "number", "minimum": 0, "maximum": MAX_WAIT_SECONDS}, "wait so long for its end first"
            ),
        },
        "job_id",
    )
    reads_only = True
    kind: Kind = "execute"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        job = _find(ctx, args["job_id"])
        return _proposed(Phrase("title_job", job=_called(job)), _Look(job, args.get("wait_seconds", 0.0)))

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        look: _Look = proposal.detail
        ctx.scope.check()
        if look.wait_seconds:
            with look.job.followed_by(ctx.live):
                look.job.wait(look.wait_seconds, ctx.scope)
        return _told(look.job, ctx)


class JobKill:
    name = "job_kill"
    description = "End a background job."
    schema: Schema = closed({"job_id": STRING}, "job_id")
    reads_only = False
    kind: Kind = "execute"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        job = _find(ctx, args["job_id"])
        return _proposed(Phrase("title_job_end", job=_called(job)), _Look(job), "end_job")

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        look: _Look = proposal.detail
        ctx.scope.check()
        look.job.stop()
        look.job.wait(KILL_SECONDS, ctx.scope)
        return _told(look.job, ctx)


def news(jobs: Jobs) -> str:
    """What the model should know of jobs that ended since it last heard of them; a line each."""
    return "\n".join(
        f"[The background job {_called(job)} has ended: {_how(job.result)}. job_output shows what it printed.]"
        for job in jobs.take_ended()
    )


def _find(ctx: ToolContext, id: str) -> Job:
    jobs = ctx.jobs.all() if ctx.jobs is not None else []
    for job in jobs:
        if job.id == id:
            return job
    listed = ", ".join(job.id for job in jobs) or "none"
    raise ToolRefusal(f"There is no such job; jobs end with the agent. There are: {listed}.")


def _proposed(title: str, look: _Look, effect: EffectKind = "job") -> Proposal:
    facts = {"job_id": look.job.id}
    return Proposal(title, "execute", (Effect(effect),), subject=look.job.id, detail=look, facts=facts)


def _called(job: Job) -> str:
    return f"{job.id} ({bounds.one_line(job.command, COMMAND_CHARACTERS)})"


def _how(result: Result | None) -> str:
    if result is None:
        return "it could not be started"
    return f"{ending(result)}, as its time was up" if result.timed_out else ending(result)


def _told(job: Job, ctx: ToolContext) -> ToolResult:
    """What is new of a job. Whether it runs is looked at first, so that an end comes with the last of the output."""
    running, result = job.running, job.result
    job.told = job.told or not running
    output = job.take(max(ctx.output_bytes - STATUS_BYTES, 0))
    text = output.text or "Nothing new was printed."
    state = f"{job.id} is running" if running else f"{job.id} has ended: {_how(result)}"
    facts = {"job_id": job.id, "truncated": output.left_out > 0}
    raw = {**facts, "running": running}
    if result is not None and not running:
        raw |= {"exit_code": result.exit_code, "signal": result.signal}
    return ToolResult(text + "\n" * (not text.endswith("\n")) + f"[{state}]", raw=raw, facts=facts)
