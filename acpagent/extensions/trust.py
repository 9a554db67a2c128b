"""Whether a person trusts what a project brings. Nothing of it runs before, and nothing after it has changed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from acpagent.core.bounds import asked_line, printable
from acpagent.core.catalogue import Phrase
from acpagent.core.faults import OurFault
from acpagent.extensions import lineage
from acpagent.extensions.problems import Problem
from acpagent.extensions.project import SERVER_FILES, Project, ProjectFile, scan

Status = Literal["nothing_to_trust", "untrusted", "trusted", "changed"]

SHORT = 16  # letters of a fingerprint that a person repeats: 64 bits that nobody hits by trying
_MAX_LINES = 60
_MAX_LINE = 240
HOW = Phrase("remedy_trust")


class Approved(Protocol):
    """What was approved of a project, and when; `files` has a digest by each path."""

    @property
    def git(self) -> str | None: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def at(self) -> str: ...
    @property
    def files(self) -> Mapping[str, str]: ...


class Approvals(Protocol):
    """Where approvals are kept, by resolved root and never in the project. All may raise `Fault`."""

    def read(self, root: str) -> Approved | None: ...
    def approve(self, root: str, git: str | None, fingerprint: str, files: Mapping[str, str]) -> None:
        """Returns once it is stored."""

    def revoke(self, root: str) -> None:
        """Returns once it is stored."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A project as it was read, and what a person thinks of exactly that. `since` is when it was approved; `changes`
    are paths that were not approved as they are."""

    project: Project
    status: Status
    since: str | None = None
    changes: tuple[str, ...] = ()

    @property
    def trusted(self) -> bool:
        return self.status == "trusted"

    def problem(self) -> Problem | None:
        """What a person should know before they wonder; None if all is well."""
        project = self.project
        if project.refusal is not None:
            what = Phrase("what_refused", cause=project.refusal)
            return Problem("trust", project.root, None, what, Phrase("remedy_without"))
        if self.status == "untrusted":
            what = Phrase("what_untrusted", files=_counted(project))
            return Problem("trust", project.root, None, what, HOW)
        if self.status == "changed":
            what = Phrase("what_changed", files=_listed(self.changes))
            return Problem("trust", project.root, None, what, HOW)
        return None


class NotApproved(OurFault):
    """An approval that was not given; the message says why."""


def judge(project: Project, approved: Approved | None) -> Standing:
    """Compare a project with what was approved. Any byte, mode, path or link that differs counts, and so does another
    repository in the same place."""
    if project.is_empty:
        return Standing(project, "nothing_to_trust", approved.at if approved else None)
    if approved is None:
        return Standing(project, "untrusted")
    same_place = approved.git is None or approved.git == project.git
    if project.refusal is None and same_place and approved.fingerprint == project.fingerprint:
        return Standing(project, "trusted", approved.at)
    return Standing(project, "changed", approved.at, _changes(project, approved.files))


def look(cwd: str, home: str, approvals: Approvals) -> Standing:
    """How the project at `cwd` stands now. Raises `Fault` if approvals cannot be read."""
    project = scan(cwd, home)
    return judge(project, None if project.is_empty else approvals.read(project.root))


def approve(cwd: str, home: str, approvals: Approvals, seen: str) -> Standing:
    """Trust the project at `cwd` if it still is what the person has `seen`: how its fingerprint begins, as shown with
    what would run. Raises `NotApproved`, and `Fault` if that cannot be stored."""
    if lineage.is_under_agent():
        raise NotApproved(lineage.REFUSAL)
    project = scan(cwd, home)
    if project.refusal is not None:
        raise NotApproved(Phrase("trust_cannot", cause=project.refusal))
    if project.is_empty:
        raise NotApproved(Phrase("trust_nothing"))
    if len(seen) < SHORT or not project.fingerprint.startswith(seen.lower()):
        raise NotApproved(Phrase("trust_other_fingerprint"))
    approve_as_read(project, approvals)
    return look(cwd, home, approvals)


def approve_as_read(project: Project, approvals: Approvals) -> None:
    """Trust exactly what was read. Raises `Fault`."""
    digests = {path: _digest(one) for path, one in project.files.items()}
    approvals.approve(project.root, project.git, project.fingerprint, digests)


def revoke(cwd: str, approvals: Approvals) -> None:
    """Trust the project at `cwd` no more. Raises `Fault`."""
    approvals.revoke(os.path.realpath(cwd))


def contents(project: Project) -> tuple[str, ...]:
    """What a project could run or say to the model, a line for each, with nothing hidden in it."""
    lines = [line for one in project.files.values() for line in _content(one)]
    if len(lines) > _MAX_LINES:
        lines[_MAX_LINES:] = [Phrase("and_more", count=len(lines) - _MAX_LINES)]
    return tuple(lines)


def short(project: Project) -> str:
    return project.fingerprint[:SHORT]


def _digest(one: ProjectFile) -> str:
    """All of a file that counts, in short."""
    return f"{one.digest[:32]} {one.mode:o} {one.link}".rstrip()


def _changes(project: Project, approved: Mapping[str, str]) -> tuple[str, ...]:
    now = {path: _digest(one) for path, one in project.files.items()}
    return tuple(sorted(path for path in {*now, *approved} if now.get(path) != approved.get(path)))


def _counted(project: Project) -> str:
    number = len(project.files)
    code = "trust_files_one" if number == 1 else "trust_files"
    return Phrase(code, count=number, names=_listed(tuple(project.files)))


def _listed(paths: tuple[str, ...], shown: int = 5) -> str:
    names = [printable(path)[:80] for path in paths[:shown]]
    if not names:
        return Phrase("trust_repository_itself")
    listed = ", ".join(names)
    return Phrase("listed_more", names=listed, count=len(paths) - shown) if len(paths) > shown else listed


def _shown(text: str) -> str:
    return asked_line(text, _MAX_LINE)


def _content(one: ProjectFile) -> Iterator[str]:
    parts, path = one.path.split("/"), _shown(one.path)
    if parts[-1] == "SKILL.md" or (len(parts) == 3 and parts[1] == "skills" and parts[-1].endswith(".md")):
        yield Phrase("trust_skill", path=path)
    elif parts[1:2] == ["commands"] and parts[-1].endswith(".md"):
        yield Phrase("trust_command", path=path)
    elif one.data is not None and one.path.endswith(".json"):
        yield from _of_json(one)
    else:
        yield Phrase("trust_program" if one.mode & 0o111 else "trust_file", path=path)


def _of_json(one: ProjectFile) -> Iterator[str]:
    try:
        written = json.loads(one.data or b"")
    except (ValueError, RecursionError):
        written = None
    found = list(_runs(written, ""))
    kind = "trust_starts" if one.path in SERVER_FILES else "trust_runs"
    path = _shown(one.path)
    for name, line in found:
        yield Phrase(f"{kind}_named" if name else kind, path=path, name=_shown(name), line=line)
    if not found:
        yield Phrase("trust_file", path=path)


def _runs(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Each command line or address in a JSON value, after the name that is nearest to it."""
    if isinstance(value, list):
        for item in value:
            yield from _runs(item, name)
    if not isinstance(value, dict):
        return
    own = next((one for key in ("name", "id") if isinstance(one := value.get(key), str)), name)
    for key in ("command", "url"):
        line = value.get(key)
        if isinstance(line, str | list):
            words = [line] if isinstance(line, str) else line
            yield own, _with_variables(_shown(" ".join(map(str, [*words, *_arguments(value, key)]))), value, key)
    for key, item in value.items():
        yield from _runs(item, name if key in ("hooks", "servers", "mcpServers") else key)


def _arguments(value: dict[str, Any], key: str) -> list[Any]:
    args = value.get("args")
    return list(args) if key == "command" and isinstance(args, list) else []


def _with_variables(line: str, value: dict[str, Any], key: str) -> str:
    """A command with the variables that it gets: their values may be secrets."""
    env = value.get("env")
    if key != "command" or not isinstance(env, dict) or not env:
        return line
    return Phrase("trust_with", line=line, names=_shown(", ".join(map(str, env))))
