"""A plugin's program beside one session: started, spoken with, and ended for certain."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from acpagent.core import bounds, diagnostics
from acpagent.core.catalogue import Phrase
from acpagent.core.faults import TheirFault
from acpagent.core.phrases import told
from acpagent.core.process import Group, Result
from acpagent.core.scope import Cancelled, Scope
from acpagent.extensions import manifest, speech
from acpagent.extensions.chatter import Chatter
from acpagent.extensions.manifest import Runtime
from acpagent.extensions.plugins import Plugin
from acpagent.extensions.ration import Ration
from acpagent.extensions.speech import SidecarFault
from acpagent.wire import codes
from acpagent.wire.driver import Driver
from acpagent.wire.messages import Notification, Request
from acpagent.wire.peer import Refusal
from acpagent.wire.pending import Answer

State = Literal["new", "starting", "ready", "stopped"]

HANDSHAKE_SECONDS = 10.0
# How long a program that was told to shut down may take before it is ended.
SHUTDOWN_SECONDS = 1.0
_UNREAD_BYTES = 2 * 1024 * 1024  # written for a program that does not read
_LATE_IN_A_ROW = 3
_GARBAGE_LINES = 20
_EARLY_EVENTS = 32
_CAUSE_LETTERS = 200
_CAUSE_SECONDS = 2.0  # until it is known why a connection was lost
_ENDING_SECONDS = 1.0  # from closing its output to its end, for a program that ends by itself


@dataclass(frozen=True, slots=True)
class Site:
    """Where a program works: the session as the client knows it, and how often that was reloaded, from 1. `hidden_env`
    are variables that it must not see; `log` takes what it writes to stderr."""

    session_id: str
    cwd: str
    generation: int = 1
    hidden_env: frozenset[str] = frozenset()
    log: Callable[[str], None] = field(default=lambda text: diagnostics.say("acpagent acp", text))


class Desk(Protocol):
    """Who a program's requests go to. Called on its reader thread, holding no lock; must not block."""

    def publish(self, sidecar: Sidecar, params: dict[str, Any], /) -> None:
        """Raises `TheirFault`."""

    def request(self, sidecar: Sidecar, request_id: Any, params: dict[str, Any], /) -> None:
        """Answers now or later. Raises `TheirFault`."""

    def stopped(self, sidecar: Sidecar, cause: str, /) -> None:
        """It ended without having been told to."""


class _Slot:
    """Somebody who waits for the program. `changed` wakes them; their scope's lock guards `answer`."""

    __slots__ = ("answer", "scope")

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.answer: Answer | None = None

    def take(self, answer: Answer) -> None:
        with self.scope.lock:
            self.answer = answer
            self.scope.changed.notify_all()

    def wake(self) -> None:
        with self.scope.lock:
            self.scope.changed.notify_all()


