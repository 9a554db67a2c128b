"""Programs come and go: nothing stays of them, whoever ends first."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from acpagent.core.scope import Scope
from tests.descendants import MARK, marked, survivors
from tests.extensions.sidecars import Troupe, example, package
from tests.repository.sources import ROOT
from tests.settling import descriptors, left_of, until

# A process that has the example at work, says so, and waits.
ALONE = """
import sys, threading
sys.path.insert(0, sys.argv[1])
from acpagent.core.scope import Scope
from tests.extensions.sidecars import Troupe, example
troupe = Troupe(example())
host = troupe.host
host.start()
print(*troupe.mark.values(), flush=True)
print(host.run_action("tally:setup", "x", Scope()), flush=True)
threading.Event().wait()
"""


def test_twenty_sessions_leave_nothing() -> None:
    with Troupe(example()):
        pass  # what is imported and built at first use stays
    threads, handles = set(threading.enumerate()), descriptors()
    troupes = [Troupe(example()) for _ in range(20)]
    for troupe in troupes:
        troupe.host.start()
        troupe.host.open()
    for troupe in troupes:
        assert troupe.host.run_action("tally:setup", "x", Scope())
        troupe.screen.surface("card")
    assert threading.active_count() > len(threads) + 60
    ends = [threading.Thread(target=troupe.host.close, args=(time.monotonic() + 10,)) for troupe in troupes]
    for end in ends:
        end.start()
    for end in ends:
        end.join()
    assert all(troupe.health(name)[0] == "stopped" for troupe in troupes for name in troupe.host._sidecars)
    assert not left_of(threads)
    until(lambda: descriptors() <= handles, "closed pipes")


def test_two_sessions_have_a_program_each() -> None:
    with Troupe(example()) as one, Troupe(example()) as other:
        one.host.run_action("tally:setup", "sudo", Scope())
        assert one.intercept(tool="bash", arguments={"command": "sudo"}).blocked
        assert not other.intercept(tool="bash", arguments={"command": "sudo"}).blocked


def test_a_killed_agent_leaves_none_that_reads() -> None:
    agent = subprocess.Popen([sys.executable, "-c", ALONE, str(ROOT)], stdout=subprocess.PIPE, text=True)
    assert agent.stdout is not None
    with agent.stdout:
        mark = {MARK: agent.stdout.readline().strip()}
        assert agent.stdout.readline() == "Calls with 'x' are kept away.\n"
        assert len(marked(mark)) == 1
        agent.send_signal(signal.SIGKILL)
        agent.wait(60)
    assert not survivors(mark, 20)


def test_the_next_generation_begins_beside_the_last(tmp_path: Path) -> None:
    """As a reload does it: the new ones first, then the old ones go."""
    program = """
    told = greet()
    while True:
        message = read()
        if message.get("method") == "ui/action":
            send(id=message["id"], result={"message": str(told["session"]["generation"])})
    """
    plugin = package(tmp_path, program, actions=[{"id": "go", "label": "Go"}])
    with Troupe(plugin, generation=1) as old:
        assert old.host.run_action("probe:go", "", Scope()) == "1"
        with Troupe(plugin, generation=2) as new:
            assert new.host.run_action("probe:go", "", Scope()) == "2"
            assert old.host.close(time.monotonic() + 8)
            assert new.host.run_action("probe:go", "", Scope()) == "2"
