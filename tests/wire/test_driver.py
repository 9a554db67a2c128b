"""The driver's threads and descriptors: ends of every kind, back-pressure, callbacks that fail."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from acpagent.core.faults import OurFault, TheirFault
from acpagent.core.scope import Cancelled, Scope, run_closers
from acpagent.wire import driver as ends
from acpagent.wire.driver import Driver
from acpagent.wire.messages import Request
from acpagent.wire.outbox import HARD_CAP, WATERMARK
from acpagent.wire.pending import Answer
from tests.settling import descriptors, until
from tests.wire.echo import Echo
from tests.wire.ends import DriverEnd


def threads() -> int:
    return sum(thread.name.startswith(("left", "right", "subject")) for thread in threading.enumerate())


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    before = descriptors()
    yield
    until(lambda: (descriptors(), threads()) == (before, 0), "the end of what the test began")


class Two:
    """Two drivers back to back over pipes, each with an echo receiver."""

    def __init__(self, **options: Any) -> None:
        (left_read, right_write), (right_read, left_write) = os.pipe(), os.pipe()
        self.left, self.right = Echo(), Echo()
        self.left.driver = Driver(left_read, left_write, self.left, name="left", **options)
        self.right.driver = Driver(right_read, right_write, self.right, name="right")
        self.left.driver.start()
        self.right.driver.start()

    def __enter__(self) -> Two:
        return self

    def __exit__(self, *_: object) -> None:
        finish(self.left.driver)
        finish(self.right.driver)


def finish(driver: Driver, seconds: float = 20.0) -> bool:
    return driver.finish(time.monotonic() + seconds)


class Asked:
    """A call, waited for."""

    def __init__(self, driver: Driver, method: str, params: Any = None) -> None:
        self.answers: list[Answer] = []
        self._came = threading.Event()
        self.id = driver.call(method, params, self._answered)

    def _answered(self, answer: Answer) -> None:
        self.answers.append(answer)
        self._came.set()

    def wait(self) -> Answer:
        assert self._came.wait(60)
        (answer,) = self.answers
        return answer


def test_both_directions() -> None:
    with Two() as two:
        assert Asked(two.left.driver, "echo", [1]).wait().result == [1]
        assert Asked(two.right.driver, "echo", [2]).wait().result == [2]


def test_concurrent_calls_from_both_ends() -> None:
    def caller(driver: Driver, results: list[Any]) -> None:
        results += [Asked(driver, "echo", number).wait().result for number in range(300)]

    with Two() as two:
        results: list[list[Any]] = [[] for _ in range(4)]
        callers = [
            threading.Thread(target=caller, args=((two.left, two.right)[index % 2].driver, results[index]))
            for index in range(4)
        ]
        for thread in callers:
            thread.start()
        for thread in callers:
            thread.join()
        assert results == [list(range(300))] * 4


def test_eof_loses_every_call() -> None:
    for _ in range(200):
        with Two() as two:
            asked = [Asked(two.left.driver, "hold") for _ in range(3)]
            assert Asked(two.left.driver, "echo", 1).wait().result == 1
            finish(two.right.driver)
            assert [(answer.lost, answer.error) for answer in (call.wait() for call in asked)] == [(True, None)] * 3
            assert two.left.driver.ended.wait(60)
            assert two.left.driver.end_reason == ends.EOF
            assert two.left.reasons == [ends.EOF]
            assert Asked(two.left.driver, "echo").wait().lost


def test_calls_racing_with_the_end_are_all_answered() -> None:
    for _ in range(100):
        with Two() as two:
            ender = threading.Thread(target=finish, args=(two.right.driver,))
            ender.start()
            for call in [Asked(two.left.driver, "echo", number) for number in range(20)]:
                call.wait()
            ender.join()


def test_a_late_answer_goes_to_its_handler() -> None:
    with Two() as two:
        late: list[Answer] = []
        held, dropped = Asked(two.left.driver, "hold"), Asked(two.left.driver, "hold")
        assert two.left.driver.abandon(held.id, late.append)
        assert two.left.driver.abandon(dropped.id)
        two.left.driver.notify("release")
        assert Asked(two.left.driver, "echo", 1).wait().result == 1
        assert [answer.result for answer in late] == ["released"]
        assert not two.left.driver.abandon(held.id)
        assert not held.answers
        assert not dropped.answers


def test_abandoning_races_with_the_answer() -> None:
    """Whoever abandons is told the truth: True means that the call's own handler never runs."""
    with Two() as two:
        for number in range(300):
            asked = Asked(two.left.driver, "echo", number)
            if two.left.driver.abandon(asked.id):
                assert Asked(two.left.driver, "echo", "after").wait().result == "after"
                assert not asked.answers
            else:
                assert asked.wait().result == number


