"""Permission rules as people write them: `Edit`, `Edit(docs/**)`, `Read(~/.ssh)`, `Bash(npm test:*)`,
`Bash=git log | head`, `Fetch(domain:example.org)`. What each is about is worked out by the gate."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from acpagent.core.catalogue import Phrase

# What people call the tools -> the tools.
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
COMMANDS, HOSTS = GROUPS["Bash"], GROUPS["Fetch"]
_PATHS = GROUPS["Read"] | GROUPS["Edit"] | GROUPS["Delete"]
# Tools about which there is nothing to say but their name.
_PLAIN = frozenset(
    {"todo_write", "job_output", "job_kill", "ask", "ask_user", "exit_plan_mode", "update_goal", "complete_step"}
    | {"connect_tool_source", "use_skill", "remember", "recall_memory"}
)
_NAMES = {name.lower(): tools for name, tools in GROUPS.items()} | {
    tool: frozenset({tool}) for tool in (COMMANDS | HOSTS | _PATHS | _PLAIN)
}
_SPELLED = {name.lower(): name for name in GROUPS} | {tool: tool for tool in _NAMES if "_" in tool}
_FORM = re.compile(r"\s*((?:mcp|plugin)__[\w.*-]*|[A-Za-z_][\w.-]*)(\s*)(.*)", re.DOTALL)
# Tools of servers and plugins: one, all of one server, those of it whose names fit, all of all.
_OF_OTHERS = re.compile(r"(?P<kind>mcp|plugin)__(?:\*|(?P<owner>(?:(?!__)[\w.-])+)(?:__(?P<tool>[\w.*-]+))?)")
_EVERY = "*"
_OPERATOR = re.compile(r"[;|&\n]")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.DOTALL)
_BRACKETS = re.compile(r"\\.|[()]", re.DOTALL)
_PREFIX = ":*"
_DOMAIN = "domain:"
_HOST = re.compile(r"[A-Za-z0-9._:-]*[A-Za-z0-9][A-Za-z0-9._:-]*")
_EXAMPLES = "Bash(npm test:*), Edit(docs/**) or Fetch(domain:example.org)"


class RuleError(ValueError):
    """A text that is no rule: `what` is wrong with it, without the text, and the `remedy`."""

    def __init__(self, text: str, what: str, remedy: str) -> None:
        super().__init__(f"{text!r} {what}; {remedy}")
        self.what = what
        self.remedy = remedy


@dataclass(frozen=True)
class Rule:
    """One rule; `text` is the rule as written. At most one of `pattern` and `literal` is set, and none means every call
    of the tools: `pattern` is what stands between the brackets, `literal` what is meant to the letter. `family` stands
    for tools of servers and plugins that are not named one by one: `*` in it is any text."""

    text: str
    tools: frozenset[str]
    pattern: str | None = None
    literal: str | None = None
    family: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether the rule is about every call of its tools."""
        return self.pattern is None and self.literal is None

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Of a rule with a pattern for commands: its words, quotes taken away, without the ending that makes it a
        prefix."""
        return _words((self.pattern or "").strip().removesuffix(_PREFIX).removesuffix(" *"))

    @cached_property
    def shape(self) -> Literal["exact", "prefix", "glob"]:
        """Of a rule with a pattern for commands: whether it is about just its words, about every command that begins
        with them, or about what they match (`*` and `?`)."""
        if any(letter in word for word in self.words for letter in "*?"):
            return "glob"
        return "prefix" if self.extends else "exact"

    @cached_property
    def extends(self) -> bool:
        """Whether more words may follow those of a pattern for commands."""
        return (self.pattern or "").strip().endswith((_PREFIX, " *"))

    @property
    def domain(self) -> str:
        """Of a rule about hosts: the host."""
        return (self.literal or self.pattern or "").strip().removeprefix(_DOMAIN).strip(".").lower()

    def covers(self, tool: str) -> bool:
        return tool in self.tools or (bool(self.family) and self._members.fullmatch(tool) is not None)

    @cached_property
    def _members(self) -> re.Pattern[str]:
        return re.compile(".*".join(map(re.escape, self.family.split(_EVERY))), re.DOTALL)


def parse(text: str) -> Rule:
    """A rule as written. Raises `RuleError`."""
    if not text.strip():
        raise RuleError(text, Phrase("rule_empty"), Phrase("rule_remove_or_write", examples=_EXAMPLES))
    form = _FORM.fullmatch(text)
    if form is None:
        raise RuleError(text, Phrase("rule_no_tool"), Phrase("rule_write_such", examples=_EXAMPLES))
    name, gap, rest = form[1], form[2], form[3]
    if rest and rest[0] not in "(=)" and not _is_tool(name):
        raise _a_command(text, name)
    tools, family = _tools(text, name)
    if not rest:
        return Rule(text.strip(), tools, family=family)
    if family and rest[0] in "(=":
        raise RuleError(text, Phrase("rule_pattern_nothing", tool=name), Phrase("rule_write_forms", forms=name))
    if rest[0] == "=" and not gap:
        return _literal(text, name, tools, rest[1:])
    if rest[0] != "(":
        remedy = Phrase("rule_write_or", tool=name, tool2=name, pattern=rest.strip(" ()=") or "pattern")
        raise RuleError(text, Phrase("rule_behind_tool", what=rest[:20].strip()), remedy)
    return _with_pattern(text, name, tools, rest.rstrip())


def balanced(text: str) -> bool:
    """Whether every bracket of a pattern is closed; those behind a backslash are text."""
    depth = 0
    for found in _BRACKETS.findall(text):
        depth += {"(": 1, ")": -1}.get(found, 0)
        if depth < 0:
            return False
    return depth == 0


def _is_tool(name: str) -> bool:
    return name.lower() in _NAMES or bool(_OF_OTHERS.fullmatch(name))


def _tools(text: str, name: str) -> tuple[frozenset[str], str]:
    """The tools that a name stands for, or what stands for them."""
    if name.lower() in _NAMES:
        return _NAMES[name.lower()], ""
    others = _OF_OTHERS.fullmatch(name)
    if others is not None:
        if others["owner"] is None:
            return frozenset(), f"{others['kind']}__*"
        if others["tool"] is None:
            return frozenset(), f"{name}__*"
        return (frozenset(), name) if _EVERY in others["tool"] else (frozenset({name}), "")
    if name.startswith(("mcp_", "plugin_")):
        raise _no_tool_of_others(text, name)
    close = difflib.get_close_matches(name.lower(), _SPELLED, 1)
    remedy = (
        Phrase("remedy_did_you_mean", name=_SPELLED[close[0]])
        if close
        else Phrase("rule_there_are", names=", ".join(GROUPS))
    )
    raise RuleError(text, Phrase("rule_unknown_tool", tool=name), remedy)


def _no_tool_of_others(text: str, name: str) -> RuleError:
    kind, owner = ("plugin", "PLUGIN") if name.startswith("plugin") else ("mcp", "SERVER")
    forms = Phrase("rule_other_forms", kind=kind, owner=owner)
    if name.startswith("mcp_connect"):
        return RuleError(text, Phrase("rule_starting"), Phrase("rule_write_one_of", forms=forms))
    if _EVERY in name:
        return RuleError(text, Phrase(f"rule_pattern_for_{owner.lower()}"), Phrase("rule_write_forms", forms=forms))
    return RuleError(text, Phrase(f"rule_no_{owner.lower()}_tool"), Phrase("rule_write_forms", forms=forms))


def _a_command(text: str, name: str) -> RuleError:
    """What is wrong with words that are not headed by a tool: most likely they are a command."""
    if name.startswith(("mcp_", "plugin_")):
        return _no_tool_of_others(text, name)
    return RuleError(
        text,
        Phrase("rule_unknown_tool", tool=name),
        Phrase("rule_mean_bash", command=text.strip().removesuffix(_PREFIX)),
    )


def _literal(text: str, name: str, tools: frozenset[str], meant: str) -> Rule:
    if not meant.strip():
        raise RuleError(text, Phrase("rule_nothing_behind"), Phrase("rule_every_call", tool=name))
    if not _has_patterns(tools):
        raise RuleError(text, Phrase("rule_nothing_compared", tool=name), Phrase("rule_write_forms", forms=name))
    return Rule(text.lstrip(), tools, None, meant)


def _with_pattern(text: str, name: str, tools: frozenset[str], rest: str) -> Rule:
    """`rest` begins with the opening bracket."""
    if not rest.endswith(")"):
        if balanced(rest) or ")" in rest:
            raise RuleError(text, Phrase("rule_goes_on"), Phrase("rule_end_there", tool=name))
        raise RuleError(text, Phrase("rule_open_bracket"), f"write {name}{rest})")
    pattern = rest[1:-1]
    if not pattern.strip():
        raise RuleError(text, Phrase("rule_empty_pattern"), Phrase("rule_every_call", tool=name))
    if not _has_patterns(tools):
        raise RuleError(text, Phrase("rule_pattern_nothing", tool=name), Phrase("rule_write_forms", forms=name))
    if not balanced(pattern):
        remedy = Phrase("rule_backslash") if tools <= _PATHS else f"write {name}=, and the rest"
        raise RuleError(text, Phrase("rule_bracket_count"), remedy)
    rule = Rule(text.strip(), tools, pattern)
    if tools == COMMANDS:
        _check_command(rule)
    elif tools == HOSTS:
        _check_domain(rule)
    else:
        _check_path(rule)
    return rule


def _has_patterns(tools: frozenset[str]) -> bool:
    return tools <= COMMANDS | HOSTS | _PATHS


def _check_command(rule: Rule) -> None:
    pattern = (rule.pattern or "").strip()
    if _OPERATOR.search(_QUOTED.sub("", pattern)):
        remedy = Phrase("rule_each_command")
        raise RuleError(rule.text, Phrase("rule_several_commands"), remedy)
    if not rule.words:
        raise RuleError(rule.text, Phrase("rule_empty_pattern"), Phrase("rule_every_command"))


def _check_domain(rule: Rule) -> None:
    pattern = (rule.pattern or "").strip()
    domain = pattern.removeprefix(_DOMAIN)
    if domain == pattern or not _HOST.fullmatch(domain):
        raise RuleError(rule.text, Phrase("rule_no_host"), Phrase("rule_write_domain"))


def _check_path(rule: Rule) -> None:
    from pathspec import GitIgnoreSpec  # slow to import, and few have rules about paths

    pattern = rule.pattern or ""
    if ".." in pattern.split("/"):
        raise RuleError(rule.text, Phrase("rule_dots"), Phrase("rule_absolute"))
    if re.match(r"~(?:[\w.-]+/|\Z)", pattern):
        raise RuleError(rule.text, Phrase("rule_home"), Phrase("rule_absolute_home"))
    try:
        GitIgnoreSpec.from_lines([f"\\{pattern}" if pattern.startswith(("!", "#")) else pattern])
    except ValueError as fault:
        raise RuleError(rule.text, Phrase("rule_bad_pattern", error=str(fault)), Phrase("rule_gitignore")) from None


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError:  # quotes that do not fit together are text
        return tuple(text.split())
