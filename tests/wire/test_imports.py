"""What the connection needs is cheap to import: it stands before the first answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"argparse", "asyncio", "dataclasses", "hashlib", "importlib", "inspect", "jsonschema", "logging", "pathlib",
         "queue", "subprocess", "tempfile", "typing"}  # fmt: skip
CHILD = """
import sys
sys.path.insert(0, {root!r})
import acpagent.wire.codes, acpagent.wire.driver, acpagent.wire.stdio
print(*sys.modules)
"""


def test_nothing_heavy_is_imported() -> None:
    child = [sys.executable, "-I", "-S", "-c", CHILD.format(root=str(ROOT))]
    loaded = subprocess.run(child, capture_output=True, text=True, check=True, timeout=60).stdout.split()
    assert "acpagent.wire.outbox" in loaded
    assert not HEAVY & set(loaded)
