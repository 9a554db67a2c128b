"""use_skill: the model calls up a skill by itself."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from acpagent.core import bounds
from acpagent.core.catalogue import Phrase
from acpagent.core.toolcalls import Effect, Kind, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.extensions import skills
from acpagent.extensions.skills import Skill


class UseSkill:
    """Gives the text of a skill. It reads nothing: skills were read when they were found, and trusted as they were
    then. Those `set_aside` it does not give."""

    name = "use_skill"
    description = "Get the instructions of one of the skills that were listed, before you do what it is for."
    schema: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "arguments": {"type": "string", "description": "what it is to be done with, as a person would write it"},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    reads_only = True
    checks_arguments = True
    kind: Kind = "think"

    def __init__(self, found: Sequence[Skill], set_aside: Container[str] = ()) -> None:
        self._skills = {skill.name: skill for skill in found}
        self._set_aside = set_aside

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        skill = self._skills.get(str(args.get("name")))
        if skill is None:
            raise ToolRefusal(f"There is no such skill. There are: {', '.join(self._skills)}.")
        if skill.name in self._set_aside:
            raise ToolRefusal(f"The person took {skill.name} out of this session: go on without it.")
        title = Phrase("title_skill", what=bounds.asked_line(skill.name, 100))
        arguments = str(args.get("arguments") or "")
        return Proposal(title, self.kind, (Effect("plan"),), skill.name, detail=(skill, arguments))

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        skill, arguments = proposal.detail
        text = bounds.cut(skills.invoked(skill, arguments), ctx.output_bytes).text
        return ToolResult(text, raw={"skill": skill.name}, facts={"skill": skill.name})
