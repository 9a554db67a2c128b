"""A loadout: the frozen bundle that turns run with. A rebuild makes a new one beside the old and swaps it in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acpagent.core.model import Provider
from acpagent.core.toolcalls import Tool
from acpagent.extensions.hooks import NO_HOOKS, HookSet
from acpagent.permission.rules import NO_RULES, Rules
from acpagent.runtime.session.equipment import Kit
from acpagent.runtime.session.model_commands import NO_COMMANDS, ModelCommands
from acpagent.runtime.turn.compaction import Thresholds

# The tool sources that the model connected, as words between commas: an axis that no client sets or sees.
SOURCES = "sources"
# How often servers were found to offer other things than before: an axis of one process alone, stored nowhere.
OFFERS = "offers"
# The axes that a loadout is built from; any other control of a session needs no rebuild.
AXES = ("model", "effort", "work_mode", SOURCES)
# Whether the conversation is summarised by itself, `on` or `off`: a control that only a command sets.
AUTO_COMPACT = "auto_compact"
# What the session may use, where that is not what the settings say: a number, or `none`; only a command sets them.
TOKEN_LIMIT, COST_LIMIT = "token_limit", "cost_limit"
NO_LIMIT = "none"
# The controls a session keeps beside its axes.
CONTROLS = ("mode", "tool_approval", "language", AUTO_COMPACT, TOKEN_LIMIT, COST_LIMIT)
# Bytes that one tool result may have for each token of the model's window: about a quarter of the window.
_OUTPUT_BYTES_PER_TOKEN, _LEAST_OUTPUT_BYTES = 0.8, 2_000


@dataclass(frozen=True, slots=True)
class Needs:
    """What a loadout is built for beside its axes: how the host asks questions (`form`, `choice` or `none`), and what
    the session has beyond what is built in."""

    asks: str
    kit: Kit


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one session's work: seconds, bytes, model calls, and for goals rounds without progress, tokens and
    money of the session (None: no bound); and when its conversation is summarised."""

    turn_requests: int
    command_seconds: float
    output_bytes: int
    goal_rounds: int
    session_tokens: int | None
    session_cost: float | None
    compaction: Thresholds


@dataclass(frozen=True, slots=True)
class Loadout:
    """`model` is `provider/model`. `system` and `tool_list` are spelled once in the provider's dialect, so that
    every request of a session begins with the same bytes. `delivers`: work is held to what a delivery needs. `rules`
    are the permission rules, which the session's gate takes over. `offers` stands for what servers
    offered when it was built."""

    model: str
    provider: Provider
    tools: Mapping[str, Tool]
    system: str
    tool_list: str
    limits: Limits
    delivers: bool = False
    rules: Rules = NO_RULES
    hooks: HookSet = NO_HOOKS
    commands: ModelCommands = NO_COMMANDS
    offers: object = ()

    @property
    def output_bytes(self) -> int:
        """Of one tool result: the limit, or less where the model's window is small, so that one result cannot fill
        it."""
        share = int(self.provider.context_window * _OUTPUT_BYTES_PER_TOKEN)
        return min(self.limits.output_bytes, max(share, _LEAST_OUTPUT_BYTES)) if share > 0 else self.limits.output_bytes
