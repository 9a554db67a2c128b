"""Keeping a session's memory healthy: how its conversation is summarised, with what the session knows."""

from __future__ import annotations

from acpagent.core.host import Host
from acpagent.core.scope import Scope
from acpagent.runtime.session.keep import Keep
from acpagent.runtime.session.loadout import AUTO_COMPACT
from acpagent.runtime.session.opening import preface
from acpagent.runtime.turn import mode, words
from acpagent.runtime.turn.compaction import Compactor, Memory
from acpagent.runtime.turn.hooking import TurnHooks
from acpagent.runtime.turn.spending import Spending


def compactor(keep: Keep, turn_id: str, scope: Scope, host: Host, hooks: TurnHooks, spending: Spending) -> Compactor:
    """What summarises the conversation in one turn."""
    loadout = keep.loadout
    return Compactor(
        turn_id=turn_id,
        scope=scope,
        provider=loadout.provider,
        memory=Memory(keep.conversation, keep.work, keep.meter, spending, lambda: keep.controls["mode"]),
        prefix=len(loadout.system) + len(loadout.tool_list),
        thresholds=loadout.limits.compaction,
        record=keep.record,
        emit=host.emit,
        hooks=hooks,
        automatic=lambda: keep.controls[AUTO_COMPACT] == "on",
        again=lambda: _again(keep),
    )


def _again(keep: Keep) -> tuple[str, ...]:
    """What the model is told once in a session, or once in a mode."""
    return preface(keep.row.cwd), keep.loadout.context, _marker(keep)


def _marker(keep: Keep) -> str:
    now, goal = keep.controls["mode"], keep.goals.current
    if now == mode.GOAL and goal is not None:
        return words.resumed(goal.objective, goal.phase == "working")
    return words.PLAN if now == mode.PLAN else ""
