"""Launching, introducing, ending; and what happens when the agent does not play along."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time

import pytest

from acpagent import Client
from acpagent.client.faults import AgentEnded, AgentFault
from acpagent.wire.outgoing import check_message
from acpagent.wire.schema import bundle
from tests.client.conftest import toy
from tests.settling import descriptors, left_of, until


def test_launch_introduces_and_close_ends(launch):
    with launch("echo") as client:
        assert client.agent == {"name": "echo", "version": "1"}
        assert client.capabilities["loadSession"] is True
        assert [method["id"] for method in client.auth_methods] == ["key"]
        assert client.exit_code is None
    assert client.exit_code == 0
    client.close()  # twice is harmless


def test_the_agent_has_a_process_group_of_its_own(launch):
    client = launch("echo")
    assert os.getpgid(client.pid) == client.pid != os.getpgid(0)


def test_authenticate_and_logout(launch):
    client = launch("echo")
    client.authenticate("key")
    client.logout()
    with pytest.raises(AgentFault) as caught:
        client.authenticate("other")
    fault = caught.value
    assert (fault.code, fault.message, fault.data) == (-32602, "not offered", {"offered": ["key"]})


def test_any_method_can_be_called(launch):
    client = launch("echo")
    assert client.call("session/list", {}) == {"sessions": []}
    with pytest.raises(AgentFault) as caught:
        client.call("_vendor/thing", {"x": 1})
    assert caught.value.code == -32601


def test_a_command_that_is_not_there():
    threads = set(threading.enumerate())
    with pytest.raises(FileNotFoundError):
        Client.launch(["/no/such/agent"])
    assert not left_of(threads)


def test_a_command_that_is_no_agent():
    program = "import sys; sys.stderr.write('usage: not like this\\n'); sys.exit(2)"
    with pytest.raises(AgentEnded, match="exit code 2: usage: not like this") as caught:
        Client.launch([sys.executable, "-c", program])
    assert caught.value.exit_code == 2
    assert caught.value.stderr == "usage: not like this\n"


def test_an_agent_that_does_not_answer_initialize(launch):
    started = time.monotonic()
    with pytest.raises(TimeoutError, match="initialize"):
        launch("silent", timeout=0.3)
    assert time.monotonic() - started < 9


def test_an_agent_that_speaks_another_version():
    program = 'print(\'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2}}\'); input(); input()'
    with pytest.raises(AgentFault, match="version 2"):
        Client.launch([sys.executable, "-c", program])


def test_death_in_the_middle_of_a_turn(launch):
    client = launch("dies")
    session = client.open("/tmp")
    turn = session.prompt("go")
    heard = []
    with pytest.raises(AgentEnded, match="exit code 3: Traceback: the roof is on fire") as caught:
        heard.extend(update.text for update in turn)
    assert turn.text == "so far"
    assert turn.done
    assert turn.stop_reason is None
    assert caught.value.exit_code == 3
    for again in (turn.wait, session.prompt("more").wait, lambda: client.open("/tmp")):
        with pytest.raises(AgentEnded):
            again()
    turn.cancel()
    session.cancel()


def test_death_is_noticed_though_a_child_holds_stdout_open(launch):
    client = launch("dies")
    with pytest.raises(AgentEnded, match="exit code 3"):
        client.open("/tmp").prompt("drop").wait(60)


def test_an_agent_that_closes_its_stdout(launch):
    client = launch("dies")
    with pytest.raises(AgentEnded, match="closed the connection") as caught:
        client.open("/tmp").prompt("close").wait(60)
    assert caught.value.exit_code is None


def test_an_agent_killed_by_a_signal(launch):
    client = launch("echo")
    turn = client.open("/tmp").prompt("wait")
    assert turn.next_update(60).text == "waiting"
    os.kill(client.pid, 9)
    with pytest.raises(AgentEnded, match="signal 9"):
        turn.wait(60)
    assert client.exit_code == -9


def test_close_lets_the_running_turn_end(launch):
    program = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        "    r = {'protocolVersion': 1, 'sessionId': 's'} if m['method'] != 'session/prompt' else None\n"
        "    if r: print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)\n"
        "print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': {'stopReason': 'cancelled'}}))\n"
    )
    with Client.launch([sys.executable, "-c", program]) as client:
        turn = client.open("/tmp").prompt("go")
    assert turn.wait(0) == "cancelled"
    assert client.exit_code == 0


def test_a_turn_left_unanswered_by_close_fails(launch):
    with launch("echo") as client:
        turn = client.open("/tmp").prompt("wait")
    with pytest.raises(AgentEnded):
        turn.wait(0)


def test_close_ends_a_stubborn_agent_and_its_group(launch):
    client = launch("silent", "initialize", "stubborn")
    started = time.monotonic()
    client.close(0.1)
    assert client.exit_code == -9
    assert time.monotonic() - started < 9


def test_timeouts_are_told_to_the_agent(launch):
    client = launch("silent", "initialize")
    with pytest.raises(TimeoutError, match="session/new"):
        client.open("/tmp", timeout=0.2)
    client.close()
    assert "heard session/new\nheard $/cancel_request\n" in client.stderr


def test_stderr_goes_to_the_callback(launch):
    pieces: list[str] = []
    client = launch("silent", "initialize", on_stderr=pieces.append)
    with pytest.raises(TimeoutError):
        client.call("hello", timeout=0.1)
    client.close()
    assert "heard hello" in "".join(pieces)
    assert "".join(pieces) == client.stderr


def test_stderr_is_read_though_its_callback_fails():
    def fails(text: str) -> None:
        raise ValueError

    program = "import sys; sys.stderr.write('x' * 1000000 + 'end'); sys.exit(7)"
    with pytest.raises(AgentEnded) as caught:
        Client.launch([sys.executable, "-c", program], on_stderr=fails)
    assert caught.value.exit_code == 7
    assert caught.value.stderr.endswith("xend")
    assert len(caught.value.stderr) < 20000
    assert len(str(caught.value)) < 600


def test_rubbish_between_the_lines_does_no_harm(launch):
    client = launch("garbage")
    session = client.open("/tmp")
    for round in ("one two", "three"):
        turn = session.prompt(round)
        assert turn.wait(60) == "end_turn"
        assert turn.text == round.replace(" ", "")


def test_everything_the_client_says_is_valid(launch, tmp_path):
    """The agent's half of the schema, every object closed."""
    log = tmp_path / "log"
    client = launch("asks", permission=lambda request: "yes", env={"TOY_LOG": str(log)})
    client.authenticate("key")
    for session in (
        client.open("/", [{"name": "m", "command": "/bin/m", "args": [], "env": []}], ["/tmp"]),
        client.load("old", "/", additional_directories=["/tmp"]),
        client.resume("older", "/"),
    ):
        for wish in ({"options": ["allow_once", "reject_once"]}, {}, {"method": "_vendor/thing"}):
            session.prompt([json.dumps(wish), {"type": "resource_link", "uri": "file:///a", "name": "a"}]).wait()
        turn = session.prompt(json.dumps({"options": ["reject_once"]}))
        turn.cancel()
        turn.wait()
    assert list(client.sessions("/")) + list(client.sessions())
    session.close()
    client.delete(session.id)
    client.logout()
    with pytest.raises(TimeoutError):
        client.call("session/list", {}, timeout=0)
    client.close()
    said = [json.loads(line) for line in log.read_text().splitlines()]
    assert len({message.get("method") for message in said}) == 13  # None for the answers
    for message in said:
        answered = None if "method" in message else _asked(message)
        assert check_message(bundle(), "client", message, answered) == []


def _asked(answer):
    return "session/request_permission" if "result" in answer else None


def test_importing_acpagent_costs_nothing():
    program = (
        "import sys; import acpagent; "
        "print([name for name in sys.modules if name.startswith('acpagent.') or name == 'subprocess'])"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_the_client_is_light():
    """Nothing heavy comes with it: a program without an event loop gets none."""
    program = (
        "import sys; from acpagent import Client; "
        "print({'asyncio', 'jsonschema', 'statemachine', 'requests', 'yaml', 'mcp'} & sys.modules.keys())"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"


def test_nothing_is_left_open():
    Client.launch(toy("echo")).close()
    handles, threads = descriptors(), set(threading.enumerate())
    for name in ("echo", "dies"):
        with Client.launch(toy(name)) as client:
            turn = client.open("/tmp").prompt("go")
            with pytest.raises(AgentEnded) if name == "dies" else open(os.devnull):
                turn.wait()
    assert not left_of(threads)
    until(lambda: descriptors() <= handles, "closed pipes")
