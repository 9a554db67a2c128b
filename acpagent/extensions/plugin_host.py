"""The plugins of one session at work: their programs, what these show and ask, and what they are asked."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acpagent.core import bounds
from acpagent.core.events import Event, Notice
from acpagent.core.host import Host
from acpagent.core.phrases import told
from acpagent.core.scope import Cancelled, Scope, run_closers
from acpagent.core.toolcalls import Tool
from acpagent.extensions import intercepts, speech, surface
from acpagent.extensions.intercepts import Intercepted, Unfit
from acpagent.extensions.lane import Lane
from acpagent.extensions.plugin_tools import SidecarTool
from acpagent.extensions.plugins import Plugin
from acpagent.extensions.questions import Questions
from acpagent.extensions.ration import Ration
from acpagent.extensions.sidecar import Sidecar, Site
from acpagent.extensions.speech import SidecarFault
from acpagent.extensions.surface import UnfitForm, Values
from acpagent.wire import codes

ACTION_SECONDS = 120.0
_UNWIND_SECONDS = 1.0
_WAITING = 200  # events on their way to the outside
_MOST_FORMS = 50  # that a client may still hand in


@dataclass(frozen=True, slots=True)
class Action:
    """A command that a program answers: `command` is what follows the slash, `plugin:id`."""

    command: str
    label: str
    description: str
    hint: str | None


class PluginHost:
    """One per session and reload. What the plugins declare is there at once, whether or not their programs run yet, so
    that the list of tools does not change with their start.

    Owns the sidecars, the lane that shows and the lane that asks, and a scope of its own that both end with. Never
    raises for what a program does: what it was to do fails, and the session goes on.
    """

    def __init__(self, plugins: Sequence[Plugin], site: Site, host: Host) -> None:
        """Starts nothing. Every callable of `host` may be used from threads of its own."""
        self._site = site
        self._host = host
        self._scope = Scope()
        self._screen = Lane("acpagent-plugin-screen", self._scope, _WAITING)
        self._questions = Questions(host, self._scope)
        self._forms: dict[str, tuple[Sidecar, str, Mapping[str, Any]]] = {}  # by instance; the scope's lock guards it
        self._instances = 0
        self._told: frozenset[str] = frozenset()  # what was said of those skipped: once is enough
        self._sidecars = {
            plugin.name: Sidecar(plugin, plugin.manifest.runtime, site, self)
            for plugin in sorted(plugins, key=lambda one: one.name)
            if plugin.manifest.runtime is not None
        }
        self._rations = {name: Ration(burst=50, per_second=10) for name in self._sidecars}

    @property
    def generation(self) -> int:
        return self._site.generation

    # -- beginning and end

    def start(self) -> None:
        """Start the programs; returns at once. What they show waits until `open`."""
        for sidecar in self._sidecars.values():
            sidecar.start()

    def open(self) -> None:
        """From here on the outside knows the session, and may be shown and asked."""
        self._screen.open()
        self._questions.open()

    def close(self, deadline: float) -> bool:
        """End all programs, by `deadline` (monotonic). Whether all are gone. Nothing is shown any more."""
        self._questions.close(min(deadline, time.monotonic() + _UNWIND_SECONDS))
        run_closers(self._scope.cancel())
        closing = [
            threading.Thread(target=sidecar.close, args=(deadline,), name=f"acpagent-plugin-end-{name}", daemon=True)
            for name, sidecar in self._sidecars.items()
        ]
        for thread in closing:
            try:
                thread.start()
            except RuntimeError:
                continue
        for thread, sidecar in zip(closing, self._sidecars.values(), strict=True):
            if thread.ident is None:
                sidecar.close(deadline)
            else:
                thread.join(max(0.0, deadline - time.monotonic()) + _UNWIND_SECONDS)
        for lane in (self._screen, self._questions):
            lane.join(deadline - time.monotonic())
        return all(sidecar.is_gone for sidecar in self._sidecars.values())

    # -- what the session uses

    def tools(self) -> tuple[Tool, ...]:
        """The tools of all programs, by name."""
        return tuple(
            SidecarTool(sidecar, spec)
            for sidecar in self._sidecars.values()
            for spec in sorted(sidecar.runtime.tools, key=lambda one: one.name)
        )

    def actions(self) -> tuple[Action, ...]:
        """The commands of all programs, by name."""
        return tuple(
            Action(f"{sidecar.name}:{one.id}", one.label, one.description or one.label, one.hint)
            for sidecar in self._sidecars.values()
            for one in sidecar.runtime.actions
        )

    def run_action(self, command: str, words: str, scope: Scope) -> str:
        """Let a program do what its command says, with the words after it; what it has to say to the person. Forms that
        it asks meanwhile are answered first. Raises `SidecarFault`, LookupError for what is no command, `Cancelled`.
        """
        name, _, action = command.partition(":")
        sidecar = self._sidecars[name]
        if action not in (one.id for one in sidecar.runtime.actions):
            raise LookupError(command)
        params = {"actionId": action, "session": self._site.session_id, "args": words}
        try:
            answer = sidecar.ask(speech.ACTION, params, scope, ACTION_SECONDS, patient=True)
            self._questions.await_answers(sidecar, scope)
        except (Cancelled, SidecarFault):
            self._questions.withdraw(sidecar)
            raise
        return bounds.clean(answer.get("message", ""))

    def intercept(self, event: str, payload: Mapping[str, Any], scope: Scope) -> Intercepted:
        """Ask every program that wants to know, in the order of their names, each about what the last one left. One
        that does not answer in its time is skipped, or if it is required nothing goes on. Raises `Cancelled`."""
        outcome = Intercepted(payload)
        for sidecar in self._sidecars.values():
            if event in sidecar.runtime.intercepts and outcome.blocked is None:
                outcome = self._intercepted(sidecar, event, outcome, scope)
        return outcome

    def notify(self, event: str, payload: Mapping[str, Any]) -> None:
        """Tell every program that wants to know. Never blocks."""
        for sidecar in self._sidecars.values():
            sidecar.tell(event, payload)

    def submit(self, instance: str, values: Mapping[str, Any]) -> None:
        """Hand in a form that the client showed by itself, by the id of that showing. Never blocks. Raises LookupError
        for a form that is not waiting, `UnfitForm`."""
        with self._scope.lock:
            sidecar, surface_id, payload = self._forms[instance]
        filled = surface.submitted(payload, values)
        try:
            self._hand_in(sidecar, surface_id, filled)
        except SidecarFault as fault:
            raise UnfitForm(told(fault)) from None
        with self._scope.lock:
            self._forms.pop(instance, None)

    # -- what the programs ask: never blocks, and knows no lock but leaves

    def publish(self, sidecar: Sidecar, params: dict[str, Any]) -> None:
        """Raises `TheirFault`."""
        if not self._rations[sidecar.name].take():
            raise speech.fault("rate_limited", "too much is published; wait a moment")
        if params["kind"] == "form":
            _check_form(params["payload"])
            if not self._host.shows_forms:
                self._put_form(sidecar, params["surfaceId"], params["payload"])
                return
        _check_actions(sidecar, params["payload"])
        shown = surface.surface(sidecar.name, self.generation, params, self._instance(sidecar, params))
        if not self._show(shown):
            raise speech.fault("rate_limited", "too much waits to be shown; wait a moment")

    def request(self, sidecar: Sidecar, request_id: Any, params: dict[str, Any]) -> None:
        """Put a form to the person and answer with what they filled in. Raises `TheirFault`."""
        _check_form(params["payload"])

        def answered(values: Values | None, reason: str | None) -> None:
            told = {} if reason is None else {"reason": reason}
            sidecar.respond(request_id, {"cancelled": values is None, "values": values or {}, **told})

        if not self._questions.put(sidecar, params["payload"], answered):
            raise speech.fault("rate_limited", "too many forms wait for an answer")

    def stopped(self, sidecar: Sidecar, cause: str) -> None:
        self._questions.withdraw(sidecar)
        with self._scope.lock:
            self._forms = {key: form for key, form in self._forms.items() if form[0] is not sidecar}
        self._show(Notice("warning", "plugin_stopped", {"plugin": sidecar.name, "cause": cause}))

    def _put_form(self, sidecar: Sidecar, surface_id: str, payload: Mapping[str, Any]) -> None:
        """A published form where the client shows none: a question, whose answer is handed in."""

        def answered(values: Values | None, reason: str | None) -> None:
            if values is not None:
                with contextlib.suppress(SidecarFault):  # nobody is there any more, or has room, to be told
                    self._hand_in(sidecar, surface_id, values)

        if not self._questions.put(sidecar, payload, answered):
            raise speech.fault("rate_limited", "too many forms wait for an answer")

    def _hand_in(self, sidecar: Sidecar, surface_id: str, values: Values) -> None:
        """Raises `SidecarFault`."""
        sidecar.ask_later(speech.SUBMIT, {"surfaceId": surface_id, "values": values})

    def _instance(self, sidecar: Sidecar, params: Mapping[str, Any]) -> str:
        """A name for this showing of a form; the last one of the same surface does not count any more."""
        if params["kind"] != "form":
            return ""
        surface_id = params["surfaceId"]
        with self._scope.lock:
            self._instances += 1
            old = [key for key, (whose, id, _) in self._forms.items() if (whose, id) == (sidecar, surface_id)]
            for key in old or list(self._forms)[: len(self._forms) + 1 - _MOST_FORMS]:
                del self._forms[key]
            instance = f"form-{self.generation}-{self._instances}"
            self._forms[instance] = (sidecar, surface_id, params["payload"])
        return instance

    def _show(self, event: Event) -> bool:
        def emit() -> None:
            self._host.wait_room(self._scope)
            self._host.emit(event)

        return self._screen.put(emit)

    def _intercepted(self, sidecar: Sidecar, event: str, before: Intercepted, scope: Scope) -> Intercepted:
        params = {"event": event, "payload": dict(before.payload)}
        try:
            answer = sidecar.ask(speech.INTERCEPT, params, scope, sidecar.runtime.timeout)
            after = intercepts.applied(sidecar.name, event, before.payload, answer)
        except (SidecarFault, Unfit) as fault:
            if isinstance(fault, SidecarFault) and fault.reason == "timeout":
                sidecar.late()
            return self._unanswered(sidecar, event, before, fault)
        return after if after.plugin else Intercepted(after.payload, None, before.plugin)

    def _unanswered(self, sidecar: Sidecar, event: str, before: Intercepted, fault: Exception) -> Intercepted:
        if sidecar.runtime.required:
            return intercepts.refused(sidecar.name, event, before.payload, told(fault))
        if not (isinstance(fault, SidecarFault) and fault.reason == "stopped"):  # that was said when it stopped
            params = {"plugin": sidecar.name, "event": event, "cause": told(fault)}
            with self._scope.lock:
                known, self._told = str(params) in self._told, self._told | {str(params)}
            if not known:
                self._show(Notice("warning", "plugin_skipped", params))
        return before


def _check_form(payload: Mapping[str, Any]) -> None:
    """Raises `TheirFault`."""
    try:
        surface.check(payload)
    except UnfitForm as error:
        raise speech.fault("invalid_params", f"params.payload: {error}", codes.INVALID_PARAMS) from None


def _check_actions(sidecar: Sidecar, payload: Mapping[str, Any]) -> None:
    """Raises `TheirFault` for one that the manifest does not have."""
    declared = {one.id for one in sidecar.runtime.actions}
    if not declared.issuperset(one["actionId"] for one in payload.get("actions", ())):
        raise speech.fault("capability_not_declared", "the manifest does not declare an action of this card")
