"""A small place to judge calls in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acpagent.core.faults import OurFault
from acpagent.core.paths import Roots
from acpagent.core.toolcalls import Effect, EffectKind, Proposal
from acpagent.permission import rules
from acpagent.permission.gate import Gate
from acpagent.permission.grants import Repositories
from acpagent.permission.verdicts import Approval, Verdict

ALL = ("deny", "once", "session", "repo", "full")
KEPT = ("deny", "once", "session", "repo")
DIRECTORY = ("deny", "once", "session")
ONCE = ("deny", "once")
TOOLS = {"read": "read_file", "write": "edit_file", "execute": "bash"}


@dataclass
class Settings:
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class Shelf:
    """What repositories were granted, kept in memory. `broken`: nothing can be stored."""

    def __init__(self) -> None:
        self.rules: dict[str, tuple[str, ...]] = {}
        self.broken = False

    def read(self, repository: str) -> tuple[str, ...]:
        return self.rules.get(repository, ())

    def add(self, repository: str, rule: str) -> None:
        if self.broken:
            raise OurFault("the disk is full")
        self.rules[repository] = (*self.read(repository), rule)

    def clear(self, repository: str) -> None:
        self.rules.pop(repository, None)


class World:
    """A root `in`, an additional root `more`, a directory `out` outside, and links that lead out."""

    def __init__(self, base: Path) -> None:
        self.base = base
        for name in ("in/src", "in/.git/hooks", "more", "out", "home"):
            (base / name).mkdir(parents=True)
        (base / "out" / "file").write_text("")
        (base / "in" / "link").symlink_to(base / "out")
        self.roots = Roots(str(base / "in"), [str(base / "more")])
        self.shelf = Shelf()
        self.repositories = Repositories(self.shelf)

    def gate(self, approval: Approval = "ask", **written: tuple[str, ...]) -> Gate:
        repository = self.repositories.open(self.roots.all[0])
        read = rules.read(Settings(**written))
        return Gate(read, self.roots, approval, repository, kept=(str(self.base / "home"),))

    def proposal(self, kind: EffectKind, target: str, **more: Any) -> Proposal:
        effect = Effect(kind, command=target) if kind == "execute" else Effect(kind, self.roots.resolve(target), **more)
        return Proposal("Do it", "other", (effect,))


def judge(world: World, gate: Gate, kind: EffectKind, target: str, tool: str | None = None) -> Verdict:
    return gate.judge(tool or TOOLS[kind], world.proposal(kind, target))
