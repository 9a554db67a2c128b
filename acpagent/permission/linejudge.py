"""Judging a command line: in the same order as any effect, and the worst of its steps says what the line is."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from acpagent.core.host import Choice
from acpagent.core.paths import Roots, within
from acpagent.core.rules import Rule, parse
from acpagent.core.toolcalls import Effect
from acpagent.permission import effects, lines, protected, rules
from acpagent.permission.commands import Step
from acpagent.permission.lines import Line
from acpagent.permission.verdicts import (
    ALL,
    ALLOWED,
    DIRECTORY,
    KEPT,
    ONCE,
    Terms,
    Verdict,
    forbidden,
    speaks_of,
    written,
)


def judge(tool: str, command: str, terms: Terms) -> Verdict:
    """Whether a command line may run in the working directory."""
    line = lines.read(command, _readable(terms))
    verdict = _refused(tool, line, terms) or _asked(tool, line, terms) or ALLOWED
    return replace(verdict, argv=line.script.argv or ()) if verdict.action == "ask" else verdict


def _refused(tool: str, line: Line, terms: Terms) -> Verdict | None:
    for rule in terms.rules.deny:
        if line.is_about(rule) if _is_for_commands(rule, tool) else _touches(rule, line, terms):
            return forbidden(rule)
    return None


def _asked(tool: str, line: Line, terms: Terms) -> Verdict | None:
    """What is to be asked of a line that no rule forbids; None: it may run."""
    if any(terms.is_protected(effect) for step in line.steps for effect in _protectable(step)):
        return Verdict("ask", protected.REASON, "", ONCE)
    if _decides_trust(line, terms):
        return Verdict("ask", protected.OURS, "", ONCE)
    if _is_meant(line, terms.granted):
        return None
    meant = _is_meant(line, terms.rules.allow)
    doubt = "" if meant else _doubt(tool, line, terms)
    if terms.approval == "yolo":
        return _whole(line, doubt, KEPT, terms) if doubt else None
    for rule in terms.rules.ask:
        if line.may_be_about(rule) if _is_for_commands(rule, tool) else _touches(rule, line, terms):
            return _whole(line, f"the rule {rule.text} asks", ALL, terms)
    if doubt:
        return _whole(line, doubt, KEPT, terms)
    if meant:
        return None
    if line.script.doubts:
        return _whole(line, line.script.doubts[0], ALL, terms)
    return _by_steps(line, terms)


def _decides_trust(line: Line, terms: Terms) -> bool:
    """Whether a line that does more than read names what the agent itself goes by. Where a root lies in its directory,
    the place alone says nothing."""
    if all(step.level == "reads" for step in line.steps):
        return False
    kept = [place for place in terms.kept if not any(within(root, place) for root in terms.roots.all)]
    said = (line.text, *(" ".join(step.words) for step in line.steps))
    if any(protected.decides_trust(text, kept) for text in said):
        return True
    return any(within(path, place) for path in line.places(terms.roots) for place in kept)


def _is_meant(line: Line, allowing: tuple[Rule, ...]) -> bool:
    """Whether one of these rules is this line to the letter."""
    return any(rule.covers("bash") and rule.literal == line.text for rule in allowing)


def _touches(rule: Rule, line: Line, terms: Terms) -> bool:
    """Whether a line uses a file that a rule is about. What the rule says of commands is not meant here."""
    return any(terms.is_about(rule, "", effect) for step in line.steps for effect in _effects(step))


def _doubt(tool: str, line: Line, terms: Terms) -> str:
    """Why a deny rule may be about a line although that does not show, or nothing."""
    for rule in terms.rules.deny:
        if _is_for_commands(rule, tool):
            unclear = line.may_be_about(rule)
        else:
            unclear = any(_may_touch(rule, line, step, terms) for step in line.steps)
        if unclear:
            return f"it cannot be told whether the rule {rule.text} forbids it"
    return ""


def _may_touch(rule: Rule, line: Line, step: Step, terms: Terms) -> bool:
    """Whether a step may use a file that a rule about paths names."""
    reads, writes = rule.covers("read_file"), rule.covers("edit_file")
    if not reads and (not writes or step.level == "reads"):
        return False
    if step.opaque or (step.lost and not lines.shows_names_only(step)):
        return True
    used = set[str]()
    searched = set[str]()  # where files are looked up, so that it is known which of them are meant
    for word in line.unclear_words(step):
        found = lines.matching_files(word, terms.roots.all[0])
        if found is None:
            return True
        searched.add(terms.roots.resolve(os.path.dirname(word.lead) or os.curdir))
        used.update(found)
    for effect in _effects(step):
        shows = effect.kind == "write" or not lines.shows_names_only(step)
        if effect.path and effect.below and shows and speaks_of(rule, "", effect):
            used.update({effect.path} - searched)
    if any(_is_or_holds(rule, path, terms) for path in used):
        return True
    return any(rules.matches_path(rule, path, terms.roots, anywhere=True) for path in line.mentions(step, terms.roots))


def _is_or_holds(rule: Rule, path: str, terms: Terms) -> bool:
    if rules.matches_path(rule, path, terms.roots, anywhere=True):
        return True
    return os.path.isdir(path) and rules.may_match_below(rule, path, terms.roots)


def _by_steps(line: Line, terms: Terms) -> Verdict | None:
    """What is left to ask of a line once every step is looked at for itself."""
    left = [step for step in line.steps if not _is_let(line, step, terms)]
    if not left:
        return None
    reason = "; ".join(dict.fromkeys(step.reason or "it runs a command" for step in left))
    outside = list(dict.fromkeys(path for step in left for path in _outside(step, terms)))
    if outside:
        return _leaving(outside, left, reason, terms)
    if len(left) == 1 and (rule := _grant_for(left[0])) and line.is_let(parse(rule), left[0], terms.roots):
        return terms.asking(reason, rule, ALL)
    return _whole(line, reason, ALL, terms)


def _is_let(line: Line, step: Step, terms: Terms) -> bool:
    if next(_outside(step, terms), None) is not None:
        return False
    if step.level == "reads" or (step.level == "acts" and terms.approval == "auto"):
        return True
    return any(rule.covers("bash") and line.is_let(rule, step, terms.roots) for rule in terms.allowing)


def _outside(step: Step, terms: Terms) -> Iterator[str]:
    """Paths of a step outside the roots that no rule lets it use."""
    for effect in _effects(step):
        leaves = effect.path is not None and not terms.roots.contains(effect.path)
        if effect.path is not None and leaves and not terms.covers_file(terms.allowing, effect):
            yield effect.path


def _leaving(outside: list[str], left: list[Step], reason: str, terms: Terms) -> Verdict:
    """A line that leaves the roots is asked for each time, unless it is for one directory. A redirection to a directory
    is none: what it may be used for would not make it work."""
    [place, *others] = outside
    if others or not os.path.isdir(place) or not all(step.words for step in left):
        return Verdict("ask", reason, "", ONCE)
    kind: Literal["read", "write"] = "write" if any(place in step.writes for step in left) else "read"
    return effects.question("", Effect(kind, place), reason, DIRECTORY, terms)


def _whole(line: Line, reason: str, choices: tuple[Choice, ...], terms: Terms) -> Verdict:
    """Ask; what can be remembered is the line to the letter."""
    return terms.asking(reason, f"Bash={line.text}", choices)


def _grant_for(step: Step) -> str:
    """The rule for what a step is about, if there is one that is safe to grant."""
    rule = f"Bash({shlex.join(step.prefix)}:*)" if step.prefix else ""
    return rule if rule and written(rule) else ""


def _readable(terms: Terms) -> Roots:
    """The roots, and the directories that rules let be used: each path of a line is looked at for itself later."""
    places = [rules.fixed_place(rule) for rule in terms.allowing if rules.is_absolute(rule)]
    more = [place for place in places if os.path.isdir(place)]
    return Roots(terms.roots.cwd, [*terms.roots.all[1:], *more]) if more else terms.roots


def _is_for_commands(rule: Rule, tool: str) -> bool:
    return rule.covers("bash") or rule.covers(tool)


def _protectable(step: Step) -> Iterator[Effect]:
    """What a step does to files, or may do to those that it names."""
    yield from _effects(step)
    if step.level != "reads":
        yield from (Effect("write", path) for path in step.named)


def _effects(step: Step) -> Iterator[Effect]:
    """What a step does to files, in the terms of tools."""
    for path in step.reads:
        yield Effect("read", path, below=os.path.isdir(path))
    for path in step.writes:
        yield Effect("write", path, below=os.path.isdir(path))
