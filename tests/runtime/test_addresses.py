"""What ids stand for: whatever threads go on with, every session can be opened by an id, and the store knows it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acpagent.core.faults import Fault
from acpagent.runtime.session.addresses import Addresses
from acpagent.store.database import Store

SESSIONS = ["a", "b", "c", "d"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(str(tmp_path / "store.db"))
    yield made
    made.close()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 7), st.sampled_from(SESSIONS)), max_size=12))
def test_every_session_keeps_an_id(store: Store, moves: list[tuple[int, str]]) -> None:
    store.apply(lambda connection: connection.execute("DELETE FROM aliases"))
    addresses, known = Addresses(store), list(SESSIONS)
    for place, session in moves:
        address = known[place % len(known)]
        addresses.bind(address, session)
        assert addresses.resolve(address) == session
        known += [id for one in SESSIONS if (id := addresses.of(one)) not in known]
        assert [addresses.resolve(addresses.of(one)) for one in SESSIONS] == SESSIONS
    again = Addresses(store)
    assert [again.resolve(id) for id in known] == [addresses.resolve(id) for id in known]
    assert [again.resolve(again.of(one)) for one in SESSIONS] == SESSIONS


def test_what_cannot_be_stored_does_not_count(store: Store) -> None:
    addresses = Addresses(store)
    addresses.bind("a", "b")
    store.close()
    with pytest.raises(Fault):
        addresses.bind("a", "c")
    assert addresses.resolve("a") == "b"
    assert addresses.resolve(addresses.of("a")) == "a"


def test_without_a_store_there_are_none_and_none_is_made(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    assert Addresses(Store(str(path))).resolve("a") == "a"
    assert not path.exists()


def test_a_broken_store_is_no_reason_to_fail(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE other (x)")
    assert Addresses(Store(str(path))).resolve("a") == "a"
