from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from acpagent.core import process
from acpagent.core.live import LiveOutput
from acpagent.core.process import Group, Result
from acpagent.core.scope import Cancelled, Scope, run_closers
from tests.settling import descriptors, left_of, until

REPEATS = int(os.environ.get("ACPAGENT_TEST_REPEATS", "3"))
repeated = pytest.mark.parametrize("turn", range(REPEATS))
PRINTS_ITS_ID = "echo $$; "


class Probe(LiveOutput):
    """Live output that can be waited for."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        super().__init__(self._notify)

    def _notify(self) -> None:
        with self.changed:
            self.changed.notify_all()

    def wait_for(self, text: str) -> str:
        with self.changed:
            assert self.changed.wait_for(lambda: text in self.snapshot(), 60)
        return self.snapshot()


def run(command: str, timeout: float | None = 20, scope: Scope | None = None) -> tuple[Result, str]:
    live = LiveOutput()
    result = process.run(
        ["/bin/sh", "-c", command],
        cwd="/",
        env=dict(os.environ),
        output=live,
        scope=scope or Scope(),
        timeout=timeout,
    )
    return result, live.excerpt(60_000).text


def alive(group: int) -> list[str]:
    """The members of a process group that are not dead."""
    return [line for line in processes() if line.split()[0] == str(group) and line.split()[1] != "Z"]


def processes() -> list[str]:
    """Group, state and name of every process."""
    if not os.path.isdir("/proc/self"):
        listing = ["ps", "-A", "-o", "pgid=,state=,comm="]
        return subprocess.run(listing, capture_output=True, text=True, check=True).stdout.splitlines()
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat") as status:
                name, _, rest = status.read().rpartition(")")
        except OSError:
            continue
        state, _, group = rest.split()[:3]
        found.append(f"{group} {state} {name}")
    return found


class Background:
    """`process.run` on a thread of its own, and what came of it."""

    def __init__(self, command: str, timeout: float | None = None) -> None:
        self.scope, self.live = Scope(), Probe()
        self.outcome: Result | type[Cancelled] | None = None
        self._thread = threading.Thread(target=self._run, args=(command, timeout))
        self._thread.start()

    def _run(self, command: str, timeout: float | None) -> None:
        try:
            self.outcome = process.run(
                ["/bin/sh", "-c", command],
                cwd="/",
                env=dict(os.environ),
                output=self.live,
                scope=self.scope,
                timeout=timeout,
            )
        except Cancelled:
            self.outcome = Cancelled

    def group(self) -> int:
        return int(self.live.wait_for("\n").split()[0])

    def cancel(self) -> None:
        run_closers(self.scope.cancel())

    def join(self) -> Result | type[Cancelled] | None:
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.outcome


def test_both_streams_arrive_in_order_with_the_status():
    result, text = run("echo out; echo err >&2; exit 3")
    assert (result.exit_code, result.signal, result.timed_out) == (3, None, False)
    assert text == "out\nerr\n"


def test_a_signal_is_named():
    result, _ = run("kill -9 $$")
    assert (result.exit_code, result.signal) == (None, "SIGKILL")


def test_stdin_is_at_its_end_and_there_is_no_terminal():
    result, text = run("cat; read x; echo read=$?; (exec </dev/tty) 2>/dev/null || echo none")
    assert text.split() == ["read=1", "none"]
    assert result.exit_code == 0


def test_stdin_may_be_a_file(tmp_path):
    (tmp_path / "in").write_text("hello")
    live = LiveOutput()
    with open(tmp_path / "in", "rb") as stream:
        process.run(["cat"], cwd="/", env=dict(os.environ), output=live, scope=Scope(), stdin=stream.fileno())
    assert live.excerpt(99).text == "hello"


def test_what_cannot_start_raises_and_leaves_nothing(tmp_path):
    before = set(threading.enumerate())
    for argv, cwd in ((["/no/such/program"], "/"), (["true"], str(tmp_path / "gone"))):
        with pytest.raises(FileNotFoundError):
            process.run(argv, cwd=cwd, env={}, output=LiveOutput(), scope=Scope())
    assert not left_of(before)
    assert not process._running


@repeated
def test_a_cancel_kills_what_ignores_sigterm(turn):
    work = Background("trap '' TERM; echo $$; while :; do sleep 5; done")
    group = work.group()
    start = time.monotonic()
    work.cancel()
    assert work.join() is Cancelled
    assert time.monotonic() - start < 10
    assert alive(group) == []


@repeated
def test_a_cancel_lets_a_command_tidy_up(turn, monkeypatch):
    monkeypatch.setattr(process, "GRACE_SECONDS", 10.0)
    work = Background("trap 'echo tidy; exit 0' TERM; echo $$; while :; do sleep 0.01; done")
    work.group()
    work.cancel()
    assert work.join() is Cancelled
    assert "tidy" in work.live.snapshot()


@repeated
def test_a_cancel_at_any_moment_of_the_start_leaves_nothing(turn):
    work = Background(PRINTS_ITS_ID + "sleep 60 & wait")
    work.cancel()
    assert work.join() is Cancelled
    text = work.live.snapshot()
    assert not text or alive(int(text.split()[0])) == []
    assert not process._running


def test_a_cancelled_scope_starts_nothing(tmp_path):
    scope = Scope()
    scope.cancel()
    with pytest.raises(Cancelled):
        run(f"touch {tmp_path}/ran", scope=scope)
    assert not (tmp_path / "ran").exists()


@repeated
def test_a_timeout_kills_the_group_and_says_so(turn):
    result, text = run(PRINTS_ITS_ID + "sleep 60 & sleep 60", timeout=1)
    assert result.timed_out
    assert result.signal == "SIGTERM"
    assert alive(int(text.split()[0])) == []


@repeated
@pytest.mark.parametrize("redirect", ["", ">/dev/null 2>&1"])
@pytest.mark.parametrize("stubborn", ["", "trap '' TERM; "])
def test_background_children_die_with_their_command(turn, redirect, stubborn):
    result, text = run(PRINTS_ITS_ID + f"({stubborn}sleep 60; sleep 60) {redirect} & exit 4")
    assert result.exit_code == 4
    assert not result.timed_out
    assert alive(int(text.split()[0])) == []


@repeated
def test_output_closed_early_is_not_the_end(turn):
    result, text = run("echo first; exec >&- 2>&-; sleep 0.1; exit 7")
    assert (result.exit_code, text) == (7, "first\n")


def test_a_child_that_left_the_group_does_not_hold_us_up(tmp_path):
    start = time.monotonic()
    mark = tmp_path / "left"
    code = f"import os, time; os.setsid(); print(os.getpid(), file=open('{mark}', 'w'), flush=True)"
    code += "; time.sleep(60)"
    result, _ = run(f'"{sys.executable}" -c "{code}" & until [ -s {mark} ]; do :; done')
    assert time.monotonic() - start < 30
    assert result.exit_code == 0
    os.kill(int(mark.read_text()), signal.SIGKILL)


def test_a_flood_is_taken_at_full_speed_and_bounded():
    live = LiveOutput(limit=10_000)
    result = process.run(
        ["/bin/sh", "-c", "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo end"],
        cwd="/",
        env=dict(os.environ),
        output=live,
        scope=Scope(),
        timeout=60,
    )
    assert result.exit_code == 0
    assert live.total == 100_000_005
    excerpt = live.excerpt(10_000)
    assert len(excerpt.text) <= 10_000
    assert excerpt.text.endswith("xxx\nend\n")
    assert excerpt.left_out > 99_000_000


@repeated
def test_all_output_before_the_exit_arrives(turn):
    _, text = run("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done")
    assert text.endswith("line 2999\n")
    assert text.count("\n") == 3000


@repeated
def test_output_that_a_side_process_still_writes_arrives(turn, monkeypatch):
    monkeypatch.setattr(process, "SETTLE_SECONDS", 10.0)
    _, text = run("(echo late) & exit 0")
    assert text == "late\n"


@repeated
def test_sweep_kills_all_that_runs(turn):
    works = [Background("trap '' TERM; echo $$; while :; do sleep 5; done") for _ in range(3)]
    groups = [work.group() for work in works]
    assert process.sweep() == 3
    assert [work.join() for work in works] == [Cancelled] * 3
    assert [alive(group) for group in groups] == [[], [], []]
    assert process.sweep() == 0


@repeated
def test_sweep_does_not_miss_what_is_being_started(turn, monkeypatch):
    registered = threading.Event()

    class Running(set):
        def add(self, group):
            super().add(group)
            registered.set()

    monkeypatch.setattr(process, "_running", Running())
    work = Background("trap '' TERM; echo $$; sleep 60 & wait")
    assert registered.wait(60)
    assert process.sweep() == 1
    assert work.join() is Cancelled
    text = work.live.snapshot()
    assert not text or alive(int(text)) == []


@repeated
def test_a_late_stop_or_signal_hits_nobody(turn):
    group = Group(LiveOutput())
    group.start(["true"], "/", dict(os.environ))
    assert group.wait(60)
    assert group.finish().exit_code == 0
    group.stop()
    group.send(signal.SIGKILL)
    assert not process._running


def test_descriptors_and_threads_do_not_pile_up():
    run("true")
    handles, threads = descriptors(), set(threading.enumerate())
    for _ in range(20):
        run("true")
    assert not left_of(threads)
    until(lambda: descriptors() <= handles, "closed pipes")


def test_stdout_can_go_elsewhere_whole_and_to_its_end() -> None:
    said, complained = LiveOutput(limit=1000), LiveOutput()
    command = "echo oh >&2; head -c 300000 /dev/zero | tr '\\0' x; exec >&-; echo end >&2"
    result = process.run(
        ["/bin/sh", "-c", command],
        cwd="/",
        env=dict(os.environ),
        output=complained,
        scope=Scope(),
        timeout=20,
        stdout=said,
    )
    assert result.exit_code == 0
    assert said.total == 300_000
    assert complained.excerpt(100).text == "oh\nend\n"


def test_a_child_that_left_the_group_does_not_keep_stdout_open() -> None:
    said = LiveOutput()
    began = time.monotonic()
    process.run(
        ["/bin/sh", "-c", f"{sys.executable} -c 'import os, time; os.setsid(); time.sleep(12)' & echo here"],
        cwd="/",
        env=dict(os.environ),
        output=LiveOutput(),
        scope=Scope(),
        stdout=said,
    )
    assert said.excerpt(100).text == "here\n"
    assert time.monotonic() - began < 10
