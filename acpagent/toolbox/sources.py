"""connect_tool_source: a session that begins with few tools asks for more, a group at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.core.catalogue import Phrase
from acpagent.core.toolcalls import Effect, Kind, Proposal, Tool, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox.arguments import Schema, closed


@dataclass(frozen=True, slots=True)
class Source:
    """A group of tools by their names, or by how their names begin; and in a few words what it is good for."""

    about: str
    tools: tuple[str, ...] = ()
    prefix: str = ""

    def has(self, tool: str) -> bool:
        return tool in self.tools or (bool(self.prefix) and tool.startswith(self.prefix))


# What a lean session begins with; it does without those that are not there.
CORE = frozenset(
    {
        "read_file", "edit_file", "write_file", "bash", "job_output", "job_kill",
        "update_goal", "ask_user", "ask",
    }
)  # fmt: skip
SOURCES: dict[str, Source] = {
    "search": Source("find files and text", ("glob", "grep", "list_dir")),
    "edits": Source("several edits at once, moving and deleting", ("multi_edit", "move_file", "delete_file")),
    "web": Source("pages from the web", ("web_fetch",)),
    "images": Source("look at images", ("view_image",)),
    "workflow": Source("a plan that the person sees", ("todo_write",)),
    "memory": Source("notes that were kept of this repository", ("remember", "recall_memory")),
    "skills": Source("instructions for tasks that come up often", ("use_skill",)),
    "mcp": Source("what the MCP servers of this session offer", prefix="mcp__"),
    "plugins": Source("what the plugins of this person offer", prefix="plugin__"),
}


def lean(tools: Iterable[Tool], connected: Collection[str]) -> list[Tool]:
    """Of all `tools` the core, those of the `connected` sources, and the one that connects more."""
    every = list(tools)
    offered = {name: found for name, source in SOURCES.items() if (found := _of(source, every))}
    wanted = CORE.union(*(offered[name] for name in connected if name in offered))
    return [*(tool for tool in every if tool.name in wanted), ConnectToolSource(offered)]


def _of(source: Source, every: Iterable[Tool]) -> tuple[str, ...]:
    """The tools of a source that are there."""
    return tuple(tool.name for tool in every if source.has(tool.name))


def listed(connected: str) -> tuple[str, ...]:
    """The sources that a setting names, which are kept as words between commas; unknown ones left out."""
    return tuple(name for name in SOURCES if name in connected.split(","))


def joined(connected: str, source: str) -> str:
    """The setting with one more source."""
    return ",".join(listed(f"{connected},{source}"))


class ConnectToolSource:
    """The tools come with a rebuild, so between turns: within one, the tool list would change under the model, and the
    beginning of its requests with it."""

    name = "connect_tool_source"
    reads_only = False
    converses = True
    kind: Kind = "other"

    def __init__(self, offered: Mapping[str, tuple[str, ...]]) -> None:
        """`offered`: the tools of each source that has any."""
        self._offered = offered
        groups = "; ".join(f"{name}: {SOURCES[name].about} ({', '.join(tools)})" for name, tools in offered.items())
        self.description = (
            "Load more tools. They are there from the person's next prompt on, not in this one: go on with what you "
            f"have. Sources: {groups}."
        )
        self.schema: Schema = closed({"source": {"type": "string", "enum": list(offered)}}, "source")

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        source = args["source"]
        return Proposal(
            Phrase("title_source", what=source), self.kind, (Effect("plan"),), subject=source, detail=source
        )

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        source: str = proposal.detail
        tools = ", ".join(self._offered[source])
        ctx.scope.check()
        if ctx.connect is None:
            raise ToolRefusal("Nothing can be connected here.")
        if not ctx.connect(source):
            return ToolResult(f"{source} was connected before: {tools}.", raw={"source": source, "added": False})
        text = (
            f"{source} is connected: {tools} will be there from the person's next prompt on. Until then go on with "
            "what you have; if that does not do, say so and end your answer, so that the person can prompt again."
        )
        return ToolResult(text, raw={"source": source, "added": True})
