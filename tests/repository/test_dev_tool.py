"""What tools/dev.py takes for a whole `.venv`, and what it does when asked for something else."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import venv
from pathlib import Path
from types import ModuleType

import pytest

from tests.repository.sources import ROOT

TOOL = ROOT / "tools" / "dev.py"


@pytest.fixture
def dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool, looking at an empty folder instead of the checkout."""
    spec = importlib.util.spec_from_file_location("dev", TOOL)
    assert spec
    assert spec.loader
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    for name in ("VENV", "PYTHON", "STAMP", "MAKING"):
        moved = tmp_path / Path(getattr(tool, name)).relative_to(ROOT)
        monkeypatch.setattr(tool, name, str(moved))
    monkeypatch.setattr(tool, "ROOT", str(tmp_path))
    return tool


def with_our_python(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if `.venv` held the Python that runs the tests."""
    os.mkdir(dev.VENV)
    monkeypatch.setattr(dev, "PYTHON", sys.executable)


def test_no_venv(dev: ModuleType) -> None:
    assert dev.works() is False


def test_a_whole_one(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    with_our_python(dev, monkeypatch)
    assert dev.works() is True
    dev.write_stamp({"root": dev.ROOT, "extras": ["test"]})
    assert dev.works() is True
    assert dev.installed() == ["test"]


def test_one_whose_making_was_broken_off(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    with_our_python(dev, monkeypatch)
    Path(dev.MAKING).touch()
    assert dev.works() is False


def test_one_moved_here_from_elsewhere(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    with_our_python(dev, monkeypatch)
    dev.write_stamp({"root": "/elsewhere", "extras": []})
    assert dev.works() is False


def test_one_whose_python_is_gone(dev: ModuleType) -> None:
    os.makedirs(os.path.dirname(dev.PYTHON))
    os.symlink("/nowhere/python", dev.PYTHON)
    assert dev.works() is False


def test_one_without_pip(dev: ModuleType) -> None:
    venv.EnvBuilder(with_pip=False, symlinks=True).create(dev.VENV)
    assert dev.works() is False


@pytest.mark.parametrize("text", ["", "{", "{}"])
def test_a_stamp_that_says_nothing(dev: ModuleType, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    with_our_python(dev, monkeypatch)
    Path(dev.STAMP).write_text(text)
    assert dev.installed() == []
    assert dev.works() is True


@pytest.mark.parametrize("arguments", [[], ["dance"], ["check", "more"], ["build"]])
def test_anything_else_shows_how_it_is_used(arguments: list[str]) -> None:
    command = [sys.executable, str(TOOL), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "python tools/dev.py test" in done.stderr
