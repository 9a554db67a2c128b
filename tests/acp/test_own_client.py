"""acpagent and its own client, as a program without an event loop uses them."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from acpagent import Client
from acpagent.client.faults import AgentFault
from acpagent.client.files import Files
from acpagent.client.permission import PermissionRequest
from acpagent.client.updates import MessageChunk, ToolUpdate
from tests.agent import ACPAGENT
from tests.conftest import Home

EDIT = {"path": "src/greeter.py", "old": "hello, ", "new": "good day, "}
DONE = {"text": "Done."}
SCRIPT = {
    "turns": [
        {
            "prompt": "polite",
            "replies": [
                [{"text": "A comma less."}, {"call": {"tool": "edit_file", "args": EDIT}}],
                [{"text": "Done."}],
            ],
        },
        {
            "prompt": "run it",
            "replies": [[{"call": {"tool": "bash", "args": {"command": "echo 42; echo no >&2; exit 3"}}}], [DONE]],
        },
        {"prompt": "sleep", "replies": [[{"call": {"tool": "bash", "args": {"command": "sleep 300"}}}], [DONE]]},
        {"prompt": "count", "replies": [[{"repeat": {"times": 200, "text": "tick "}}]]},
    ]
}


@pytest.fixture
def launch(home: Home):
    home.use_script(SCRIPT)
    return lambda **options: Client.launch(ACPAGENT, env=home.env, cwd=home.path, **options)


def test_edit_close_load_delete(launch, workspace: Path) -> None:
    def decide(request: PermissionRequest) -> str:
        (diff,) = [item for item in request.tool_call["content"] if item["type"] == "diff"]
        assert "good day" in diff["newText"]
        return "once"

    with launch(permission=decide) as client:
        session = client.open(workspace)
        turn = session.prompt("be polite")
        live = list(turn)
        assert (turn.stop_reason, turn.text) == ("end_turn", "A comma less.Done.")
        (call,) = turn.tool_calls.values()
        assert (call["kind"], call["status"]) == ("edit", "completed")
        session.close()
    assert client.exit_code == 0
    assert "good day" in (workspace / "src" / "greeter.py").read_text()
    with launch() as client:
        (info,) = client.sessions(workspace)
        again = client.load(info.id, info.cwd)
        kept = [update for update in live if isinstance(update, MessageChunk)]
        told = [update for update in again.replayed if isinstance(update, MessageChunk)]
        assert [(update.role, update.text) for update in told] == [
            ("user", "be polite"),
            *((update.role, update.text) for update in kept),
        ]
        assert {update.id for update in again.replayed if isinstance(update, ToolUpdate)} == {call["toolCallId"]}
        client.delete(info.id)
        assert list(client.sessions()) == []


class Buffers:
    """Unsaved texts over the disk, as an editor has them."""

    def __init__(self, **texts: str) -> None:
        self.texts = texts
        self.log: list[tuple[str, str]] = []

    def read(self, path: str) -> str:
        self.log.append(("read", path))
        if path in self.texts:
            return self.texts[path]
        with open(path, newline="") as file:
            return file.read()

    def write(self, path: str, text: str) -> None:
        self.log.append(("write", path))
        self.texts.pop(path, None)
        with open(path, "w", newline="") as file:
            file.write(text)


def test_BB_23_an_edit_goes_through_the_programs_buffers(launch, workspace: Path) -> None:
    path = str(workspace / "src/greeter.py")
    buffers = Buffers(**{path: "# not saved\r\nsay('hello, you')\r\n"})
    with launch(permission=lambda _: "once", files=Files(buffers.read, buffers.write)) as client:
        turn = client.open(workspace).prompt("be polite")
        assert turn.wait(60) == "end_turn"
        (call,) = turn.tool_calls.values()
        assert call["status"] == "completed"
    assert Path(path).read_bytes() == b"# not saved\r\nsay('good day, you')\r\n"
    assert buffers.log == [("read", path), ("write", path)]
    assert buffers.texts == {}


def test_BB_23_with_read_alone_an_unsaved_file_is_left_alone(launch, workspace: Path) -> None:
    path = workspace / "src/greeter.py"
    buffers, before = Buffers(**{str(path): "say('hello, you')\n"}), path.read_bytes()
    with launch(permission=lambda _: "once", files=Files(buffers.read)) as client:
        session = client.open(workspace)
        turn = session.prompt("be polite")
        assert turn.wait(60) == "end_turn"
        (call,) = turn.tool_calls.values()
        assert call["status"] == "failed"
        assert path.read_bytes() == before
        buffers.texts.clear()
        turn = session.prompt("be polite")
        assert turn.wait(60) == "end_turn"
        assert b"good day" in path.read_bytes()


def test_TERM_09_a_command_runs_in_the_programs_terminal(launch, workspace: Path) -> None:
    with launch(permission=lambda _: "once", terminals=True) as client:
        session = client.open(workspace)
        turn = session.prompt("run it")
        assert turn.wait(60) == "end_turn"
        (call,) = turn.tool_calls.values()
        (shown,) = [item for item in call["content"] if item["type"] == "terminal"]
        terminal = client.terminal(shown["terminalId"])
        assert terminal is not None
        assert terminal.command[0] in ("/bin/bash", "/bin/sh")
        assert (terminal.text, terminal.exit_status) == ("42\nno\n", {"exitCode": 3, "signal": None})
        assert call["status"] == "failed"
        assert call["rawOutput"]["exit_code"] == 3
        assert [item["content"]["text"] for item in call["content"] if item["type"] == "content"] == [
            "42\nno\n[exit 3]"
        ]


def test_CAN_21_a_cancelled_command_in_the_programs_terminal_is_ended(launch, workspace: Path) -> None:
    with launch(permission=lambda _: "once", terminals=True) as client:
        session = client.open(workspace)
        turn = session.prompt("sleep")
        terminal = None
        for update in turn:
            if isinstance(update, ToolUpdate) and (shown := update.raw.get("content") or []):
                ids = [item["terminalId"] for item in shown if item["type"] == "terminal"]
                terminal = client.terminal(ids[0]) if ids else terminal
            if terminal is not None:
                turn.cancel()
        assert turn.stop_reason == "cancelled"
        assert terminal is not None
        assert terminal.ended.wait(60)
        assert terminal.exit_status == {"exitCode": None, "signal": "SIGKILL"}


def test_without_a_callback_nothing_is_touched(launch, workspace: Path) -> None:
    with launch() as client:
        turn = client.open(workspace).prompt("be polite")
        assert turn.wait(60) == "end_turn"
        (call,) = turn.tool_calls.values()
        assert call["status"] == "failed"
    assert "hello" in (workspace / "src" / "greeter.py").read_text()


def test_cancel_while_the_permission_is_pending(launch, workspace: Path) -> None:
    asked, withdrawn = threading.Event(), threading.Event()

    def decide(request: PermissionRequest) -> str:
        asked.set()
        if request.withdrawn.wait(60):
            withdrawn.set()
        return "once"

    with launch(permission=decide) as client:
        turn = client.open(workspace).prompt("be polite")
        assert asked.wait(60)
        turn.cancel()
        assert turn.wait(60) == "cancelled"
        (call,) = turn.tool_calls.values()
        assert call["status"] == "failed"
    assert withdrawn.wait(60)
    assert "hello" in (workspace / "src" / "greeter.py").read_text()


def test_twenty_sessions_at_once(launch, workspace: Path) -> None:
    with launch() as client:
        sessions = [client.open(workspace) for _ in range(20)]

        def talk(session):
            turn = session.prompt("count")
            return turn.wait(60), turn.text

        with ThreadPoolExecutor(20) as pool:
            told = list(pool.map(talk, sessions))
    assert told == [("end_turn", "tick " * 200)] * 20


def test_controls_are_set_and_follow_what_the_agent_says(launch, workspace: Path) -> None:
    with launch() as client:
        session = client.open(workspace)
        controls = session.controls
        assert (controls.mode, [mode["id"] for mode in controls.modes]) == ("normal", ["normal", "plan", "goal"])
        assert [option["id"] for option in controls.options] == ["mode", "model", "work_mode", "tool_approval"]
        session.set_mode("planning")  # an older name of it
        assert (controls.mode, controls.value("mode")) == ("plan", "plan")
        listed = session.set_option("mode", "normal")
        assert listed == controls.options
        assert (controls.mode, controls.value("mode")) == ("normal", "normal")
        with pytest.raises(AgentFault) as caught:
            session.set_option("tool_approval", True)
        assert caught.value.code == -32602
        session.set_option("tool_approval", "yolo")
        turn = session.prompt("be polite")  # nobody is asked
        assert turn.wait(60) == "end_turn"
        session.close()
        again = client.load(session.id, workspace)
        assert again.controls.value("tool_approval") == "yolo"


def test_steer_and_reload_beside_a_prompt(launch, workspace: Path) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def decide(request: PermissionRequest) -> str:
        asked.set()
        assert go_on.wait(60)
        return "once"

    with launch(permission=decide) as client:
        session = client.open(workspace)
        assert session.reload() is False
        with pytest.raises(AgentFault) as caught:
            session.steer("use email")
        assert caught.value.code == -32600
        turn = session.prompt("be polite")
        assert asked.wait(60)
        session.steer("use email")
        session.steer(["and see", {"type": "resource_link", "uri": "file:///x", "name": "x"}])
        assert session.reload() is True
        session.set_option("work_mode", "economy")
        go_on.set()
        assert turn.wait(60) == "end_turn"
        assert session.controls.value("work_mode") == "economy"
        session.close()
        again = client.load(session.id, workspace)
        said = [update.text for update in again.replayed if isinstance(update, MessageChunk) and update.role == "user"]
        assert said[:3] == ["be polite", "use email", "and see"]


def test_the_console_script_is_an_agent(home: Home, workspace: Path) -> None:
    home.use_script("hello.yaml")
    script = os.path.join(os.path.dirname(ACPAGENT[0]), "acpagent")
    with Client.launch([script, "acp"], env=home.env) as client:
        assert client.agent["name"] == "acpagent"
        assert "Hello" in "".join(
            update.text for update in client.open(workspace).prompt("hi") if isinstance(update, MessageChunk)
        )
