from __future__ import annotations

import os
import threading

import pytest

from acpagent.core.live import LiveOutput
from acpagent.core.scope import Cancelled, Scope, run_closers
from acpagent.core.toolcalls import Effect, ToolRefusal

REPEATS = int(os.environ.get("ACPAGENT_TEST_REPEATS", "3"))


def test_a_command(bench):
    proposal = bench.prepare("bash", command="echo hi; echo there >&2", description="Say\nhi")
    assert (proposal.title, proposal.kind) == ("Run: echo hi; echo there >&2", "execute")
    assert proposal.effects == (Effect("execute", command="echo hi; echo there >&2"),)
    assert proposal.facts == {"command": "echo hi; echo there >&2", "description": "Say hi"}
    result = bench.apply("bash", proposal)
    assert (result.text, result.failed, result.title) == ("hi\nthere\n[exit 0]", False, proposal.title)
    duration = result.facts["duration_ms"]
    assert 0 <= duration < 20_000
    assert result.facts == result.raw == {
        "command": "echo hi; echo there >&2", "exit_code": 0, "signal": None, "timed_out": False, "truncated": False,
        "duration_ms": duration,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("command", "ending", "suffix", "facts"),
    [
        ("exit 3", "[exit 3]", " (exit 3)", {"exit_code": 3, "signal": None}),
        ("printf x; false", "x\n[exit 1]", " (exit 1)", {"exit_code": 1}),
        ("kill -9 $$", "[ended by SIGKILL]", " (failed)", {"exit_code": None, "signal": "SIGKILL"}),
        ("no-such-command-here", "not found\n[exit 127]", " (exit 127)", {"exit_code": 127}),
        ("if", "[exit 2]", " (exit 2)", {"exit_code": 2}),
    ],
)
def test_a_failure_shows_its_output_and_status(bench, command, ending, suffix, facts):
    result = bench.call("bash", command=command)
    assert result.failed
    assert result.text.endswith(ending)
    assert result.title == f"Run: {command}{suffix}"
    assert facts.items() <= result.facts.items()


def test_a_timeout(bench):
    proposal = bench.prepare("bash", command="echo before; sleep 60")
    assert proposal.detail.seconds == bench.context().command_seconds
    ctx = bench.context()
    ctx.command_seconds = 1.0
    result = bench.apply("bash", bench.prepare("bash", ctx, command="echo before; sleep 60"), ctx)
    assert result.failed
    assert result.text == "before\n[timed out after 1 s and was ended]"
    assert result.title.endswith(" (timed out)")
    assert result.facts["timed_out"]


@pytest.mark.parametrize("turn", range(REPEATS))
def test_a_cancel_tells_what_was_printed(bench, turn):
    started = threading.Event()
    scope, live = Scope(), LiveOutput(started.set)
    ctx = bench.context(scope, live)
    results = []
    proposal = bench.prepare("bash", ctx, command="echo begun; sleep 60")
    thread = threading.Thread(target=lambda: results.append(bench.apply("bash", proposal, ctx)))
    thread.start()
    assert started.wait(60)
    run_closers(scope.cancel())
    thread.join(60)
    assert results[0].failed
    assert results[0].text == "begun\n[cancelled before it ended]"
    assert results[0].title.endswith(" (aborted)")


def test_nothing_runs_once_cancelled(bench):
    scope = Scope()
    scope.cancel()
    ctx = bench.context(scope)
    with pytest.raises(Cancelled):
        bench.apply("bash", bench.prepare("bash", ctx, command="touch ran"), ctx)
    assert bench.tree() == {}


def test_where_and_with_what_it_runs(bench, monkeypatch):
    monkeypatch.setenv("SOME_KEY", "secret")
    monkeypatch.setenv("OTHER", "shown")
    bench.hidden_env = frozenset({"SOME_KEY"})
    result = bench.call("bash", command='pwd; echo "$PWD"; echo "[${SOME_KEY-}] [$OTHER]"; [[ a == a ]] && echo bash')
    assert result.text.split("\n")[:4] == [str(bench.root)] * 2 + ["[] [shown]", "bash"]


def test_the_directory_is_called_as_the_client_calls_it(bench):
    alias = bench.base / "alias"
    alias.symlink_to(bench.root)
    bench.root = alias
    assert bench.call("bash", command="pwd").text == f"{alias}\n[exit 0]"


def test_there_is_no_input(bench):
    assert bench.call("bash", command="cat; read x || echo end").text == "end\n[exit 0]"


def test_output_is_shown_while_it_comes(bench):
    seen = threading.Event()
    live = LiveOutput(seen.set)
    ctx = bench.context(live=live)
    fifo = bench.root / "fifo"
    os.mkfifo(fifo)
    proposal = bench.prepare("bash", ctx, command="echo first; cat fifo")
    thread = threading.Thread(target=lambda: bench.apply("bash", proposal, ctx))
    thread.start()
    assert seen.wait(60)
    assert live.snapshot() == "first\n"
    fifo.write_text("second\n")
    thread.join(60)
    assert live.snapshot() == "first\nsecond\n"


def test_much_output_is_cut_once(bench):
    bench.output_bytes = 2000
    result = bench.call("bash", command="i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done")
    assert len(result.text.encode()) <= 2000
    assert result.text.startswith("line 0\n")
    assert result.text.endswith("line 1999\n[exit 0]")
    assert result.text.count("bytes left out") == 1
    assert result.facts["truncated"]


def test_colours_and_binary_are_made_fit_to_show(bench):
    result = bench.call("bash", command=r"printf '\033[31mred\033[0m \000\377 50%%\r100%%\n'")
    assert result.text == "100%\n[exit 0]"


@pytest.mark.parametrize("command", ["", " \n", "a\0b"])
def test_what_is_no_command(bench, command):
    assert "command" in bench.refusal("bash", command=command)


def test_a_long_command_has_a_short_title(bench):
    command = "echo a\necho b\n" + "x" * 500
    title = bench.prepare("bash", command=command).title
    assert title.startswith("Run: echo a ⏎ echo b ⏎ xxx")
    assert len(title) == len("Run: ") + 120


@pytest.mark.parametrize(
    ("command", "title", "note"),
    [
        ("touch a #\recho harmless", "Run: touch a #␍echo harmless", "touch a #␍echo harmless"),
        ("touch a #\x1b[2K\x1b[1G echo b", "Run: touch a #␛[2K␛[1G echo b", "touch a #␛[2K␛[1G echo b"),
        ("touch a #\b\b\b\b", "Run: touch a #␈␈␈␈", "touch a #␈␈␈␈"),
        ("echo \u202etxt.sh", "Run: echo <U+202E>txt.sh", "echo <U+202E>txt.sh"),
        ("# note\nrm -rf x", "Run: # note ⏎ rm -rf x", "# note\nrm -rf x"),
        ("echo " + "a" * 200 + "; rm x", "Run: echo " + "a" * 114 + "…", "echo " + "a" * 200 + "; rm x"),
        ("echo plain", "Run: echo plain", ""),
    ],
)
def test_what_is_asked_about_is_what_would_run(bench, command, title, note):
    proposal = bench.prepare("bash", command=command)
    assert (proposal.title, proposal.note) == (title, note)


def test_a_directory_that_is_gone(bench):
    ctx = bench.context()
    proposal = bench.prepare("bash", ctx, command="ls")
    bench.root.rmdir()
    with pytest.raises(ToolRefusal, match="gone"):
        bench.apply("bash", proposal, ctx)
