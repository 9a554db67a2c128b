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


OURS = [
    "acpagent trust approve --fingerprint 0123456789abcdef", "acpagent trust approve",
    "acpagent plugin install ./p", "~/.venvs/a/bin/acpagent trust approve", "python -m acpagent trust approve",
    "python3 -m acpagent plugin enable p", "env X=1 acpagent trust approve", "timeout 5 acpagent trust approve",
    "true && acpagent trust approve", "(cd src; acpagent trust approve ..)", "acpa\"gent\" tr\\ust approve",
    "sh -c 'acpagent trust approve'", "echo acpagent trust approve | sh", "bash <<< 'acpagent trust approve'",
    "bash <<E\nacpagent trust approve\nE", "$(echo acpagent trust approve)", "echo trust | xargs acpagent",
    "a=acpagent; $a trust approve", "X=trust; acpagent $X approve", "find . -exec acpagent trust approve ';'",
    "nohup acpagent trust approve &", "python -c 'from acpagent.extensions import trust'",
    "python -c 'import subprocess as s; s.run([\"acpagent\", \"trust\"])'",
    "python -c '__import__(\"acpagent.store.trust\")'", "sqlite3 {home}/store.sqlite3 'delete from grants'",
    "sqlite3 ../home/store.sqlite3 .dump", "cp x {home}/config.yaml",
    "python -c 'open(\"{home}/config.yaml\", \"a\")'", "cd {home} && touch x", "cd ../home && ls > y",
    "rm -rf {home}", "python edit.py --file={home}/config.yaml", "python edit.py $ACPAGENT_HOME/config.yaml",
    "tar xf a.tar -C ../home", "ln -s {home} here", "mv src/x ../home/",
]  # fmt: skip
HARMLESS = [
    "grep -rn 'acpagent trust' docs", "cat docs/acpagent-plugin.md", "make plugin", "npm run trust",
    "acpagent --version", "python -m pytest tests/plugin", "pip install acpagent", "acpagent doctor",
    "touch acpagent/trust.py", "ruff check acpagent/cli/plugin.py", "git commit -m 'Trust plugins'",
    "touch ../home-made", "ls -l > files.txt",
]  # fmt: skip


@pytest.mark.parametrize("approval", ["ask", "auto", "yolo"])
@pytest.mark.parametrize("line", OURS)
def test_what_the_agent_trusts_is_a_persons_decision(world, approval, line):
    line = line.replace("{home}", str(world.base / "home"))
    gate = world.gate(approval, allow=("Bash", "Bash(acpagent:*)", "Bash(python:*)", "Edit", f"Edit({world.base}/**)"))
    gate.grant_session("Bash")
    gate.grant_session("Bash(acpagent trust:*)")
    if "\n" not in line:
        gate.grant_repository(f"Bash={line}")
    verdict = judge(world, gate, "execute", line)
    assert (verdict.action, verdict.choices, verdict.rule) == ("ask", ONCE, ""), verdict


@pytest.mark.parametrize("line", HARMLESS)
def test_lines_that_only_sound_like_it(world, line):
    assert judge(world, world.gate("yolo"), "execute", line).action == "allow"
