from __future__ import annotations

import os
import threading
import time

import pytest

from acpagent.core import process
from acpagent.core.jobs import KEPT, MAX_RUNNING, OUTPUT_BYTES, Jobs, NotStarted
from acpagent.core.scope import Cancelled, Scope, run_closers

REPEATS = int(os.environ.get("ACPAGENT_TEST_REPEATS", "3"))
repeated = pytest.mark.parametrize("turn", range(REPEATS))


@pytest.fixture
def jobs():
    made = Jobs()
    yield made
    assert made.close(time.monotonic() + 10)
    assert process.sweep() == 0


def start(jobs, command, **options):
    return jobs.start(command, ["/bin/sh", "-c", command], cwd="/", env=dict(os.environ), **options)


def end(job):
    assert job.wait_ended(20)
    return job.result


class Probe:
    """A sink that waits for a text."""

    def __init__(self, text):
        self.text, self.data, self.seen = text.encode(), b"", threading.Event()

    def write(self, data):
        self.data += data
        if self.text in self.data:
            self.seen.set()


def printed(job, text):
    """What a job printed, once that has `text` in it."""
    probe = Probe(text)
    with job.followed_by(probe):
        assert probe.seen.wait(60), probe.data
    return job.take(1000).text


def test_a_job_ends_by_itself(jobs):
    job = start(jobs, "echo out; echo err >&2; exit 3")
    assert (job.id, job.command) == ("job_1", "echo out; echo err >&2; exit 3")
    assert end(job).exit_code == 3
    assert job.take(1000).text == "out\nerr\n"
    assert job.take(1000).text == ""
    assert jobs.get("job_1") is job
    assert start(jobs, "true").id == "job_2"


def test_what_is_taken_is_what_came_since(jobs, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    job = start(jobs, f"echo one; cat {fifo}")
    assert printed(job, "one") == "one\n"
    assert job.running
    fifo.write_text("two\n")
    end(job)
    assert job.take(1000).text == "two\n"


def test_a_character_is_not_torn(jobs, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    job = start(jobs, f"printf 'a\\303'; cat {fifo}; printf '\\303'")
    assert printed(job, "a") == "a"
    fifo.write_bytes(b"\xa9")
    end(job)
    assert job.take(1000).text == "é\ufffd"


def test_of_much_output_head_and_tail_are_kept(jobs):
    job = start(jobs, "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done")
    end(job)
    taken = job.take(1000)
    assert taken.text.startswith("line 0\n")
    assert taken.text.endswith("line 19999\n")
    assert taken.left_out > OUTPUT_BYTES
    assert len(taken.text.encode()) <= 1000


@repeated
def test_nothing_of_a_stopped_job_is_left(jobs, turn):
    job = start(jobs, "trap '' TERM; sleep 100 & echo begun; sleep 100")
    printed(job, "begun")
    job.stop()
    assert end(job).signal == "SIGKILL"


def test_a_job_whose_time_is_up(jobs):
    result = end(start(jobs, "sleep 100", seconds=0.1))
    assert (result.timed_out, result.signal) == (True, "SIGTERM")


def test_waiting(jobs):
    job = start(jobs, "sleep 100")
    assert not job.wait(0.01, Scope())
    threading.Timer(0.05, job.stop).start()
    assert job.wait(20, Scope())
    assert job.wait(0, Scope())


@repeated
def test_a_cancel_ends_the_wait_and_not_the_job(jobs, turn):
    job, scope = start(jobs, "sleep 100"), Scope()
    threading.Timer(0.01 * turn, lambda: run_closers(scope.cancel())).start()
    with pytest.raises(Cancelled):
        job.wait(20, scope)
    assert job.running


def test_there_are_bounds(jobs):
    running = [start(jobs, "sleep 100") for _ in range(MAX_RUNNING)]
    with pytest.raises(NotStarted, match="16 jobs run already"):
        start(jobs, "true")
    running[0].stop()
    end(running[0])
    for _ in range(KEPT + 5):
        end(start(jobs, "true"))
    assert len(jobs.all()) == MAX_RUNNING - 1 + KEPT
    assert jobs.get("job_1") is None
    assert jobs.get("job_2") is running[1]


def test_a_command_that_cannot_start(jobs):
    with pytest.raises(OSError, match="No such file"):
        jobs.start("x", ["/no/such/program"], cwd="/", env={})
    assert jobs.all() == []


def test_each_end_is_told_once(jobs):
    job, _ = start(jobs, "true"), start(jobs, "sleep 100")
    end(job)
    assert jobs.take_ended() == [job]
    assert jobs.take_ended() == []


@repeated
def test_closing_ends_all_and_lets_none_begin(jobs, turn):
    scripts = ["sleep 100", "trap '' TERM; sleep 100 & sleep 100", "true"]
    refused = threading.Event()

    def keep_starting():
        while True:
            try:
                start(jobs, "sleep 100")
            except NotStarted as reason:
                if "closed" in str(reason):
                    refused.set()
                    return

    for script in scripts:
        start(jobs, script)
    threading.Thread(target=keep_starting).start()
    before = time.monotonic()
    assert jobs.close(before + 10)
    assert time.monotonic() - before < 9
    assert refused.wait(60)
    assert jobs.close(time.monotonic() + 10)
    assert not any(job.running for job in jobs.all())
