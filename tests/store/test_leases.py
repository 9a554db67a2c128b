"""Leases: one living owner at a time, and none for the dead."""

from __future__ import annotations

import fcntl
import os
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from acpagent.core.history import TurnOpened
from acpagent.store import entries, sessions
from acpagent.store.database import Store, StoreFault
from acpagent.store.leases import Held, Leases
from tests.store.children import Child, path_in, row
from tests.store.test_damage import limit_pages

WAIT = 30.0


@pytest.fixture
def leases(store: Store, home: Path) -> Iterator[Leases]:
    leases = Leases(store, str(home))
    yield leases
    leases.close()


@pytest.fixture
def others(store: Store, home: Path) -> Iterator[Leases]:
    """A second owner in this process."""
    leases = Leases(store, str(home))
    yield leases
    leases.close()


def lock_files(home: Path) -> list[str]:
    return sorted(file.name for file in (home / "locks").iterdir())


def held(store: Store) -> list[str]:
    with store.reader() as connection:
        return [found[0] for found in connection.execute("SELECT session FROM leases ORDER BY session")]


def test_a_session_is_taken_once(leases: Leases, others: Leases) -> None:
    leases.take("s")
    with pytest.raises(Held) as caught:
        others.take("s")
    assert (caught.value.pid, caught.value.host) == (os.getpid(), socket.gethostname())
    assert caught.value.code == -32600
    assert f"in use by process {os.getpid()} on " in caught.value.message
    others.take("t")


def test_taking_again_does_no_harm(leases: Leases, others: Leases) -> None:
    leases.take("s")
    leases.take("s")
    leases.release("s")
    others.take("s")


def test_releasing(store: Store, leases: Leases, others: Leases) -> None:
    leases.release("s")
    leases.take("s")
    leases.take("t")
    others.release("s")
    assert held(store) == ["s", "t"]
    leases.release("s")
    leases.release("s")
    assert held(store) == ["t"]
    others.take("s")


def test_a_refusal_changes_nothing(store: Store, leases: Leases, others: Leases) -> None:
    leases.take("s")
    with pytest.raises(Held):
        others.take("s")
    others.release("s")
    assert held(store) == ["s"]


def test_files_are_private_and_go_with_their_owner(home: Path, leases: Leases) -> None:
    assert not home.exists()
    leases.take("s")
    (name,) = lock_files(home)
    assert (home / "locks" / name).stat().st_mode & 0o777 == 0o600
    assert (home / "locks").stat().st_mode & 0o777 == 0o700
    assert home.stat().st_mode & 0o777 == 0o700
    leases.close()
    assert lock_files(home) == []


def test_what_a_closed_owner_still_had_is_free(home: Path, leases: Leases, others: Leases) -> None:
    leases.take("s")
    leases.close()
    others.take("s")
    leases.take("t")
    with pytest.raises(Held):
        leases.take("s")


def test_another_process_is_named(home: Path, leases: Leases, children: list[Child]) -> None:
    child = Child("hold", home)
    children.append(child)
    assert child.line() == "held"
    with pytest.raises(Held) as caught:
        leases.take("s")
    assert caught.value.pid == child.process.pid
    child.go_on()
    child.finish()
    leases.take("s")
    assert len(lock_files(home)) == 1


def test_kill_9_frees_at_once(home: Path, store: Store, leases: Leases, children: list[Child]) -> None:
    child = Child("hold", home)
    children.append(child)
    assert child.line() == "held"
    leases.take("mine")
    assert len(lock_files(home)) == 2
    child.process.kill()
    child.process.wait(WAIT)
    leases.take("s")
    assert held(store) == ["mine", "s"]
    assert len(lock_files(home)) == 1


@pytest.mark.parametrize("program", ["hold_with_program", "hold_with_fork"])
def test_what_a_dead_owner_left_running_holds_nothing(
    home: Path, leases: Leases, children: list[Child], program: str
) -> None:
    """The descriptor of the lock is the owner's alone, or its programs would keep the session for ever."""
    child = Child(program, home)
    children.append(child)
    assert child.line() == "up"
    with pytest.raises(Held):
        leases.take("s")
    child.process.kill()
    child.process.wait(WAIT)
    leases.take("s")


