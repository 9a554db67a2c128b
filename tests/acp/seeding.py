"""Sessions that were stored long ago."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from pathlib import Path

from acpagent.store import sessions
from acpagent.store.database import Store
from tests.conftest import Home


def seed(home: Home, cwd: Path, count: int) -> list[str]:
    """Store that many sessions with a prompt each, some of them at the same moment; their ids, newest first."""
    store = Store(str(home.path / "store.sqlite3"))
    start = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    made = []
    for number in range(count):
        stamp = (start + timedelta(seconds=number // 3)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        row = sessions.SessionRow(str(uuid.uuid4()), str(cwd), f"no {number}", stamp, stamp, prompts=1)
        store.submit(sessions.save_new(row))
        made.append((stamp, row.id))
    store.close()
    return [id for _, id in sorted(made, reverse=True)]
