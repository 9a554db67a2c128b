"""todo_write: the plan that the model keeps and the person sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acpagent.core import bounds
from acpagent.core.catalogue import Phrase
from acpagent.core.toolcalls import Effect, Kind, PlanEntry, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox.arguments import STRING, Schema, closed

MAX_ENTRIES = 100
ENTRY_CHARACTERS = 500


class TodoWrite:
    name = "todo_write"
    description = (
        "Replace your plan, which the person sees. For work of several steps; send the whole list each time, "
        "with at most one entry in_progress."
    )
    schema: Schema = closed(
        {
            "todos": {
                "type": "array",
                "items": closed(
                    {
                        "content": STRING,
                        "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                        "priority": {"type": "string", "enum": ["high", "medium", "low"]},
                    },
                    "content",
                    "status",
                ),
            }
        },
        "todos",
    )
    reads_only = True
    kind: Kind = "think"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        plan = tuple(_entry(item) for item in args["todos"][: MAX_ENTRIES + 1])
        if len(plan) > MAX_ENTRIES:
            raise ToolRefusal(f"todos may have {MAX_ENTRIES} entries at most; join some.")
        if sum(entry.status == "in_progress" for entry in plan) > 1:
            raise ToolRefusal("At most one of todos may be in_progress; set the others to pending.")
        done = sum(entry.status == "completed" for entry in plan)
        title = Phrase("title_plan", done=done, count=len(plan)) if plan else Phrase("title_plan_cleared")
        return Proposal(title, self.kind, (Effect("plan"),), detail=plan)

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        plan: tuple[PlanEntry, ...] = proposal.detail
        counts = {status: sum(entry.status == status for entry in plan) for status in _STATUSES}
        text = f"Plan kept: {', '.join(f'{number} {status}' for status, number in counts.items())}."
        ctx.scope.check()
        return ToolResult(text, raw={"entries": len(plan), **counts}, plan=plan)


_STATUSES = ("completed", "in_progress", "pending")


def _entry(item: Mapping[str, Any]) -> PlanEntry:
    content = bounds.one_line(item["content"], ENTRY_CHARACTERS)
    if not content:
        raise ToolRefusal("An entry of todos has no content.")
    return PlanEntry(content, item.get("priority", "medium"), item["status"])
