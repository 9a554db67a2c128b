"""Everything that extends a session, as it is on the disk at one moment: found once, frozen, in a fixed order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ParamSpec, Protocol, TypeVar

from acpagent.config.problems import ConfigError
from acpagent.core import files
from acpagent.core.bounds import printable
from acpagent.core.catalogue import Phrase
from acpagent.core.paths import within
from acpagent.core.phrases import told
from acpagent.extensions import commandfiles, hookfiles, instructions, servers, skills
from acpagent.extensions.commandfiles import CommandFile
from acpagent.extensions.folders import DiskFolder, Folder, ScannedFolder
from acpagent.extensions.hooks import NO_HOOKS, Hook, HookSet, arranged
from acpagent.extensions.instructions import Instruction
from acpagent.extensions.problems import Part, Problem, of_config
from acpagent.extensions.project import SHARED_SETTINGS, Project
from acpagent.extensions.servers import ServerEntry, ServerFile
from acpagent.extensions.skills import Scope, Skill
from acpagent.extensions.trust import Standing

SKILL_PLACES = (".acpagent/skills", ".agents/skills", ".claude/skills", ".soba/skills")
COMMAND_PLACES = (".acpagent/commands", ".claude/commands")
HOOK_PLACES = (".acpagent/settings.json", ".acpagent/hooks.json", *SHARED_SETTINGS)
_MAX_BYTES = 1024 * 1024

T = TypeVar("T")
P = ParamSpec("P")
Looked = tuple[tuple[T, ...], tuple[Problem, ...]]


class Plugin(Protocol):
    """An enabled plugin: its `name` and its directory `root`, absolute."""

    @property
    def name(self) -> str: ...
    @property
    def root(self) -> str: ...
    def paths(self, kind: str) -> Sequence[str]:
        """Where what it brings of a kind lies, absolute: directories of `skills` and `commands`, files of `hooks` and
        `mcpServers`."""


@dataclass(frozen=True, slots=True)
class Extensions:
    """One snapshot. Each name is there once; what lost to another of its name is among the `problems`. `standing` is
    how the project was judged: of one that is not trusted nothing but instruction files is in here."""

    standing: Standing
    skills: tuple[Skill, ...] = ()
    commands: tuple[CommandFile, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    servers: tuple[ServerEntry, ...] = ()
    hooks: HookSet = NO_HOOKS
    plugins: tuple[Plugin, ...] = ()
    problems: tuple[Problem, ...] = ()

    def skill(self, name: str) -> Skill | None:
        return next((skill for skill in self.skills if skill.name == name), None)

    def command(self, name: str) -> CommandFile | None:
        return next((command for command in self.commands if command.name == name), None)


def discover(
    home: str, standing: Standing, skill_paths: Sequence[str] = (), plugins: Sequence[Plugin] = ()
) -> Extensions:
    """Look for everything: in acpagent's `home` and the person's own directories, in `skill_paths` (absolute), in
    enabled `plugins`, and in the project of `standing` as it was read, if it is trusted. Never raises for what is on
    the disk: a file that cannot be used is a problem, and nothing of it is used."""
    root = standing.project.root
    trusted = standing.project if standing.trusted else None
    problems = [one for one in (standing.problem(),) if one is not None]
    told = _guarded("instructions", root, problems, instructions.find, root, home)
    named = [*(servers.of_project(trusted) if trusted else ()), *_plugin_servers(plugins, problems)]
    return Extensions(
        standing=standing,
        skills=_first("skill", problems, _skills(home, trusted, skill_paths, plugins, problems)),
        commands=_first("command", problems, _commands(home, trusted, plugins, problems)),
        instructions=told,
        servers=_guarded("server", root, problems, servers.find, named),
        hooks=HookSet(_guarded("hook", root, problems, _hooks, home, trusted, plugins)),
        plugins=tuple(plugins),
        problems=tuple(problems),
    )


def user_skill_roots(home: str) -> tuple[str, ...]:
    """Where the person's own skills lie; new ones are written to the first."""
    person = os.path.expanduser("~")
    bases = (home, os.path.join(person, ".agents"), os.path.join(person, ".claude"))
    return tuple(dict.fromkeys(os.path.join(base, "skills") for base in bases))


def _skills(
    home: str, trusted: Project | None, paths: Sequence[str], plugins: Sequence[Plugin], problems: list[Problem]
) -> Iterator[Skill]:
    """All skills, of two with one name first the one that counts."""
    roots = user_skill_roots(home)
    places = [
        *_scanned(trusted, SKILL_PLACES),
        *_of_plugins(plugins, "skills"),
        *(_Place("config", path) for path in paths),
        *(_Place("user", path, roots) for path in roots),
    ]
    for place in places:
        if place.scope == "config" and not place.is_there():
            what, remedy = Phrase("what_no_directory"), Phrase("remedy_skill_paths")
            problems.append(Problem("skill", place.path, None, what, remedy, False))
            continue
        yield from _guarded("skill", place.path, problems, place.look, skills.find)


