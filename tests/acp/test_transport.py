"""Bytes in and out of the agent's process. What every end of a connection must get right (TRN-01..03, 07..11,
15, 20) is in tests/wire/test_connection_rules.py and runs over this process too; here is what only an agent can
get wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from acpagent.core.history import Said, TurnOpened
from acpagent.store import entries, sessions
from acpagent.store.database import Store, together
from tests.acp.conftest import Stage
from tests.acp.seen import OPENED
from tests.agent import ACPAGENT, Message, text_in, updates_in
from tests.conftest import Home, StartAgent
from tests.model_server import Raw, Request

ODD = "a\nb\r\nc\u2028d\u2029e\x85f\x0bg\x0ch 日本語 🧪 é \t end"
NUMBERS = " ".join(map(str, range(500)))


def bash(command: str) -> Message:
    return {"call": {"tool": "bash", "args": {"command": command}}}


PYTHON = f"'{sys.executable}' -c"
OPEN_ONES = "import os; print([fd for fd in range(3, 99) if os.path.exists(f'/dev/fd/{fd}')][:-1])"
SCRIPT: dict[str, Any] = {
    "turns": [
        {"prompt": "odd", "replies": [[{"text": ODD}]]},
        {"prompt": "numbers", "replies": [[{"text": NUMBERS, "chunk": 3}]]},
        {"prompt": "print", "replies": [[bash("echo hi; printf raw; echo err >&2; (echo later &)")]]},
        {"prompt": "stray", "replies": [[bash("echo stray > /proc/$PPID/fd/1; echo stray > /proc/$PPID/fd/2")]]},
        {"prompt": "descriptors", "replies": [[bash(f'{PYTHON} "{OPEN_ONES}"')]]},
        {"prompt": "stdin", "replies": [[bash("cat; echo [$?]; read line; echo [$?]")]]},
        {"prompt": "bytes", "replies": [[bash(r"printf 'a\377b\355\240\200c'")]]},
        {"prompt": "hold", "replies": [[{"stall": True}]]},
        {"prompt": "talk", "replies": [[{"repeat": {"times": 1_000_000, "text": "word ", "every": 0.001}}]]},
    ]
}
CONFIG = {"tool_approval": "yolo"}


def output(updates: list[Message]) -> str:
    """What the last call showed."""
    content = [update["content"] for update in updates if update.get("status") in ("completed", "failed")][-1]
    return "\n".join(item["content"]["text"] for item in content if item["type"] == "content")


def test_TRN_01_TRN_02_what_the_model_says_stays_on_one_line(stage: Stage) -> None:
    assert stage.says(stage.new(), "odd") == ODD


@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_TRN_03_utf_8_to_the_model_and_back_whatever_the_locale(
    agent: StartAgent, serve: Any, workspace: Path, locale: dict[str, str]
) -> None:
    serve(repeat_prompt)
    one = agent(env=locale)
    text = "日本語 🧪 é"
    session = one.new_session(workspace)
    raw = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
    line = json.dumps({"jsonrpc": "2.0", "id": "raw", "method": "session/prompt", "params": raw}, ensure_ascii=False)
    one.send_raw(line.encode() + b"\n")
    assert one.response("raw")["result"] == {"stopReason": "end_turn"}
    assert text_in(one.updates(session)) == text


def test_TRN_04_what_goes_wrong_is_told_on_stderr_alone(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    (home.path / "locks").write_text("no folder")
    one = agent(env={"PYTHONDEVMODE": "1", "PYTHONWARNINGS": "always", "PYTHONVERBOSE": "1", "ACPAGENT_LOG": "debug"})
    one.initialize()
    one.notify("session/cancel", {"sessionId": "nope"})
    assert one.fail("session/new", {"cwd": str(workspace), "mcpServers": []})["code"] == -32603
    one.close()  # every line it wrote was a message
    assert len(one.lines) == 2
    assert "[acpagent acp] session/cancel names no open session" in one.stderr()


def test_TRN_05_nothing_a_command_prints_gets_onto_stdout(stage: Stage) -> None:
    session = stage.new()
    shown = output(stage.prompt(session, "print"))
    assert {"hi", "rawerr", "later"} <= set(shown.split())
    stage.prompt(session, "stray")
    assert stage.says(session, "odd") == ODD
    assert not [line for line in stage.agent.lines if not line.startswith(b"{")]


def test_TRN_05_commands_inherit_no_descriptor(stage: Stage) -> None:
    assert "[]" in output(stage.prompt(stage.new(), "descriptors"))


def test_TRN_06_commands_read_nothing_of_the_clients(stage: Stage) -> None:
    session = stage.new()
    prompt = stage.agent.start_prompt(session, "stdin")
    lists = [stage.agent.request("session/list") for _ in range(20)]  # what a command might swallow
    assert stage.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    assert output(stage.agent.updates(session)).split()[:2] == ["[0]", "[1]"]
    for id in lists:
        assert "sessions" in stage.agent.response(id)["result"]


def test_TRN_07_an_attachment_of_five_mebibytes_reaches_the_model(
    agent: StartAgent, serve: Any, workspace: Path
) -> None:
    server = serve(repeat_prompt)
    one = agent()
    text = "0123456789abcdef" * (5 << 16)
    resource = {"type": "resource", "resource": {"uri": "file:///nowhere/big.txt", "text": text}}
    _, answer = one.prompt(one.new_session(workspace), [{"type": "text", "text": "look"}, resource])
    assert answer["result"] == {"stopReason": "end_turn"}
    assert text.encode() in server.requests[0].raw


def test_TRN_11_the_last_request_is_answered_though_the_input_ends(
    agent: StartAgent, home: Home, workspace: Path
) -> None:
    home.use_script(SCRIPT)
    one = agent()
    one.initialize()
    one.send_raw(b'{"jsonrpc":"2.0","id":"last","method":"session/list"}')
    one.close_stdin()
    assert one.wait_exit() == 0
    assert one.response("last")["result"] == {"sessions": []}


@pytest.mark.parametrize("input_open", [True, False])
def test_TRN_13_BB_21_a_client_that_is_gone_ends_the_agent(home: Home, workspace: Path, input_open: bool) -> None:
    home.use_script(SCRIPT)
    with subprocess.Popen(
        ACPAGENT, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout and process.stderr  # noqa: PT018

        def send(id: int, method: str, params: Any) -> None:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode())
            process.stdin.write(b"\n")
            process.stdin.flush()

        send(1, "initialize", {"protocolVersion": 1})
        send(2, "session/new", {"cwd": str(workspace), "mcpServers": []})
        session = [json.loads(process.stdout.readline()) for _ in range(2)][1]["result"]["sessionId"]
        send(3, "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "talk"}]})
        while b"agent_message_chunk" not in process.stdout.readline():
            pass
        process.stdout.close()
        if not input_open:
            process.stdin.close()
        assert process.wait(20) == 0
        assert process.stderr.read() == b""


def test_TRN_16_two_sessions_and_ten_thousand_updates(stage: Stage) -> None:
    """The replays of two long sessions, at the same time."""
    ids = ["long-1", "long-2"]
    seed(stage, ids, 5000)
    loads = [load(id, stage.workspace) for id in ids]
    since = len(stage.agent.messages)
    requests = [stage.agent.make_request("session/load", params) for params in loads]
    stage.agent.send(*requests)
    for request in requests:
        assert set(stage.agent.response(request["id"], timeout=30)["result"]) == OPENED
    for id in ids:
        updates = [update for update in stage.agent.updates(id, since) if "content" in update]
        assert [update["content"]["text"] for update in updates] == [f"{id} {number}" for number in range(5000)]


def test_TRN_17_updates_in_order_and_none_after_the_response(stage: Stage) -> None:
    session = stage.new()
    prompt = stage.agent.start_prompt(session, "numbers")
    stage.agent.response(prompt)
    end = stage.agent.transcript.responses[(int, prompt)]
    stage.agent.call("session/list")
    assert text_in(stage.agent.updates(session)) == NUMBERS
    assert updates_in(stage.agent.messages[end:], session) == []


def test_TRN_19_the_agent_listens_during_a_turn(stage: Stage) -> None:
    session = stage.new()
    prompt = stage.agent.start_prompt(session, "hold")
    assert stage.agent.fail("session/frobnicate")["code"] == -32601
    assert "sessions" in stage.agent.call("session/list")
    assert stage.says(stage.new(), "odd") == ODD
    assert (int, prompt) not in stage.agent.transcript.responses
    stage.agent.notify("session/cancel", {"sessionId": session})
    assert stage.agent.response(prompt)["result"] == {"stopReason": "cancelled"}


def test_TRN_20_bytes_that_are_no_text_arrive_as_replacement_characters(stage: Stage) -> None:
    shown = output(stage.prompt(stage.new(), "bytes"))
    assert "a\ufffdb" in shown
    assert "c" in shown


def test_TRN_04_nobody_reads_stderr(home: Home) -> None:
    """The agent must not hang on a full pipe; what has no room there is dropped."""
    home.use_script(SCRIPT)
    with subprocess.Popen(
        ACPAGENT, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout and process.stderr  # noqa: PT018
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n')
        process.stdin.write(b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"nope"}}\n' * 3000)
        process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"session/list"}\n')
        process.stdin.close()
        assert [json.loads(line)["id"] for line in process.stdout] == [1, 2]
        assert process.wait(20) == 0
        lines = process.stderr.read().splitlines(keepends=True)
        assert len(lines) > 500
        assert set(lines) == {b"[acpagent acp] session/cancel names no open session; ignored\n"}


def test_a_closed_stderr_is_no_reason_to_fail(home: Home) -> None:
    home.use_script(SCRIPT)
    with subprocess.Popen(
        ACPAGENT, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout and process.stderr  # noqa: PT018
        process.stderr.close()
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n')
        process.stdin.write(b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"nope"}}\n' * 3)
        process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"session/list"}\n')
        process.stdin.flush()
        assert [json.loads(process.stdout.readline())["id"] for _ in range(2)] == [1, 2]
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(20) == 0


def repeat_prompt(request: Request) -> Raw:
    """A model that says the person's last words."""
    content = [message for message in request.body["messages"] if message["role"] == "user"][-1]["content"]
    text = content if isinstance(content, str) else content[-1]["text"]
    words = text.split("\n\n")[-1] if len(text) < 1000 else "long"
    pieces = [{"delta": {"content": words}, "index": 0}, {"delta": {}, "index": 0, "finish_reason": "stop"}]
    events = [json.dumps({"choices": [piece]}, ensure_ascii=False).encode() for piece in pieces]
    return Raw([b"data: %b\n\n" % event for event in (*events, b"[DONE]")])


def seed(stage: Stage, ids: list[str], count: int) -> None:
    """Store sessions with that many messages each."""
    store = Store(str(stage.home.path / "store.sqlite3"))
    stamp, cwd = sessions.now(), str(stage.workspace)
    for id in ids:
        row = sessions.SessionRow(id, cwd, None, stamp, stamp, prompts=1)
        said = [Said("turn_1", f"{id}-{number}", "assistant", f"{id} {number}") for number in range(count)]
        store.apply(together(sessions.save_new(row), entries.append(id, [TurnOpened("turn_1"), *said])))
    store.close()


def load(id: str, cwd: Path) -> Message:
    return {"sessionId": id, "cwd": os.fspath(cwd), "mcpServers": []}
