"""A loadout: the frozen bundle that turns run with. A rebuild makes a new one beside the old and swaps it in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acpagent.core.model import Provider, ToolSpec
from acpagent.core.toolcalls import Tool
from acpagent.extensions.hooks import NO_HOOKS, HookSet
from acpagent.permission.rules import NO_RULES, Rules

# The tool sources that the model connected, as words between commas: an axis that no client sets or sees.
SOURCES = "sources"
# The axes that a loadout is built from; any other control of a session needs no rebuild.
AXES = ("model", "effort", "work_mode", SOURCES)
# The controls a session keeps beside its axes.
CONTROLS = ("mode", "tool_approval")


@dataclass(frozen=True, slots=True)
class Needs:
    """What a loadout is built for beside its axes: how the host asks questions (`form`, `choice` or `none`), and
    whether everything is read anew (`fresh`), as a reload does."""

    asks: str
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Loadout:
    """`model` is `provider/model`. `system` and `tool_list` are spelled once in the provider's dialect, so that
    every request of a session begins with the same bytes. `delivers`: work is held to what a delivery needs. `rules`
    are the permission rules, which the session's gate takes over."""

    model: str
    provider: Provider
    tools: Mapping[str, Tool]
    system: str
    tool_list: str
    delivers: bool = False
    rules: Rules = NO_RULES
    hooks: HookSet = NO_HOOKS


def assemble(
    model: str,
    provider: Provider,
    tools: Mapping[str, Tool],
    instructions: str,
    delivers: bool = False,
    rules: Rules = NO_RULES,
    hooks: HookSet = NO_HOOKS,
) -> Loadout:
    """Put a loadout together. The order of `tools` is the order the model sees."""
    specs = [ToolSpec(tool.name, tool.description, tool.schema) for tool in tools.values()]
    system, tool_list = provider.encode_system(instructions), provider.encode_tools(specs)
    return Loadout(model, provider, tools, system, tool_list, delivers, rules, hooks)
