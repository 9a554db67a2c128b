"""Servers from the opening of a session to its end: late ones, changed ones, ended ones, and nothing left."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acpagent.core.forms import Answer, Form
from acpagent.core.scope import Cancelled, Scope, run_closers
from acpagent.core.toolcalls import ToolRefusal
from acpagent.mcp_client import loop
from acpagent.mcp_client.faults import ServerFault
from acpagent.mcp_client.pool import Hooks, Pool
from acpagent.mcp_client.spec import read
from tests.descendants import gone, marked, new_mark, survivors
from tests.mcp_client.bench import Bench, bench, everything, over_http, plain
from tests.settling import PATIENCE, appears, until


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as made:
        yield made


def pid(one: Bench, name: str) -> str:
    return one.call(f"mcp__{name}__pid").text


def test_a_slow_server_is_waited_for_no_longer_than_asked_and_joins_late(one: Bench, tmp_path: Path) -> None:
    go = tmp_path / "go"
    one.open(plain("quick"))
    assert not one.open(plain("quick"), plain("slow", f"slow={go}"), seconds=0.05)
    assert one.notice("mcp_starting") == {"server": "slow"}
    assert one.states() == {"quick": "ready", "slow": "starting"}
    before = one.pool.signature()
    go.touch()
    assert one.notice("mcp_ready") == {"server": "slow", "tools": 6}
    assert one.pool.signature() != before
    assert pid(one, "slow").isdecimal()


def test_waiting_ends_with_the_scope(one: Bench, tmp_path: Path) -> None:
    plan, scope, raised = one.pool.prepare([plain("slow", "silent")]), Scope(), threading.Event()

    def wait() -> None:
        with pytest.raises(Cancelled):
            one.pool.wait(plan, scope, 60)
        raised.set()

    threading.Thread(target=wait).start()
    run_closers(scope.cancel())
    assert raised.wait(60)
    one.pool.discard(plan)
    assert one.pool.status() == ()


def test_unchanged_servers_keep_their_process_in_a_reload(one: Bench) -> None:
    one.open(plain("a"), plain("b"), plain("c"))
    pids = {name: pid(one, name) for name in "abc"}
    one.open(plain("a"), plain("b", "tools=more"), plain("d"))
    assert pid(one, "a") == pids["a"]
    assert pid(one, "b") != pids["b"]
    assert "mcp__b__more" in one.names()
    assert set(one.states()) == {"a", "b", "d"}
    assert not survivors_but(one, {pid(one, name) for name in "abd"})


def survivors_but(one: Bench, wanted: set[str]) -> set[int]:
    """What still runs beside these, once what is leaving has left."""
    left = {number for number in marked(one.mark) if str(number) not in wanted}
    for number in left:
        wait_gone(number)
    return {number for number in marked(one.mark) if str(number) not in wanted}


def wait_gone(number: int) -> None:
    assert gone(number, PATIENCE)


def test_a_plan_that_is_given_up_changes_nothing(one: Bench) -> None:
    one.open(plain("a"))
    before = pid(one, "a")
    plan = one.pool.prepare([plain("a", "tools=x"), plain("b")])
    one.pool.wait(plan, Scope(), 30)
    assert "mcp__b__pid" in [tool.name for tool in plan.tools()]
    one.pool.discard(plan)
    assert (pid(one, "a"), list(one.states())) == (before, ["a"])
    assert not survivors_but(one, {before})


def test_a_server_that_dies_is_started_again(one: Bench) -> None:
    one.open(plain("a"))
    before = pid(one, "a")
    with pytest.raises(ToolRefusal, match=r"The MCP server a: .* before it answered\."):
        one.call("mcp__a__die")
    assert one.notice("mcp_restarting") == {
        "server": "a", "cause": "it ended with exit code 7", "attempt": 1, "limit": 3,
    }  # fmt: skip
    after = pid(one, "a")  # waits until it is there again
    assert after != before
    assert one.pool.status()[0].restarts == 1


def test_an_idle_server_that_is_killed_is_noticed(one: Bench) -> None:
    one.open(plain("a"))
    os.kill(int(pid(one, "a")), 9)
    assert one.notice("mcp_restarting")["cause"] == "it died of SIGKILL"
    assert pid(one, "a").isdecimal()


def test_a_server_that_dies_with_a_child_that_holds_its_output(one: Bench) -> None:
    one.open(plain("a", "child"))
    with pytest.raises(ToolRefusal):
        one.call("mcp__a__die")
    assert one.notice("mcp_restarting")["cause"] == "it ended with exit code 7"
    assert pid(one, "a").isdecimal()
    assert len(marked(one.mark)) == 2


def test_a_server_that_keeps_dying_is_given_up(tmp_path: Path) -> None:
    with bench(tmp_path) as one:
        one.open(plain("a", f"once={tmp_path / 'was'}"))
        with pytest.raises(ToolRefusal):
            one.call("mcp__a__die")
        assert [one.notice("mcp_restarting")["attempt"] for _ in range(3)] == [1, 2, 3]
        assert one.notice("mcp_failed") == {"server": "a", "cause": "it ended with exit code 5"}
        assert one.states() == {"a": "failed"}
        assert one.names() == []
        (tmp_path / "was").unlink()
        one.pool.start("a")
        one.pool.wait(one.pool.prepare([plain("a", f"once={tmp_path / 'was'}")]), Scope(), 30)
        assert one.states() == {"a": "ready"}


def test_starting_and_stopping_by_hand(one: Bench) -> None:
    one.open(plain("a"))
    tool, before = one.tool("mcp__a__pid"), pid(one, "a")
    one.pool.stop("a")
    assert one.states() == {"a": "stopped"}
    assert one.names() == []
    wait_gone(int(before))
    with pytest.raises(ToolRefusal, match="The MCP server a is not running"):
        tool.apply(tool.prepare({}, one.context()), one.context())
    one.pool.start("a")
    assert tool.apply(tool.prepare({}, one.context()), one.context()).text != before  # waits for it
    again = pid(one, "a")
    one.pool.restart("a")
    assert tool.apply(tool.prepare({}, one.context()), one.context()).text not in (before, again)
    with pytest.raises(ServerFault, match="no MCP server 'x'"):
        one.pool.stop("x")


def test_a_call_has_its_time(one: Bench) -> None:
    one.open(plain("a", call_timeout_seconds=60, tool_timeout_seconds={"silence": 0.1}))
    with pytest.raises(ToolRefusal, match=r"The MCP server a: no answer came within 0\.1 s\."):
        one.call("mcp__a__silence")
    assert pid(one, "a").isdecimal()


def test_a_stop_ends_the_calls_that_run(one: Bench, tmp_path: Path) -> None:
    one.open(plain("a"))
    refusals: list[str] = []

    def call() -> None:
        with pytest.raises(ToolRefusal) as refused:
            one.call("mcp__a__silence", touch=str(tmp_path / "called"))
        refusals.append(str(refused.value))

    caller = threading.Thread(target=call)
    caller.start()
    appears(tmp_path / "called")
    one.pool.stop("a")
    caller.join(60)
    assert refusals
    assert refusals[0].startswith("The MCP server a: ")


@pytest.mark.parametrize("habits", [(), ("child",), ("stubborn",), ("stubborn", "child")])
def test_nothing_is_left_after_a_close(tmp_path: Path, habits: tuple[str, ...]) -> None:
    one = Bench(tmp_path)
    one.open(plain("a", *habits))
    assert len(marked(one.mark)) == 1 + ("child" in habits)
    started = time.monotonic()
    one.close()
    assert time.monotonic() - started < 4
    assert one.states() == {"a": "stopped"}


def test_nothing_is_left_of_a_server_that_was_still_starting(tmp_path: Path) -> None:
    one = Bench(tmp_path)
    one.open(plain("a", f"begun={tmp_path}/begun", "silent"), seconds=0)
    appears(tmp_path / "begun")
    one.close()


def test_a_closed_pool_starts_nothing(one: Bench) -> None:
    one.pool.end()
    one.open(plain("a"), seconds=0)
    assert one.states() == {"a": "stopped"}
    assert not survivors(one.mark, PATIENCE)


@pytest.mark.parametrize("how", ["http", "sse"])
def test_a_server_over_http_that_is_gone_is_tried_again(tmp_path: Path, how: str) -> None:
    with bench(tmp_path) as one:
        with over_http(how) as url:
            one.open(read({"name": "a", "type": how, "url": url}))
            assert one.call("mcp__a__echo", text="x").text == "x"
        started = time.monotonic()
        with pytest.raises(ToolRefusal, match="The MCP server a: "):
            one.call("mcp__a__echo", text="x")
        assert time.monotonic() - started < 60
        assert one.notice("mcp_restarting")["attempt"] == 1
        assert one.notice("mcp_failed")["cause"] == "it could not be reached"


def test_twenty_pools_leave_no_thread_and_no_descriptor(tmp_path: Path) -> None:
    def once() -> None:
        one = Bench(tmp_path)
        one.open(plain("a"), plain("b"), plain("c"))
        assert {pid(one, name).isdecimal() for name in "abc"} == {True}
        one.close()

    once()
    threads, descriptors = settled_threads(), len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        once()
    assert settled_threads() <= threads
    until(lambda: len(os.listdir("/proc/self/fd")) <= descriptors, "descriptors to be closed")


def settled_threads() -> set[str]:
    """The names of our threads, once those that only finish something have ended."""
    for thread in threading.enumerate():
        if thread.name.startswith("acpagent-") and thread.name != loop.NAME:
            thread.join(60)
    return {thread.name for thread in threading.enumerate()}


def test_the_package_is_imported_by_the_first_server_alone(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom acpagent.mcp_client.pool import Hooks, Pool\nPool('/', {}, Hooks()).close(0)\n"
        "print({'mcp', 'anyio', 'pydantic', 'httpx2'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"


def test_a_pool_without_servers_has_no_thread(tmp_path: Path) -> None:
    pool = Pool(str(tmp_path), {}, Hooks())
    assert pool.is_empty
    assert pool.tools() == []
    assert pool.close(time.monotonic() + 1)


def test_a_second_session_has_servers_of_its_own(tmp_path: Path) -> None:
    with bench(tmp_path) as one, bench(tmp_path) as other:
        one.open(plain("a"))
        other.open(plain("a"))
        assert pid(one, "a") != pid(other, "a")
        one.pool.stop("a")
        assert pid(other, "a").isdecimal()


def test_a_death_of_ours_is_a_servers_end(tmp_path: Path) -> None:
    """A server that reads its input ends with us, however we die: its input does."""
    mark = new_mark()
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom tests.mcp_client.bench import Bench, plain\n"
        "one = Bench(Path('.'))\none.open(plain('a'))\nprint(one.states(), flush=True)\nos.kill(os.getpid(), 9)"
    )
    found = subprocess.run([sys.executable, "-c", code], env={**os.environ, **mark}, capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (-9, "{'a': 'ready'}\n")
    assert not survivors(mark, PATIENCE)


def test_a_question_ends_with_the_call_that_it_is_asked_in(tmp_path: Path) -> None:
    with bench(tmp_path) as one:
        one.open(everything())
        scope, asked = Scope(), threading.Event()

        def never(form: Form) -> Answer:
            asked.set()
            scope.wait_for(lambda: False)
            raise AssertionError

        def call() -> None:
            with pytest.raises(Cancelled):
                one.call("mcp__all__ask", one.context(scope, question=never))

        caller = threading.Thread(target=call)
        caller.start()
        assert asked.wait(60)
        run_closers(scope.cancel())
        caller.join(60)
        assert not caller.is_alive()
        assert one.call("mcp__all__echo", text="on").text == "on"


def test_the_time_of_the_person_is_not_the_servers(tmp_path: Path) -> None:
    with bench(tmp_path) as one:
        one.open(everything("all", call_timeout_seconds=1.0))
        pause = threading.Event()

        def slow(form: Form) -> Answer:
            pause.wait(1.3)
            return Answer("decline")

        assert "decline" in one.call("mcp__all__ask", one.context(question=slow)).text


def test_the_package_server_restarts_too(one: Bench) -> None:
    one.open(everything())
    with pytest.raises(ToolRefusal):
        one.call("mcp__all__die")
    assert one.notice("mcp_restarting")["cause"] == "it ended with exit code 3"
    assert one.call("mcp__all__echo", text="back").text == "back"
