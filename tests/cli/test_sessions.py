"""`acpagent sessions`: there and back again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.terminals import Terminal, call
from tests.conftest import Home, StartAgent


@pytest.fixture
def stored(home: Home, workspace: Path, tmp_path: Path) -> Home:
    """Two sessions in two folders."""
    home.use_script("hello.yaml")
    for prompt, folder in (("First of all", workspace), ("Second to none", tmp_path)):
        assert call(["run", prompt], home.env, folder).returncode == 0
    return home


def listed(home: Home, folder: Path, *flags: str) -> list[dict[str, str]]:
    done = call(["sessions", "list", "--json", *flags], home.env, folder)
    assert (done.returncode, done.stderr) == (0, "")
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


def test_list(stored: Home, workspace: Path, tmp_path: Path) -> None:
    done = call(["sessions", "list"], stored.env, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    header, newest, oldest = done.stdout.splitlines()
    assert header.split() == ["ID", "UPDATED", "FOLDER", "TITLE"]
    assert newest.endswith(f"  {tmp_path}{' ' * (len(str(workspace)) - len(str(tmp_path)))}  Second to none")
    assert oldest.endswith(f"  {workspace}  First of all")


def test_list_as_json(stored: Home, workspace: Path, tmp_path: Path) -> None:
    newest, oldest = listed(stored, tmp_path)
    assert [one["title"] for one in (newest, oldest)] == ["Second to none", "First of all"]
    assert set(newest) == {"id", "updated", "cwd", "title"}
    assert oldest["cwd"] == str(workspace)
    assert listed(stored, tmp_path, "--cwd", str(workspace)) == [oldest]
    assert listed(stored, workspace, "--cwd", ".") == [oldest]


def test_none(home: Home, tmp_path: Path) -> None:
    assert listed(home, tmp_path) == []
    done = call(["sessions", "list"], home.env, tmp_path)
    assert (done.returncode, done.stdout) == (0, "No sessions are stored.\n")


def test_delete(stored: Home, tmp_path: Path) -> None:
    newest, oldest = listed(stored, tmp_path)
    done = call(["sessions", "delete", newest["id"]], stored.env, tmp_path)
    assert (done.returncode, done.stdout) == (0, f"Deleted {newest['id']}.\n")
    assert listed(stored, tmp_path) == [oldest]
    again = call(["sessions", "delete", newest["id"]], stored.env, tmp_path)
    assert again.returncode == 1
    assert f"there is no session {newest['id']}" in again.stderr


def test_a_session_in_use_stays(stored: Home, workspace: Path, tmp_path: Path, agent: StartAgent) -> None:
    oldest = listed(stored, tmp_path, "--cwd", str(workspace))[0]
    editor = agent()
    editor.initialize()
    editor.call("session/load", {"sessionId": oldest["id"], "cwd": str(workspace), "mcpServers": []})
    done = call(["sessions", "delete", oldest["id"]], stored.env, tmp_path)
    assert done.returncode == 1
    assert "in use by process" in done.stderr
    assert len(listed(stored, tmp_path)) == 2


def test_lines_fit_a_terminal(home: Home, tmp_path: Path) -> None:
    home.use_script("hello.yaml")
    assert call(["run", "word " * 30], home.env, tmp_path).returncode == 0
    with Terminal(["sessions", "list"], home.env, tmp_path) as terminal:
        code, shown = terminal.end()
    assert code == 0
    assert all(len(line) < 90 for line in shown.splitlines()[1:])
    assert "…" in shown
