"""The cases of a skill, `evals.yaml` in its folder: what is asked, and what an answer must and must not have."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from acpagent.core import files
from acpagent.core.bounds import printable
from acpagent.core.files import NotText
from acpagent.extensions import skills, trust
from acpagent.extensions.skills import Skill
from acpagent.runtime.commands.arguments import Refused
from acpagent.runtime.session.services import CommandDesk

FILE = "evals.yaml"
MOST = 20
_MAX_BYTES = 64 * 1024
_FIELDS = frozenset({"prompt", "expect", "reject"})


@dataclass(frozen=True, slots=True)
class Case:
    """Texts count as they are written, letter by letter."""

    prompt: str
    expect: tuple[str, ...]
    reject: tuple[str, ...] = ()

    def faults(self, answer: str) -> tuple[list[str], list[str]]:
        """What an answer lacks, and what it has that it must not have."""
        return [one for one in self.expect if one not in answer], [one for one in self.reject if one in answer]


def read(one: Skill, desk: CommandDesk) -> tuple[Case, ...]:
    """Raises `Refused` where there are none, or some that cannot be used, and OSError."""
    path = os.path.join(os.path.dirname(one.path), FILE)
    if os.path.basename(one.path) != skills.FILE or not os.path.lexists(path):
        raise Refused("skill_no_cases", name=one.name, path=printable(path))
    data = _data(one, path, desk)
    try:
        listed = yaml.safe_load(data.decode("utf-8-sig"))
    except (yaml.YAMLError, ValueError, RecursionError):
        raise Refused("skill_cases_unreadable", path=printable(path)) from None
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST:
        raise Refused("skill_cases_count", path=printable(path), most=MOST)
    return tuple(_case(written, number, path) for number, written in enumerate(listed, 1))


def _data(one: Skill, path: str, desk: CommandDesk) -> bytes:
    """What a project brings is read as it was trusted, or not at all; a link is never followed."""
    folder = os.path.dirname(one.real)
    if os.path.realpath(path) != os.path.join(folder, FILE):
        raise Refused("skill_cases_link", path=printable(path))
    trusted = ""
    if one.scope == "project":
        standing = trust.look(desk.cwd, desk.home, desk.approvals)
        file = standing.project.files.get(os.path.relpath(path, standing.project.root))
        if not standing.trusted or file is None:
            raise Refused("skill_stale", name=one.name)
        trusted = file.digest
    try:
        data = files.read_bytes(os.path.join(folder, FILE), _MAX_BYTES)
    except NotText:
        raise Refused("skill_cases_unreadable", path=printable(path)) from None
    if trusted and files.digest(data) != trusted:
        raise Refused("skill_stale", name=one.name)
    return data


def _case(written: Any, number: int, path: str) -> Case:
    wrong = Refused("skill_case_wrong", path=printable(path), number=number)
    if not isinstance(written, dict) or not set(written) <= _FIELDS:
        raise wrong
    prompt, expect, reject = written.get("prompt"), _texts(written, "expect"), _texts(written, "reject")
    if not isinstance(prompt, str) or not prompt.strip() or expect is None or reject is None or not expect:
        raise wrong
    return Case(prompt, expect, reject)


def _texts(written: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    """A list of texts, or one text; None for what is neither."""
    value = written.get(key, [])
    listed = [value] if isinstance(value, str) else value
    return tuple(listed) if isinstance(listed, list) and all(isinstance(one, str) and one for one in listed) else None
