"""Verdicts, and the terms on which they are reached: the rules, approval and grants as they stand at one moment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from acpagent.core.catalogue import Phrase
from acpagent.core.host import Choice
from acpagent.core.paths import Roots
from acpagent.core.rules import Rule, RuleError, parse
from acpagent.core.toolcalls import Effect
from acpagent.permission import protected, rules
from acpagent.permission.rules import Rules

Action = Literal["allow", "ask", "deny"]
Approval = Literal["ask", "auto", "yolo"]

ALL: tuple[Choice, ...] = ("deny", "once", "session", "repo", "full")
KEPT: tuple[Choice, ...] = ("deny", "once", "session", "repo")
DIRECTORY: tuple[Choice, ...] = ("deny", "once", "session")
ONCE: tuple[Choice, ...] = ("deny", "once")
REMEMBERING = frozenset({"session", "repo"})

# Effect -> the rules that speak of it, whatever the tool that has it is called.
_SPEAKS_OF = {"read": "read_file", "write": "edit_file", "execute": "bash"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says. For `ask`: why, the choices to offer, and the rule that `session` and `repo` would grant; for
    `deny`: why, the rule that forbids it, or `barred` where the mode does. `argv` are the words of a call that is a
    single static command."""

    action: Action
    reason: str = ""
    rule: str = ""
    choices: tuple[Choice, ...] = ()
    barred: bool = False
    argv: tuple[str, ...] = ()


ALLOWED = Verdict("allow")


@dataclass(frozen=True, slots=True)
class Terms:
    """How things stand while one call is judged. `kept` are directories that are protected wherever they lie; `keeps`
    says whether something can be granted for the repository."""

    rules: Rules
    roots: Roots
    approval: Approval = "ask"
    granted: tuple[Rule, ...] = ()
    kept: tuple[str, ...] = ()
    keeps: bool = True

    @property
    def allowing(self) -> tuple[Rule, ...]:
        return (*self.rules.allow, *self.granted)

    def is_about(self, rule: Rule, tool: str, effect: Effect) -> bool:
        """Whether a deny or ask rule speaks of an effect: in doubt, yes."""
        if not speaks_of(rule, tool, effect):
            return False
        if effect.host is not None:
            return rules.matches_host(rule, effect.host)
        if effect.path is not None:
            return rules.matches_path(rule, effect.path, self.roots, anywhere=True)
        return True

    def covers(self, allowing: Iterable[Rule], tool: str, effect: Effect) -> bool:
        """Whether one of these rules lets an effect of a tool be."""
        return any(rule.covers(tool) and self._lets(rule, effect) for rule in allowing)

    def covers_file(self, allowing: Iterable[Rule], effect: Effect) -> bool:
        """Whether one of these rules lets a file be used, by whatever."""
        return any(speaks_of(rule, "", effect) and self._lets(rule, effect) for rule in allowing)

    def _lets(self, rule: Rule, effect: Effect) -> bool:
        if effect.path is not None:
            return rules.matches_path(rule, effect.path, self.roots, anywhere=False)
        if effect.host is not None:
            return rules.matches_host(rule, effect.host)
        return rule.is_whole

    def is_protected(self, effect: Effect) -> bool:
        """Whether a person is to decide about an effect each time."""
        if effect.kind != "write" or effect.path is None:
            return False
        if protected.is_protected(effect.path, self.roots.relative(effect.path), self.kept):
            return True
        return effect.below and protected.holds_protected(effect.path, self.kept)

    def asking(self, reason: str, rule: str, choices: tuple[Choice, ...]) -> Verdict:
        """The question, without offering what cannot be: to remember a rule that cannot be written, or for a
        repository nobody keeps."""
        if not rule or not written(rule):
            choices = tuple(choice for choice in choices if choice not in REMEMBERING)
        elif not self.keeps:
            choices = tuple(choice for choice in choices if choice != "repo")
        return Verdict("ask", reason, "" if REMEMBERING.isdisjoint(choices) else rule, choices)


def speaks_of(rule: Rule, tool: str, effect: Effect) -> bool:
    return rule.covers(tool) or rule.covers(_SPEAKS_OF.get(effect.kind, tool))


def forbidden(rule: Rule) -> Verdict:
    return Verdict("deny", Phrase("rule_forbids", rule=rule.text), rule.text)


def written(rule: str) -> bool:
    """Whether a rule can be written so."""
    try:
        parse(rule)
    except RuleError:
        return False
    return True


def joined(asked: list[Verdict]) -> Verdict:
    """Several questions as one; there is no one rule to remember for them."""
    reasons = "; ".join(dict.fromkeys(verdict.reason for verdict in asked))
    common = [choice for choice in asked[0].choices if all(choice in verdict.choices for verdict in asked)]
    return Verdict("ask", reasons, "", tuple(choice for choice in common if choice not in REMEMBERING))
