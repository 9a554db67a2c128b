from __future__ import annotations

import os
import threading

import pytest

from acpagent.core.live import LiveOutput
from acpagent.core.scope import Cancelled, Scope, run_closers
from acpagent.core.toolcalls import Effect, ToolRefusal
from acpagent.toolbox import jobs
from tests.settling import until


def start(bench, command):
    return bench.call("bash", command=command, background=True)


def test_a_background_command_returns_at_once(bench):
    proposal = bench.prepare("bash", command="sleep 100", background=True)
    assert (proposal.title, proposal.kind) == ("Start: sleep 100", "execute")
    assert proposal.effects == (Effect("execute", command="sleep 100"),)
    result = bench.apply("bash", proposal)
    assert (result.text, result.failed) == ("Started as job_1.", False)
    assert result.facts == {"command": "sleep 100", "job_id": "job_1"}


def test_its_output_and_its_end(bench):
    start(bench, "echo hi; exit 3")
    proposal = bench.prepare("job_output", job_id="job_1", wait_seconds=20)
    assert (proposal.title, proposal.kind) == ("Output of job_1 (echo hi; exit 3)", "execute")
    assert proposal.effects == (Effect("job"),)
    result = bench.apply("job_output", proposal)
    assert (result.text, result.failed) == ("hi\n[job_1 has ended: exit 3]", False)
    assert result.raw == {
        "job_id": "job_1", "truncated": False, "running": False, "exit_code": 3, "signal": None,
    }  # fmt: skip
    assert bench.call("job_output", job_id="job_1").text == "Nothing new was printed.\n[job_1 has ended: exit 3]"


def test_a_job_that_runs_on(bench):
    start(bench, "echo $PWD; sleep 100")
    until(lambda: bench.call("job_output", job_id="job_1").text == f"{bench.root}\n[job_1 is running]", "its output")
    result = bench.call("job_kill", job_id="job_1")
    assert result.text == "Nothing new was printed.\n[job_1 has ended: ended by SIGTERM]"
    assert bench.call("job_kill", job_id="job_1").text == result.text


def test_its_time_can_be_limited(bench):
    bench.call("bash", command="sleep 100", background=True, timeout_seconds=1)
    result = bench.call("job_output", job_id="job_1", wait_seconds=20)
    assert "ended by SIGTERM, as its time was up" in result.text


def test_what_it_prints_is_shown_while_the_model_waits(bench):
    fifo = bench.root / "fifo"
    os.mkfifo(fifo)
    start(bench, "echo first; cat fifo")
    seen = threading.Event()
    live = LiveOutput(lambda: seen.set() if live.total else None)
    ctx, results = bench.context(live=live), []
    proposal = bench.prepare("job_output", ctx, job_id="job_1", wait_seconds=20)
    thread = threading.Thread(target=lambda: results.append(bench.apply("job_output", proposal, ctx)))
    thread.start()
    assert seen.wait(60)
    fifo.write_text("second\n")
    thread.join(60)
    assert live.snapshot() == "first\nsecond\n"
    assert results[0].text == "first\nsecond\n[job_1 has ended: exit 0]"


def test_a_cancel_takes_nothing_of_the_output(bench):
    start(bench, "echo hi; sleep 100")
    scope, seen = Scope(), threading.Event()
    ctx = bench.context(scope, LiveOutput(seen.set))
    proposal = bench.prepare("job_output", ctx, job_id="job_1", wait_seconds=20)
    threading.Thread(target=lambda: seen.wait(60) and run_closers(scope.cancel())).start()
    with pytest.raises(Cancelled):
        bench.apply("job_output", proposal, ctx)
    assert bench.call("job_output", job_id="job_1").text == "hi\n[job_1 is running]"


def test_much_output_is_cut(bench):
    bench.output_bytes = 2000
    start(bench, "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done")
    result = bench.call("job_output", job_id="job_1", wait_seconds=20)
    assert len(result.text.encode()) <= 2000
    assert result.text.startswith("line 0\n")
    assert result.text.endswith("line 2999\n[job_1 has ended: exit 0]")
    assert result.facts["truncated"]


def test_jobs_that_are_not_there(bench):
    assert "There are: none." in bench.refusal("job_output", job_id="job_1")
    start(bench, "true")
    assert "There are: job_1." in bench.refusal("job_kill", job_id="1")
    bench.jobs.stop()
    assert bench.refusal("bash", command="true", background=True) == "Not started: the session is being closed."
    ctx = bench.context()
    ctx.jobs = None
    with pytest.raises(ToolRefusal, match="Nothing can run in the background here"):
        bench.apply("bash", bench.prepare("bash", ctx, command="true", background=True), ctx)


def test_a_job_sees_no_secret(bench, monkeypatch):
    monkeypatch.setenv("SOME_KEY", "secret")
    bench.hidden_env = frozenset({"SOME_KEY"})
    start(bench, 'echo "[${SOME_KEY-}]"')
    assert bench.call("job_output", job_id="job_1", wait_seconds=20).text.startswith("[]\n")


def test_ends_that_the_model_has_not_seen_are_news(bench):
    for command in ("exit 1", "exit 2", "sleep 100"):
        start(bench, command)
    assert bench.jobs.get("job_1").wait_ended(20)
    bench.call("job_output", job_id="job_2", wait_seconds=20)
    assert jobs.news(bench.jobs) == (
        "[The background job job_1 (exit 1) has ended: exit 1. job_output shows what it printed.]"
    )
    assert jobs.news(bench.jobs) == ""
