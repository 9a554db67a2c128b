"""A host that lets hooks know whenever the person is waited for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from acpagent.core.events import Event
from acpagent.core.forms import Answer, Form
from acpagent.core.host import Asks, Decision, Host, HostFiles, HostShell, PermissionAsk
from acpagent.core.scope import Scope


@dataclass(frozen=True, slots=True)
class NotifyingHost:
    """The host itself, with `notify` (kind, words) called right before each question."""

    host: Host
    notify: Callable[[str, str], None]

    @property
    def language(self) -> str:
        return self.host.language

    @property
    def address(self) -> str:
        return self.host.address

    def speak(self, language: str) -> None:
        self.host.speak(language)

    def move(self, address: str) -> None:
        self.host.move(address)

    @property
    def asks(self) -> Asks:
        return self.host.asks

    @property
    def shows_forms(self) -> bool:
        return self.host.shows_forms

    @property
    def files(self) -> HostFiles | None:
        return self.host.files

    @property
    def shell(self) -> HostShell | None:
        return self.host.shell

    def emit(self, event: Event) -> None:
        self.host.emit(event)

    def wait_room(self, scope: Scope) -> None:
        self.host.wait_room(scope)

    def permit(self, ask: PermissionAsk, scope: Scope) -> Decision:
        self.notify("permission_prompt", f"acpagent needs your permission: {ask.call.title}")
        return self.host.permit(ask, scope)

    def question(self, form: Form, scope: Scope) -> Answer:
        self.notify("elicitation_dialog", "acpagent has a question for you")
        return self.host.question(form, scope)
