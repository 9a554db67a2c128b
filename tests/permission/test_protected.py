"""What makes other programs run something is decided by a person, each time and in every approval."""

from __future__ import annotations

import pytest

from tests.permission.world import ONCE, World, judge


@pytest.fixture
def world(tmp_path):
    return World(tmp_path.resolve())


PROTECTED = [
    ".git/config", ".git/hooks/pre-commit", "src/vendored/.git/config", ".GIT/config", ".acpagent/hooks.yaml",
    ".soba/mcp.json", ".mcp.json", "src/.mcp.json", ".envrc", ".husky/pre-push", ".githooks/pre-push",
    ".pre-commit-config.yaml",
    ".vscode/tasks.json", ".vscode/settings.json", ".zed/tasks.json", ".idea/runConfigurations/x.xml",
    ".bashrc", ".profile", ".zshenv", ".gitconfig", ".ssh/authorized_keys", ".config/fish/config.fish",
    ".devcontainer/devcontainer.json", "../home/config.yaml", "../out/.bashrc",
]  # fmt: skip
PLAIN = [
    ".gitignore", ".github/workflows/x.yml", ".gitattributes", "mcp.json", "git/config", ".vscode/extensions.json",
    ".env", "src/tasks.json", "profile", "bashrc.md", ".config/app.toml", "docs/.keep", ".idea/codeStyles/x.xml",
]  # fmt: skip


@pytest.mark.parametrize("approval", ["ask", "auto", "yolo"])
@pytest.mark.parametrize("path", PROTECTED)
def test_a_person_decides_each_time(world, approval, path):
    gate = world.gate(approval, allow=("Edit", "Edit(**)", f"Edit({world.base}/**)"))
    for rule in ("Edit", f"Edit({world.base}/out)", "Edit(.git)", "Edit(.vscode/**)"):
        gate.grant_session(rule)
        gate.grant_repository(rule)
    verdict = judge(world, gate, "write", path)
    assert (verdict.action, verdict.choices, verdict.rule) == ("ask", ONCE, "")
    assert "can make other programs run commands" in verdict.reason
    assert judge(world, world.gate(approval, deny=("Edit",)), "write", path).action == "deny"


@pytest.mark.parametrize("path", PLAIN)
def test_what_only_looks_like_it(world, path):
    assert judge(world, world.gate("auto"), "write", path).action == "allow"


def test_reading_is_not_changing(world):
    assert judge(world, world.gate("ask"), "read", ".git/config").action == "allow"


def test_a_link_does_not_hide_it(world):
    (world.base / "in" / "innocent").symlink_to(".git/hooks")
    assert judge(world, world.gate("yolo"), "write", "innocent/pre-commit").choices == ONCE


def test_a_directory_that_is_changed_with_all_in_it(world):
    def moved(target):
        return world.gate("yolo").judge("move_file", world.proposal("write", target, below=True)).action

    assert moved("src") == "allow"
    assert moved(".") == "ask"
    (world.base / "in" / "src" / ".vscode").mkdir()
    assert moved("src") == "ask"
    assert moved("..") == "ask"  # the home of the agent is in there


def test_where_one_works_counts_by_what_is_below(tmp_path):
    world = World(tmp_path.resolve() / ".git")
    assert judge(world, world.gate("auto"), "write", "src/a").action == "allow"
    assert judge(world, world.gate("auto"), "write", ".git/config").action == "ask"
