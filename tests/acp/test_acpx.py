"""acpx, the headless client, drives the agent: one-shot prompts, sessions that last, permissions by policy."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.seen import calls, says, turn
from tests.agent import ACPAGENT
from tests.conftest import Home
from tests.descendants import new_mark, survivors
from tests.model_server import ModelServer
from tests.settling import PATIENCE

VERSION = "0.19.1"
DENIED = 5  # its exit code when a permission was refused
COMMAND = shlex.join(ACPAGENT)
# Its process for a session ends by itself after so many idle seconds, and refuses whoever comes just then; closing the
# session ends it in any case.
LASTING = ("--ttl", "600")
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("hello", [*says("I look."), calls("read_file", path="note.txt")],
             calls("edit_file", path="note.txt", old="one", new="uno"),
             calls("bash", command="cat note.txt; echo ran >> ran.txt"), says("Hello.")),
        turn("talk", {"repeat": {"times": 1_000_000, "text": "word ", "every": 0.001}}),
        turn(".", says("Heard.")),
    ]
}  # fmt: skip


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where acpx is, installed into a folder of its own."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("needs node and npm")
    folder = tmp_path_factory.mktemp("acpx")
    flags = ("--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline")
    install = [npm, "install", "--prefix", str(folder), *flags, f"acpx@{VERSION}"]
    try:
        done = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        pytest.skip("acpx cannot be had in time")
    if done.returncode:
        pytest.skip(f"acpx cannot be had: {done.stderr.strip()[-200:]}")
    return str(folder / "node_modules" / ".bin" / "acpx")


class Acpx:
    """acpx with a home of its own, in a workspace of its own, and the model that the agent talks to."""

    def __init__(self, program: str, home: Home, workspace: Path, server: ModelServer) -> None:
        self.workspace = workspace
        self.server = server
        self.mark = new_mark()
        self._program = program
        self._env = {**home.env, **self.mark}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start it; it is killed when it takes too long."""
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        command = [self._program, *arguments]
        process = subprocess.Popen(
            command, cwd=self.workspace, env=self._env, stdin=nothing, stdout=pipe, stderr=pipe, text=True
        )
        watchdog = threading.Timer(180, process.kill)
        watchdog.daemon = True
        watchdog.start()
        return process

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Run it to its end; what it printed."""
        with self.start(*arguments) as process:
            out, err = process.communicate()
        assert process.returncode == code, f"{out}\n{err}"
        return out

    def exec(self, *flags: str, code: int = 0) -> str:
        """A one-shot prompt."""
        return self(*flags, "--agent", COMMAND, "exec", "hello", code=code)

    @property
    def note(self) -> str:
        return (self.workspace / "note.txt").read_text()

    @property
    def ran(self) -> bool:
        return (self.workspace / "ran.txt").exists()


@pytest.fixture
def acpx(program: str, home: Home, tmp_path: Path) -> Iterator[Acpx]:
    """Nothing that it started may be left at the end."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "note.txt").write_text("one\n")
    settings = home.path / ".acpx" / "config.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"agents": {"mine": {"command": COMMAND}}}))
    with ModelServer(SCRIPT) as server:
        home.use_server(server.base_url)
        made = Acpx(program, home, workspace, server)
        yield made
        assert not survivors(made.mark, PATIENCE)


@pytest.mark.parametrize("abilities", [[], ["--no-fs", "--no-terminal"]])
def test_exec_with_everything_allowed(acpx: Acpx, abilities: list[str]) -> None:
    said = acpx.exec("--approve-all", "--format", "quiet", *abilities)
    assert said.startswith("I look.Hello.\n\n**Evidence**: unverified")
    assert acpx.note == "uno\n"
    assert acpx.ran


def test_exec_with_reading_allowed(acpx: Acpx) -> None:
    shown = acpx.exec("--approve-reads", code=DENIED)
    assert "1\tone" in shown
    assert "Hello." in shown
    assert "[done] end_turn" in shown
    assert (acpx.note, acpx.ran) == ("one\n", False)


def test_exec_with_everything_denied(acpx: Acpx) -> None:
    lines = acpx.exec("--deny-all", "--format", "json", "--json-strict", code=DENIED).splitlines()
    traffic = [json.loads(line) for line in lines]
    results = [message["result"] for message in traffic if "result" in message]
    assert results[-1] == {"stopReason": "end_turn"}
    assert {"outcome": {"outcome": "selected", "optionId": "deny"}} in results
    assert "Permission denied for fs/read_text_file" in json.dumps(acpx.server.requests[1].body)  # the model knows why
    assert (acpx.note, acpx.ran) == ("one\n", False)


def test_sessions_that_last(acpx: Acpx) -> None:
    """Through a process of its own that keeps the agent for a while, and then through another."""
    flags = ("--approve-all", "--format", "quiet", "mine")
    acpx(*flags, "sessions", "new", "--name", "first")
    assert acpx("--ttl", "1", *flags, "-s", "first", "hello").startswith("I look.Hello.\n\n**Evidence**: unverified")
    assert acpx.note == "uno\n"
    assert not survivors(acpx.mark, PATIENCE)  # it has let the agent go
    assert acpx(*LASTING, *flags, "-s", "first", "and now?").strip() == "Heard."
    heard = json.dumps(acpx.server.requests[-1].body["messages"])
    assert "hello" in heard
    assert "I look." in heard
    listed = acpx("mine", "sessions", "list")
    assert re.search(rf"\thello\t{re.escape(str(acpx.workspace))}\t", listed)
    acpx("mine", "sessions", "close", "first")


def test_a_prompt_is_cancelled(acpx: Acpx) -> None:
    acpx("mine", "sessions", "new", "--name", "first")
    with acpx.start(*LASTING, "--format", "json", "--json-strict", "mine", "-s", "first", "talk") as talking:
        assert talking.stdout is not None
        assert any("agent_message_chunk" in line for line in talking.stdout)
        acpx("mine", "-s", "first", "cancel")
        assert any('"stopReason":"cancelled"' in line.replace(" ", "") for line in talking.stdout)
    assert acpx(*LASTING, "--format", "quiet", "mine", "-s", "first", "and now?").strip() == "Heard."
    acpx("mine", "sessions", "close", "first")


def test_an_agent_that_is_not_configured(acpx: Acpx, home: Home) -> None:
    os.unlink(home.path / "config.yaml")
    with acpx.start("--agent", COMMAND, "exec", "hello") as process:
        out, err = process.communicate()
    assert process.returncode != 0
    assert "acpagent setup" in out + err
