"""The gate: whether a call may run, must be asked for, or is refused."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from acpagent.core.host import Choice
from acpagent.core.paths import Roots
from acpagent.core.toolcalls import Effect, Proposal
from acpagent.permission import rules
from acpagent.permission.rules import Rule

Action = Literal["allow", "ask", "deny"]
Approval = Literal["ask", "auto", "yolo"]

# Effect -> the rules that speak of it, whatever the tool that has it is called.
_SPEAKS_OF = {"read": "read_file", "write": "edit_file", "execute": "bash"}
# Tools that show what is in the files below the path they are given.
_LOOKS_BELOW = frozenset({"grep"})
# Tools that whoever lets them edit has not let delete.
_DELETES = frozenset({"delete_file"})
# Directories of which a change can make other programs run something.
_PROTECTED = frozenset({".git", ".acpagent"})

_ALL: tuple[Choice, ...] = ("deny", "once", "session", "full")
_REMEMBERED: tuple[Choice, ...] = ("deny", "once", "session")
_ONCE: tuple[Choice, ...] = ("deny", "once")


class PermissionSettings(Protocol):
    """Rules as people wrote them."""

    @property
    def allow(self) -> tuple[str, ...]: ...
    @property
    def ask(self) -> tuple[str, ...]: ...
    @property
    def deny(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says. For `ask`: why, the choices to offer, and the rule that `session` would grant."""

    action: Action
    reason: str = ""
    rule: str = ""
    choices: tuple[Choice, ...] = ()


_ALLOWED = Verdict("allow")
_ANYTHING = Effect("network")  # stands for what a call does not tell


@dataclass(frozen=True, slots=True)
class _Granted:
    """How things stand while one call is judged."""

    approval: Approval
    commands: frozenset[str]
    rules: tuple[Rule, ...]


