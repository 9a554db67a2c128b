from __future__ import annotations

import threading
import time

import pytest

from acpagent.core.scope import Cancelled, Scope, run_closers
from acpagent.wire.outbox import Outbox


class Waiter(threading.Thread):
    """A producer in `wait_room`. `waiting` tells that it got there: it is held up by its scope's lock."""

    def __init__(self, outbox: Outbox, scope: Scope) -> None:
        super().__init__(daemon=True)
        self.outbox = outbox
        self.scope = scope
        self.outcome = ""
        self.start()

    def run(self) -> None:
        try:
            self.outbox.wait_room(self.scope)
            self.outcome = "room"
        except Cancelled:
            self.outcome = "cancelled"

    def ended(self) -> str:
        self.join(60)
        assert not self.is_alive()
        return self.outcome


class Watched(Scope):
    """Tells when somebody registered to be woken."""

    def __init__(self) -> None:
        super().__init__()
        self.watched = threading.Event()

    def add_closer(self, closer):  # type: ignore[no-untyped-def]
        remove = super().add_closer(closer)
        self.watched.set()
        return remove


def never() -> None:
    raise AssertionError("not dead")


def full_outbox() -> Outbox:
    outbox = Outbox(never, watermark=10)
    outbox.put(b"x" * 11)
    return outbox


def waiter(outbox: Outbox) -> tuple[Waiter, Watched]:
    scope = Watched()
    thread = Waiter(outbox, scope)
    assert scope.watched.wait(60)
    return thread, scope


def test_lines_come_out_in_order() -> None:
    outbox = Outbox(never)
    for number in range(100):
        outbox.put(b"%d\n" % number)
    outbox.close()
    taken: list[bytes] = []
    while (batch := outbox.take()) is not None:
        taken += batch
        outbox.wrote(sum(map(len, batch)))
    assert taken == [b"%d\n" % number for number in range(100)]
    assert outbox.queued() == 0


def test_a_batch_is_bounded() -> None:
    outbox = Outbox(never)
    for _ in range(10):
        outbox.put(b"x" * 40_000)
    batch = outbox.take()
    assert batch is not None
    assert len(batch) == 1


def test_room_is_there_up_to_the_watermark() -> None:
    outbox = Outbox(never, watermark=10)
    scope = Scope()
    outbox.put(b"x" * 10)
    outbox.wait_room(scope)
    scope.cancel()
    outbox.wait_room(scope)  # nothing to wait for, nothing to raise


def test_waits_until_there_is_room() -> None:
    for _ in range(200):
        outbox = full_outbox()
        thread, _ = waiter(outbox)
        assert outbox.take()
        outbox.wrote(11)
        assert thread.ended() == "room"


def test_cancel_wakes_a_waiter() -> None:
    for _ in range(200):
        outbox = full_outbox()
        thread, scope = waiter(outbox)
        run_closers(scope.cancel())
        assert thread.ended() == "cancelled"


@pytest.mark.parametrize("end", [Outbox.close, Outbox.discard])
def test_closing_wakes_a_waiter(end: object) -> None:
    for _ in range(200):
        outbox = full_outbox()
        thread, _ = waiter(outbox)
        end(outbox)  # type: ignore[operator]
        assert thread.ended() == "room"


def test_a_cancelled_scope_does_not_wait() -> None:
    scope = Scope()
    scope.cancel()
    with pytest.raises(Cancelled):
        full_outbox().wait_room(scope)


def test_waiting_leaves_no_closer_behind() -> None:
    outbox = full_outbox()
    thread, scope = waiter(outbox)
    outbox.close()
    thread.ended()
    assert scope.cancel() == []


def test_put_never_waits_and_a_peer_that_never_reads_is_dead_once() -> None:
    died: list[int] = []
    outbox = Outbox(lambda: died.append(outbox.queued()), watermark=10, hard_cap=100)
    for _ in range(50):
        outbox.put(b"x" * 10)
    assert died == [0]
    assert outbox.take() is None


def test_after_closing_what_was_queued_goes_out_and_nothing_else() -> None:
    outbox = Outbox(never)
    outbox.put(b"a")
    outbox.close()
    outbox.put(b"b")
    assert outbox.take() == [b"a"]
    assert outbox.take() is None


def test_drain_waits_for_the_writer() -> None:
    outbox = Outbox(never)
    outbox.put(b"abc")
    assert not outbox.drain(time.monotonic())
    assert outbox.take() == [b"abc"]
    assert not outbox.drain(time.monotonic())
    writer = threading.Thread(target=outbox.wrote, args=(3,))
    writer.start()
    assert outbox.drain(time.monotonic() + 10)
    writer.join()
