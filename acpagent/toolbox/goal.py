"""update_goal: what the model says of the goal it works on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acpagent.core import bounds
from acpagent.core.catalogue import Phrase
from acpagent.core.toolcalls import Effect, GoalReport, Kind, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox.arguments import STRING, Schema, closed

NOTE_CHARACTERS = 2000


class UpdateGoal:
    """Runs once what was called before has ended, so that the todo list it is judged by is the one the model sees."""

    name = "update_goal"
    description = (
        "Report on the goal, in goal mode only: complete once everything asked for is done and checked and no entry of "
        "the todo list is open; blocked if only the person can help, with the reason in note; continue with what you "
        "do next in note."
    )
    schema: Schema = closed(
        {"status": {"type": "string", "enum": ["continue", "complete", "blocked"]}, "note": STRING},
        "status",
        "note",
    )
    reads_only = False
    converses = True
    kind: Kind = "think"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        report = GoalReport(args["status"], bounds.clean(args["note"]).strip()[:NOTE_CHARACTERS])
        if report.status == "blocked" and not report.note:
            raise ToolRefusal("Say in note what blocks the goal.")
        return Proposal(
            Phrase(f"title_goal_{report.status}"), self.kind, (Effect("plan"),), detail=report, note=report.note
        )

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        report: GoalReport = proposal.detail
        ctx.scope.check()
        return ToolResult(ctx.report_goal(report), raw={"status": report.status})