class Sidecar:
    """One plugin's program in one session. It is started once; only a reload makes another.

    Threads: the keeper, which starts it, waits for its end and sees to it that nothing of it is left; the driver's two;
    the group's two. `_lock`, a leaf but for the queue of what is sent, guards the state, the slots and the numbers.
    Whatever it does wrong ends the program alone: what waits for it fails, and the session goes on.
    """

    def __init__(self, plugin: Plugin, runtime: Runtime, site: Site, desk: Desk) -> None:
        self.plugin = plugin
        self.runtime = runtime
        self.asking = 0  # forms of it that a person has before them
        self._site = site
        self._desk = desk
        self._lock = threading.Lock()
        self._state: State = "new"
        self._cause = ""
        self._closing = False
        self._seq = 0
        self._late = 0
        self._garbage = 0
        self._slots: set[_Slot] = set()
        self._early: list[tuple[str, Mapping[str, Any]]] = []
        self._heard = Ration(burst=2000, per_second=500)
        self._settled = threading.Event()  # ready, or ended
        self._known = threading.Event()  # which of them
        self._gone = threading.Event()
        self._driver: Driver | None = None
        self._group = Group(Chatter(plugin.name, site.log), self._settled.set)

    @property
    def name(self) -> str:
        return self.plugin.name

    @property
    def state(self) -> State:
        return self._state

    @property
    def cause(self) -> str:
        """Why it is not running."""
        return self._cause

    @property
    def is_gone(self) -> bool:
        """Whether nothing of it runs."""
        return self._state == "new" or self._gone.is_set()

    # -- beginning and end

    def start(self) -> None:
        """Start the program; returns at once."""
        with self._lock:
            if self._state != "new" or self._closing:
                return
            self._state = "starting"
        try:
            threading.Thread(target=self._keep, name=f"acpagent-plugin-{self.name}", daemon=True).start()
        except RuntimeError:
            self._stop(Phrase("program_no_thread"))
            self._gone.set()

    def await_settled(self, seconds: float) -> bool:
        """Wait until it is ready or has failed. False if neither in that time."""
        return self._known.wait(seconds)

    def close(self, deadline: float) -> bool:
        """Tell it to shut down, and end it if it does not; done by `deadline` (monotonic). Whether it is gone."""
        with self._lock:
            self._closing = True
            started = self._state != "new"
            ready = self._state == "ready"
            self._cause = self._cause or Phrase("program_session_over")
        if not started:
            return True
        driver = self._driver
        if driver is not None:
            if ready:
                driver.call(speech.SHUTDOWN, {}, None)
            driver.end_output()
        self._gone.wait(min(SHUTDOWN_SECONDS, max(0.0, deadline - time.monotonic())))
        self._group.stop()
        self._settled.set()
        if not self._gone.wait(max(0.0, deadline - time.monotonic())):
            self._group.kill()
            self._gone.wait(0.5)
        return self._gone.is_set()

    def _keep(self) -> None:
        """Body of the keeper."""
        try:
            driver = self._begin()
        except (OSError, RuntimeError, ValueError) as error:
            self._stop(Phrase("program_not_started", cause=told(error)))
            self._end()
            return
        if not self._settled.wait(HANDSHAKE_SECONDS):
            self._stop(Phrase("program_no_greeting", method=speech.INITIALIZE, seconds=f"{HANDSHAKE_SECONDS:g}"))
        self._group.wait()
        result = self._group.finish()
        self._stop(_ended(result))
        driver.finish(time.monotonic() + 0.5)
        self._end()

    def _begin(self) -> Driver:
        """Start the process and greet it. Raises OSError, RuntimeError."""
        its_input, our_output = os.pipe()
        our_input, its_output = os.pipe()
        argv = [manifest.program(self.plugin.root, self.runtime), *self.runtime.args]
        try:
            self._group.start(argv, self.plugin.root, self._environment(), its_input, its_output)
        except BaseException:
            os.close(our_input)
            os.close(our_output)
            raise
        finally:
            os.close(its_input)
            os.close(its_output)
        driver = Driver(
            our_input,
            our_output,
            self,
            name=f"acpagent plugin {self.name}",
            limit=speech.FRAME_BYTES,
            on_refusal=self._on_refusal,
        )
        driver.call(speech.INITIALIZE, self._greeting(), self._greeted)
        with self._lock:
            self._driver = driver
            late = self._closing
        try:
            driver.start()
        except RuntimeError:
            self._group.kill()
            self._group.finish()
            raise
        if late:
            self._group.stop()
        return driver

    def _environment(self) -> dict[str, str]:
        """Ours without the secrets in it, and what the manifest adds."""
        kept = {key: value for key, value in os.environ.items() if key not in self._site.hidden_env}
        return {**kept, "PWD": self.plugin.root, **self.runtime.env}

    def _greeting(self) -> dict[str, Any]:
        able, site = self.runtime, self._site
        return {
            "api": manifest.API,
            "plugin": {"name": self.name, "version": self.plugin.manifest.version},
            "session": {"id": site.session_id, "cwd": site.cwd, "generation": site.generation},
            "capabilities": {
                "intercepts": list(able.intercepts),
                "events": list(able.events),
                "ui": able.ui,
                "actions": [one.id for one in able.actions],
                "tools": [one.name for one in able.tools],
            },
        }

    def _greeted(self, answer: Answer) -> None:
        if answer.lost:
            return  # whoever noticed has said so
        try:
            if answer.error is not None:
                raise SidecarFault("refused", Phrase("program_refused", method=speech.INITIALIZE))
            result = speech.answered(speech.INITIALIZE, answer.result)
            if result["name"] != self.name:
                raise SidecarFault("invalid_answer", Phrase("program_other_name", method=speech.INITIALIZE))
        except SidecarFault as fault:
            self._stop(told(fault))
            return
        assert self._driver is not None
        self._driver.notify(speech.INITIALIZED, {})
        with self._lock:
            if self._state != "starting":
                return
            for event, payload in self._early:
                self._driver.notify(speech.EVENT, self._numbered(event, payload))
            self._state = "ready"
            slots = list(self._slots)
        self._settled.set()
        self._known.set()
        for slot in slots:
            slot.wake()

    def _stop(self, cause: str) -> None:
        """It is of no use any more, whatever it does: end it. The first cause counts. Never blocks."""
        with self._lock:
            if self._state == "stopped":
                return
            self._state = "stopped"
            self._cause = self._cause or cause
            slots = list(self._slots)
        self._group.stop()
        self._settled.set()
        self._known.set()
        for slot in slots:
            slot.wake()

    def _end(self) -> None:
        self._gone.set()
        if not self._closing:
            self._desk.stopped(self, self._cause)

    # -- what it is asked and told

    def ask(
        self, method: str, params: Mapping[str, Any], scope: Scope, seconds: float, patient: bool = False
    ) -> dict[str, Any]:
        """Ask, and wait for the answer, `seconds` at most; if `patient`, not counting while the person has a form of
        it before them. Raises `SidecarFault`, `Cancelled`."""
        _check_size(params)
        slot = _Slot(scope)
        with self._lock:
            self._slots.add(slot)
        try:
            answer = self._exchange(slot, method, params, seconds, patient)
        finally:
            with self._lock:
                self._slots.discard(slot)
        if answer.error is not None:
            told = bounds.one_line(bounds.visible(answer.error["message"]), _CAUSE_LETTERS)
            raise SidecarFault("refused", Phrase("program_error", said=told))
        return speech.answered(method, answer.result)

    def _numbered(self, event: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """The params of an event or intercept. Under the lock until they are said, so that numbers come in order."""
        self._seq += 1
        return {"event": event, "seq": self._seq, "payload": dict(payload)}

    def tell(self, event: str, payload: Mapping[str, Any]) -> None:
        """Tell it of an event that it declared. Never blocks; one that does not read is ended."""
        if event not in self.runtime.events:
            return
        with self._lock:
            if self._state in ("new", "starting") and len(self._early) < _EARLY_EVENTS:
                self._early.append((event, payload))
            if self._state != "ready" or self._driver is None:
                return
            fits = self._driver.queued() <= _UNREAD_BYTES
            if fits:
                self._driver.notify(speech.EVENT, self._numbered(event, payload))
        if not fits:
            self._stop(Phrase("program_deaf"))

    def withdraw(self, call_id: str) -> None:
        """Tell it that nobody waits for a call any more."""
        if self._state == "ready":
            self._notify(speech.CANCEL, {"callId": call_id})

    def late(self) -> None:
        """It did not answer in time once more; several times in a row, and it is ended."""
        with self._lock:
            self._late += 1
            hopeless = self._late >= _LATE_IN_A_ROW
        if hopeless:
            self._stop(Phrase("program_late", most=_LATE_IN_A_ROW))

    def ask_later(self, method: str, params: Mapping[str, Any]) -> None:
        """Ask something whose answer does not matter. Never blocks. Raises `SidecarFault` for what is too large."""
        _check_size(params)
        if self._state == "ready" and self._driver is not None:
            self._driver.call(method, dict(params), None)

    def respond(self, request_id: Any, result: Mapping[str, Any]) -> None:
        """Answer a request of its own that was taken for later."""
        if self._driver is not None:
            self._driver.respond(request_id, dict(result))

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        assert self._driver is not None
        if self._driver.queued() > _UNREAD_BYTES:
            self._stop(Phrase("program_deaf"))
        else:
            self._driver.notify(method, params)

    def _exchange(self, slot: _Slot, method: str, params: Mapping[str, Any], seconds: float, patient: bool) -> Answer:
        deadline, scope = time.monotonic() + seconds, slot.scope
        if self._state == "new":
            raise SidecarFault("stopped", Phrase("program_unstarted"))
        if not scope.wait_for(lambda: self._state != "starting", seconds):
            raise SidecarFault("timeout", Phrase("program_not_ready", seconds=f"{seconds:g}"))
        self._check_running()
        assert self._driver is not None
        with scope.open(), self._lock:
            if method == speech.INTERCEPT:
                params = self._numbered(params["event"], params["payload"])
            call_id = self._driver.call(method, dict(params), slot.take)
        try:
            while not scope.wait_for(lambda: self._has(slot), max(0.0, deadline - time.monotonic())):
                if not (patient and self.asking):
                    raise SidecarFault("timeout", Phrase("program_silent", seconds=f"{seconds:g}"))
                deadline = time.monotonic() + seconds
        except (Cancelled, SidecarFault):
            self._driver.abandon(call_id)
            raise
        answer = slot.answer
        if answer is None or answer.lost:
            self._driver.abandon(call_id)
            scope.wait_for(lambda: self._state == "stopped", _CAUSE_SECONDS)
            self._check_running()
            raise SidecarFault("stopped", Phrase("program_ended"))
        with self._lock:
            self._late = 0
        return answer

    def _has(self, slot: _Slot) -> bool:
        return slot.answer is not None or self._state == "stopped"

    def _check_running(self) -> None:
        if self._state == "stopped" or self._closing:
            raise SidecarFault("stopped", self._cause or Phrase("program_ending"))

    # -- what it asks: the driver's receiver, on the reader thread

    def on_request(self, request: Request) -> None:
        """Answer, or hand on. A `Fault` raised here is the answer."""
        self._admit(request.method)
        params = speech.checked(request.method, request.params)
        if request.method == speech.REQUEST:
            self._desk.request(self, request.id, params)
        else:
            self._desk.publish(self, params)
            self.respond(request.id, {})

    def on_notification(self, notification: Notification) -> None:
        """What can be published can be told without waiting for an answer."""
        try:
            if notification.method == speech.PUBLISH:
                self._admit(notification.method)
                self._desk.publish(self, speech.checked(notification.method, notification.params))
            elif not self._heard.take():
                self._stop(Phrase("program_loud"))
        except TheirFault as fault:
            self._site.log(f"plugin {self.name}: {notification.method} was refused: {fault.message}")

    def on_end(self, reason: str) -> None:
        """It closed its output, or the connection was ended from here. A program that is ending by itself tells more by
        how it ends, so that comes first."""
        if not self._group.wait(_ENDING_SECONDS) and not self._closing:
            self._stop(Phrase("program_closed_output"))
        self._settled.set()

    def _on_refusal(self, refusal: Refusal) -> None:
        """A line that was no message. Some come from a stray `print`; too many, or a lost one, are the end."""
        self._garbage += 1
        if refusal.oversize:
            self._stop(Phrase("program_long_line", size=speech.FRAME_BYTES >> 20))
        elif self._garbage >= _GARBAGE_LINES:
            self._stop(Phrase("program_garbage"))
        elif self._garbage == 1:
            self._site.log(f"plugin {self.name}: a line on its stdout is no message; stdout is for messages alone")

    def _admit(self, method: str) -> None:
        """Raises `TheirFault` for a method that is unknown, undeclared, or asked for too early."""
        assert self._driver is not None
        if not self._heard.take() or self._driver.queued() > _UNREAD_BYTES:
            self._stop(Phrase("program_loud"))
        if method not in (speech.PUBLISH, speech.REQUEST):
            raise speech.fault("unknown_method", "there is no such method", codes.METHOD_NOT_FOUND)
        if self._state != "ready":
            raise speech.fault("not_initialized", "wait for `initialized`", codes.INVALID_REQUEST)
        if not self.runtime.ui:
            raise speech.fault("capability_not_declared", "the manifest does not declare the capability ui")


def _ended(result: Result) -> str:
    if result.signal is not None:
        return Phrase("program_signal", signal=result.signal)
    return Phrase("program_stuck") if result.exit_code is None else Phrase("program_exit", code=result.exit_code)


def _check_size(params: Mapping[str, Any]) -> None:
    """Raises `SidecarFault` for what cannot be sent."""
    try:
        size = len(json.dumps(params, allow_nan=False))
    except ValueError:
        raise SidecarFault("invalid_params", Phrase("program_no_json")) from None
    if size > speech.FRAME_BYTES - 1024:
        raise SidecarFault("frame_too_large", Phrase("program_too_large"))
