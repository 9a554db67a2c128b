"""Permission rules as people write them: `Edit`, `Edit(docs/**)`, `Read(~/.ssh)`, `Bash(npm test:*)`,
`Fetch(domain:example.org)`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING

from acpagent.core.paths import Roots, within

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# What people call the tools -> the tools. Whatever else is written is the name of one tool.
GROUPS: Mapping[str, frozenset[str]] = {
    "Bash": frozenset({"bash"}),
    "Fetch": frozenset({"web_fetch"}),
    "WebFetch": frozenset({"web_fetch"}),
    "Read": frozenset({"read_file", "list_dir", "glob", "grep", "view_image"}),
    "Edit": frozenset({"write_file", "edit_file", "multi_edit", "move_file"}),
    "Write": frozenset({"write_file", "edit_file", "multi_edit", "move_file"}),
    "MultiEdit": frozenset({"multi_edit"}),
    "Move": frozenset({"move_file"}),
    "Delete": frozenset({"delete_file"}),
    "ViewImage": frozenset({"view_image"}),
    "JobOutput": frozenset({"job_output"}),
    "JobKill": frozenset({"job_kill"}),
    "LS": frozenset({"list_dir"}),
    "Glob": frozenset({"glob"}),
    "Grep": frozenset({"grep"}),
    "TodoWrite": frozenset({"todo_write"}),
}
_SPELLINGS = {group.lower(): group for group in GROUPS}
_FORM = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_PREFIX = ":*"
_DOMAIN = "domain:"
_HOST = re.compile(r"[A-Za-z0-9._:-]*[A-Za-z0-9][A-Za-z0-9._:-]*")
_STEPS = re.compile(r"&&|\|\||[;|&\n]")  # between simple commands, as far as text can tell
_MEANS_SOMETHING = re.compile(r"[\\*?\[\]]| $")
_FREE = re.compile(r"[*?\[\\]")


@dataclass(frozen=True)
class Rule:
    """One rule. `pattern` None means every call of the tools; `text` is the rule as written."""

    text: str
    tools: frozenset[str]
    pattern: str | None = None

    def covers(self, tool: str) -> bool:
        return tool in self.tools

    def matches_command(self, command: str) -> bool:
        """Whether the rule is about this command. Only text is looked at: one that matches may still do
        something else, so this can forbid, but not allow."""
        if self.pattern is None:
            return True
        return any(self._matches_step(step.strip()) for step in (command, *_STEPS.split(command)))

    def matches_host(self, host: str) -> bool:
        """Whether the rule is about a host: the one that `domain:` names, or one below it."""
        if self.pattern is None:
            return True
        domain = self.pattern.strip().removeprefix(_DOMAIN).strip(".").lower()
        return host == domain or host.endswith(f".{domain}")

    def matches_path(self, path: str, roots: Roots, *, anywhere: bool) -> bool:
        """Whether the rule is about this resolved path. A relative pattern reads like a line of .gitignore in
        each root (`./` ties it to the root itself); `anywhere` lets a bare name, and no pattern at all, also
        mean what lies outside the roots."""
        if self.pattern is None:
            return anywhere or roots.contains(path)
        if self._is_absolute:
            return self._hits(path.lstrip("/"))
        inside = [os.path.relpath(path, root) for root in roots.all if within(path, root)]
        if not inside and anywhere and self._is_bare:
            inside = [path.lstrip("/")]
        return any(self._hits(relative) for relative in inside)

    def may_match_below(self, directory: str, roots: Roots) -> bool:
        """Whether the rule can be about something in this directory; True in doubt."""
        if self.pattern is None or self._is_bare:
            return True
        starts = ("/",) if self._is_absolute else roots.all
        fixed = [os.path.realpath(os.path.join(start, _split(self.pattern)[0])) for start in starts]
        return any(within(place, directory) or within(directory, place) for place in fixed)

    @cached_property
    def _is_absolute(self) -> bool:
        return self.pattern is not None and self.pattern.startswith(("/", "~/"))

    @cached_property
    def _is_bare(self) -> bool:
        return "/" not in (self.pattern or "").rstrip("/")

    @cached_property
    def _spec(self) -> GitIgnoreSpec:
        from pathspec import GitIgnoreSpec  # slow to import, and few have rules about paths

        pattern = self.pattern or ""
        if self._is_absolute:
            fixed, free = _split(pattern)
            resolved = os.path.realpath(fixed)  # /etc may be a link; the paths to judge are resolved
            places = dict.fromkeys(
                (fixed, resolved.rstrip("/") + "/" * (bool(free) or pattern.endswith("/")))
            )
            return GitIgnoreSpec.from_lines([literal(place) + free for place in places])
        if pattern.startswith("./"):
            pattern = pattern[1:]
        return GitIgnoreSpec.from_lines([f"\\{pattern}" if pattern.startswith(("!", "#")) else pattern])

    def _hits(self, relative: str) -> bool:
        return self._spec.match_file(relative) or self._spec.match_file(f"{relative}/")

    def _matches_step(self, step: str) -> bool:
        pattern = (self.pattern or "").strip()
        if pattern.endswith(_PREFIX):
            words, wanted = step.split(), pattern.removesuffix(_PREFIX).split()
            return words[: len(wanted)] == wanted
        return step == pattern or fnmatchcase(step, pattern)


def parse(text: str) -> Rule:
    """A rule as written. Raises ValueError saying what is wrong with it."""
    form = _FORM.fullmatch(text)
    if form is None:
        raise ValueError(f"{text!r} is no permission rule; write Tool, Tool(pattern) or Bash(prefix:*)")
    name, pattern = form[1], form[2]
    group = _SPELLINGS.get(name.lower())
    rule = Rule(text.strip(), GROUPS[group] if group else frozenset({name}), pattern)
    if pattern is not None and not pattern.strip():
        raise ValueError(f"{text!r} has an empty pattern; write {name} for every call")
    if pattern is None or rule.tools == GROUPS["Bash"]:
        return rule
    if rule.tools == GROUPS["Fetch"]:
        _check_domain(text, pattern)
    else:
        _check_pattern(text, rule)
    return rule


def path_rule(group: str, relative: str) -> str:
    """The rule for exactly one path, which is relative to a root or absolute."""
    return f"{group}({'' if relative.startswith('/') else './'}{literal(relative)})"


def literal(path: str) -> str:
    """A pattern that matches just this path."""
    return _MEANS_SOMETHING.sub(r"\\\g<0>", path)


def _check_domain(text: str, pattern: str) -> None:
    domain = pattern.strip().removeprefix(_DOMAIN)
    if domain == pattern.strip() or not _HOST.fullmatch(domain):
        raise ValueError(f"{text!r} names no host; write Fetch(domain:example.org), in ASCII as addresses have it")


def _check_pattern(text: str, rule: Rule) -> None:
    if ".." in (rule.pattern or "").split("/"):
        raise ValueError(f"{text!r} has .. in its pattern; write an absolute path")
    try:
        rule._hits("x")
    except ValueError as fault:
        raise ValueError(f"{text!r} has a pattern that cannot be used: {fault}") from None


def _split(pattern: str) -> tuple[str, str]:
    """A pattern as the directories it names outright and the rest, `~/` made the home directory."""
    pattern = os.path.expanduser(pattern) if pattern.startswith("~/") else pattern
    free = _FREE.search(pattern)
    end = len(pattern) if free is None else pattern.rfind("/", 0, free.start()) + 1
    return pattern[:end], pattern[end:]
