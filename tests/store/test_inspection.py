"""Looking at the store without changing it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from acpagent.store import sessions
from acpagent.store.database import Store
from acpagent.store.faults import StoreFault
from acpagent.store.inspection import inspect
from acpagent.store.leases import Leases
from acpagent.store.schema import VERSION
from acpagent.store.sessions import SessionRow


def kept(path: Path, *ids: str) -> Store:
    store = Store(str(path))
    for id in ids:
        store.apply(sessions.save_new(SessionRow(id, "/", None, sessions.now(), sessions.now(), prompts=1)))
    return store


def test_nothing_there(tmp_path: Path) -> None:
    assert inspect(str(tmp_path / "store.sqlite3"), str(tmp_path)) is None
    assert not list(tmp_path.iterdir())


def test_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    store = kept(path, "a", "b")
    leases = Leases(store, str(tmp_path))
    leases.take("a")
    found = inspect(str(path), str(tmp_path))
    assert found
    assert (found.version, found.sessions, found.checked) == (VERSION, 2, True)
    assert [(lease.session, lease.alive) for lease in found.leases] == [("a", True)]
    store.apply(lambda connection: connection.execute("UPDATE leases SET owner = 'killed'"))
    found = inspect(str(path), str(tmp_path))
    assert found
    assert [lease.alive for lease in found.leases] == [False]
    store.close()
    leases.close()


def test_files_that_are_no_store_of_ours(tmp_path: Path) -> None:
    other, newer, noise = (tmp_path / name for name in ("other", "newer", "noise"))
    with closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("CREATE TABLE t (x)")
    kept(newer).close()
    kept(newer, "a").close()
    with closing(sqlite3.connect(newer)) as connection, connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    noise.write_bytes(b"noise" * 2000)
    for path, said in ((other, "another program"), (newer, "newer acpagent"), (noise, "no database")):
        before = path.read_bytes()
        with pytest.raises(StoreFault, match=said):
            inspect(str(path), str(tmp_path))
        assert path.read_bytes() == before


def test_damage(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    kept(path, *map(str, range(2000))).close()
    data = bytearray(path.read_bytes())
    data[len(data) // 2 :] = b"\xff" * (len(data) - len(data) // 2)
    path.write_bytes(data)
    with pytest.raises(StoreFault, match="damaged"):
        inspect(str(path), str(tmp_path))


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    path.touch()
    found = inspect(str(path), str(tmp_path))
    assert found
    assert (found.version, found.sessions) == (0, 0)
    assert path.stat().st_size == 0
