"""/skill: what skills there are, and writing, moving and removing one's own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Protocol

from acpagent.core import files
from acpagent.core.bounds import one_line, printable
from acpagent.core.faults import Fault
from acpagent.core.paths import within
from acpagent.extensions import skills, trust
from acpagent.extensions.discovery import Extensions
from acpagent.extensions.project import Project, scan
from acpagent.extensions.skills import Skill
from acpagent.extensions.trust import Approvals

DESCRIPTION = "List, show, write and remove skills"
HINT = "list | show <name> | new <name> [instructions] | promote <name> | rm <name> --confirm"

_HOW = """\
- `/skill list [--invalid] [--disabled]`: what there is, what is broken, what the model may not call by itself
- `/skill show <name>`: what it says
- `/skill new <name> [instructions]`: write one of your own
- `/skill promote <name> [--scope=project|user]`: copy one to the project, or to your own
- `/skill rm <name> --confirm`: remove one of your own or of this project's `.acpagent/skills`

`/skill:<name> [arguments]` calls one up."""
_SHOWN = 16_000
_TEMPLATE = "---\nname: {name}\ndescription: {description}\n---\n\n{body}\n"
_UNTOLD = "Describe here, step by step, what to do."


class Desk(Protocol):
    """What the command needs of its session: what was discovered, the working directory, acpagent's home, and where
    approvals are kept. `reload` has the session look for everything anew once this command is done."""

    @property
    def extensions(self) -> Extensions: ...
    @property
    def cwd(self) -> str: ...
    @property
    def home(self) -> str: ...
    @property
    def approvals(self) -> Approvals: ...
    @property
    def reload(self) -> Callable[[], None]: ...


class _Refused(Exception):
    """Why a command does nothing, in a sentence."""


def answer(words: str, desk: Desk) -> str:
    """Do what the words say."""
    verb, _, rest = words.strip().partition(" ")
    act = _VERBS.get(verb.lower() or "list")
    if act is None:
        return f"There is no `/skill {one_line(verb, 40)}`. There are:\n\n{_HOW}"
    try:
        return act(rest.strip(), desk)
    except _Refused as refused:
        return str(refused)
    except Fault as fault:
        return f"That did not work: {fault.message}."
    except OSError as error:
        return f"That did not work: {error.strerror or error}."


def _list(rest: str, desk: Desk) -> str:
    flags = rest.split()
    if not set(flags) <= {"--invalid", "--disabled"}:
        return f"`/skill list` takes `--invalid` and `--disabled`.\n\n{_HOW}"
    parts = []
    if not flags:
        lines = [_line(one) for one in desk.extensions.skills]
        parts.append("\n".join(["**Skills**", "", *(lines or ["- none"])]))
    if "--disabled" in flags:
        lines = [_line(one) for one in desk.extensions.skills if not one.for_model]
        parts.append("\n".join(["**Only you can call these up**", "", *(lines or ["- none"])]))
    problems = [one for one in desk.extensions.problems if one.part == "skill"]
    if "--invalid" in flags:
        lines = [f"- {'' if one.fatal else '(used all the same) '}{printable(str(one))}" for one in problems]
        parts.append("\n".join(["**What is wrong**", "", *(lines or ["- nothing"])]))
    elif problems:
        parts.append(f"{len(problems)} remark{'s' if len(problems) > 1 else ''}: `/skill list --invalid`")
    told = desk.extensions.standing.problem()
    if told is not None:
        parts.append(f"{told.what}; {told.remedy}.")
    return "\n\n".join(parts)


def _line(one: Skill) -> str:
    where = f"{one.scope} {one.owner}".strip()
    return f"- `{one.name}` ({where}): {one_line(one.description, 160)}"


def _show(rest: str, desk: Desk) -> str:
    one = _found(rest, desk)
    text = one.body if len(one.body) <= _SHOWN else f"{one.body[:_SHOWN]}\n[... the rest is in the file]"
    mark = "```"
    while mark in text:
        mark += "`"
    facts = [f"`{printable(one.path)}` ({one.scope}{' ' + one.owner if one.owner else ''})"]
    facts += [f"{title}: {value}" for title, value in _facts(one) if value]
    head = f"**{one.name}**: {one.description}"
    return "\n\n".join([head, "  \n".join(facts), f"{mark}markdown\n{text}\n{mark}"])


def _facts(one: Skill) -> tuple[tuple[str, str], ...]:
    return (
        ("called up", "by you and the model" if one.for_model else "by you alone"),
        ("arguments", one.hint or ""),
        ("license", one.license),
        ("compatibility", one.compatibility),
        ("asks for the tools", ", ".join(one.allowed_tools) and f"{', '.join(one.allowed_tools)} (allows none)"),
        ("beside it", ", ".join(map(printable, one.beside))),
    )


def _new(rest: str, desk: Desk) -> str:
    name, _, told = rest.partition(" ")
    _check_name(name)
    target = os.path.join(desk.home, "skills", name)
    _check_free(target)
    told = told.strip()
    first = one_line(next((line for line in told.split("\n") if line.strip()), f"Use when {name} is asked for."), 200)
    quoted = '"' + first.replace("\\", "\\\\").replace('"', '\\"') + '"'
    text = _TEMPLATE.format(name=name, description=quoted, body=told or _UNTOLD)
    os.makedirs(target)
    files.write_bytes(os.path.join(os.path.realpath(target), skills.FILE), text.encode("utf-8", "replace"))
    desk.reload()
    return f"Wrote `{printable(os.path.join(target, skills.FILE))}`. Edit it as you like; `/skill:{name}` calls it up."


def _promote(rest: str, desk: Desk) -> str:
    name, *flags = rest.split() or [""]
    scope = {"": "project", "--scope=project": "project", "--scope=user": "user"}.get(" ".join(flags))
    if scope is None:
        raise _Refused("`/skill promote <name>` takes `--scope=project` or `--scope=user`.")
    one = _found(name, desk)
    _check_name(one.name)
    if one.scope == scope:
        raise _Refused(f"`{one.name}` is there already: `{printable(one.path)}`.")
    base = os.path.join(desk.cwd, ".acpagent") if scope == "project" else desk.home
    target = os.path.join(base, "skills", one.name)
    _check_free(target)
    if scope == "project" and not within(os.path.realpath(target), os.path.realpath(desk.cwd)):
        raise _Refused(f"`{printable(base)}` is a link that leads out of the project.")
    if scope == "user":
        _copy(one, target)
        note = ""
    else:
        note = _in_project(desk, f".acpagent/skills/{one.name}", lambda: _copy(one, target))
    desk.reload()
    return f"Copied `{one.name}` to `{printable(target)}`.{note}"


def _copy(one: Skill, target: str) -> None:
    """The text as it was discovered, and what lies beside it, without links."""
    source = os.path.dirname(one.real)
    os.makedirs(target)
    data = files.read_bytes(one.real)
    if files.digest(data) != one.digest:
        os.rmdir(target)
        raise _Refused(f"`{one.name}` has changed meanwhile; reload first.")
    for name in one.beside:
        there = os.path.join(source, name)
        if os.path.isfile(there) and not os.path.islink(there):
            os.makedirs(os.path.dirname(os.path.join(target, name)), exist_ok=True)
            shutil.copy(there, os.path.join(target, name))
    files.write_bytes(os.path.join(os.path.realpath(target), skills.FILE), data)


def _remove(rest: str, desk: Desk) -> str:
    words = rest.split()
    one = _found(" ".join(word for word in words if word != "--confirm"), desk)
    whole = os.path.basename(one.path) == skills.FILE
    place = os.path.dirname(one.path) if whole else one.path
    own = os.path.join(desk.home, "skills")
    projects = os.path.join(os.path.realpath(desk.cwd), ".acpagent", "skills")
    if os.path.dirname(place) not in (own, projects):
        raise _Refused(f"`{one.name}` is not of acpagent's own folders; remove it where it is: `{printable(place)}`.")
    if "--confirm" not in words:
        raise _Refused(f"This removes `{printable(place)}` for good: `/skill rm {one.name} --confirm`.")
    if os.path.dirname(place) == own:
        _discard(place)
        note = ""
    else:
        note = _in_project(desk, f".acpagent/skills/{os.path.basename(place)}", lambda: _discard(place))
    desk.reload()
    return f"Removed `{printable(place)}`.{note}"


def _discard(place: str) -> None:
    """A link is removed itself, not what it leads to."""
    if os.path.islink(place) or not os.path.isdir(place):
        os.unlink(place)
    else:
        shutil.rmtree(place)


def _in_project(desk: Desk, path: str, change: Callable[[], None]) -> str:
    """Change one path of the project. If that was trusted before and nothing else has changed, it is trusted after: the
    change was the person's. Returns what to add to the answer."""
    before = trust.look(desk.cwd, desk.home, desk.approvals)
    change()
    after = scan(desk.cwd, desk.home)
    if after.is_empty:
        return ""
    fine = before.status in ("trusted", "nothing_to_trust") and after.refusal is None
    if fine and _rest(before.project, path) == _rest(after, path):
        trust.approve_as_read(after, desk.approvals)
        return ""
    return " The project is not trusted, so what is there is not used yet: `/project-trust`."


def _rest(project: Project, path: str) -> dict[str, tuple[str, int, str]]:
    return {
        name: (one.digest, one.mode, one.link)
        for name, one in project.files.items()
        if name != path and not name.startswith(f"{path}/")
    }


def _found(name: str, desk: Desk) -> Skill:
    one = desk.extensions.skill(name)
    if one is None:
        known = ", ".join(f"`{skill.name}`" for skill in desk.extensions.skills[:40])
        raise _Refused(f"There is no skill `{one_line(name, 60)}`. There are: {known or 'none'}.")
    return one


def _check_name(name: str) -> None:
    if not skills.NAME.fullmatch(name) or len(name) > skills.MAX_NAME:
        raise _Refused("A skill's name has small letters, digits and single hyphens: `/skill new <name>`.")


def _check_free(target: str) -> None:
    for path in (target, f"{target}.md"):
        if os.path.lexists(path):
            raise _Refused(f"`{printable(path)}` is there already.")


_VERBS: dict[str, Callable[[str, Desk], str]] = {
    "list": _list,
    "show": _show,
    "new": _new,
    "promote": _promote,
    "rm": _remove,
    "remove": _remove,
}
