"""Forms that plugins put to the person: one at a time, and an answer for each."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from acpagent.core.blocks import Text
from acpagent.core.catalogue import Phrase
from acpagent.core.events import Notice, ToolChanged
from acpagent.core.forms import Answer, Form
from acpagent.core.host import Host
from acpagent.core.scope import Cancelled, Scope, run_closers
from acpagent.core.toolcalls import Status, ToolCall, moved
from acpagent.extensions import surface
from acpagent.extensions.lane import Lane
from acpagent.extensions.sidecar import Sidecar
from acpagent.extensions.surface import UnfitForm, Values

WAITING = 16  # forms, of all plugins

# Why there are no values, for a program: there is nobody, or it cannot be shown, or the program is ending. None: the
# person did not want to.
Answered = Callable[[Values | None, str | None], None]


@dataclass(eq=False, slots=True)
class _Question:
    sidecar: Sidecar
    payload: Mapping[str, Any]
    answered: Answered
    scope: Scope = field(default_factory=Scope)
    done: threading.Event = field(default_factory=threading.Event)


class Questions:
    """The forms of one session's plugins. Each has a scope of its own, so that it goes away with what asked. To close
    a form is an answer, and never ends a turn. The lane's thread asks; the lock of `scope` guards the list."""

    def __init__(self, host: Host, scope: Scope) -> None:
        self._host = host
        self._scope = scope
        self._lane = Lane("acpagent-plugin-forms", scope, WAITING)
        self._open: list[_Question] = []
        self._asked: _Question | None = None  # the one that the person has before them

    def put(self, sidecar: Sidecar, payload: Mapping[str, Any], answered: Answered) -> bool:
        """Ask when it is its turn; False if too many wait already. Never blocks."""
        question = _Question(sidecar, payload, answered)
        with self._scope.lock:
            self._open.append(question)
        if self._lane.put(lambda: self._ask(question)):
            return True
        with self._scope.lock:
            self._open.remove(question)
        return False

    def open(self) -> None:
        """Begin to ask."""
        self._lane.open()

    def close(self, deadline: float) -> None:
        """Take back all, and wait until what was shown for them is settled, until `deadline` (monotonic)."""
        self.withdraw()
        try:
            self._scope.wait_for(lambda: not self._asked, max(0.0, deadline - time.monotonic()))
        except Cancelled:
            return

    def await_answers(self, sidecar: Sidecar, scope: Scope) -> None:
        """Wait until the forms of one plugin are answered. Raises `Cancelled`."""
        with self._scope.lock:
            waiting = [one for one in self._open if one.sidecar is sidecar]
        for question in waiting:
            forget = scope.add_closer(question.done.set)
            try:
                question.done.wait()
            finally:
                forget()
        scope.check()

    def join(self, seconds: float) -> None:
        """Wait for the thread, once the scope is cancelled."""
        self._lane.join(seconds)

    def withdraw(self, sidecar: Sidecar | None = None) -> None:
        """Take back the forms of one plugin, or all. Never blocks."""
        with self._scope.lock:
            gone = [one for one in self._open if sidecar in (None, one.sidecar)]
        for question in gone:
            run_closers(question.scope.cancel())

    def _ask(self, question: _Question) -> None:
        question.sidecar.asking += 1
        self._asked = question
        try:
            values, reason = self._answer(question)
        except Cancelled:
            values, reason = None, "stopped"
        except UnfitForm:
            values, reason = None, "unshowable"
            self._host.emit(Notice("warning", "plugin_unasked", _named(question)))
        finally:
            question.sidecar.asking -= 1
            with self._scope.lock:
                self._open.remove(question)
                self._asked = None
                self._scope.changed.notify_all()
        question.answered(values, reason)
        question.done.set()

    def _answer(self, question: _Question) -> tuple[Values | None, str | None]:
        """Raises `Cancelled`, `UnfitForm`."""
        question.scope.check()
        asks = self._host.asks
        if asks == "none":
            return None, "nobody"
        form = surface.form(question.sidecar.name, question.payload, types=asks == "form")
        answer = self._form(form, question) if asks == "form" else self._choices(form, question)
        reason = "nobody" if answer.kind == "nobody" else None
        return surface.values(question.payload, answer), reason

    def _form(self, form: Form, question: _Question) -> Answer:
        self._host.wait_room(question.scope)
        return self._host.question(form, question.scope)

    def _choices(self, form: Form, question: _Question) -> Answer:
        """Permission requests need a call to be about: one is shown for the time."""
        call = surface.asking_call(f"ask_{uuid.uuid4().hex}", question.sidecar.name, question.payload)
        self._host.wait_room(question.scope)
        self._host.emit(ToolChanged(call))
        try:
            answer = self._host.question(surface.with_call(form, call), question.scope)
        except Cancelled:
            self._settle(call, "form_taken_back")
            raise
        self._settle(call, "form_answered" if answer.kind == "accept" else "form_unanswered")
        return answer

    def _settle(self, call: ToolCall, code: str) -> None:
        status: Status = "completed" if code == "form_answered" else "failed"
        self._host.emit(ToolChanged(moved(call, status, content=(Text(Phrase(code)),))))


def _named(question: _Question) -> dict[str, Any]:
    return {"plugin": question.sidecar.name, "title": question.payload["title"]}
