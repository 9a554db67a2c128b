"""`acpagent trust`, as a person in a terminal and a script use it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.cli.terminals import Terminal, call
from tests.conftest import Home

SERVER = {"mcpServers": {"tracker": {"command": "npx", "args": ["tracker"]}}}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def test_the_whole_way(home: Home, project: Path) -> None:
    done = call(["trust"], home.env, project)
    assert (done.returncode, done.stderr) == (0, "")
    assert "brings nothing" in done.stdout
    (project / ".mcp.json").write_text(json.dumps(SERVER))
    done = call(["trust", "status", str(project)], home.env, home.path)
    assert done.returncode == 1
    assert "  .mcp.json: tracker starts a server: npx tracker\n" in done.stdout
    done = call(["trust", "approve"], home.env, project)
    assert done.returncode == 2
    found = re.search(r"acpagent trust approve --fingerprint ([0-9a-f]{16})`\n", done.stderr)
    assert found is not None
    assert call(["trust", "status"], home.env, project).returncode == 1
    approve = ["trust", "approve", "--fingerprint", found[1]]
    (project / ".mcp.json").write_text(json.dumps(SERVER).replace("npx", "sh "))
    done = call(approve, home.env, project)
    assert (done.returncode, "look at it again" in done.stderr) == (1, True)
    (project / ".mcp.json").write_text(json.dumps(SERVER))
    done = call(approve, home.env, project)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"{project} is trusted as it is now")
    assert call(approve, home.env, project).returncode == 0
    assert call(["trust", "status"], home.env, project).returncode == 0
    (project / ".mcp.json").chmod(0o700)
    done = call(["trust"], home.env, project)
    assert (done.returncode, "not as it was approved: .mcp.json" in done.stdout) == (1, True)
    done = call(["trust", "revoke"], home.env, project)
    assert (done.returncode, done.stdout) == (0, f"{project} is trusted no more\n")
    assert "is not trusted" in call(["trust"], home.env, project).stdout


@pytest.mark.parametrize(("typed", "code"), [("yes\n", 0), ("no\n", 1), ("\n", 1)])
def test_a_person_is_asked(home: Home, project: Path, typed: str, code: int) -> None:
    (project / ".mcp.json").write_text(json.dumps(SERVER))
    with Terminal(["trust", "approve"], home.env, project) as terminal:
        terminal.wait_for("Type yes: ")
        assert "tracker starts a server: npx tracker" in terminal.everything
        terminal.type(typed)
        assert terminal.end()[0] == code
    assert call(["trust"], home.env, project).returncode == code


def test_what_changes_while_a_person_reads_is_not_approved(home: Home, project: Path) -> None:
    (project / ".mcp.json").write_text(json.dumps(SERVER))
    with Terminal(["trust", "approve"], home.env, project) as terminal:
        terminal.wait_for("Type yes: ")
        (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"tracker": {"command": "evil"}}}))
        terminal.type("yes\n")
        assert terminal.end()[0] == 1
    assert call(["trust"], home.env, project).returncode == 1


def test_what_cannot_be_trusted(home: Home, project: Path) -> None:
    os.mkfifo(project / ".mcp.json")
    done = call(["trust", "approve"], home.env, project)
    assert (done.returncode, done.stderr) == (1, "")
    assert "it cannot be trusted at all: .mcp.json is neither a file" in done.stdout


@pytest.mark.parametrize("words", [["trust", "dance"], ["trust", "status", "/nowhere"], ["trust", "status", "a", "b"]])
def test_wrong_words(home: Home, project: Path, words: list[str]) -> None:
    assert call(words, home.env, project).returncode == 2
