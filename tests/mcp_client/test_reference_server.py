"""The protocol's own reference server, which has nothing in common with the package that we use, over both of its
transports."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from acpagent.core.blocks import Image, Link
from acpagent.core.forms import Answer
from acpagent.core.live import LiveOutput
from acpagent.core.scope import Scope
from acpagent.mcp_client.spec import read
from tests.mcp_client.bench import Bench, bench

PACKAGE = "@modelcontextprotocol/server-everything@2026.8.31"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where it is, installed into a folder of its own."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("needs node and npm")
    folder = tmp_path_factory.mktemp("reference")
    flags = ("--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline")
    install = [npm, "install", "--prefix", str(folder), *flags, PACKAGE]
    try:
        done = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{PACKAGE} cannot be had in time")
    if done.returncode:
        pytest.skip(f"{PACKAGE} cannot be had: {done.stderr.strip()[-200:]}")
    return str(folder / "node_modules" / ".bin" / "mcp-server-everything")


@pytest.fixture(scope="module", params=["stdio", "http"])
def one(request: pytest.FixtureRequest, program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "stdio":
        with bench(folder) as made:
            assert made.open(read({"name": "ev", "command": program, "args": ["stdio"]}))
            yield made
        return
    with listening(program) as process, bench(folder) as made:
        url = f"http://127.0.0.1:{process.port}/mcp"
        assert made.open(read({"name": "ev", "type": "http", "url": url}))
        yield made


class listening:
    """The program as a server over HTTP, from when it says that it listens. It cannot choose a port by itself, and
    another may have taken one that was free a moment ago."""

    def __init__(self, program: str) -> None:
        self._program = program

    def __enter__(self) -> listening:
        for _ in range(5):
            self._start()
            assert self._process.stderr is not None
            if any(f"listening on port {self.port}" in line for line in self._process.stderr):
                return self
            self.__exit__()
        raise AssertionError("found no port for it")

    def _start(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._process = subprocess.Popen(
            [self._program, "streamableHttp"],
            env={**os.environ, "PORT": str(self.port)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __exit__(self, *why: object) -> None:
        assert self._process.stderr is not None
        self._process.kill()
        self._process.wait()
        self._process.stderr.close()


def test_tools(one: Bench) -> None:
    assert one.call("mcp__ev__echo", message="hi").text == "Echo: hi"
    assert one.call("mcp__ev__get-sum", a=1, b=2).text == "The sum of 1 and 2 is 3."
    assert isinstance(one.call("mcp__ev__get-tiny-image").content[1], Image)
    assert isinstance(one.call("mcp__ev__get-resource-links", count=1).content[1], Link)
    structured = one.call("mcp__ev__get-structured-content", location="New York")
    assert structured.raw["structured"]["humidity"] == 82


def test_progress(one: Bench) -> None:
    live = LiveOutput()
    one.call("mcp__ev__trigger-long-running-operation", one.context(live=live), duration=0.3, steps=3)
    assert live.snapshot().splitlines() == ["1/3", "2/3", "3/3"]


def test_a_question(one: Bench) -> None:
    ctx = one.context(question=lambda form: Answer("accept", {"name": "Ada"}))
    assert '"name": "Ada"' in one.call("mcp__ev__trigger-elicitation-request", ctx).text


def test_prompts_and_resources(one: Bench, tmp_path: Path) -> None:
    (command,) = (found for found in one.pool.prompts() if found.name == "mcp__ev__args-prompt")
    assert command.hint == "city [state]"
    assert "Oslo" in str(command.get("Oslo", 1000, Scope()))
    name, offer = one.pool.resources()[0]
    assert one.pool.read(name, offer.uri, 1000, Scope()).text
