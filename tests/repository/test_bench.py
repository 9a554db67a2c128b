"""The benchmark runs and leaves nothing out. What it measures is never judged here: machines differ, and are busy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.repository.sources import ROOT

ROWS = {
    "launch", "new_first", "new_later", "to_model", "to_chunk", "to_response", "chunks", "chunk_messages", "reads",
    "cancel", "request_size", "request_tools", "memory_first", "memory_more", "memory_turn", "turn_early", "turn_late",
    "turn_growth", "load_first", "load", "load_messages", "load_growth", "exit",
}  # fmt: skip
OURS_ALONE = {"load_first", "load", "load_messages", "load_growth"}


def test_a_smoke_run_fills_the_table_and_the_json(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    command = [sys.executable, str(ROOT / "tools" / "bench.py"), "--quick", "--python", sys.executable]
    done = subprocess.run([*command, "--json", str(written)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(written.read_text(encoding="utf-8"))
    assert result["machine"]["cores"]
    figures = result["figures"]
    assert set(figures) == ROWS
    for name, figure in figures.items():
        assert figure["title"] in done.stdout
        assert ("echo agent" in figure) == (name not in OURS_ALONE)
        for entrant in {"acpagent", "echo agent"} & set(figure):
            summary = figure[entrant]
            assert summary["samples"]
            assert summary["min"] <= summary["median"] <= summary["max"]
