"""Nothing heavy is imported before `initialize` is answered.

A real agent is started, its standard output watched from inside: at the moment the answer is written, the
child notes which modules were loaded and by which thread. The warm-up thread may load what it likes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.repository.sources import ROOT

HEAVY = {
    "argparse", "asyncio", "dataclasses", "hashlib", "importlib.metadata", "importlib.resources",
    "importlib.util", "inspect", "logging", "pathlib", "sqlite3", "subprocess", "typing",
    "jsonschema", "mcp", "requests", "statemachine", "urllib3", "yaml",
}  # fmt: skip

# -S keeps the `.pth` files of an editable install away, which load some of these modules by themselves. What
# they do for us, finding acpagent.schemas, is done here by a second folder for the package.
CHILD = """
import json, os, sys, threading
root, libraries, notes = sys.argv[1:4]
sys.path[:0], sys.path[len(sys.path):] = [root], [libraries]
loaded = []

class Watch:
    def find_spec(self, name, path=None, target=None):
        loaded.append((name, threading.current_thread().name))

def write(fd, data, write=os.write):
    if b'"protocolVersion"' in bytes(data) and not os.path.exists(notes):
        with open(notes, "w") as file:
            json.dump(loaded, file)
    return write(fd, data)

sys.meta_path.insert(0, Watch())
os.write = write
sys.argv = ["acpagent", "acp"]
import acpagent
acpagent.__path__.append(root)
from acpagent.cli.main import main
sys.exit(main())
"""

INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
CONFIG = "providers:\n  rehearsal: {api: scripted, script: demo.yaml}\n"


def loaded_before_the_answer(home: Path, notes: Path) -> list[tuple[str, str]]:
    """Modules in the order they were asked for, each with the name of the thread that did."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", CHILD, str(ROOT), sysconfig.get_path("purelib"), str(notes)],
        env={**os.environ, "ACPAGENT_HOME": str(home)},
        input=INITIALIZE,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[0])["result"]["protocolVersion"] == 1
    return [(name, thread) for name, thread in json.loads(notes.read_text())]


def heavy(loaded: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, thread) for name, thread in loaded if name in HEAVY and "warm" not in thread]


@pytest.mark.parametrize("config", [None, CONFIG], ids=["unconfigured", "configured"])
def test_nothing_heavy_before_the_answer(config: str | None, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    if config is not None:
        (home / "config.yaml").write_text(config)
        loaded_before_the_answer(home, tmp_path / "first")  # reads the changed file, and keeps a copy
    loaded = loaded_before_the_answer(home, tmp_path / "notes")
    assert ("acpagent.acp.connection", "MainThread") in loaded
    assert not heavy(loaded)


def test_a_changed_configuration_is_read_in_full(tmp_path: Path) -> None:
    """Proves that the watch sees what it must."""
    (tmp_path / "config.yaml").write_text(CONFIG)
    loaded = loaded_before_the_answer(tmp_path, tmp_path / "notes")
    assert "yaml" in {name for name, _ in heavy(loaded)}
