"""The names we promise, what importing them costs, and that importing anything does nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import acpagent
from tests.repository.sources import ROOT, modules

LOADED = """
import sys
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
import acpagent
print(*sorted(set(sys.modules) - before))
"""

IMPORT_ALL = """
import importlib, os, signal, sys, threading
def state():
    handlers = [signal.getsignal(number) for number in sorted(signal.valid_signals())]
    return handlers, dict(os.environ), os.listdir("/dev/fd"), os.getcwd()

before = state()
for name in sys.argv[1:]:
    importlib.import_module(name)
assert before == state(), (before, state())
assert threading.active_count() == 1, threading.enumerate()
"""


def test_all_names_exist() -> None:
    assert {"Client", "__version__"} <= set(acpagent.__all__)
    for name in acpagent.__all__:
        assert getattr(acpagent, name) is not None


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = acpagent.nothing


def test_importing_the_package_loads_nothing_else() -> None:
    command = [sys.executable, "-I", "-S", "-c", LOADED, str(ROOT)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == ["acpagent"]


def test_importing_any_module_does_nothing_else(tmp_path: Path) -> None:
    names = [module.name for module in modules() if module.name != "acpagent.__main__"]
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *names],
        cwd=tmp_path,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("", "")
    assert not list(tmp_path.iterdir())
