from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acpagent.store.database import Store
from tests.store.children import Child


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory that is not there yet."""
    return tmp_path / "home"


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    store = Store(str(home / "store.sqlite3"))
    yield store
    assert store.close(30)


@pytest.fixture
def children() -> Iterator[list[Child]]:
    """Started children; whichever still runs at the end is killed."""
    started: list[Child] = []
    yield started
    for child in started:
        child.kill()
