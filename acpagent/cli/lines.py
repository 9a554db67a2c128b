"""A turn as lines of JSON, for programs: every update as it came, and the outcome last."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from acpagent.cli.show import Call, TurnView
from acpagent.cli.terminal import Terminal
from acpagent.client.faults import AgentFault
from acpagent.client.permission import Option, PermissionRequest
from acpagent.client.questions import QuestionRequest
from acpagent.client.updates import ToolUpdate, Update


class JsonView:
    """What a `TurnView` is to a person. Stdout carries nothing but the lines; what is for a person goes to stderr."""

    def __init__(self, cwd: str) -> None:
        self.terminal = Terminal(sys.stderr)
        self.calls: dict[str, Call] = {}
        self._aside = TurnView(self.terminal, cwd)

    def show(self, update: Update) -> None:
        """Write an update."""
        if isinstance(update, ToolUpdate):
            self.calls.setdefault(update.id, Call(update.id)).learn(update)
        self._write(update.raw)

    def result(self, response: Mapping[str, Any], session_id: str) -> None:
        """Write the last line: how the turn ended."""
        self._write({**response, "sessionId": session_id})

    def fault(self, fault: AgentFault) -> None:
        """Write the last line: what went wrong."""
        error = {"code": fault.code, "message": fault.message}
        self._write({"error": error if fault.data is None else {**error, "data": fault.data}})

    def question(self, request: PermissionRequest, terminal: Terminal) -> None:
        self._aside.question(request, self.terminal)

    def answered(self, option: Option | None, terminal: Terminal, by: str = "") -> None:
        self._aside.answered(option, self.terminal, by)

    def refused(self, request: PermissionRequest) -> None:
        self._aside.refused(request)

    def form(self, request: QuestionRequest, terminal: Terminal) -> None:
        self._aside.form(request, self.terminal)

    def declined(self, request: QuestionRequest) -> None:
        self._aside.declined(request)

    def remark(self, text: str, style: str = "dim") -> None:
        self._aside.remark(text, style)

    def end(self, stop: str = "end_turn") -> None:
        """Nothing: the last line says it."""

    def _write(self, value: Any) -> None:
        sys.stdout.write(json.dumps(value) + "\n")
        sys.stdout.flush()
