"""An editor around a raw client: buffers that differ from the disk, terminals that run real commands, a person who
answers questions. It answers nothing that it did not offer."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.agent import Agent, Message, Permission, updates_in

READ, WRITE = "fs/read_text_file", "fs/write_text_file"
PERMISSION = "session/request_permission"
TERMINAL = ("terminal/create", "terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release")


class Refusal(Exception):
    """A request is to be answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Later(Exception):
    """A request is answered some other time, or never."""


class Editor:
    """Answers what `agent` asks while a prompt runs (`turn`). `asked` are all its requests, in order, and `open` its
    terminals that are not released yet."""

    def __init__(
        self,
        agent: Agent,
        *,
        reads: bool = False,
        writes: bool = False,
        terminals: bool = False,
        permission: str | Permission = "once",
    ) -> None:
        self.agent = agent
        self.buffers: dict[str, str] = {}  # what is not saved yet, by path
        self.permission = permission
        self.asked: list[Message] = []
        self._before = len(agent.transcript.requests)  # what was asked before this editor was there
        self.open: dict[str, Terminal] = {}
        self.handlers: dict[str, Callable[[Message, Message], Any]] = {PERMISSION: self.decide}
        if reads:
            self.handlers[READ] = self.read
        if writes:
            self.handlers[WRITE] = self.write
        if terminals:
            self.handlers |= dict.fromkeys(TERMINAL, self.terminal)

    @property
    def methods(self) -> list[str]:
        """The methods that were asked for, in order."""
        return [request["method"] for request in self.asked]

    def turn(self, session: str, content: str | list[Message], timeout: float = 0) -> tuple[list[Message], Message]:
        """Prompt and wait for the response, answering what is asked: (the updates before it, the response)."""
        since = len(self.agent.messages)
        prompt = self.agent.start_prompt(session, content)
        response = self.serve(prompt, timeout)
        end = self.agent.transcript.responses[(int, prompt)]
        return updates_in(self.agent.messages[since:end], session), response

    def serve(self, id: int, timeout: float = 0) -> Message:
        """Answer what is asked until the response to a request of ours is there."""
        while (request := self.agent.wait_until(lambda _: self._next(id), f"response {id}", timeout)) is not True:
            self.asked.append(request)
            self.answer(request)
        return self.agent.response(id)

    def _next(self, id: int) -> Message | bool:
        """The next request to answer; True once there is none and the response came."""
        requests = self.agent.transcript.requests[self._before :]
        if len(requests) > len(self.asked):
            return requests[len(self.asked)]
        return (int, id) in self.agent.transcript.responses

    def answer(self, request: Message) -> None:
        handler = self.handlers.get(request["method"])
        assert handler is not None, f"asked for what was never offered: {request}"
        try:
            self.agent.reply(request, handler(request, request["params"]))
        except Refusal as refusal:
            self.agent.refuse(request, refusal.code, str(refusal))
        except Later:
            pass

    # -- what editors do

    def decide(self, request: Message, params: Message) -> Any:
        chosen = self.permission(request) if callable(self.permission) else self.permission
        if chosen is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    def read(self, request: Message, params: Message) -> Any:
        return {"content": _part(self.text(params["path"]), params.get("line"), params.get("limit"))}

    def text(self, path: str) -> str:
        """The text of a file as the person sees it."""
        if path in self.buffers:
            return self.buffers[path]
        try:
            return Path(path).read_bytes().decode()
        except FileNotFoundError:
            raise Refusal(-32002, "Resource not found") from None

    def write(self, request: Message, params: Message) -> Any:
        """Changes the buffer and saves it."""
        self.buffers.pop(params["path"], None)
        Path(params["path"]).write_bytes(params["content"].encode())
        return {}

    def terminal(self, request: Message, params: Message) -> Any:
        method = request["method"]
        if method == "terminal/create":
            id = f"term_{len(self.asked)}"
            self.open[id] = Terminal(params)
            return {"terminalId": id}
        terminal = self.open[params["terminalId"]]
        if method == "terminal/wait_for_exit":
            terminal.when_ended(lambda status: self.agent.reply(request, status))
            raise Later
        if method == "terminal/output":
            return terminal.output()
        terminal.kill()
        if method == "terminal/release":
            del self.open[params["terminalId"]]
        return {}


class Terminal:
    """A command and what it prints. A thread waits for its end."""

    def __init__(self, params: Message) -> None:
        environment = os.environ | {one["name"]: one["value"] for one in params.get("env", ())}
        self._process = subprocess.Popen(
            [params["command"], *params.get("args", ())],
            cwd=params.get("cwd"),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._lock = threading.Lock()
        self._printed: list[bytes] = []
        self._status: Message | None = None
        self._waiting: list[Callable[[Message], None]] = []
        threading.Thread(target=self._watch, name="editor's terminal").start()

    def _watch(self) -> None:
        with self._process:
            assert self._process.stdout is not None
            while data := os.read(self._process.stdout.fileno(), 65536):
                with self._lock:
                    self._printed.append(data)
        code = self._process.returncode
        with self._lock:
            self._status = {"exitCode": code, "signal": None}
            if code < 0:
                self._status = {"exitCode": None, "signal": signal.Signals(-code).name}
            waiting, self._waiting = self._waiting, []
        for tell in waiting:
            tell(self._status)

    def when_ended(self, tell: Callable[[Message], None]) -> None:
        with self._lock:
            status = self._status
            if status is None:
                self._waiting.append(tell)
        if status is not None:
            tell(status)

    def output(self) -> Message:
        with self._lock:
            ended = {} if self._status is None else {"exitStatus": self._status}
            text = b"".join(self._printed).decode("utf-8", "replace")
            return {"output": text, "truncated": False, **ended}

    def kill(self) -> None:
        with self._lock:
            if self._status is None:
                try:
                    os.killpg(self._process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass


def _part(text: str, line: int | None, limit: int | None) -> str:
    if line is None and limit is None:
        return text
    lines = text.splitlines(keepends=True)[(line or 1) - 1 :]
    return "".join(lines[:limit])
