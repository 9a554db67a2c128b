"""The pages made from the code are those the code makes today."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from acpagent.runtime.session.machine import REFUSALS, SessionMachine

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "generate_docs.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "tools" / TOOL.name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_pages_are_current() -> None:
    done = run(ROOT, "--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_stale_page_is_noticed_and_written(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "acpagent").symlink_to(ROOT / "acpagent")
    shutil.copy(TOOL, tmp_path / "tools")
    page = tmp_path / "docs" / "session-machine.md"
    assert run(tmp_path, "--check").returncode == 1
    assert not page.exists()
    assert run(tmp_path).returncode == 0
    assert page.read_text() == (ROOT / "docs" / "session-machine.md").read_text()
    page.write_text(page.read_text() + "\n")
    done = run(tmp_path, "--check")
    assert done.returncode == 1
    assert "docs/session-machine.md is stale: run python tools/generate_docs.py" in done.stderr


def test_anything_else_is_explained(tool: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["--help"]) == 2
    assert "--check" in capsys.readouterr().err


def test_the_page_names_every_transition_and_refusal(tool: ModuleType) -> None:
    page = tool.session_machine()
    for state in SessionMachine.states:
        for one in state.transitions:
            edge = f"{state.id} : {one.event}" if one.internal else f"{state.id} --> {one.target.id} : {one.event}"
            assert edge in page
    for (event, state), code in REFUSALS.items():
        column = [each.id for each in SessionMachine.states].index(state) + 2
        row = next(line for line in page.splitlines() if line.startswith(f"| `{event}` |"))
        assert str(code) in row.split("|")[column]
