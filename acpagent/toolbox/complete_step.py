"""complete_step: the model signs a piece of work off, with what shows that it is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acpagent.core import bounds
from acpagent.core.blocks import Text
from acpagent.core.phrases import titled
from acpagent.core.toolcalls import Effect, Kind, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox.arguments import STRING, Schema, closed, described

NAME = "complete_step"
TITLE_CHARACTERS = 120
MAX_QUOTES = 20


class CompleteStep:
    name = NAME
    description = (
        "Sign off a step, or the whole task, once a check of it passed after the last change. The person sees it."
    )
    schema: Schema = closed(
        {
            "step": described(STRING, "what is done, as the plan calls it"),
            "result": described(STRING, "how it is now, in a sentence or two"),
            "evidence": described(
                {"type": "array", "items": STRING},
                "quotes: each a command that was run, letter by letter, with what it printed that matters",
            ),
        },
        "step",
        "result",
        "evidence",
    )
    reads_only = True
    kind: Kind = "think"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        step, result = args["step"].strip(), args["result"].strip()
        evidence = tuple(quote.strip() for quote in args["evidence"][: MAX_QUOTES + 1] if quote.strip())
        if not step or not result:
            raise ToolRefusal("step and result must say something.")
        if not evidence:
            raise ToolRefusal("evidence is empty; quote the commands that show it, and what they printed.")
        if len(evidence) > MAX_QUOTES:
            raise ToolRefusal(f"evidence may have {MAX_QUOTES} quotes at most; keep those that matter.")
        title = titled("title_step", TITLE_CHARACTERS, step)
        shown = "\n".join([result, "", *(f"> {line}" for quote in evidence for line in quote.splitlines())])
        return Proposal(title, self.kind, (Effect("plan"),), subject=step, detail=(evidence, shown))

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        evidence, shown = proposal.detail
        ctx.scope.check()
        words = bounds.cut(shown, ctx.output_bytes).text
        return ToolResult("Signed off.", content=(Text(words),), raw={"evidence": list(evidence)})
