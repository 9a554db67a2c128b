"""A file that outgrows this asks to be split along a real seam."""

from __future__ import annotations

from tests.repository.sources import modules

LIMIT = 600


def test_no_file_is_too_long() -> None:
    lengths = {module.name: len(module.path.read_text(encoding="utf-8").splitlines()) for module in modules()}
    assert not {name: length for name, length in lengths.items() if length > LIMIT}
