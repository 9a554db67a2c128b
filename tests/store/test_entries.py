"""Entries: appended in order, read as they were, at a cost that does not grow with what is there."""

from __future__ import annotations

import sqlite3
import threading
import time

import pytest

from acpagent.core.blocks import Image, Link, Resource, Text
from acpagent.core.events import Usage
from acpagent.core.history import (
    CallMade,
    CallSettled,
    Entry,
    GoalSet,
    HostSaid,
    PlanSet,
    ReplyKept,
    Said,
    Told,
    Tombstone,
    TurnClosed,
    TurnOpened,
    UsageSet,
    UserSaid,
)
from acpagent.core.toolcalls import Diff, Location, PlanEntry, TerminalRef, ToolCall
from acpagent.store import entries, sessions
from acpagent.store.database import Store, Write, together
from tests.store.children import row

SAID = (Text("look 🎉 \ud83d \0"), Image("aGk=", "image/png"), Link("file:///a", "a"), Resource("x:y", "text"))


def turn(number: int) -> list[Entry]:
    """One turn with a tool call, as large as ordinary ones are."""
    name = f"turn{number}"
    output = "a line of output\n" * 60
    call = ToolCall(
        f"call{number}", "bash", "make test", "execute", "failed",
        {"command": "make test"}, {"exit_code": 2}, (Location("/a/b", 7),),
        (Text(output), Diff("/a/b", None, "new"), TerminalRef("t")), {"exit_code": 2},
    )  # fmt: skip
    return [
        TurnOpened(name),
        UserSaid(name, f"m{number}", SAID, "look"),
        Said(name, f"a{number}", "assistant", "something to say " * 40),
        CallMade(name, f"call{number}", "p1", "bash", '{"command": "make test"}', 0),
        CallSettled(name, call, output),
        TurnClosed(name, "end_turn", Usage(1, 2, 3, 4)),
    ]


@pytest.fixture
def session(store: Store) -> str:
    store.apply(sessions.save_new(row("s")))
    return "s"


def test_every_kind_comes_back_as_it_was(store: Store, session: str) -> None:
    batch = [
        *turn(1),
        PlanSet("t", (PlanEntry("do it", "high", "in_progress"),)),
        UsageSet("t", 10, 100, 0.5, "EUR"),
        UsageSet("t", 10, 100, None, "USD", estimated=True),
        HostSaid("t", "go on"),
        GoalSet("t", "g", "do it", "working", 2),
        ReplyKept("t", "p/m", '[["thinking","so","sig"]]'),
        Told("t", "warning", "retrying", {"seconds": 2}),
        Tombstone("t"),
    ]
    store.apply(entries.append(session, batch))
    assert entries.read(store, session) == batch


def test_a_session_and_its_first_entries_are_one_write(store: Store) -> None:
    store.apply(together(sessions.save_new(row("s")), entries.append("s", [TurnOpened("t")])))
    assert entries.read(store, "s") == [TurnOpened("t")]


def test_batches_join_in_queue_order(store: Store, session: str) -> None:
    for number in range(50):
        store.submit(entries.append(session, [TurnOpened(str(number)), Tombstone(str(number))]))
    assert store.flush(30)
    turns = [entry.turn_id for entry in entries.read(store, session)]
    assert turns == [str(number) for number in range(50) for _ in range(2)]


def test_sessions_do_not_mix(store: Store) -> None:
    store.apply(together(*(sessions.save_new(row(name)) for name in "abc")))

    def write(name: str) -> None:
        for number in range(40):
            store.submit(entries.append(name, [TurnOpened(f"{name}{number}")]))

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert store.flush(30)
    for name in "abc":
        assert entries.read(store, name) == [TurnOpened(f"{name}{number}") for number in range(40)]


def test_two_stores_that_append_to_one_session(store: Store, session: str) -> None:
    """A lease keeps this from happening; if it did, no entry would be lost."""
    other = Store(store.path)
    for number in range(40):
        store.submit(entries.append(session, [TurnOpened(f"a{number}")]))
        other.submit(entries.append(session, [TurnOpened(f"b{number}")]))
    assert store.flush(30)
    assert other.close(30)
    turns = [entry.turn_id for entry in entries.read(store, session)]
    assert [name for name in turns if name[0] == "a"] == [f"a{number}" for number in range(40)]
    assert [name for name in turns if name[0] == "b"] == [f"b{number}" for number in range(40)]


def test_what_happens_after_append_does_not_count(store: Store, session: str) -> None:
    params: dict[str, object] = {"seconds": 1}
    write = entries.append(session, [Told("t", "info", "retrying", params)])
    params["seconds"] = 2
    store.apply(write)
    assert entries.read(store, session) == [Told("t", "info", "retrying", {"seconds": 1})]


def test_entries_are_timed(store: Store, session: str) -> None:
    before = sessions.now()
    store.apply(entries.append(session, turn(1)))
    with store.reader() as connection:
        times = {found[0] for found in connection.execute("SELECT at FROM entries")}
    assert len(times) == 1
    assert before <= times.pop() <= sessions.now()


DAMAGE: list[tuple[str, object]] = [
    ("body", "{not json"),
    ("body", '["a list"]'),
    ("body", "{}"),
    ("body", b"\xff\x00"),
    ("kind", "of a newer build"),
    ("kind", b"\xff"),
    ("version", 999),
    ("version", "x"),
]


@pytest.mark.parametrize(("column", "value"), DAMAGE)
def test_a_damaged_entry_is_left_out(store: Store, session: str, column: str, value: object) -> None:
    store.apply(entries.append(session, [TurnOpened(str(number)) for number in range(5)]))

    def damage(connection: sqlite3.Connection) -> None:
        connection.execute(f"UPDATE entries SET {column} = ? WHERE seq = 3", (value,))

    store.apply(damage)
    assert [entry.turn_id for entry in entries.read(store, session)] == ["0", "1", "3", "4"]
    store.apply(entries.append(session, [TurnOpened("5")]))
    assert [entry.turn_id for entry in entries.read(store, session)] == ["0", "1", "3", "4", "5"]


def steps(store: Store, write: Write) -> int:
    """How many instructions SQLite's machine runs for a write."""
    count = 0

    def tick() -> int:
        nonlocal count
        count += 1
        return 0

    def counted(connection: sqlite3.Connection) -> None:
        connection.set_progress_handler(tick, 1)
        write(connection)
        connection.set_progress_handler(None, 0)

    store.apply(counted)
    return count


def test_appending_costs_the_same_however_much_is_there(store: Store, session: str) -> None:
    one = entries.append(session, [TurnOpened("t")])
    store.apply(one)
    early = steps(store, one)
    for number in range(500):
        store.submit(entries.append(session, turn(number)))
    assert store.flush(30)
    assert steps(store, one) == early


def test_a_long_session_is_read_quickly(store: Store, session: str) -> None:
    for number in range(200):
        store.submit(entries.append(session, turn(number)))
    assert store.flush(30)
    best = 1.0
    for _ in range(5):
        begin = time.thread_time()
        found = entries.read(store, session)
        best = min(best, time.thread_time() - begin)
    assert len(found) == 1_200
    assert best < 0.03
