"""Keeping a session's memory healthy: how its conversation is summarised, with what the session knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from acpagent.core.catalogue import Phrase
from acpagent.core.events import Notice, PlanChanged, UsageChanged
from acpagent.core.faults import OurFault
from acpagent.core.history import Compacted
from acpagent.core.host import Host
from acpagent.core.model import ProviderFault
from acpagent.core.scope import Scope
from acpagent.runtime.session.keep import Keep
from acpagent.runtime.session.loadout import AUTO_COMPACT
from acpagent.runtime.session.opening import preface
from acpagent.runtime.session.replay import usage
from acpagent.runtime.session.rewinding import Point, Rewinder
from acpagent.runtime.turn import mode, words
from acpagent.runtime.turn.compaction import Compactor, Memory
from acpagent.runtime.turn.hooking import TurnHooks
from acpagent.runtime.turn.spending import Ceiling, Spending
from acpagent.runtime.turn.stop import provider_fault
from acpagent.runtime.turn.summarise import Written, answered
from acpagent.store.database import Store


def compactor(
    keep: Keep,
    turn_id: str,
    scope: Scope,
    host: Host,
    hooks: TurnHooks,
    spending: Spending,
    notes: Callable[[], str] = str,
    tell: Callable[[Notice], None] = lambda notice: None,
) -> Compactor:
    """What summarises the conversation in one turn. `notes` are those of earlier sessions."""
    loadout = keep.loadout
    return Compactor(
        turn_id=turn_id,
        scope=scope,
        provider=loadout.provider,
        memory=Memory(keep.conversation, keep.work, keep.meter, spending, lambda: keep.controls["mode"]),
        prefix=keep.prefix,
        thresholds=loadout.limits.compaction,
        record=keep.record,
        emit=host.emit,
        hooks=hooks,
        automatic=lambda: keep.controls[AUTO_COMPACT] == "on",
        again=lambda: _again(keep, notes()),
        may_ask=lambda: keep.ceiling.passed(spending, loadout.provider.currency) is None,
        tell=tell,
    )


def _again(keep: Keep, notes: str) -> tuple[str, ...]:
    """What the model is told once in a session, or once in a mode."""
    return preface(keep.row.cwd), notes, keep.context, _marker(keep)


def _marker(keep: Keep) -> str:
    now, goal = keep.controls["mode"], keep.goals.current
    if now == mode.GOAL and goal is not None:
        return words.resumed(goal.objective, goal.phase == "working")
    return words.PLAN if now == mode.PLAN else ""


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens that the next request takes, roughly, of the window's `size`; those of the session in all; what it cost so
    far, None where no price is known; what it may use of both. `at`: the share of the window at which the conversation
    is summarised."""

    used: int
    size: int
    tokens: int
    cost: float | None
    currency: str
    ceiling: Ceiling
    at: float


@dataclass(frozen=True, slots=True)
class SessionUpkeep:
    """`services.Upkeep` in one turn. `has_unsaved`: whether an editor has text of a file that the disk has not;
    `asked` counts what `ask` took."""

    store: Store
    keep: Keep
    host: Host
    turn_id: str
    scope: Scope
    hooks: TurnHooks
    has_unsaved: Callable[[str, Scope], bool] = lambda path, scope: False
    asked: Spending = field(default_factory=Spending)

    def compact(self, instructions: str) -> Compacted | None:
        keep = self.keep
        spending = Spending(keep.cost, keep.tokens)
        try:
            done = compactor(keep, self.turn_id, self.scope, self.host, self.hooks, spending).compact(
                "person", instructions
            )
        finally:
            keep.cost, keep.tokens = spending.cost, spending.tokens
        if done is not None:
            keep.spoken, keep.told_context = False, ""
        return done

    def ask(self, system: str, text: str) -> Written:
        keep, provider = self.keep, self.keep.loadout.provider
        spending = Spending(keep.cost, keep.tokens)
        passed = keep.ceiling.passed(spending, provider.currency)
        if passed is not None:
            raise OurFault(Phrase(passed.code, **passed.params))
        try:
            written = answered(provider, system, text, self.scope, keep.loadout.limits.compaction.seconds)
        except ProviderFault as fault:
            raise provider_fault(fault) from None
        if written.usage is not None:
            spending.add(provider, written.usage)
            self.asked.add(provider, written.usage)
            keep.cost, keep.tokens = spending.cost, spending.tokens
            budget = self.budget()
            self.host.emit(UsageChanged(min(budget.used, budget.size), budget.size, keep.cost, budget.currency, True))
        return written

    def points(self) -> list[Point]:
        return self._rewinder().points()

    def rewind(self, point: Point, with_files: bool) -> list[str]:
        done = self._rewinder().rewind(point, with_files)
        self.host.emit(PlanChanged(self.keep.work.todo))
        self.host.emit(usage(done))
        return list(done.files)

    def budget(self) -> Budget:
        keep, provider = self.keep, self.keep.loadout.provider
        used = compactor(keep, self.turn_id, self.scope, self.host, self.hooks, Spending()).used()
        limits = keep.loadout.limits
        return Budget(
            used=used,
            size=provider.context_window,
            tokens=keep.tokens,
            cost=keep.cost,
            currency=provider.currency,
            ceiling=keep.ceiling,
            at=limits.compaction.at,
        )

    def _rewinder(self) -> Rewinder:
        return Rewinder(self.keep, self.store, self.turn_id, self.scope, self.has_unsaved)
