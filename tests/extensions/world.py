"""A person's home and a project, and the trust between them kept in memory."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acpagent.extensions import discovery, project, trust
from acpagent.extensions.discovery import Extensions, Plugin
from acpagent.extensions.trust import Standing
from acpagent.store.trust import Approval


class Shelf:
    """Approvals without a disk."""

    def __init__(self) -> None:
        self.kept: dict[str, Approval] = {}

    def read(self, root: str) -> Approval | None:
        return self.kept.get(root)

    def approve(self, root: str, git: str | None, fingerprint: str, files: Mapping[str, str]) -> None:
        self.kept[root] = Approval(root, git, fingerprint, "2026-01-01T00:00:00Z", dict(files))

    def revoke(self, root: str) -> None:
        self.kept.pop(root, None)


@dataclass(frozen=True)
class PluginAt:
    name: str
    root: str
    skills: Sequence[str] = ()
    commands: Sequence[str] = ()
    hooks: Sequence[str] = ()
    servers: Sequence[str] = ()

    def paths(self, kind: str) -> Sequence[str]:
        return {"skills": self.skills, "commands": self.commands, "hooks": self.hooks, "mcpServers": self.servers}[kind]


@dataclass
class World:
    base: Path
    shelf: Shelf = field(default_factory=Shelf)

    def __post_init__(self) -> None:
        for folder in (self.home, self.root, self.person):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def person(self) -> Path:
        return self.base / "person"

    @property
    def home(self) -> Path:
        return self.person / "config"

    @property
    def root(self) -> Path:
        return self.base / "project"

    def write(self, name: str, text: str | bytes | Any, mode: int | None = None) -> Path:
        """A file below the base; what is neither text nor bytes becomes JSON."""
        path = self.base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(text, str | bytes):
            text = json.dumps(text)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        if mode is not None:
            path.chmod(mode)
        return path

    def scan(self) -> project.Project:
        return project.scan(str(self.root), str(self.home))

    def standing(self) -> Standing:
        return trust.look(str(self.root), str(self.home), self.shelf)

    def approve(self) -> Standing:
        return trust.approve(str(self.root), str(self.home), self.shelf, trust.short(self.scan()))

    def discover(
        self, paths: Sequence[str] = (), plugins: Sequence[Plugin] = (), standing: Standing | None = None
    ) -> Extensions:
        return discovery.discover(str(self.home), standing or self.standing(), paths, plugins)


def skill(name: str, description: str = "Does a thing.", body: str = "Do it.", **fields: str) -> str:
    more = "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in fields.items())
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n{body}\n"


def is_root() -> bool:
    return os.geteuid() == 0
