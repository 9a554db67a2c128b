"""Instruction files: which ones count, and what the model reads of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from acpagent.extensions import instructions
from tests.extensions.world import World, is_root


@pytest.fixture
def repository(world: World) -> Path:
    subprocess.run(["git", "init", "-q", world.root], check=True)
    (world.root / "lib/core").mkdir(parents=True)
    return world.root


def texts(world: World, cwd: Path) -> list[str]:
    return [one.text for one in instructions.find(str(cwd), str(world.home))[0]]


def problems(world: World, cwd: Path) -> list[str]:
    return [str(one) for one in instructions.find(str(cwd), str(world.home))[1]]


def test_from_the_home_down_to_the_work(world: World, repository: Path) -> None:
    world.write("AGENTS.md", "Above the repository.")
    for place in ("person/config", "project", "project/lib", "project/lib/core"):
        for name in instructions.NAMES:
            world.write(f"{place}/{name}", f"{place} {name}")
    world.write("project/src/AGENTS.md", "Beside.")
    expected = [
        f"{place} {name}" for place in ("person/config", "project", "project/lib", "project/lib/core")
        for name in instructions.NAMES
    ]  # fmt: skip
    assert texts(world, repository / "lib/core") == expected
    assert texts(world, repository) == expected[:8]


def test_without_a_repository_only_the_directory_itself(world: World) -> None:
    world.write("AGENTS.md", "Above.")
    world.write("project/AGENTS.md", "Here.")
    assert texts(world, world.root) == ["Here."]


def test_each_text_once(world: World, repository: Path) -> None:
    world.write("project/AGENTS.md", "Be brief.\n")
    (repository / "CLAUDE.md").symlink_to("AGENTS.md")
    assert texts(world, repository) == ["Be brief."]
    (repository / "CLAUDE.md").unlink()
    world.write("project/CLAUDE.md", "@AGENTS.md\n")
    world.write("project/CLAUDE.local.md", "Be brief.")
    world.write("project/lib/AGENTS.md", "  \n")
    assert texts(world, repository / "lib") == ["Be brief."]


def test_links_out_of_the_repository_are_not_followed(world: World, repository: Path) -> None:
    world.write("secret.txt", "Secret.")
    world.write("project/docs/rules.md", "Rules.")
    (repository / "AGENTS.md").symlink_to(world.base / "secret.txt")
    (repository / "CLAUDE.md").symlink_to("docs/rules.md")
    (repository / "CLAUDE.local.md").symlink_to("nowhere")
    (world.home / "AGENTS.md").symlink_to(world.base / "secret.txt")
    assert texts(world, repository) == ["Secret.", "Rules."]
    (problem,) = problems(world, repository)
    assert problem.startswith(f"{repository}/AGENTS.md: is a link that leads out")


def test_what_is_no_text(world: World, repository: Path) -> None:
    world.write("project/AGENTS.md", b"\0\1\2")
    (repository / "CLAUDE.md").mkdir()
    world.write("project/CLAUDE.local.md", "x" * (1 << 20 | 1))
    world.write("project/AGENTS.local.md", "Caf\xe9".encode("latin-1"))
    assert texts(world, repository) == ["Café"]
    assert len(problems(world, repository)) == 3
    if not is_root():
        world.write("project/lib/AGENTS.md", "x", mode=0)
        assert "cannot be read" in problems(world, repository / "lib")[-1]


def test_bounds(world: World, repository: Path) -> None:
    for place in ("person/config", "project", "project/lib", "project/lib/core"):
        world.write(f"{place}/AGENTS.md", f"{place}\n" + "word\n" * 10_000 + "end")
    found = instructions.find(str(repository / "lib/core"), str(world.home))[0]
    assert [one.text.split("\n")[0] for one in found] == ["project/lib", "project/lib/core"]
    assert all(len(one.text) <= instructions.MAX_FILE and one.text.endswith("end") for one in found)
    told = problems(world, repository / "lib/core")
    assert len(told) == 4
    assert "cut" in told[0]
    assert "no room" in told[-1]


def test_the_message(world: World, repository: Path) -> None:
    assert instructions.message(()) == ""
    world.write("person/config/AGENTS.md", "Mine.")
    world.write("project/AGENTS.md", "```\nsh x\n```\nTheirs.")
    text = instructions.message(instructions.find(str(repository), str(world.home))[0])
    assert f"{world.home}/AGENTS.md (the person's own instructions):\n```\nMine.\n```" in text
    assert f"{repository}/AGENTS.md (instructions of the project):\n````\n```\nsh x" in text
    assert text.endswith("Theirs.\n````")


def test_a_home_inside_of_the_repository_is_read_once(world: World, repository: Path) -> None:
    world.write("project/AGENTS.md", "Here.")
    assert [one.personal for one in instructions.find(str(repository), str(repository))[0]] == [True]
