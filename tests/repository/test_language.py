"""Tracked files are text that would read the same on any other machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.repository.sources import ROOT, tracked

SOMEBODY = re.compile(r"/(?:home|Users)/(?!you\b|me\b|user\b)[\w.-]+/")


def machine_paths() -> list[str]:
    """Where this checkout and its user live. A folder right below `/` says too little to search for."""
    places = (ROOT.parent, ROOT, Path(os.path.expanduser("~")))
    return [f"{place}/" for place in places if len(place.parts) > 2 or place.name in ("root", "work")]


def test_no_file_names_a_machine() -> None:
    here = machine_paths()
    wrong = []
    for name in tracked():
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1):
            if SOMEBODY.search(line) or any(place in line for place in here):
                wrong.append(f"{name}:{number}: {line.strip()[:100]}")
    assert not wrong, "\n".join(wrong)


def test_line_ends() -> None:
    assert not [name for name in tracked() if b"\r" in (ROOT / name).read_bytes()]
