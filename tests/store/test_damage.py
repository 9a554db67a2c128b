"""Full disks, killed processes, newer, foreign and damaged files: an error with a cause, and nothing lost."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from acpagent.core.history import Entry, Said, TurnOpened
from acpagent.store import entries, sessions
from acpagent.store.database import Store, StoreFault, together
from acpagent.store.schema import VERSION
from tests.store.children import Child, row
from tests.store.test_database import WAIT, Gate, save

BIG = Said("t", "m", "assistant", "x" * 200_000)


def limit_pages(store: Store, more: int | None) -> None:
    """Let the file grow by so many pages and no more: SQLite reports a full disk then."""

    def write(connection: sqlite3.Connection) -> None:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + more if more is not None else 1 << 30}")

    store.apply(write)


@pytest.fixture
def session(store: Store) -> str:
    store.apply(together(save("s"), entries.append("s", [TurnOpened("kept")])))
    return "s"


def test_a_full_disk_loses_nothing_and_passes(store: Store, session: str) -> None:
    limit_pages(store, 5)
    with pytest.raises(StoreFault, match=r"disk that holds .*store.sqlite3 is full; nothing stored is lost"):
        store.apply(entries.append(session, [BIG]))
    assert entries.read(store, session) == [TurnOpened("kept")]
    store.apply(entries.append(session, [TurnOpened("small")]))
    limit_pages(store, None)
    store.apply(entries.append(session, [BIG]))
    assert entries.read(store, session) == [TurnOpened("kept"), TurnOpened("small"), BIG]


def test_what_does_not_fit_takes_nothing_else_down(store: Store, session: str) -> None:
    limit_pages(store, 5)
    gate = Gate(store)
    outcomes: list[BaseException | None] = []
    half: list[Entry] = [BIG, TurnOpened("half")]
    batches: list[list[Entry]] = [[TurnOpened("a")], [BIG], [TurnOpened("b")], half, [TurnOpened("c")]]
    for batch in batches:
        store.submit(entries.append(session, batch), outcomes.append)
    gate.open()
    assert store.flush(WAIT)
    assert [outcome is None for outcome in outcomes] == [True, False, True, False, True]
    assert entries.read(store, session) == [TurnOpened(name) for name in ("kept", "a", "b", "c")]
    limit_pages(store, None)


def test_room_can_be_made_by_erasing(store: Store, session: str) -> None:
    store.apply(together(save("old"), entries.append("old", [BIG])))
    limit_pages(store, 0)
    with pytest.raises(StoreFault, match="full"):
        store.apply(entries.append(session, [BIG]))
    store.apply(sessions.erase("old"))
    store.apply(entries.append(session, [BIG]))
    assert entries.read(store, session) == [TurnOpened("kept"), BIG]


def test_a_limit_of_the_system(home: Path, children: list[Child]) -> None:
    child = Child("fill_up", home)
    children.append(child)
    assert "store.sqlite3" in child.line()
    assert [child.line() for _ in range(3)] == ["True"] * 3
    child.finish()


def test_what_was_called_back_survives_kill_9(home: Path, store: Store, children: list[Child]) -> None:
    child = Child("keep_writing", home)
    children.append(child)
    for number in range(200):
        assert child.line() == f"{number} None"
    child.process.kill()
    assert child.process.stdout is not None
    said = [line.split()[0] for line in child.process.stdout if line.endswith(" None\n")]
    last = int(said[-1]) if said else 199
    turns = [int(entry.turn_id) for entry in entries.read(store, "s")]
    assert turns == [number for number in range(len(turns) // 2) for _ in range(2)]
    assert turns[-1] >= last


def test_a_newer_file_is_refused_and_left_alone(store: Store, session: str) -> None:
    assert store.close(WAIT)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other, other:
        other.execute(f"PRAGMA user_version = {VERSION + 1}")
    other.close()
    before = Path(store.path).read_bytes()
    newer = Store(store.path)
    expected = rf"newer acpagent \(file version {VERSION + 1}, this one knows {VERSION}\); update acpagent"
    with pytest.raises(StoreFault, match=expected):
        newer.apply(save("a"))
    with pytest.raises(StoreFault, match=expected):
        sessions.page(newer)
    assert newer.close(WAIT)
    assert Path(store.path).read_bytes() == before


def test_another_programs_database_is_refused(home: Path, store: Store) -> None:
    home.mkdir()
    with closing(sqlite3.connect(store.path)) as other, other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    before = Path(store.path).read_bytes()
    with pytest.raises(StoreFault, match="another program's database"):
        store.apply(save("a"))
    assert Path(store.path).read_bytes() == before


def test_a_file_whose_making_was_cut_short(home: Path, store: Store) -> None:
    """A process that died between making the file and filling it leaves an empty one."""
    home.mkdir()
    Path(store.path).touch()
    store.apply(save("a"))
    assert sessions.get(store, "a") is not None


def test_a_file_without_write_ahead_log_gets_one(store: Store, session: str) -> None:
    """Copies of a database, made by SQLite's own backup, come without."""
    assert store.close(WAIT)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other, other:
        assert other.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
    other.close()
    again = Store(store.path)
    with again.reader() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert again.close(WAIT)


def test_what_is_no_database_is_a_clear_fault(home: Path, store: Store) -> None:
    home.mkdir()
    path = Path(store.path)
    path.write_bytes(b"this is no database, whatever its name says" * 100)
    outcomes: list[BaseException | None] = []
    store.submit(save("a"), outcomes.append)
    store.submit(save("b"), outcomes.append)
    assert store.flush(WAIT)
    assert all("damaged or no database; move it away" in str(outcome) for outcome in outcomes)
    with pytest.raises(StoreFault, match="move it away"):
        sessions.page(store)
    path.rename(path.with_suffix(".away"))
    store.apply(save("a"))
    assert sessions.get(store, "a") is not None


def test_damage_in_the_middle_is_a_clear_fault(store: Store) -> None:
    store.apply(together(*(sessions.save_new(row(f"s{number}", "/" + "x" * 500)) for number in range(200))))
    assert store.close(WAIT)
    path = Path(store.path)
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    path.write_bytes(content)
    again = Store(store.path)
    with pytest.raises(StoreFault, match=r"damaged; move it and its -wal and -shm files away"):
        sessions.page(again)
    with pytest.raises(StoreFault, match="damaged"):
        again.apply(sessions.erase("s7"))
    assert again.close(WAIT)


def test_a_home_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = Store(str(tmp_path / "file" / "home" / "store.sqlite3"))
    with pytest.raises(StoreFault, match="cannot be used: Not a directory"):
        store.apply(save("a"))
    assert store.close(WAIT)


def test_a_directory_in_place_of_the_file(home: Path, store: Store) -> None:
    Path(store.path).mkdir(parents=True)
    with pytest.raises(StoreFault, match="cannot be opened"):
        store.apply(save("a"))