def test_one_of_many_takes_over_from_the_dead(home: Path, children: list[Child]) -> None:
    child = Child("hold", home)
    children.append(child)
    assert child.line() == "held"
    stores = [Store(path_in(home)) for _ in range(8)]
    owners = [Leases(store, str(home)) for store in stores]
    for owner in owners:
        owner.take(f"own {id(owner)}")
    child.process.kill()
    child.process.wait(WAIT)
    start = threading.Barrier(len(owners))
    outcomes: list[str] = []

    def take(owner: Leases) -> None:
        start.wait(WAIT)
        try:
            owner.take("s")
            outcomes.append("taken")
        except Held:
            outcomes.append("held")

    threads = [threading.Thread(target=take, args=(owner,)) for owner in owners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert sorted(outcomes) == ["held"] * 7 + ["taken"]
    for store, owner in zip(stores, owners, strict=True):
        owner.close()
        assert store.close(WAIT)


def test_many_owners_come_at_once(home: Path) -> None:
    """Nobody who tidies up takes a file that is just being made for one of the dead."""
    stores = [Store(path_in(home)) for _ in range(16)]
    owners = [Leases(store, str(home)) for store in stores]
    start = threading.Barrier(len(owners))

    def take(number: int) -> None:
        start.wait(WAIT)
        owners[number].take(str(number))

    threads = [threading.Thread(target=take, args=(number,)) for number in range(len(owners))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert len(lock_files(home)) == len(owners)
    for number in range(len(owners)):
        with pytest.raises(Held):
            owners[number - 1].take(str(number))
    for store, owner in zip(stores, owners, strict=True):
        owner.close()
        assert store.close(WAIT)


def test_two_processes_contend(home: Path, children: list[Child]) -> None:
    home.mkdir()
    (home / "count").write_text("0")
    children.extend(Child("contend", home, "200") for _ in range(2))
    assert [child.line() for child in children] == ["ready"] * 2
    for child in children:
        child.go_on()
    turns = [int(child.line().split()[0]) for child in children]
    for child in children:
        child.finish()
    assert sum(turns) == 200
    assert (home / "count").read_text() == "200"
    assert lock_files(home) == []


def test_files_of_the_dead_are_swept(home: Path, leases: Leases) -> None:
    (home / "locks").mkdir(parents=True)
    for name in ("dead.lock", "dead too.lock", "not ours.txt"):
        (home / "locks" / name).touch()
    (home / "locks" / "odd.lock").symlink_to(home / "locks" / "not ours.txt")
    leases.take("s")
    mine = [name for name in lock_files(home) if len(name) == len("0" * 32 + ".lock")]
    assert len(mine) == 1
    assert sorted(set(lock_files(home)) - set(mine)) == ["not ours.txt", "odd.lock"]


def test_who_looks_at_a_dead_owner_is_not_taken_for_it(home: Path, leases: Leases, children: list[Child]) -> None:
    """Others lock a file for a moment, shared, to see whether its owner lives."""
    child = Child("hold", home)
    children.append(child)
    assert child.line() == "held"
    child.process.kill()
    child.process.wait(WAIT)
    with (home / "locks" / lock_files(home)[0]).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        leases.take("s")


def test_a_damaged_row_names_no_file_elsewhere(home: Path, store: Store, leases: Leases) -> None:
    leases.take("s")
    victim = home / "victim.lock"
    victim.touch()

    def damage(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE leases SET owner = '../victim' WHERE session = 's'")

    store.apply(damage)
    leases.take("s")
    assert victim.exists()


def test_a_full_disk_does_not_keep_a_lease(home: Path, store: Store, leases: Leases, others: Leases) -> None:
    """The row stays when it cannot be removed, and goes with the next change that works."""
    store.apply(sessions.save_new(row("s")))
    leases.take("s")
    leases.take("t")

    def refuse(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TEMP TRIGGER full BEFORE DELETE ON leases BEGIN SELECT raise(FAIL, 'full'); END")

    store.apply(refuse)
    with pytest.raises(StoreFault):
        leases.release("s")
    with pytest.raises(Held):
        others.take("s")
    store.apply(lambda connection: connection.execute("DROP TRIGGER full"))
    leases.release("t")
    others.take("s")


def test_a_failing_take_of_what_is_ours_keeps_it(store: Store, leases: Leases, others: Leases) -> None:
    leases.take("s")
    outcomes: list[object] = []

    def in_a_callback(_: BaseException | None) -> None:
        try:
            leases.take("s")
        except RuntimeError as error:
            outcomes.append(error)

    store.submit(sessions.erase("unknown"), in_a_callback)
    assert store.flush(WAIT)
    assert len(outcomes) == 1
    leases.take("t")
    with pytest.raises(Held):
        others.take("s")


def test_a_full_disk_refuses_a_lease(store: Store, home: Path, leases: Leases) -> None:
    store.apply(sessions.save_new(row("s")))
    limit_pages(store, 0)
    taken: list[str] = []

    def take_many() -> None:
        for number in range(20):
            leases.take(f"{number}" * 1_000)
            taken.append(f"{number}" * 1_000)

    with pytest.raises(StoreFault, match="full"):
        take_many()
    assert held(store) == sorted(taken)
    limit_pages(store, None)
    leases.take("s")
    assert held(store) == sorted([*taken, "s"])
    store.apply(entries.append("s", [TurnOpened("t")]))


def test_a_home_that_cannot_be(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    leases = Leases(store, str(tmp_path / "file"))
    with pytest.raises(StoreFault, match="cannot be used"):
        leases.take("s")


@pytest.mark.parametrize("session_id", ["../../etc/passwd", "a\0b", "\ud800", ""])
def test_an_id_is_nothing_but_a_key(home: Path, leases: Leases, others: Leases, session_id: str) -> None:
    leases.take(session_id)
    with pytest.raises(Held):
        others.take(session_id)
    leases.release(session_id)
    others.take(session_id)
    assert len(lock_files(home)) == 2
