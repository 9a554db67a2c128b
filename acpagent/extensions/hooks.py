"""Hooks: commands of the person's that run when something happens in a session, and the events they can wait for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from acpagent.core.bounds import one_line
from acpagent.core.catalogue import Phrase
from acpagent.core.rules import GROUPS
from acpagent.extensions.problems import Problem

Origin = Literal["project", "plugin", "user"]

GUARD_SECONDS = 5.0  # for an answer that a call or a prompt waits for
SECONDS = 30.0
MAX_SECONDS = 600.0
_ORDER: tuple[Origin, ...] = ("project", "plugin", "user")
_LABEL_LETTERS = 80


@dataclass(frozen=True, slots=True)
class EventKind:
    """An event. `matched`: what a matcher is compared with, the tool or the `source`. `blocks`: a hook can refuse what
    is about to happen. `guards`: it is refused as well where the hook gives no answer in time. `hears`: what a hook
    prints is for the model. `absent`: why it never happens here."""

    matched: Literal["tool", "source", ""] = ""
    blocks: bool = False
    guards: bool = False
    hears: bool = False
    absent: str = ""

    @property
    def seconds(self) -> float:
        """How long a hook may take that does not say so itself."""
        return GUARD_SECONDS if self.guards else SECONDS


_NEVER = Phrase("what_never_happens")
EVENTS: Mapping[str, EventKind] = {
    "PreToolUse": EventKind("tool", blocks=True, guards=True),
    "PostToolUse": EventKind("tool"),
    "PostToolUseFailure": EventKind("tool"),
    "PermissionRequest": EventKind("tool", blocks=True),
    "UserPromptSubmit": EventKind(blocks=True, guards=True, hears=True),
    "Stop": EventKind(blocks=True),
    "StopFailure": EventKind("source"),
    "SessionStart": EventKind("source", hears=True),
    "SessionEnd": EventKind("source"),
    "Notification": EventKind("source"),
    "PreCompact": EventKind("source", blocks=True),
} | {
    # Of other agents, whose files should not become useless by them.
    name: EventKind(absent=_NEVER)
    for name in (
        *("PostLLMCall", "SubagentStart", "SubagentStop", "PostToolBatch", "PostCompact", "PermissionDenied"),
        *("Setup", "TaskCreated", "TaskCompleted", "TeammateIdle", "InstructionsLoaded", "ConfigChange"),
        *("CwdChanged", "FileChanged", "WorktreeCreate", "WorktreeRemove", "Elicitation", "ElicitationResult"),
    )
}


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook, written in `file`. `seconds` is how long it may take. `cwd` is as written, seen from the session's
    directory, and `context_file` from there; `root` is the directory of the plugin it came with. `stands` says right
    before it runs whether it still is what the person trusts."""

    event: str
    command: str
    file: str = ""
    origin: Origin = "user"
    matcher: re.Pattern[str] | None = None
    seconds: float = SECONDS
    description: str = ""
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    context_file: str = ""
    root: str = ""
    stands: Callable[[], bool] = field(default=_always, compare=False)

    @property
    def label(self) -> str:
        """What it is called before people."""
        return one_line(self.description or self.command, _LABEL_LETTERS)

    @property
    def kind(self) -> EventKind:
        return EVENTS[self.event]

    def fits(self, names: Iterable[str]) -> bool:
        return self.matcher is None or any(self.matcher.fullmatch(name) for name in names)


@dataclass(frozen=True, slots=True)
class HookSet:
    """The hooks of a session in the order in which they run, and what is wrong with files that should have some."""

    hooks: tuple[Hook, ...] = ()
    problems: tuple[Problem, ...] = ()

    def waiting_for(self, event: str, name: str = "") -> tuple[Hook, ...]:
        """Those that run now; `name` is the tool's, or the source."""
        names = names_of(name) if EVENTS[event].matched == "tool" else (name,)
        return tuple(hook for hook in self.hooks if hook.event == event and hook.fits(names))


NO_HOOKS = HookSet()


def arranged(sets: Iterable[HookSet]) -> HookSet:
    """All in one: the project's hooks run first, then those of plugins, then the person's own."""
    every = tuple(sets)
    hooks = sorted((hook for one in every for hook in one.hooks), key=lambda hook: _ORDER.index(hook.origin))
    return HookSet(tuple(hooks), tuple(problem for one in every for problem in one.problems))


def names_of(tool: str) -> tuple[str, ...]:
    """What a tool is called: its name, and each group of tools that it is in."""
    return (tool, *(group for group, tools in GROUPS.items() if tool in tools))
