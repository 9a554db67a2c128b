"""multi_edit: several edits of one file, all of them or none."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from acpagent.core.files import TextFile
from acpagent.core.toolcalls import Kind, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox import passages
from acpagent.toolbox.arguments import FLAG, STRING, Schema, closed
from acpagent.toolbox.edit import Edit, carried_out, proposed
from acpagent.toolbox.passages import Spans
from acpagent.toolbox.texts import Texts, name, place

MAX_EDITS = 200


class MultiEdit:
    name = "multi_edit"
    description = (
        "Make several edits of one file, in order, each as in edit_file on what the ones before left. "
        "If one cannot be made, none is."
    )
    schema: Schema = closed(
        {
            "path": STRING,
            "edits": {
                "type": "array",
                "items": closed({"old": STRING, "new": STRING, "replace_all": FLAG}, "old", "new"),
            },
        },
        "path",
        "edits",
    )
    reads_only = False
    kind: Kind = "edit"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        edits = args["edits"]
        if not 0 < len(edits) <= MAX_EDITS:
            raise ToolRefusal(f"edits must have 1 to {MAX_EDITS} entries.")
        path = place(ctx, args["path"])
        base = Texts(ctx).read(path)
        file, lines = _after(base, edits, name(ctx, path), ctx)
        if file.raw == base.raw:
            raise ToolRefusal("The edits undo each other; there is nothing to change.")
        return proposed(Edit(path, base, file.raw, lines), ctx)

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        return carried_out(proposal, ctx)


def _after(
    file: TextFile, edits: Sequence[Mapping[str, Any]], called: str, ctx: ToolContext
) -> tuple[TextFile, tuple[int, ...]]:
    """The file once all edits are made, and the line that each of them begins at by then, from the top down."""
    places: list[int] = []
    for number, edit in enumerate(edits):
        ctx.scope.check()
        try:
            raw, spans = passages.replaced(file, called, edit["old"], edit["new"], edit.get("replace_all", False))
        except ToolRefusal as refusal:
            earlier = " after the edits before it" if number else ""
            raise ToolRefusal(f"edits[{number}]{earlier}: {refusal} None of the edits was made.") from None
        before, file = file.text, replace(file, raw=raw)
        places = _moved(places, spans, len(file.text) - len(before))
        places.append(spans[0][0])
    return file, passages.line_numbers(file.text, sorted(places))


def _moved(places: Sequence[int], spans: Spans, growth: int) -> list[int]:
    """Where positions are once each of `spans`, all of them alike, was replaced; `growth` of all together."""
    ends = [end for _, end in spans]
    each = growth // len(spans)
    return [place + each * bisect_right(ends, place) for place in places]
