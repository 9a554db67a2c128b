"""What permission rules are about: which paths, which hosts. What they say of commands is in `lines`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from acpagent.core.paths import Roots, within
from acpagent.core.rules import Rule, balanced, parse

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_MEANS_SOMETHING = re.compile(r"[\\*?\[\]]| $")
_BRACKET = re.compile(r"[()]")
_FREE = re.compile(r"[*?\[\\]")


class PermissionSettings(Protocol):
    """Rules as people wrote them."""

    @property
    def allow(self) -> tuple[str, ...]: ...
    @property
    def ask(self) -> tuple[str, ...]: ...
    @property
    def deny(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules of a configuration; frozen, so that they are exchanged as a whole."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()


NO_RULES = Rules()


def read(settings: PermissionSettings) -> Rules:
    """The rules of a configuration. Raises `RuleError`: a rule that is not understood cannot be kept."""
    allow, ask, deny = (tuple(parse(text) for text in texts) for texts in (settings.allow, settings.ask, settings.deny))
    return Rules(allow, ask, deny)


def matches_host(rule: Rule, host: str) -> bool:
    """Whether the rule is about a host: the one that it names, or one below it."""
    return rule.is_whole or host == rule.domain or (rule.literal is None and host.endswith(f".{rule.domain}"))


def matches_path(rule: Rule, path: str, roots: Roots, *, anywhere: bool) -> bool:
    """Whether the rule is about this resolved path. A relative pattern reads like a line of .gitignore in each root
    (`./` ties it to the root itself); `anywhere` lets a bare name, and no pattern at all, also mean what lies outside
    the roots."""
    if rule.literal is not None:
        return _is_meant(rule.literal, path, roots)
    if rule.pattern is None:
        return anywhere or roots.contains(path)
    if is_absolute(rule):
        return _hits(rule.pattern, path.lstrip("/"))
    inside = [os.path.relpath(path, root) for root in roots.all if within(path, root)]
    if not inside and anywhere and _is_bare(rule.pattern):
        inside = [path.lstrip("/")]
    return any(_hits(rule.pattern, relative) for relative in inside)


def may_match_below(rule: Rule, directory: str, roots: Roots) -> bool:
    """Whether the rule can be about something in this directory; True in doubt."""
    if rule.literal is not None:
        places = [os.path.join(root, os.path.expanduser(rule.literal)) for root in roots.all]
        return any(within(os.path.realpath(place), directory) for place in places)
    if rule.pattern is None or _is_bare(rule.pattern):
        return True
    starts = ("/",) if is_absolute(rule) else roots.all
    fixed = [os.path.realpath(os.path.join(start, _split(rule.pattern)[0])) for start in starts]
    return any(within(place, directory) or within(directory, place) for place in fixed)


def is_absolute(rule: Rule) -> bool:
    return (rule.pattern or "").startswith(("/", "~/"))


def fixed_place(rule: Rule) -> str:
    """The place that an absolute pattern without anything free in it names, resolved; else nothing."""
    fixed, free = _split((rule.pattern or "").rstrip("/"))
    return "" if free else os.path.realpath(fixed)


def path_rule(group: str, relative: str) -> str:
    """The rule for exactly one path, which is relative to a root or absolute."""
    return f"{group}({'' if relative.startswith('/') else './'}{literal(relative)})"


def literal(path: str) -> str:
    """A pattern that matches just this path."""
    pattern = _MEANS_SOMETHING.sub(r"\\\g<0>", path)
    return pattern if balanced(pattern) else _BRACKET.sub(r"\\\g<0>", pattern)


def _is_meant(named: str, path: str, roots: Roots) -> bool:
    spelled = os.path.expanduser(named) if named.startswith("~/") else named
    return any(os.path.realpath(os.path.join(root, spelled)) == path for root in roots.all)


def _is_bare(pattern: str) -> bool:
    return "/" not in pattern.rstrip("/")


def _hits(pattern: str, relative: str) -> bool:
    spec = _spec(pattern, os.path.expanduser("~") if pattern.startswith("~/") else "")
    return spec.match_file(relative) or spec.match_file(f"{relative}/")


@lru_cache(maxsize=1024)
def _spec(pattern: str, home: str) -> GitIgnoreSpec:
    """`home` only tells apart what was made for one home directory from what is for another."""
    from pathspec import GitIgnoreSpec  # slow to import, and few have rules about paths

    if pattern.startswith(("/", "~/")):
        fixed, free = _split(pattern)
        resolved = os.path.realpath(fixed)  # /etc may be a link; the paths to judge are resolved
        places = dict.fromkeys((fixed, resolved.rstrip("/") + "/" * (bool(free) or pattern.endswith("/"))))
        return GitIgnoreSpec.from_lines([literal(place) + free for place in places])
    if pattern.startswith("./"):
        pattern = pattern[1:]
    return GitIgnoreSpec.from_lines([f"\\{pattern}" if pattern.startswith(("!", "#")) else pattern])


def _split(pattern: str) -> tuple[str, str]:
    """A pattern as the directories it names outright and the rest, `~/` made the home directory."""
    pattern = os.path.expanduser(pattern) if pattern.startswith("~/") else pattern
    free = _FREE.search(pattern)
    end = len(pattern) if free is None else pattern.rfind("/", 0, free.start()) + 1
    return pattern[:end], pattern[end:]