def _commands(
    home: str, trusted: Project | None, plugins: Sequence[Plugin], problems: list[Problem]
) -> Iterator[CommandFile]:
    """All commands, of two with one name first the one that counts."""
    places = [
        *_scanned(trusted, COMMAND_PLACES),
        *_of_plugins(plugins, "commands"),
        _Place("user", os.path.join(home, "commands")),
    ]
    for place in places:
        yield from _guarded("command", place.path, problems, place.look, commandfiles.find)


@dataclass(frozen=True, slots=True)
class _Place:
    """A directory to look in: one of a project, by its path from there, or one on the disk."""

    scope: Scope
    path: str
    allowed: tuple[str, ...] = ()
    owner: str = ""
    project: Project | None = None

    def look(self, find: Callable[[Folder, Scope, str], Looked[T]]) -> Looked[T]:
        folder = ScannedFolder(self.project, self.path) if self.project else DiskFolder(self.path, self.allowed)
        return find(folder, self.scope, self.owner)

    def is_there(self) -> bool:
        try:
            return os.path.isdir(self.path)
        except ValueError:
            return False


def _scanned(trusted: Project | None, places: Iterable[str]) -> list[_Place]:
    return [_Place("project", place, project=trusted) for place in places] if trusted else []


def _of_plugins(plugins: Sequence[Plugin], kind: str) -> Iterator[_Place]:
    for plugin in plugins:
        for path in plugin.paths(kind):
            yield _Place("plugin", path, (plugin.root,), plugin.name)


def _plugin_servers(plugins: Sequence[Plugin], problems: list[Problem]) -> Iterator[ServerFile]:
    for plugin in plugins:
        for path in plugin.paths("mcpServers"):
            for data in _guarded("server", path, problems, _content, "server", path, plugin.root):
                yield ServerFile(data, os.path.relpath(path, plugin.root), plugin.root, plugin.name)


def _hooks(home: str, trusted: Project | None, plugins: Sequence[Plugin]) -> Looked[Hook]:
    """The hooks of the project first, which run only while it still is what is trusted; then those of plugins, then the
    person's."""
    sets: list[HookSet] = []
    for place in HOOK_PLACES if trusted else ():
        one = trusted.files.get(place) if trusted else None
        if trusted and one is not None and one.data is not None:
            path, has_lines = os.path.join(trusted.root, place), place not in SHARED_SETTINGS
            sets.append(hookfiles.parse(path, one.data, "project", "", trusted.still_stands, has_lines))
    for plugin in plugins:
        for path in plugin.paths("hooks"):
            data, wrong = _content("hook", path, plugin.root)
            sets += [hookfiles.parse(path, one, "plugin", plugin.root) for one in data]
            sets.append(HookSet((), wrong))
    found = arranged([*sets, hookfiles.of_home(home)])
    return found.hooks, found.problems


def _content(part: Part, path: str, inside: str) -> Looked[bytes]:
    """The content of a plugin's file, which must lie `inside` of it."""
    if not within(os.path.realpath(path), os.path.realpath(inside)):
        return (), (Problem(part, path, None, Phrase("what_leaves_plugin"), Phrase("remedy_file_itself")),)
    try:
        return (files.read_bytes(path, _MAX_BYTES),), ()
    except files.NotText as error:
        return (), (Problem(part, path, None, told(error), Phrase("remedy_short_text")),)
    except OSError as error:
        return (), (
            Problem(part, path, None, Phrase("what_unreadable", cause=told(error)), Phrase("remedy_install_again")),
        )


def _guarded(
    part: Part, place: str, problems: list[Problem], look: Callable[P, Looked[T]], *args: P.args, **kwargs: P.kwargs
) -> tuple[T, ...]:
    """What was found in a place. Whatever is wrong there must not keep a session from opening."""
    try:
        found, wrong = look(*args, **kwargs)
    except ConfigError as error:
        problems += of_config(part, error)
        return ()
    except (OSError, ValueError, RecursionError) as error:
        what = Phrase("what_unreadable", cause=type(error).__name__)
        problems.append(Problem(part, printable(place), None, what, Phrase("remedy_look")))
        return ()
    problems += wrong
    return found


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def real(self) -> str: ...


N = TypeVar("N", bound=_Named)


def _first(part: Part, problems: list[Problem], found: Iterable[N]) -> tuple[N, ...]:
    """Of each name the first. That the same file is found in two ways is nobody's mistake."""
    kept: dict[str, N] = {}
    for one in found:
        winner = kept.setdefault(one.name, one)
        if winner is not one and winner.real != one.real:
            what = Phrase("what_shadowed", name=one.name, path=printable(winner.path))
            problems.append(Problem(part, one.path, None, what, Phrase("remedy_rename_one"), False))
    return tuple(sorted(kept.values(), key=lambda one: one.name))
