"""The host of a session behind a connection: events out as updates, questions out as requests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from acpagent.acp.v1 import elicit
from acpagent.acp.v1.asking import Asking
from acpagent.acp.v1.client_files import ClientFiles
from acpagent.acp.v1.client_shell import ClientShell
from acpagent.acp.v1.initialize import ClientAbilities
from acpagent.acp.v1.render import Renderer, tool_fields
from acpagent.core import bounds, catalogue
from acpagent.core.events import Event
from acpagent.core.forms import Answer as FormAnswer
from acpagent.core.forms import Form
from acpagent.core.host import Asks, Choice, Decision, HostFiles, HostShell, PermissionAsk
from acpagent.core.scope import Scope
from acpagent.wire.driver import Driver
from acpagent.wire.pending import Answer

# Option ids and their kinds; what they are called is in the catalogue, the rule in words.
_KINDS: dict[Choice, str] = {
    "once": "allow_once",
    "session": "allow_always",
    "repo": "allow_always",
    "full": "allow_always",
    "deny": "reject_once",
}
_RULE_LETTERS = 100
COMMAND_SCHEMA_VERSION = 1


class AcpHost:
    """What the client can do is asked for at each use: a second `initialize` may have changed it (RPC-25)."""

    def __init__(
        self,
        session_id: str,
        lock: threading.RLock,
        driver: Driver,
        abilities: Callable[[], ClientAbilities],
        language: str = catalogue.ENGLISH,
    ) -> None:
        self._lock = lock
        self._driver = driver
        self._abilities = abilities
        self._asking = Asking(session_id, driver)
        self.language = language
        self.address = session_id
        self._renderer = Renderer(
            lambda: self.address,
            lambda: abilities().surfaces,
            lambda: self.language,
            lambda: abilities().compactions,
        )

    @property
    def asks(self) -> Asks:
        """In a form only where the client offers to show one (ELI-01); permission requests, every client has."""
        return "form" if self._abilities().forms else "choice"

    @property
    def shows_forms(self) -> bool:
        """Only if it said that it shows what plugins publish."""
        return self._abilities().surfaces

    @property
    def files(self) -> HostFiles | None:
        """Files through the client, if it offers to read or to write them."""
        able = self._abilities()
        if not (able.reads_files or able.writes_files):
            return None
        return ClientFiles(self._asking, able.reads_files, able.writes_files)

    @property
    def shell(self) -> HostShell | None:
        """Terminals of the client, if it offers them (TERM-01)."""
        return ClientShell(self._asking) if self._abilities().terminals else None

    def speak(self, language: str) -> None:
        self.language = language

    def move(self, address: str) -> None:
        self.address = self._asking.address = address

    def emit(self, event: Event) -> None:
        """Rendered and queued in one critical section, so that what clients see of a call is in step."""
        with self._lock:
            for update in self._renderer.render(event):
                self._driver.notify("session/update", {"sessionId": self.address, "update": update})

    def wait_room(self, scope: Scope) -> None:
        self._driver.wait_room(scope)

    def permit(self, ask: PermissionAsk, scope: Scope) -> Decision:
        """Ask on the real tool call, diff included (DIFF-05), and wait as long as it takes (PERM-09)."""
        options = [_option(choice, ask.rule, self.language) for choice in ask.choices]
        params = {"toolCall": _asked_call(ask, self.language), "options": options}
        return decision(self._asking.ask("session/request_permission", params, scope), ask.choices)

    def question(self, form: Form, scope: Scope) -> FormAnswer:
        """Ask as the client can by now, on the call that asks, and wait as long as it takes."""
        if self._abilities().forms:
            params = elicit.form_params(form, self.language)
            return elicit.form_answer(form, self._asking.ask("elicitation/create", params, scope))

        def ask(params: dict[str, Any]) -> Answer:
            return self._asking.ask("session/request_permission", params, scope)

        return elicit.by_choices(form, ask, self.language)


def _asked_call(ask: PermissionAsk, language: str) -> dict[str, Any]:
    """The call, and for a single static command its words: a supervisor need not read the model's text."""
    fields = tool_fields(ask.call, language)
    if ask.argv:
        known = {"commandSchemaVersion": COMMAND_SCHEMA_VERSION, "argv": list(ask.argv), "cwd": ask.cwd}
        fields["_meta"] = {**fields["_meta"], "reasonix.io": known}
    return fields


def _option(choice: Choice, rule: str, language: str) -> dict[str, Any]:
    name = catalogue.say(f"permission_{choice}", {"rule": bounds.asked_line(rule, _RULE_LETTERS)}, language)
    return {"optionId": choice, "name": name, "kind": _KINDS[choice]}


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
