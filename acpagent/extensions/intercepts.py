"""What a plugin may do to what it is asked about: a table from event to decisions and what they can change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.core.catalogue import Phrase

PERMISSION = "permission.decision"

# Event -> the decisions that make sense of it, and what of its payload a replacement may hold, with its type.
_TABLE: Mapping[str, tuple[frozenset[str], Mapping[str, type]]] = {
    "input.receive": (frozenset({"continue", "block", "replace"}), {"text": str}),
    "tool.before": (frozenset({"continue", "block", "replace"}), {"arguments": dict}),
    "tool.after": (frozenset({"continue", "block", "replace"}), {"text": str}),
    PERMISSION: (frozenset({"continue", "allow", "ask", "deny", "block"}), {}),
}
# From what lets a call run to what keeps it from running.
_STRICTNESS = ("allow", "ask", "deny")
_OF_PERMISSION = {"ask": "ask", "deny": "deny", "block": "deny"}
_UNSAID = Phrase("plugin_no_reason")


class Unfit(ValueError):
    """An answer that means nothing for its event; says why."""


@dataclass(frozen=True, slots=True)
class Intercepted:
    """What came of asking the plugins: the payload as they left it. `blocked` says why it must not go on, None if it
    may; `plugin` is who said so, or who made a permission stricter."""

    payload: Mapping[str, Any]
    blocked: str | None = None
    plugin: str = ""


def applied(plugin: str, event: str, payload: Mapping[str, Any], answer: Mapping[str, Any]) -> Intercepted:
    """The payload after one plugin's answer. Raises `Unfit`.

    A permission is only ever made stricter: what the gate, a rule or the person's mode denies or asks about is not let
    through by any plugin, whatever it answers.
    """
    decisions, replaceable = _TABLE[event]
    decision, reason = answer["decision"], answer.get("reason") or _UNSAID
    if decision not in decisions:
        raise Unfit(Phrase("plugin_wrong_answer", event=event, decision=decision))
    if ("replacement" in answer) != (decision == "replace"):
        raise Unfit(Phrase("plugin_replacement"))
    if event == PERMISSION:
        return _stricter(plugin, payload, _OF_PERMISSION.get(decision, "allow"), reason)
    if decision == "block":
        return Intercepted(payload, Phrase("plugin_blocked", plugin=plugin, reason=reason), plugin)
    if decision == "replace":
        return Intercepted({**payload, **_checked(answer["replacement"], replaceable)})
    return Intercepted(payload)


def refused(plugin: str, event: str, payload: Mapping[str, Any], why: str) -> Intercepted:
    """What comes of it where a plugin that is required did not answer: nothing goes on."""
    reason = Phrase("plugin_required", plugin=plugin, cause=why)
    if event == PERMISSION:
        return Intercepted({**payload, "action": "deny", "reason": reason}, reason, plugin)
    return Intercepted(payload, reason, plugin)


def _stricter(plugin: str, payload: Mapping[str, Any], wanted: str, reason: str) -> Intercepted:
    if _STRICTNESS.index(wanted) <= _STRICTNESS.index(payload["action"]):
        return Intercepted(payload)
    told = Phrase("plugin_told", plugin=plugin, reason=reason)
    changed = {**payload, "action": wanted, "reason": told}
    return Intercepted(changed, told if wanted == "deny" else None, plugin)


def _checked(replacement: Mapping[str, Any], replaceable: Mapping[str, type]) -> dict[str, Any]:
    for key, value in replacement.items():
        if key not in replaceable or not isinstance(value, replaceable[key]):
            raise Unfit(Phrase("plugin_replaceable", names=", ".join(replaceable)))
    return dict(replacement)
