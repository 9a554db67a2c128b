"""The host of a session behind a connection: events out as updates, questions out as requests."""

from __future__ import annotations

import threading
from typing import Any, Literal

from acpagent.acp.v1.render import Renderer, tool_fields
from acpagent.core.events import Event
from acpagent.core.host import Answer as FormAnswer
from acpagent.core.host import Choice, Decision, Form, HostFiles, HostShell, PermissionAsk
from acpagent.core.scope import Cancelled, Scope
from acpagent.wire.driver import Driver
from acpagent.wire.pending import Answer

# Option ids, kinds, and the rule in words (`{rule}` names what the person would allow).
_OPTIONS: dict[Choice, tuple[str, str]] = {
    "once": ("allow_once", "Allow once"),
    "session": ("allow_always", "Allow {rule} for this session"),
    "repo": ("allow_always", "Allow {rule} in this repository"),
    "full": ("allow_always", "Allow everything in this session (yolo)"),
    "deny": ("reject_once", "Reject"),
}


class AcpHost:
    """`driver` is asked for at each use: sessions outlive no connection, but are made before it is started."""

    asks: Literal["form", "choice", "none"] = "none"
    files: HostFiles | None = None
    shell: HostShell | None = None

    def __init__(self, session_id: str, lock: threading.RLock, driver: Driver) -> None:
        self._session_id = session_id
        self._lock = lock
        self._driver = driver
        self._renderer = Renderer()

    def emit(self, event: Event) -> None:
        """Rendered and queued in one critical section, so that what clients see of a call is in step."""
        with self._lock:
            update = self._renderer.render(event)
            if update is not None:
                self._driver.notify("session/update", {"sessionId": self._session_id, "update": update})

    def wait_room(self, scope: Scope) -> None:
        self._driver.wait_room(scope)

    def permit(self, ask: PermissionAsk, scope: Scope) -> Decision:
        """Ask on the real tool call, diff included (DIFF-05), and wait as long as it takes (PERM-09)."""
        fields = tool_fields(ask.call)
        options = [self._option(choice, ask.rule) for choice in ask.choices]
        params = {"sessionId": self._session_id, "toolCall": fields, "options": options}
        answer = self._ask("session/request_permission", params, scope)
        return decision(answer, ask.choices)

    def question(self, form: Form, scope: Scope) -> FormAnswer:
        return FormAnswer("nobody")

    def _option(self, choice: Choice, rule: str) -> dict[str, Any]:
        kind, name = _OPTIONS[choice]
        return {"optionId": choice, "name": name.format(rule=rule), "kind": kind}

    def _ask(self, method: str, params: dict[str, Any], scope: Scope) -> Answer:
        """Send a request and wait for its answer. Raises `Cancelled`; the request is then withdrawn (CAN-08) and
        an answer that comes late is dropped."""
        answers: list[Answer] = []

        def on_answer(answer: Answer) -> None:
            with scope.lock:
                answers.append(answer)
                scope.changed.notify_all()

        with scope.open():  # no request leaves once a cancel was read (CAN-07)
            call_id = self._driver.call(method, params, on_answer)
        try:
            scope.wait_for(lambda: bool(answers))
        except Cancelled:
            if self._driver.abandon(call_id):
                self._driver.notify("$/cancel_request", {"requestId": call_id})
            raise
        return answers[0]


def decision(answer: Answer, offered: tuple[Choice, ...]) -> Decision:
    """What a permission's answer means. Only an option that was offered can be a yes (PERM-06)."""
    if answer.lost:  # the client is gone, and every turn with it
        return Decision(None, cancelled=True)
    if answer.error is not None:
        return Decision(None)
    outcome = answer.result.get("outcome") if isinstance(answer.result, dict) else None
    if not isinstance(outcome, dict):
        return Decision("deny")
    if outcome.get("outcome") == "cancelled":
        return Decision(None, cancelled=True)
    chosen = outcome.get("optionId") if outcome.get("outcome") == "selected" else None
    return Decision(next((choice for choice in offered if choice == chosen), "deny"))
