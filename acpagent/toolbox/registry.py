"""The tools a session has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from acpagent.core.model import ToolSpec
from acpagent.core.toolcalls import Proposal, Tool, ToolContext, ToolResult
from acpagent.toolbox import arguments
from acpagent.toolbox.delete import DeleteFile
from acpagent.toolbox.edit import EditFile
from acpagent.toolbox.fetch import WebFetch
from acpagent.toolbox.find import Glob
from acpagent.toolbox.goal import UpdateGoal
from acpagent.toolbox.image import ViewImage
from acpagent.toolbox.jobs import JobKill, JobOutput
from acpagent.toolbox.listing import ListDir
from acpagent.toolbox.move import MoveFile
from acpagent.toolbox.multi_edit import MultiEdit
from acpagent.toolbox.questions import Ask, AskUser
from acpagent.toolbox.read import ReadFile
from acpagent.toolbox.search import Grep
from acpagent.toolbox.shell import Bash
from acpagent.toolbox.todo import TodoWrite
from acpagent.toolbox.write import WriteFile


def builtin_tools(*, sees_images: bool = False, allow_private: Sequence[str] = (), asks: str = "none") -> list[Tool]:
    """New instances of the tools that need nothing but a context. `sees_images` says whether the model does;
    `allow_private` are hosts in private networks that may be fetched from; `asks` is how the host can ask the person,
    `form`, `choice` or `none`."""
    tools: list[Tool] = [
        ReadFile(), WriteFile(), EditFile(), MultiEdit(), MoveFile(), DeleteFile(), ListDir(), Glob(), Grep(), Bash(),
        JobOutput(), JobKill(), WebFetch(allow_private), TodoWrite(), UpdateGoal(),
    ]  # fmt: skip
    tools += _ASKING[asks]
    return [*tools, ViewImage()] if sees_images else tools


# Never both: a model that has two ways to ask takes the one that this client cannot show.
_ASKING: Mapping[str, tuple[Tool, ...]] = {"form": (AskUser(),), "choice": (Ask(),), "none": ()}


class Registry:
    """Tools by name; frozen once made. What it hands out checks its arguments before the tool sees them, unless the
    tool says that it `checks_arguments` itself: the schemas of servers and plugins are theirs."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are named {tool.name}")
            checks_itself = getattr(tool, "checks_arguments", False) is True
            self._tools[tool.name] = tool if checks_itself else _Checked(tool)

    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is told, always in the same order: the request's prefix must not change."""
        return tuple(ToolSpec(tool.name, tool.description, tool.schema) for _, tool in sorted(self._tools.items()))

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def tools(self) -> Mapping[str, Tool]:
        """Every tool by its name."""
        return MappingProxyType(self._tools)


class _Checked:
    """A tool whose arguments are checked first."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self.name = tool.name
        self.description = tool.description
        self.schema = tool.schema
        self.reads_only = tool.reads_only
        self.kind = tool.kind
        self.converses = getattr(tool, "converses", False) is True

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        return self._tool.prepare(arguments.check(self.name, self.schema, args), ctx)

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        return self._tool.apply(proposal, ctx)
