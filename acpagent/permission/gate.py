"""The gate: whether a call may run, must be asked for, or is refused."""

from __future__ import annotations

import threading

from acpagent.core.paths import Roots
from acpagent.core.rules import Rule, parse
from acpagent.core.toolcalls import Effect, Proposal, Tool
from acpagent.permission import barriers, effects
from acpagent.permission.grants import RepositoryGrants
from acpagent.permission.rules import Rules
from acpagent.permission.verdicts import ALLOWED, Approval, Terms, Verdict, joined

_BARRED = Verdict("deny", barriers.REFUSAL, barred=True)
_ANYTHING = Effect("network")  # stands for what a call does not tell


class Gate:
    """One per session. Any thread may use it; its lock is a leaf that guards what was granted.

    `rules` can be exchanged for others, from the next judgement on, and what was granted stays. While `read_only` is
    set nothing that changes anything gets through. `repository` holds what was granted there, `kept` are directories
    that are protected wherever they lie.
    """

    def __init__(
        self,
        rules: Rules,
        roots: Roots,
        approval: Approval = "ask",
        repository: RepositoryGrants | None = None,
        kept: tuple[str, ...] = (),
    ) -> None:
        self.rules = rules
        self.roots = roots
        self.approval = approval
        self.read_only = False
        self._repository = repository
        self._kept = kept
        self._lock = threading.Lock()
        self._session: tuple[Rule, ...] = ()

    @property
    def session_rules(self) -> tuple[Rule, ...]:
        """What was granted for the session."""
        return self._session

    @property
    def repository_rules(self) -> tuple[Rule, ...]:
        """What was granted for the repository."""
        return self._repository.rules if self._repository is not None else ()

    def grant_session(self, rule: str) -> None:
        """Keep a rule, as `Verdict.rule` spells it, until the session ends. Raises `RuleError`."""
        added = parse(rule)
        with self._lock:
            self._session = (*(kept for kept in self._session if kept != added), added)

    def grant_repository(self, rule: str) -> None:
        """Keep a rule for the repository; returns once it is stored. Raises `RuleError`, `Fault`."""
        if self._repository is None:
            self.grant_session(rule)
        else:
            self._repository.add(parse(rule))

    def clear(self) -> None:
        """Forget what was granted for the session and for the repository. Raises `Fault`; here it is forgotten then,
        too."""
        with self._lock:
            self._session = ()
        if self._repository is not None:
            self._repository.clear()

    def judge(self, tool_name: str, proposal: Proposal) -> Verdict:
        """Judge all effects of a call; the strictest verdict counts. A call that names none is asked for."""
        if self.read_only and barriers.bars(proposal):
            return _BARRED
        terms = self._terms()
        verdicts = [_judge(tool_name, effect, terms) for effect in proposal.effects or (_ANYTHING,)]
        denied = [verdict for verdict in verdicts if verdict.action == "deny"]
        if denied:
            return denied[0]
        asked = list(dict.fromkeys(verdict for verdict in verdicts if verdict.action == "ask"))
        if not asked:
            return ALLOWED
        return asked[0] if len(asked) == 1 else joined(asked)

    def barred(self, tool: Tool, proposal: Proposal) -> str:
        """The second barrier, for right before a call acts: why it must not after all, or nothing. The mode may have
        changed since the call was judged, and the tool may have declared too little."""
        return barriers.REFUSAL if self.read_only and barriers.bars_tool(tool, proposal) else ""

    def _terms(self) -> Terms:
        granted = (*self._session, *self.repository_rules)
        return Terms(self.rules, self.roots, self.approval, granted, self._kept, self._repository is not None)


def _judge(tool: str, effect: Effect, terms: Terms) -> Verdict:
    if effect.kind == "execute" and effect.command is not None:
        from acpagent.permission import linejudge  # and all that knows about commands: with the first of them

        return linejudge.judge(tool, effect.command, terms)
    return effects.judge(tool, effect, terms)
