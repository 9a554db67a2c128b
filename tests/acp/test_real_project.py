"""A turn on a real project: a copy of acpagent's own checkout is searched, read, edited and tested."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.acp.seen import calls, calls_in, says, turn
from tests.agent import text_in
from tests.conftest import Home, StartAgent

ROOT = Path(__file__).parents[2]
TESTED = "tests/core/test_bounds.py"
OLD = "from __future__ import annotations\n"
NEW = OLD + "\n\ndef test_the_agent_was_here() -> None:\n    assert len('here') == 4\n"
CHECK = f"'{sys.executable}' -m pytest -v -p no:cacheprovider {TESTED}"
SCRIPT: dict[str, Any] = {
    "turns": [
        turn(
            "add a test",
            [
                {"thought": "Where are the tests of `clean`?"},
                *says("I look for them."),
                calls("grep", pattern=r"bounds\.clean\(", path="tests", glob="*.py"),
                calls("grep", pattern=r"^def clean\(text", path="acpagent"),
            ],
            [calls("read_file", path=TESTED, limit=40), calls("read_file", path="acpagent/core/bounds.py")],
            calls("edit_file", path=TESTED, old=OLD, new=NEW),
            calls("bash", command=CHECK),
            says("One test more, and all pass."),
        )
    ]
}


@pytest.fixture(scope="module")
def archive() -> bytes:
    """The checkout as it is committed, as a tar file."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    return subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout


@pytest.fixture
def project(archive: bytes, tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return folder


def test_an_editor_drives_a_turn_on_it(agent: StartAgent, home: Home, project: Path) -> None:
    home.use_script(SCRIPT)
    one = agent(deadline=60)
    old = (project / TESTED).read_text()
    updates, answer = one.prompt(one.new_session(project), "add a test", permission="once", timeout=60)
    assert answer["result"] == {"stopReason": "end_turn"}
    made = calls_in(updates)
    assert [call.status for call in made] == ["completed"] * 6
    assert [call.now["kind"] for call in made] == ["search", "search", "read", "read", "edit", "execute"]
    used, defined, part, whole, edit, check = made
    assert f"{TESTED}:" in used.text
    assert defined.now["locations"][0]["path"] == str(project / "acpagent/core/bounds.py")
    assert part.text.splitlines()[0].startswith(f"{TESTED}: lines 1-40 of ")
    assert "def clean(" in whole.text
    assert (edit.diff["oldText"], edit.diff["newText"]) == (old, old.replace(OLD, NEW))
    assert (project / TESTED).read_text() == old.replace(OLD, NEW)
    assert f"{TESTED}::test_the_agent_was_here PASSED" in check.text
    assert "failed" not in check.text
    assert len(one.transcript.requests) == 2  # for the edit and for the command
    assert text_in(updates) == "I look for them.One test more, and all pass."


def test_acpagent_run_drives_the_same_turn(home: Home, project: Path) -> None:
    home.use_script(SCRIPT, tool_approval="yolo")
    command = [sys.executable, "-m", "acpagent", "run", "add a test", "--cwd", str(project)]
    done = subprocess.run(
        command, env=home.env, cwd=home.path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "One test more, and all pass." in done.stdout
    assert "+def test_the_agent_was_here() -> None:" in done.stdout.replace("+ ", "+")
    assert " passed in " in done.stdout
    assert NEW in (project / TESTED).read_text()


def test_acpagent_run_changes_nothing_that_nobody_allows(home: Home, project: Path) -> None:
    home.use_script(SCRIPT)
    before = (project / TESTED).read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "acpagent", "run", "add a test"],
        env=home.env, cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (project / TESTED).read_bytes() == before
    assert "tool_approval" in done.stderr
