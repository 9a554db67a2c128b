"""A program's tools as tools of ours."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from acpagent.core import bounds
from acpagent.core.catalogue import Phrase
from acpagent.core.phrases import told
from acpagent.core.scope import Cancelled
from acpagent.core.toolcalls import Effect, Kind, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.extensions import speech
from acpagent.extensions.manifest import ToolSpec
from acpagent.extensions.sidecar import Sidecar
from acpagent.extensions.speech import SidecarFault

TITLE_LETTERS = 120
SHOWN_BYTES = 16_384  # of arguments that are asked about

# A manifest that says that a tool only reads is taken at its word: the person read it and installed the package. What
# does not say so may do anything, so it names what is asked for and barred while a plan is made.
_LOOKS: tuple[Effect, ...] = (Effect("job"),)
_ANYTHING: tuple[Effect, ...] = (Effect("network"),)


class SidecarTool:
    """One tool of one program, which checks the arguments itself."""

    checks_arguments = True

    def __init__(self, sidecar: Sidecar, spec: ToolSpec) -> None:
        self._sidecar = sidecar
        self._spec = spec
        self.name = f"plugin__{sidecar.name}__{spec.name}"
        self.description = spec.description
        self.schema: Mapping[str, Any] = spec.parameters
        self.reads_only = spec.reads_only
        self.kind: Kind = "fetch" if spec.reads_only else "other"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        plugin = self._sidecar.name
        return Proposal(
            title=bounds.asked_line(f"{plugin}: {self._spec.name}", TITLE_LETTERS),
            kind=self.kind,
            effects=_LOOKS if self.reads_only else _ANYTHING,
            subject=self._spec.name,
            detail=dict(args),
            facts={"plugin": plugin, "tool": self._spec.name},
            note="" if self.reads_only else _note(args),
        )

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        call_id = f"c{uuid.uuid4().hex}"
        params = {"name": self._spec.name, "arguments": proposal.detail, "callId": call_id}
        ctx.scope.check()
        try:
            answer = self._sidecar.ask(speech.CALL, params, ctx.scope, ctx.command_seconds, patient=True)
        except Cancelled:
            self._sidecar.withdraw(call_id)
            raise
        except SidecarFault as fault:
            self._sidecar.withdraw(call_id)
            raise ToolRefusal(Phrase("plugin_failed", plugin=self._sidecar.name, cause=told(fault))) from None
        text = bounds.cut(bounds.clean(answer["text"]), ctx.output_bytes)
        facts = {**proposal.facts, "truncated": text.left_out > 0}
        return ToolResult(text.text, answer.get("isError", False), facts=facts)


def _note(args: Mapping[str, Any]) -> str:
    """What the person sees before they are asked: all that the tool would be given."""
    return bounds.cut(bounds.visible(json.dumps(dict(args), ensure_ascii=False, indent=1)), SHOWN_BYTES).text