def test_an_answer_is_given_once() -> None:
    with Two() as two:
        asked = Asked(two.left.driver, "hold")
        assert Asked(two.left.driver, "echo", 1).wait()
        (id,) = two.right.held
        assert two.right.driver.owed() == 1
        two.right.driver.respond(id, "first")
        with pytest.raises(RuntimeError, match="exactly once"):
            two.right.driver.respond(id, "second")
        assert asked.wait().result == "first"
        assert two.right.driver.owed() == 0


def test_finish_writes_what_is_queued() -> None:
    end = DriverEnd("pipes")
    for number in range(1000):
        end.driver.notify("n", number)
    finisher = threading.Thread(target=finish, args=(end.driver,))
    finisher.start()
    assert [end.message()["params"] for _ in range(1000)] == list(range(1000))
    assert end.readline() == b""
    finisher.join()
    end.finish()


def test_finish_does_not_wait_for_a_peer_that_stopped_reading() -> None:
    end = DriverEnd("pipes")
    end.driver.notify("n", "x" * 500_000)
    start = time.monotonic()
    assert not finish(end.driver, 0.2)
    assert time.monotonic() - start < 10
    assert end.echo.reasons == [ends.STOPPED]
    end.driver.notify("n", "after the end")
    close(end)


def test_finish_without_start() -> None:
    (read_fd, write_fd), (other_read, other_write) = os.pipe(), os.pipe()
    driver = Driver(read_fd, other_write, Echo(), name="left")
    assert finish(driver)
    assert finish(driver)
    assert driver.ended.is_set()
    os.close(write_fd)
    os.close(other_read)


def test_stop_reading_ends_the_connection_from_our_side() -> None:
    with Two() as two:
        asked = Asked(two.left.driver, "hold")
        two.left.driver.stop_reading()
        assert two.left.driver.ended.wait(60)
        assert asked.wait().lost
        assert two.left.reasons == [ends.STOPPED]


def test_ending_the_output_leaves_the_input_open() -> None:
    with Two() as two:
        asked = Asked(two.left.driver, "burst", {"count": 100})
        two.left.driver.end_output()
        two.left.driver.notify("n", "dropped")
        assert asked.wait().result == "done"  # sent before the other end saw ours
        assert two.right.driver.ended.wait(60)
        assert two.right.driver.end_reason == ends.EOF
        assert not two.left.driver.ended.is_set()
        assert not two.right.notified


def test_finish_from_inside_the_end() -> None:
    class Finisher(Echo):
        def on_end(self, reason: str) -> None:
            super().on_end(reason)
            finish(self.driver)

    (read_fd, write_fd), (other_read, other_write) = os.pipe(), os.pipe()
    receiver = Finisher()
    receiver.driver = Driver(read_fd, other_write, receiver, name="left")
    receiver.driver.start()
    os.close(write_fd)
    assert receiver.driver.ended.wait(60)
    assert os.read(other_read, 10) == b""
    os.close(other_read)
    finish(receiver.driver)


def test_a_broken_pipe_ends_the_connection_and_does_not_spin() -> None:
    for _ in range(50):
        end = DriverEnd("pipes")
        asked = Asked(end.driver, "question")
        end.message()
        os.close(end.read_fd)
        end.driver.notify("n")
        assert end.driver.ended.wait(60)
        assert end.driver.end_reason == ends.BROKEN_PIPE
        assert asked.wait().lost
        used = time.process_time()
        end.driver.notify("n", "dropped")
        assert not finish(end.driver)
        assert time.process_time() - used < 1
        assert end.driver.queued() == 0
        os.close(end.write_fd)


