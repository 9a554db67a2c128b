"""What a session uses beyond what is built in: what was found on the disk, MCP servers, and programs of plugins."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from acpagent.core import diagnostics
from acpagent.core.events import Level, Notice
from acpagent.core.host import Host
from acpagent.core.scope import Scope, run_closers
from acpagent.core.toolcalls import Tool
from acpagent.extensions import instructions, skills
from acpagent.extensions.discovery import Extensions
from acpagent.extensions.lane import Lane
from acpagent.extensions.plugin_host import PluginHost
from acpagent.extensions.plugins import Plugin
from acpagent.extensions.problems import Problem
from acpagent.extensions.sidecar import Site
from acpagent.extensions.skill_tool import UseSkill
from acpagent.mcp_client.pool import Hooks, Plan, Pool
from acpagent.mcp_client.spec import ServerSpec

# What a program of a plugin that was replaced may take to end.
_LEAVING_SECONDS = 4.0
_REPORTS = 500  # that wait to be shown; more are not worth reading


@dataclass(frozen=True, slots=True)
class Found:
    """What there is to use, as it was found at one moment: `servers` with each name once, and what is wrong."""

    extensions: Extensions
    servers: tuple[ServerSpec, ...] = ()
    plugins: tuple[Plugin, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def broken(self) -> Problem | None:
        """The first thing that cannot be used as it is written. A project that is not trusted is none: that is for the
        person to say."""
        return next((problem for problem in self.problems if problem.fatal and problem.part != "trust"), None)


@dataclass(frozen=True, slots=True, eq=False)
class Kit:
    """What was found, made ready for a loadout to be built with. In use once it is adopted. `set_aside` names skills
    that the model is not to have; it is the session's, and changes on its worker alone."""

    found: Found
    servers: Plan
    plugins: PluginHost
    set_aside: set[str] = field(default_factory=set)

    def tools(self) -> list[Tool]:
        """What it adds to the built-in tools, in a stable order."""
        callable_skills = [skill for skill in self.found.extensions.skills if skill.for_model]
        own: list[Tool] = [UseSkill(callable_skills, self.set_aside)] if callable_skills else []
        return [*own, *self.servers.tools(), *self.plugins.tools()]

    def context(self, tools: Container[str]) -> str:
        """What the model is told once, in a message of the user: instructions of the project, and what skills there are
        if it can call them up."""
        found = self.found.extensions
        offered = [skill for skill in found.skills if skill.name not in self.set_aside]
        listed = skills.catalogue(offered, UseSkill.name) if UseSkill.name in tools else ""
        return "\n\n".join(part for part in (instructions.message(found.instructions), listed) if part)


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a session's extensions work. `hidden_env` says which variables none of them may see by now."""

    session_id: str
    cwd: str
    home: str
    hidden_env: Callable[[], frozenset[str]]


class _Environment(Mapping[str, str]):
    """Ours without the secrets in it, as they are known when somebody looks."""

    def __init__(self, hidden: Callable[[], frozenset[str]]) -> None:
        self._hidden = hidden

    def __getitem__(self, name: str) -> str:
        if name in self._hidden():
            raise KeyError(name)
        return os.environ[name]

    def __iter__(self) -> Iterator[str]:
        hidden = self._hidden()
        return iter([name for name in os.environ if name not in hidden])

    def __len__(self) -> int:
        return len(list(iter(self)))


class Equipment:
    """One per session; owns its servers, the programs of its plugins, and a lane that brings what they report to the
    person, which begins once the session is open and ends with `_scope`.

    It changes in two steps, as the pool does: a kit is prepared beside the one in use, and adopted or discarded.
    `adopt` and `discard` are called under the session lock and never block; the rest is for the session worker.
    """

    def __init__(
        self, where: Whereabouts, host: Host, roots: Callable[[], Sequence[str]], changed: Callable[[], None]
    ) -> None:
        """`changed` is called on the lane when servers offer other things than the loadout in use was built with."""
        self._where = where
        self._host = host
        self._scope = Scope()
        self._lane = Lane(f"acpagent-reports-{where.session_id}", self._scope, _REPORTS)
        hooks = Hooks(self._report, lambda: self._queue(changed), lambda line: diagnostics.say("acpagent acp", line))
        self.pool = Pool(where.cwd, _Environment(where.hidden_env), hooks, home=where.home, roots=roots)
        self._generation = 0
        self._leaving: list[PluginHost] = []
        self._kit: Kit | None = None
        self._told: tuple[Problem, ...] = ()
        self._set_aside: set[str] = set()

    @property
    def kit(self) -> Kit:
        """The one in use."""
        assert self._kit is not None, "no kit was adopted yet"
        return self._kit

    def prepare(self, found: Found, anew: bool = True) -> Kit:
        """Start what is new of it; `anew`: programs of plugins in any case. Never waits."""
        if self._kit is not None and not anew and found.plugins == self._kit.found.plugins:
            return Kit(found, self.pool.prepare(found.servers), self._kit.plugins, self._set_aside)
        self._generation += 1
        where = self._where
        site = Site(where.session_id, where.cwd, self._generation, where.hidden_env())
        plugins = PluginHost(found.plugins, site, self._host)
        plugins.start()
        return Kit(found, self.pool.prepare(found.servers), plugins, self._set_aside)

    def wait(self, kit: Kit, scope: Scope) -> None:
        """Give the servers a moment (SESS-13). Raises `Cancelled`."""
        self.pool.wait(kit.servers, scope)

    def adopt(self, kit: Kit) -> None:
        """It is the one in use from here on; what only the old one used is ended."""
        before, self._kit = self._kit, kit
        if before is kit:
            return
        self.pool.adopt(kit.servers)
        if before is None or before.plugins is not kit.plugins:
            kit.plugins.notify("session.start", {"generation": kit.plugins.generation})
        if before is not None and before.plugins is not kit.plugins:
            self._leaving.append(before.plugins)
            kit.plugins.open()

    def discard(self, kit: Kit) -> None:
        """Nobody wants it: what was started for it is ended."""
        if kit is not self._kit:
            self.pool.discard(kit.servers)
            if self._kit is None or kit.plugins is not self._kit.plugins:
                self._leaving.append(kit.plugins)

    def tell_problems(self, found: Found) -> None:
        """What the person was not told before."""
        for problem in found.problems:
            if problem not in self._told:
                self._report("warning", "extension_problem", {"problem": problem.told})
        self._told = found.problems

    def open(self) -> None:
        """The outside knows the session: what was reported meanwhile is shown."""
        self._lane.open()
        self.kit.plugins.open()

    def tidy(self) -> None:
        """Wait for the end of what was replaced."""
        leaving, self._leaving = self._leaving, []
        for plugins in leaving:
            plugins.close(time.monotonic() + _LEAVING_SECONDS)

    def end(self) -> None:
        """Begin to end everything. Never blocks."""
        self.pool.end()

    def close(self, deadline: float) -> None:
        """End everything, by `deadline` (monotonic)."""
        self.end()
        run_closers(self._scope.cancel())
        for plugins in [*self._leaving, *([self._kit.plugins] if self._kit else [])]:
            plugins.close(deadline)
        self.pool.close(deadline)
        self._lane.join(deadline - time.monotonic())

    def _report(self, level: Level, code: str, params: dict[str, Any]) -> None:
        """On any thread, which must not wait."""
        self._queue(lambda: self._host.emit(Notice(level, code, params)))

    def _queue(self, job: Callable[[], None]) -> None:
        self._lane.put(job)