class Gate:
    """One per session. Any thread may use it; its lock is a leaf that guards `approval` and what was granted.

    Raises ValueError for a setting that is no rule: a rule that is not understood cannot be kept.
    """

    def __init__(self, settings: PermissionSettings, roots: Roots, approval: Approval = "ask") -> None:
        self.roots = roots
        self._allow, self._ask, self._deny = (
            tuple(rules.parse(text) for text in texts)
            for texts in (settings.allow, settings.ask, settings.deny)
        )
        self._lock = threading.Lock()
        self._granted = _Granted(approval, frozenset(), ())

    @property
    def approval(self) -> Approval:
        return self._granted.approval

    @approval.setter
    def approval(self, value: Approval) -> None:
        with self._lock:
            self._granted = replace(self._granted, approval=value)

    def grant_session(self, rule: str) -> None:
        """Keep a rule, as `Verdict.rule` spells it, until the session ends. One for a command is that command,
        letter by letter."""
        command = _command_of(rule)
        added = rules.parse(rule) if command is None else None
        with self._lock:
            granted = self._granted
            if command is not None:
                self._granted = replace(granted, commands=granted.commands | {command})
            elif added is not None:
                self._granted = replace(granted, rules=(*granted.rules, added))

    def judge(self, tool_name: str, proposal: Proposal) -> Verdict:
        """Judge all effects of a call; the strictest verdict counts. A call that names none is asked for."""
        granted = self._granted
        effects = proposal.effects or (_ANYTHING,)
        verdicts = [self._judge(tool_name, effect, granted) for effect in effects]
        denied = [verdict for verdict in verdicts if verdict.action == "deny"]
        asked = list(dict.fromkeys(verdict for verdict in verdicts if verdict.action == "ask"))
        if denied or not asked:
            return denied[0] if denied else _ALLOWED
        return asked[0] if len(asked) == 1 else _joined(asked)

    def _judge(self, tool: str, effect: Effect, granted: _Granted) -> Verdict:
        """One effect, in the order that decides: deny rules, what the person granted, ask rules, allow rules,
        then what the effect is and where it lies."""
        for rule in self._deny:
            if self._is_about(rule, tool, effect):
                return Verdict("deny", f"the rule {rule.text} forbids it")
        if self._was_granted(tool, effect, granted):
            return _ALLOWED
        doubt = self._doubt(tool, effect)
        if granted.approval == "yolo":
            return self._question(tool, effect, doubt, _REMEMBERED) if doubt else _ALLOWED
        for rule in self._ask:
            if self._is_about(rule, tool, effect):
                return self._question(tool, effect, f"the rule {rule.text} asks", _ALL)
        if doubt:
            return self._question(tool, effect, doubt, _REMEMBERED)
        if self._is_allowed(tool, effect, granted):
            return _ALLOWED
        return self._by_nature(tool, effect, granted.approval)

    def _is_about(self, rule: Rule, tool: str, effect: Effect) -> bool:
        """Whether a deny or ask rule speaks of an effect: in doubt, yes."""
        if not self._speaks_of(rule, tool, effect):
            return False
        if effect.command is not None:
            return rule.matches_command(effect.command)
        if effect.host is not None:
            return rule.matches_host(effect.host)
        if effect.path is not None:
            return rule.matches_path(effect.path, self.roots, anywhere=True)
        return True

    @staticmethod
    def _speaks_of(rule: Rule, tool: str, effect: Effect) -> bool:
        return rule.covers(tool) or rule.covers(_SPEAKS_OF.get(effect.kind, tool))

    def _was_granted(self, tool: str, effect: Effect, granted: _Granted) -> bool:
        """Whether the person said yes to this very command or path before. A yes to a whole group of calls counts
        later, below the ask rules."""
        if effect.kind == "execute":
            return effect.command in granted.commands
        specific = [rule for rule in granted.rules if rule.pattern is not None]
        return self._covers(specific, tool, effect)

    def _is_allowed(self, tool: str, effect: Effect, granted: _Granted) -> bool:
        """Whether an allow rule lets it be. None does for a command: text alone does not tell what it does."""
        if effect.kind == "execute" or _is_protected(effect, self.roots):
            return False
        return self._covers((*self._allow, *granted.rules), tool, effect)

    def _covers(self, allowing: Iterable[Rule], tool: str, effect: Effect) -> bool:
        for rule in allowing:
            if not rule.covers(tool):
                continue
            if effect.path is not None:
                matches = rule.matches_path(effect.path, self.roots, anywhere=False)
            elif effect.host is not None:
                matches = rule.matches_host(effect.host)
            else:
                matches = rule.pattern is None
            if matches:
                return True
        return False

    def _doubt(self, tool: str, effect: Effect) -> str:
        """Why a deny rule may be about an effect although it does not show, or nothing."""
        if effect.kind == "execute":
            kept = [rule for rule in self._deny if rule.covers("bash")]
            return f"it cannot be told whether the rule {kept[0].text} forbids it" if kept else ""
        if effect.path is not None and (effect.below or (tool in _LOOKS_BELOW and os.path.isdir(effect.path))):
            for rule in self._deny:
                if self._speaks_of(rule, tool, effect) and rule.may_match_below(effect.path, self.roots):
                    does = "show" if effect.kind == "read" else "change"
                    return f"it may {does} what the rule {rule.text} forbids"
        return ""

    def _by_nature(self, tool: str, effect: Effect, approval: Approval) -> Verdict:
        """What the mode says of an effect that no rule speaks of."""
        if effect.kind in ("plan", "question", "job"):
            return _ALLOWED
        if effect.kind == "execute":
            return self._question(tool, effect, "it runs a command", _ALL)
        if effect.kind == "network":
            return self._question(tool, effect, "it reaches beyond the working directories", _ALL)
        if effect.path is None:
            return self._question(tool, effect, "it does not say where", _ONCE)
        if not self.roots.contains(effect.path):
            return self._question(tool, effect, "it is outside the working directories", _ALL)
        if effect.kind == "read":
            return _ALLOWED
        if _is_protected(effect, self.roots):
            return self._question(tool, effect, "a change there can make other programs run commands", _ONCE)
        if approval == "auto":
            return _ALLOWED
        reason, rule = ("it deletes", "Delete") if tool in _DELETES else ("it changes a file", "Edit")
        return Verdict("ask", reason, rule, _ALL)

    def _question(self, tool: str, effect: Effect, reason: str, choices: tuple[Choice, ...]) -> Verdict:
        """Ask, offering no more than fits: outside the roots only a directory can be remembered, and what would
        be remembered must be a rule that can be written."""
        rule = self._narrowest_rule(tool, effect)
        if effect.path is not None and not self.roots.contains(effect.path):
            choices = _REMEMBERED if os.path.isdir(effect.path) else _ONCE
        if not rule:
            choices = tuple(choice for choice in choices if choice != "session")
        return Verdict("ask", reason, rule if "session" in choices else "", choices)

    def _narrowest_rule(self, tool: str, effect: Effect) -> str:
        """The rule for exactly this command or path; a directory stands for all that is in it."""
        if effect.command is not None:
            return f"Bash({effect.command})"
        if effect.host is not None:
            return f"Fetch(domain:{effect.host})"
        if effect.path is None:
            return tool
        if not effect.path.isprintable():  # some such names cannot be written as a pattern, nor judged by eye
            return ""
        group = "Delete" if tool in _DELETES else "Read" if effect.kind == "read" else "Edit"
        if tool in _LOOKS_BELOW and self.roots.contains(effect.path):
            group = "Grep"
        relative = self.roots.relative(effect.path)
        return rules.path_rule(group, effect.path if relative == os.curdir else relative)


def _joined(asked: list[Verdict]) -> Verdict:
    """Several questions as one; there is no one rule to remember for them."""
    reasons = "; ".join(dict.fromkeys(verdict.reason for verdict in asked))
    common = [choice for choice in asked[0].choices if all(choice in verdict.choices for verdict in asked)]
    return Verdict("ask", reasons, "", tuple(choice for choice in common if choice != "session"))


def _command_of(rule: str) -> str | None:
    return rule[len("Bash(") : -1] if rule.startswith("Bash(") and rule.endswith(")") else None


def _is_protected(effect: Effect, roots: Roots) -> bool:
    if effect.kind != "write" or effect.path is None:
        return False
    return not _PROTECTED.isdisjoint(roots.relative(effect.path).split("/"))
