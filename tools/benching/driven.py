"""An agent process as an editor drives it, with the time at which each line came; and the model beside it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

PATIENCE = 60.0
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Late(Exception):
    """Something did not come in `PATIENCE` seconds, or the process ended before it."""


class Lines:
    """Lines of a pipe with the time each came at. One thread's; reads no further than is asked for."""

    def __init__(self, fd: int, who: str) -> None:
        self._fd = fd
        self._who = who
        self._rest = b""
        self._ready: list[tuple[float, bytes]] = []

    def next(self, patience: float = PATIENCE) -> tuple[float, bytes]:
        """The next line. Raises `Late`."""
        deadline = time.monotonic() + patience
        while not self._ready:
            if not select.select([self._fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise Late(f"{self._who} kept us waiting")
            data = os.read(self._fd, 1 << 18)
            now = time.monotonic()
            if not data:
                raise Late(f"{self._who} ended")
            *whole, self._rest = (self._rest + data).split(b"\n")
            self._ready = [(now, line) for line in whole][::-1]
        return self._ready.pop()


class Model:
    """The model server as a process, and what it reports of each request."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benching.model"], cwd=_HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout
        self._lines = Lines(self._process.stdout.fileno(), "the model server")
        self.port = int(self._lines.next()[1])

    def mark(self) -> dict[str, float]:
        """What is reported of the next request that was answered."""
        marks: dict[str, float] = json.loads(self._lines.next()[1])
        return marks

    def marks(self, count: int) -> list[dict[str, float]]:
        return [self.mark() for _ in range(count)]

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        end(self._process)


class Agent:
    """One agent process that has answered `initialize`. `ready_after`: seconds from launch to that answer."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: str) -> None:
        self.cwd = cwd
        self.updates: list[tuple[float, bytes]] = []  # those of the request that was answered last
        self._last_id = 0
        began = time.monotonic()
        self._process = subprocess.Popen(
            command, env=dict(env), cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self._process.stdin
        assert self._process.stdout
        self._stdin = self._process.stdin.fileno()
        self._lines = Lines(self._process.stdout.fileno(), "the agent")
        self.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        self.ready_after = self.answered - began

    def send(self, message: dict[str, Any]) -> float:
        """Write a message; the time just before."""
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        now = time.monotonic()
        os.write(self._stdin, line)
        return now

    def begin(self, method: str, params: dict[str, Any]) -> float:
        """Send a request; the time just before. `finish` waits for its answer."""
        self._last_id += 1
        return self.send({"id": self._last_id, "method": method, "params": params})

    def first_chunk(self) -> float:
        """Wait for a piece of the agent's message; the time it came."""
        while True:
            when, line = self._lines.next()
            self.updates.append((when, line))
            if b"agent_message_chunk" in line:
                return when

    def finish(self) -> Any:
        """Wait for the answer to the last request; its result. Updates are kept unread: reading them costs time."""
        while True:
            when, line = self._lines.next()
            if b'"session/update"' in line:
                self.updates.append((when, line))
                continue
            message = json.loads(line)
            if message.get("id") == self._last_id and "method" not in message:
                self.answered = when
                if "error" in message:
                    raise Late(f"the agent refused: {message['error']}")
                return message["result"]

    def call(self, method: str, params: dict[str, Any]) -> Any:
        """A request and its result; `asked` and `answered` are the times."""
        self.updates.clear()
        self.asked = self.begin(method, params)
        return self.finish()

    def new_session(self) -> str:
        session: str = self.call("session/new", {"cwd": self.cwd, "mcpServers": []})["sessionId"]
        return session

    def prompt(self, session: str, wish: str) -> None:
        """A whole turn; `asked`, `answered` and `updates` tell of it."""
        self.call("session/prompt", prompt_params(session, wish))

    def chunk_at(self) -> float:
        """When the first piece of the last turn's message came."""
        return next(when for when, line in self.updates if b"agent_message_chunk" in line)

    def memory(self) -> float:
        """Proportional set size in MB (10**6 bytes), once it stands still; the resident size where there is none."""
        before, now = -1.0, self._size()
        for _ in range(20):
            if abs(now - before) < 0.1:
                break
            time.sleep(0.15)
            before, now = now, self._size()
        return now

    def _size(self) -> float:
        pid = self._process.pid
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                size = next(line.split()[1] for line in file if line.startswith("Pss:"))
        except OSError:
            size = subprocess.run(
                ["ps", "-o", "rss=", "-p", str(pid)], check=True, capture_output=True, text=True
            ).stdout
        return int(size) * 1024 / 1e6

    def close(self) -> float:
        """Close its stdin; seconds until it is gone."""
        assert self._process.stdin
        assert self._process.stdout
        watchdog = threading.Timer(PATIENCE, self._process.kill)
        watchdog.start()  # and no timeout for `wait`, which then looks only now and then
        began = time.monotonic()
        self._process.stdin.close()
        self._process.wait()
        took = time.monotonic() - began
        watchdog.cancel()
        self._process.stdout.close()
        return took

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, _: TracebackType | None) -> None:
        if kind is not None:
            self._process.kill()
        if self._process.poll() is None:
            self.close()


def prompt_params(session: str, wish: str) -> dict[str, Any]:
    return {"sessionId": session, "prompt": [{"type": "text", "text": f"bench:{wish}"}]}


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process by closing its stdin."""
    assert process.stdin
    assert process.stdout
    process.stdin.close()
    try:
        process.wait(PATIENCE)
    finally:
        process.kill()
        process.stdout.close()
