"""Judging one effect of a call that is no command line."""

from __future__ import annotations

import os

from acpagent.core.host import Choice
from acpagent.core.toolcalls import Effect
from acpagent.permission import protected, rules
from acpagent.permission.verdicts import (
    ALL,
    ALLOWED,
    DIRECTORY,
    KEPT,
    ONCE,
    REMEMBERING,
    Terms,
    Verdict,
    forbidden,
    speaks_of,
)

# Tools that show what is in the files below the path they are given.
_LOOKS_BELOW = frozenset({"grep"})
# Tools that whoever lets them edit has not let delete.
_DELETES = frozenset({"delete_file"})
_OF_THE_SESSION = frozenset({"plan", "question", "job", "end_job", "recall"})


def judge(tool: str, effect: Effect, terms: Terms) -> Verdict:
    """In the order that decides: deny rules, what a person decides each time, what the person granted, ask rules, allow
    rules, then what the effect is and where it lies."""
    for rule in terms.rules.deny:
        if terms.is_about(rule, tool, effect):
            return forbidden(rule)
    if terms.is_protected(effect):
        return Verdict("ask", protected.REASON, "", ONCE)
    if terms.covers([rule for rule in terms.granted if not rule.is_whole], tool, effect):
        return ALLOWED  # this very thing; a yes to all calls of a tool counts below the ask rules
    doubt = _doubt(tool, effect, terms)
    if terms.approval == "yolo":
        return question(tool, effect, doubt, KEPT, terms) if doubt else ALLOWED
    for rule in terms.rules.ask:
        if terms.is_about(rule, tool, effect):
            return question(tool, effect, f"the rule {rule.text} asks", ALL, terms)
    if doubt:
        return question(tool, effect, doubt, KEPT, terms)
    if terms.covers(terms.allowing, tool, effect):
        return ALLOWED
    return _by_nature(tool, effect, terms)


def question(tool: str, effect: Effect, reason: str, choices: tuple[Choice, ...], terms: Terms) -> Verdict:
    """Ask, offering no more than fits: outside the roots only a directory can be remembered."""
    if effect.path is not None and not terms.roots.contains(effect.path):
        choices = DIRECTORY if os.path.isdir(effect.path) else ONCE
    rule = "" if REMEMBERING.isdisjoint(choices) else _narrowest_rule(tool, effect, terms)
    return terms.asking(reason, rule, choices)


def _doubt(tool: str, effect: Effect, terms: Terms) -> str:
    """Why a deny rule may be about an effect although it does not show, or nothing."""
    if effect.path is not None and (effect.below or (tool in _LOOKS_BELOW and os.path.isdir(effect.path))):
        for rule in terms.rules.deny:
            if speaks_of(rule, tool, effect) and rules.may_match_below(rule, effect.path, terms.roots):
                does = "show" if effect.kind == "read" else "change"
                return f"it may {does} what the rule {rule.text} forbids"
    return ""


def _by_nature(tool: str, effect: Effect, terms: Terms) -> Verdict:
    """What the approval says of an effect that no rule speaks of."""
    if effect.kind in _OF_THE_SESSION:
        return ALLOWED
    if effect.kind == "memory":
        kept = terms.asking("it keeps a note for later sessions", tool, ALL)
        return ALLOWED if terms.approval == "auto" else kept
    if effect.kind == "network":
        return question(tool, effect, "it reaches beyond the working directories", ALL, terms)
    if effect.path is None:
        return question(tool, effect, "it does not say what it does", ONCE, terms)
    if not terms.roots.contains(effect.path):
        return question(tool, effect, "it is outside the working directories", ALL, terms)
    if effect.kind == "read" or terms.approval == "auto":
        return ALLOWED
    reason, rule = ("it deletes", "Delete") if tool in _DELETES else ("it changes a file", "Edit")
    return terms.asking(reason, rule, ALL)


def _narrowest_rule(tool: str, effect: Effect, terms: Terms) -> str:
    """The rule for exactly this host or path; a directory stands for all that is in it."""
    if effect.host is not None:
        return f"Fetch(domain:{effect.host})"
    if effect.path is None:
        return tool
    if not effect.path.isprintable():  # some such names cannot be written as a pattern, nor judged by eye
        return ""
    group = "Delete" if tool in _DELETES else "Read" if effect.kind == "read" else "Edit"
    if tool in _LOOKS_BELOW and terms.roots.contains(effect.path):
        group = "Grep"
    relative = terms.roots.relative(effect.path)
    return rules.path_rule(group, effect.path if relative == os.curdir else relative)
