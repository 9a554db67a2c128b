"""/skill: what skills there are, and writing, moving and removing one's own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

from acpagent.core import catalogue, files
from acpagent.core.bounds import one_line, printable
from acpagent.core.faults import Fault
from acpagent.core.files import NotText
from acpagent.core.paths import within
from acpagent.core.phrases import told as said
from acpagent.core.phrases import why
from acpagent.extensions import revisions, skills
from acpagent.extensions.skills import Skill
from acpagent.runtime.commands import skill_history, skill_trace, skill_trials
from acpagent.runtime.commands.arguments import Refused, split
from acpagent.runtime.commands.skill_places import check_name, folders, found, in_project, names
from acpagent.runtime.session import slash
from acpagent.runtime.session.services import CommandDesk

_SHOWN = 16_000
_TEMPLATE = "---\nname: {name}\ndescription: {description}\n---\n\n{body}\n"


def answer(words: str, desk: CommandDesk) -> str:
    """Do what the words say."""
    verb, rest = slash.parted(words)
    act = _VERBS.get(verb.lower() or "list")
    if act is None:
        return f"{desk.say('skill_unknown', verb=one_line(verb, 40))}\n\n{desk.say('command_skill_how')}"
    try:
        return act(rest, desk)
    except Refused as refused:
        return desk.say(refused.code, **refused.params)
    except Fault as fault:
        return desk.say("command_failed", cause=fault.message)
    except NotText as error:
        return desk.say("command_failed", cause=said(error))
    except OSError as error:
        return desk.say("command_failed", cause=why(error))


def missing(name: str, desk: CommandDesk) -> str:
    """What is said to a person who calls up a skill that there is not."""
    return desk.say("skill_not_found", name=one_line(name, 60), known=names(desk, lambda one: one.for_person))


def _list(rest: str, desk: CommandDesk) -> str:
    flags = split(rest)
    if not set(flags) <= {"--invalid", "--disabled"}:
        return f"{desk.say('skill_list_flags')}\n\n{desk.say('command_skill_how')}"
    parts = []
    none = f"- {desk.say('skill_none')}"
    if not flags:
        lines = [_line(one, desk) for one in desk.extensions.skills]
        parts.append("\n".join([desk.say("skill_head"), "", *(lines or [none])]))
    if "--disabled" in flags:
        lines = [_line(one, desk) for one in desk.extensions.skills if not one.for_model]
        parts.append("\n".join([desk.say("skill_disabled"), "", *(lines or [none])]))
    problems = [one for one in desk.extensions.problems if one.part == "skill"]
    if "--invalid" in flags:
        used = f"({desk.say('skill_used')}) "
        lines = [
            f"- {'' if one.fatal else used}{printable(catalogue.spoken(one.told, desk.language))}" for one in problems
        ]
        parts.append("\n".join([desk.say("skill_wrong"), "", *(lines or [none])]))
    elif problems:
        parts.append(desk.say("skill_remarks", count=len(problems)))
    told = desk.extensions.standing.problem()
    if told is not None:
        untrusted = desk.say("extension_problem", problem=told.short)
        parts.append(untrusted[:1].upper() + untrusted[1:])
    return "\n\n".join(parts)


def _line(one: Skill, desk: CommandDesk) -> str:
    where = f"{one.scope} {one.owner}".strip()
    aside = f" ({desk.say('skill_aside')})" if one.name in desk.set_aside else ""
    return f"- `{one.name}` ({where}): {one_line(one.description, 160)}{aside}"


def _show(rest: str, desk: CommandDesk) -> str:
    one = found(slash.unquoted(rest), "show", desk)
    text = one.body if len(one.body) <= _SHOWN else f"{one.body[:_SHOWN]}\n{desk.say('skill_rest')}"
    mark = "```"
    while mark in text:
        mark += "`"
    facts = [f"`{printable(one.path)}` ({one.scope}{' ' + one.owner if one.owner else ''})"]
    facts += [f"{desk.say(code)}: {value}" for code, value in _facts(one, desk) if value]
    head = f"**{one.name}**: {one.description}"
    return "\n\n".join([head, "  \n".join(facts), f"{mark}markdown\n{text}\n{mark}"])


def _facts(one: Skill, desk: CommandDesk) -> tuple[tuple[str, str], ...]:
    tools = ", ".join(one.allowed_tools)
    return (
        ("skill_called", desk.say("skill_by_both" if one.for_model else "skill_by_person")),
        ("skill_arguments", one.hint or ""),
        ("skill_license", one.license),
        ("skill_compatibility", one.compatibility),
        ("skill_tools", tools and f"{tools} ({desk.say('skill_allows_none')})"),
        ("skill_beside", ", ".join(map(printable, one.beside))),
    )


def _new(rest: str, desk: CommandDesk) -> str:
    name, told = slash.parted(rest)
    check_name(name)
    target = os.path.join(desk.home, "skills", name)
    _check_free(target)
    told = slash.unquoted(told)
    untold = desk.say("skill_use_when", name=name)
    first = one_line(next((line for line in told.split("\n") if line.strip()), untold), 200)
    quoted = '"' + first.replace("\\", "\\\\").replace('"', '\\"') + '"'
    text = _TEMPLATE.format(name=name, description=quoted, body=told or desk.say("skill_untold"))
    data = text.encode("utf-8", "replace")
    os.makedirs(target)
    real = os.path.join(os.path.realpath(target), skills.FILE)
    files.write_bytes(real, data)
    revisions.keep(desk.home, real, data, "new")
    desk.reload()
    return desk.say("skill_wrote", path=printable(os.path.join(target, skills.FILE)), name=name)


def _promote(rest: str, desk: CommandDesk) -> str:
    name, *flags = split(rest) or [""]
    scope = {"": "project", "--scope=project": "project", "--scope=user": "user"}.get(" ".join(flags))
    if scope is None:
        raise Refused("skill_promote_scope")
    one = found(name, "promote", desk)
    check_name(one.name)
    if one.scope == scope:
        raise Refused("skill_there", path=printable(one.path))
    base = os.path.join(desk.cwd, ".acpagent") if scope == "project" else desk.home
    target = os.path.join(base, "skills", one.name)
    _check_free(target)
    if scope == "project" and not within(os.path.realpath(target), os.path.realpath(desk.cwd)):
        raise Refused("skill_link", path=printable(base))
    if scope == "user":
        _copy(one, target)
        note = ""
    else:
        note = in_project(desk, f".acpagent/skills/{one.name}", lambda: _copy(one, target))
    real = os.path.join(os.path.realpath(target), skills.FILE)
    revisions.keep(desk.home, real, files.read_bytes(real), "promote")
    desk.reload()
    return desk.say("skill_copied", name=one.name, path=printable(target)) + note


def _copy(one: Skill, target: str) -> None:
    """The text as it was discovered, and what lies beside it, without links."""
    source = os.path.dirname(one.real)
    os.makedirs(target)
    data = files.read_bytes(one.real)
    if files.digest(data) != one.digest:
        os.rmdir(target)
        raise Refused("skill_stale", name=one.name)
    for name in one.beside:
        there = os.path.join(source, name)
        if os.path.isfile(there) and not os.path.islink(there):
            os.makedirs(os.path.dirname(os.path.join(target, name)), exist_ok=True)
            shutil.copy(there, os.path.join(target, name))
    files.write_bytes(os.path.join(os.path.realpath(target), skills.FILE), data)


def _remove(rest: str, desk: CommandDesk) -> str:
    words = split(rest)
    one = found(" ".join(word for word in words if word != "--confirm"), "rm", desk)
    whole = os.path.basename(one.path) == skills.FILE
    place = os.path.dirname(one.path) if whole else one.path
    project, own = folders(desk)
    if os.path.dirname(place) not in (own, project):
        raise Refused("skill_foreign", name=one.name, path=printable(place))
    if "--confirm" not in words:
        raise Refused("skill_confirm", name=one.name, path=printable(place))
    revisions.keep(desk.home, os.path.realpath(one.path), files.read_bytes(one.real), "rm")
    if os.path.dirname(place) == own:
        _discard(place)
        note = ""
    else:
        note = in_project(desk, f".acpagent/skills/{os.path.basename(place)}", lambda: _discard(place))
    desk.reload()
    return desk.say("skill_removed", path=printable(place)) + note


def _discard(place: str) -> None:
    """A link is removed itself, not what it leads to."""
    if os.path.islink(place) or not os.path.isdir(place):
        os.unlink(place)
    else:
        shutil.rmtree(place)


def _check_free(target: str) -> None:
    for path in (target, f"{target}.md"):
        if os.path.lexists(path):
            raise Refused("skill_there", path=printable(path))


_VERBS: dict[str, Callable[[str, CommandDesk], str]] = {
    "list": _list,
    "show": _show,
    "new": _new,
    "edit": skill_history.edit,
    "history": skill_history.history,
    "rollback": skill_history.rollback,
    "trace": skill_trace.trace,
    "eval": skill_trials.evaluate,
    "bench": skill_trials.bench,
    "off": skill_trace.set_aside,
    "deactivate": skill_trace.set_aside,
    "promote": _promote,
    "rm": _remove,
    "remove": _remove,
}