def test_a_peer_that_never_reads_is_dead_in_the_end() -> None:
    end = DriverEnd("pipes")
    text = "x" * (1 << 20)
    for _ in range(HARD_CAP // len(text) + 2):
        end.driver.notify("n", text)
    assert end.driver.ended.wait(60)
    assert end.driver.end_reason == ends.DEAD_PEER
    assert end.driver.queued() == 0
    assert not finish(end.driver)
    close(end)


def test_trn_18_a_producer_waits_for_a_slow_reader() -> None:
    end = DriverEnd("pipes")
    scope, most, count = Scope(), [0], 2000

    def produce() -> None:
        for number in range(count):
            end.driver.wait_room(scope)
            end.driver.notify("n", {"number": number, "pad": "x" * 10_000})
            most[0] = max(most[0], end.driver.queued())

    producer = threading.Thread(target=produce)
    producer.start()
    until(lambda: end.driver.queued() > WATERMARK)
    assert [end.message()["params"]["number"] for _ in range(count)] == list(range(count))
    producer.join(60)
    assert most[0] < WATERMARK + 20_000
    end.finish()


def test_trn_18_cancel_wakes_a_producer_whom_nobody_reads() -> None:
    for _ in range(20):
        end = DriverEnd("pipes")
        scope, outcome = Scope(), []
        end.driver.notify("n", "x" * (2 * WATERMARK))

        def produce(end: DriverEnd = end, scope: Scope = scope, outcome: list[str] = outcome) -> None:
            try:
                end.driver.wait_room(scope)
            except Cancelled:
                outcome.append("cancelled")

        producer = threading.Thread(target=produce)
        producer.start()
        run_closers(scope.cancel())
        producer.join(60)
        assert outcome == ["cancelled"]
        assert Asked(end.driver, "question").answers == []  # the connection is alive, if not read
        assert not finish(end.driver, 0)
        close(end)


def test_a_full_pipe_does_not_keep_the_reader_from_reading() -> None:
    end = DriverEnd("pipes")
    end.driver.notify("n", "x" * (2 * WATERMARK))
    end.send(b'{"jsonrpc":"2.0","method":"cancel"}\n')
    with end.echo.noticed:
        assert end.echo.noticed.wait_for(lambda: end.echo.notified, 10)
    assert not finish(end.driver, 0)
    close(end)


def test_faults_raised_by_a_receiver_are_its_answer(capfd: pytest.CaptureFixture[str]) -> None:
    class Raises(Echo):
        def do_theirs(self, request: Request) -> None:
            raise TheirFault(-32602, "params.a: is required", {"a": 1})

        def do_ours(self, request: Request) -> None:
            raise OurFault("the disk is full")

        def do_twice(self, request: Request) -> None:
            self.driver.respond(request.id, "answered")
            raise OurFault("and failed")

    (read_fd, right_write), (right_read, write_fd) = os.pipe(), os.pipe()
    left, right = Echo(), Raises()
    left.driver = Driver(read_fd, write_fd, left, name="left")
    right.driver = Driver(right_read, right_write, right, name="right")
    left.driver.start()
    right.driver.start()
    theirs = {"code": -32602, "message": "params.a: is required", "data": {"a": 1}}
    assert Asked(left.driver, "theirs").wait().error == theirs
    assert Asked(left.driver, "ours").wait().error == {"code": -32603, "message": "the disk is full"}
    assert Asked(left.driver, "twice").wait().result == "answered"
    assert Asked(left.driver, "echo", 1).wait().result == 1
    finish(left.driver)
    finish(right.driver)
    said = capfd.readouterr().err
    assert said.startswith("[right] OurFault while handling the request 'ours': the disk is full")
    assert "params.a" not in said


def test_an_answer_handler_that_fails_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    def fails(answer: Answer) -> None:
        raise ValueError(answer.result)

    with Two() as two:
        two.left.driver.call("echo", "canary", fails)
        assert Asked(two.left.driver, "echo", 2).wait().result == 2
    said = capfd.readouterr().err
    assert "[left] ValueError while handling the answer to echo" in said
    assert "canary" not in said


def test_trace_sees_both_directions() -> None:
    seen: list[tuple[str, bytes]] = []
    with Two(trace=lambda way, line: seen.append((way, line))) as two:
        assert Asked(two.left.driver, "echo", 1).wait().result == 1
    assert seen == [
        ("out", b'{"jsonrpc":"2.0","id":1,"method":"echo","params":1}\n'),
        ("in", b'{"jsonrpc":"2.0","id":1,"result":1}'),
    ]


def test_a_trace_that_fails_does_not_matter(capfd: pytest.CaptureFixture[str]) -> None:
    def full_disk(way: str, line: bytes) -> None:
        raise OSError("no space")

    with Two(trace=full_disk) as two:
        assert Asked(two.left.driver, "echo", 1).wait().result == 1
    assert "the trace, which stops here" in capfd.readouterr().err


def close(end: DriverEnd) -> None:
    os.close(end.read_fd)
    os.close(end.write_fd)
