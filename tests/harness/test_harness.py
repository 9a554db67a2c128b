"""The harness sees what it is there to see."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent import Agent, text_in

ECHO = [sys.executable, str(Path(__file__).parent.parent / "toy_agents" / "echo.py")]


def test_a_straight_agent_passes(agent):
    echo = agent(command=ECHO)
    session = echo.new_session("/")
    updates, response = echo.prompt(session, "one two")
    assert text_in(updates) == "onetwo"
    assert response["result"] == {"stopReason": "end_turn"}
    assert echo.expect_update(session, "available_commands_update")["availableCommands"]
    assert echo.fail("nonsense")["code"] == -32601
    echo.close()


def writer(*lines: bytes) -> Agent:
    program = f"import sys; sys.stdin.readline(); sys.stdout.buffer.write({b''.join(lines)!r})"
    agent = Agent([sys.executable, "-c", program])
    agent.request("session/list")
    agent.process.ended.wait(60)
    return agent


@pytest.mark.parametrize(
    "line",
    [
        b"hello\n",
        b"\n",
        b"[]\n",
        b'{"jsonrpc":"2.0","id":1,"result":{"sessions":[]}',  # no end of line, and broken
        b'{"id":1,"result":{"sessions":[]}}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{"sessions":[]},"extra":1}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{"sessions":[],"extra":1}}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{}}\n',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"no"}}\n',
        b'{"jsonrpc":"2.0","id":"1","result":{"sessions":[]}}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{"sessions":[]}}\n' * 2,
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{}}}\n',
        b'{"jsonrpc":"2.0","method":"session/request_permission","params":{}}\n',
        b'{"jsonrpc":"2.0","method":"made/up"}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{"sessions":[]},"text":"\xff"}\n',
    ],
)
def test_a_wrong_line_is_found(line):
    with pytest.raises(AssertionError):
        writer(line).close()


def test_a_right_line_is_not(agent):
    writer(b'{"jsonrpc":"2.0","id":1,"result":{"sessions":[]}}\n').close()


def test_a_wrong_exit_code_is_found():
    with pytest.raises(AssertionError, match="exit code 3"):
        Agent([sys.executable, "-c", "import sys; sys.stdin.read(); sys.exit(3)"]).close()


def test_a_survivor_is_found():
    program = (
        "import subprocess, sys; sys.stdin.read();"
        "options = dict(start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL);"
        "child = subprocess.Popen(['sh', '-c', 'echo; sleep 60; :'], **options);"
        "child.stdout.readline();"
        "print(child.pid, file=sys.stderr)"
    )
    agent = Agent([sys.executable, "-c", program])
    agent.grace = 0.1
    try:
        with pytest.raises(AssertionError, match=r"left behind: .*sleep 60"):
            agent.close()
    finally:
        os.killpg(int(agent.stderr()), 9)


def test_vain_waiting_tells_the_story():
    agent = Agent(ECHO)
    agent.initialize()
    agent.deadline = 0.2
    with pytest.raises(AssertionError, match=r"(?s)waited in vain for response 99.*agentInfo"):
        agent.response(99)
    agent.close()


def test_not_reading_holds_the_agent_up():
    program = "import sys; sys.stdin.readline(); sys.stdout.write(('x' * 1000 + chr(10)) * 1000)"
    agent = Agent([sys.executable, "-c", program])
    with agent.not_reading():
        agent.notify("go")
        assert not agent.process.ended.wait(0.2)
    assert agent.process.ended.wait(60)
    agent.process.stop(0)


def test_the_home_points_nowhere_else(home):
    home.use_script("hello.yaml", tool_approval="auto")
    told = subprocess.run(["env"], env=home.env, capture_output=True, text=True, check=True).stdout
    assert f"ACPAGENT_HOME={home.path}" in told
    assert '"tool_approval": "auto"' in (home.path / "config.yaml").read_text()


def test_the_real_agent_with_a_model_over_http(agent, serve, workspace):
    server = serve({"turns": [{"replies": [[{"text": "Hello over there.", "chunk": 5}]]}]})
    real = agent()
    session = real.new_session(workspace)
    updates, response = real.prompt(session, "hi")
    assert text_in(updates) == "Hello over there."
    assert response["result"]["stopReason"] == "end_turn"
    assert server.wait_for_request().body["messages"][-1]["content"]
