from __future__ import annotations

from pathlib import Path

import pytest

from tests.extensions.world import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path.resolve())
    monkeypatch.setenv("HOME", str(world.person))
    return world
