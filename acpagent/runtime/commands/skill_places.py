"""Which skills the subcommands of /skill name, and the files of skills that they may write."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from acpagent.core import files
from acpagent.core.bounds import one_line, printable
from acpagent.core.paths import within
from acpagent.extensions import frontmatter, revisions, skills, trust
from acpagent.extensions.project import Project, scan
from acpagent.extensions.revisions import Made
from acpagent.extensions.skills import Skill
from acpagent.runtime.commands.arguments import Refused
from acpagent.runtime.session.services import CommandDesk

_LISTED = 40


@dataclass(frozen=True, slots=True)
class Place:
    """A skill's file, `path`, in a folder of acpagent's own. `inside`: where the skill lies below the project, empty
    for one of the person's."""

    path: str
    inside: str

    @property
    def real(self) -> str:
        return os.path.realpath(self.path)

    def now(self) -> bytes | None:
        """What is there. Raises OSError, `NotText`."""
        try:
            return files.read_bytes(self.real, frontmatter.MAX_BYTES)
        except FileNotFoundError:
            return None


def found(name: str, verb: str, desk: CommandDesk) -> Skill:
    """Raises `Refused`."""
    one = desk.extensions.skill(name)
    if one is None:
        known = names(desk, lambda one: True)
        if not name:
            raise Refused("skill_needs_name", verb=verb, known=known)
        raise Refused("skill_not_found", name=one_line(name, 60), known=known)
    return one


def names(desk: CommandDesk, fits: Callable[[Skill], bool]) -> str:
    return ", ".join(f"`{one.name}`" for one in desk.extensions.skills[:_LISTED] if fits(one)) or "-"


def check_name(name: str) -> None:
    """Raises `Refused`."""
    if not skills.NAME.fullmatch(name) or len(name) > skills.MAX_NAME:
        raise Refused("skill_name")


def folders(desk: CommandDesk) -> tuple[str, str]:
    """Where acpagent writes skills: for the project, for the person."""
    return os.path.join(os.path.realpath(desk.cwd), ".acpagent", "skills"), os.path.join(desk.home, "skills")


def owned(one: Skill, desk: CommandDesk) -> Place:
    """Where a skill may be changed. Raises `Refused` for one that lies elsewhere, or is a link to there."""
    place = os.path.dirname(one.path) if os.path.basename(one.path) == skills.FILE else one.path
    project, own = folders(desk)
    base = os.path.dirname(place)
    if base not in (project, own):
        raise Refused("skill_not_ours", name=one.name, path=printable(one.path))
    inside = f".acpagent/skills/{os.path.basename(place)}" if base == project else ""
    made = Place(one.path, inside)
    _check_links(made, base, desk)
    return made


def removed(name: str, desk: CommandDesk) -> Place | None:
    """Where a skill was that is there no more, but has revisions. Raises `Refused`, OSError."""
    if not skills.NAME.fullmatch(name) or len(name) > skills.MAX_NAME:
        return None
    project, own = folders(desk)
    for base in (project, own):
        for entry, file in ((name, os.path.join(name, skills.FILE)), (f"{name}.md", f"{name}.md")):
            made = Place(os.path.join(base, file), f".acpagent/skills/{entry}" if base == project else "")
            if not os.path.lexists(os.path.join(base, entry)) and revisions.read(desk.home, made.real):
                _check_links(made, base, desk)
                return made
    return None


def write(place: Place, data: bytes, made: Made, desk: CommandDesk) -> str:
    """Put the bytes there, with a revision of what stood there and one of them, and have everything read anew. Returns
    what to add to the answer. Raises OSError, `NotText`."""
    before = place.now()
    if before is not None:
        revisions.keep(desk.home, place.real, before, "found")

    def change() -> None:
        os.makedirs(os.path.dirname(place.path), exist_ok=True)
        files.write_bytes(place.real, data)

    note = in_project(desk, place.inside, change) if place.inside else ""
    if not place.inside:
        change()
    revisions.keep(desk.home, place.real, data, made)
    desk.reload()
    return note


def in_project(desk: CommandDesk, path: str, change: Callable[[], None]) -> str:
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
    return f" {desk.say('skill_untrusted')}"


def _rest(project: Project, path: str) -> dict[str, tuple[str, int, str]]:
    return {
        name: (one.digest, one.mode, one.link)
        for name, one in project.files.items()
        if name != path and not name.startswith(f"{path}/")
    }


def _check_links(place: Place, base: str, desk: CommandDesk) -> None:
    """No link on the way from its folder to the file, and none that leads the folder out of the project."""
    real = os.path.realpath(base)
    strays = place.inside and not within(real, os.path.realpath(desk.cwd))
    if strays or place.real != os.path.join(real, os.path.relpath(place.path, base)):
        raise Refused("skill_not_ours", name=os.path.basename(place.path), path=printable(place.path))
