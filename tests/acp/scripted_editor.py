"""An editor that answers as a test says: with what it has, with anything else, with an error, late, or never."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.agent import Agent, Message, updates_in

Answer = Callable[[Message], Any]


class Refused(Exception):
    """What to answer a request with: an error."""

    def __init__(self, code: int, message: str = "no") -> None:
        super().__init__(message)
        self.code = code


class Silence(Exception):
    """Do not answer."""


class ScriptedEditor:
    """Buffers over the disk. `buffers` holds unsaved texts by path; a write goes to the disk, and the buffer with it.

    `answers` maps a method to what stands in for the usual answer: a value, an exception of those above, or a function
    of the params. Requests are answered while a test waits in `prompt` or `serve`. Several editors may take turns at
    one agent.
    """

    def __init__(self, agent: Agent, *, read: bool = False, write: bool = False, terminal: bool = False) -> None:
        self.agent = agent
        self.buffers: dict[str, str] = {}
        self.answers: dict[str, Any] = {}
        self.permission: str | Answer = "once"
        self.asked: list[Message] = []  # every request so far, answered or not
        self.handlers: dict[str, Answer] = {
            "fs/read_text_file": self._read,
            "fs/write_text_file": self._write,
            "session/request_permission": self._permit,
        }
        agent.initialize({"fs": {"readTextFile": read, "writeTextFile": write}, "terminal": terminal})

    def count(self, method: str) -> int:
        return len(self.params(method))

    def params(self, method: str) -> list[Message]:
        """The params of every request of that method so far."""
        return [request["params"] for request in self.asked if request["method"] == method]

    def prompt(self, session: str, text: str | list[Message], stop: str = "end_turn") -> list[Message]:
        """Prompt, which must end with that stop reason; the updates."""
        since = len(self.agent.messages)
        answer = self.serve(self.agent.start_prompt(session, text))
        assert answer.get("result") == {"stopReason": stop}, answer
        return updates_in(self.agent.messages[since:], session)

    def serve(self, prompt: int, until: str | None = None, timeout: float = 15.0) -> Message:
        """Answer requests until the prompt is answered; its response. With `until`, stop at the first request of that
        method, which is left unanswered; the request."""
        deadline = time.monotonic() + timeout
        while True:
            left = max(deadline - time.monotonic(), 0.01)
            found = self.agent.next_event(prompt, list(self.handlers), left)
            if "method" not in found:
                return found
            self.asked.append(found)
            if found["method"] == until:
                return found
            self.answer(found)

    def answer(self, request: Message) -> None:
        try:
            result = self._result(request)
        except Refused as refusal:
            self.agent.refuse(request, refusal.code, str(refusal))
        except Silence:
            pass
        else:
            self.agent.reply(request, result)

    def _result(self, request: Message) -> Any:
        method = request["method"]
        answer = self.answers.get(method, self.handlers[method])
        if isinstance(answer, Exception):
            raise answer
        return answer(request["params"]) if callable(answer) else answer

    # The usual answers.

    def _read(self, params: Message) -> Message:
        path = params["path"]
        if path in self.buffers:
            return {"content": self.buffers[path]}
        try:
            return {"content": Path(path).read_bytes().decode()}
        except FileNotFoundError:
            raise Refused(-32002, "resource not found") from None

    def _write(self, params: Message) -> None:
        self.buffers.pop(params["path"], None)
        Path(params["path"]).write_bytes(params["content"].encode())

    def _permit(self, params: Message) -> Message:
        choice = self.permission if isinstance(self.permission, str) else self.permission(params)
        return {"outcome": {"outcome": "selected", "optionId": choice}}
