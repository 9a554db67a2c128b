"""The plugins of a session around a turn: what they are asked before it goes on, and what they are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from acpagent.core.scope import Scope
from acpagent.core.toolcalls import ToolCall, ToolResult
from acpagent.extensions.intercepts import PERMISSION, Intercepted
from acpagent.runtime.turn.permitting import Stricter, Verdict


class Plugins(Protocol):
    """Those of a session."""

    def intercept(self, event: str, payload: Mapping[str, Any], scope: Scope) -> Intercepted:
        """Raises `Cancelled`."""

    def notify(self, event: str, payload: Mapping[str, Any]) -> None:
        """Never blocks."""


class _None:
    def intercept(self, event: str, payload: Mapping[str, Any], scope: Scope) -> Intercepted:
        return Intercepted(payload)

    def notify(self, event: str, payload: Mapping[str, Any]) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Interception:
    """Made for each turn. All that asks may wait and raise `Cancelled`; `after_call` does so on a tool's helper thread,
    the rest on the session worker."""

    plugins: Plugins = field(default_factory=_None)
    scope: Scope = field(default_factory=Scope)

    def heard(self, words: str) -> tuple[str, str | None]:
        """A prompt is about to be heard: its words as they were left, and why it must not be."""
        came = self.plugins.intercept("input.receive", {"text": words}, self.scope)
        return came.payload["text"], came.blocked

    def before_call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None]:
        """A call is about to be prepared: its arguments as they were left, which are judged like any other; and why it
        must not be."""
        came = self.plugins.intercept("tool.before", {"tool": tool, "arguments": dict(arguments)}, self.scope)
        return came.payload["arguments"], came.blocked

    def judged(self, call: ToolCall, verdict: Verdict) -> Verdict:
        """The verdict on a call, or a stricter one: nothing that the gate keeps back is let through."""
        told = {"tool": call.name, "title": call.title, "action": verdict.action, "reason": verdict.reason}
        came = self.plugins.intercept(PERMISSION, told, self.scope)
        if came.payload["action"] == verdict.action:
            return verdict
        return Stricter(came.payload["reason"], verdict.argv, came.payload["action"])

    def after_call(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """What a call brought, as the model is to read it."""
        told = {"tool": call.name, "arguments": call.raw_input or {}, "text": result.text, "failed": result.failed}
        came = self.plugins.intercept("tool.after", told, self.scope)
        text = came.payload["text"] if came.blocked is None else came.blocked
        return result if text == result.text else replace(result, text=text)

    def tell(self, event: str, **told: Any) -> None:
        """Something happened; nobody waits for them."""
        self.plugins.notify(event, told)
