"""The soak runs, and what it sees is in order. Whether the agent grows shows only in a long run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository.sources import ROOT


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs /proc")
def test_a_short_soak_finds_every_line_valid(tmp_path: Path) -> None:
    written = tmp_path / "soak.json"
    command = [sys.executable, str(ROOT / "tools" / "soak.py"), "--minutes", "0.2", "--json", str(written)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(written.read_text(encoding="utf-8"))
    assert result["faults"] == []
    last = result["samples"][-1]
    assert last["turns"] > 2  # how many there are says how fast the machine is
    assert last["lines"] > last["turns"]
    assert last["processes"] == 1
    assert "store MiB" in done.stdout.splitlines()[0]
