"""/permissions: what may happen without a question, and why."""

from __future__ import annotations

from collections.abc import Iterable

from acpagent.core import bounds
from acpagent.core.faults import Fault
from acpagent.core.rules import Rule
from acpagent.runtime.session.services import CommandDesk, SessionGate

DESCRIPTION = "Show or set what may happen without asking"
HINT = "ask | repo | full | clear"

# What people write -> the approval it stands for.
_APPROVALS = {"ask": "ask", "repo": "auto", "full": "yolo", "auto": "auto", "yolo": "yolo"}
_MEANINGS = {
    "ask": "Edits, commands that do more than read, and what leaves the workspace are asked about.",
    "auto": "Edits and commands inside the workspace run; what reaches beyond it is asked about.",
    "yolo": "Everything runs unasked but what a deny rule forbids, and what a person decides each time.",
}
_HOW = (
    "Change it with `/permissions ask`, `/permissions repo` (auto: free inside the workspace), `/permissions full`"
    " (yolo) or `/permissions clear` (forget what was granted, and ask)."
)
_RULE_LETTERS = 300


def answer(words: str, desk: CommandDesk) -> str:
    """Show what is in force, or set it first. Nothing of it is remembered beyond the session but the approval."""
    wanted = words.strip().lower()
    if not wanted:
        return _report(desk)
    if wanted == "clear":
        return _clear(desk)
    if wanted not in _APPROVALS:
        return f"There is no `/permissions {bounds.one_line(wanted, 40)}`. {_HOW}"
    desk.set_controls({"tool_approval": _APPROVALS[wanted]})
    return _report(desk)


def _clear(desk: CommandDesk) -> str:
    desk.set_controls({"tool_approval": "ask"})
    try:
        desk.gate.clear()
    except Fault as fault:
        return f"What was granted is forgotten here, but it is still stored: {fault.message}."
    return f"What was granted for this session and this repository is forgotten.\n\n{_report(desk)}"


def _report(desk: CommandDesk) -> str:
    approval = desk.controls["tool_approval"]
    parts = [f"**Approval:** `{approval}`. {_MEANINGS[approval]}"]
    if desk.gate.read_only:
        parts.append("**Plan mode** is on: whatever is said here, nothing is changed until it ends.")
    return "\n\n".join([*parts, *_lists(desk.gate), _HOW])


def _lists(gate: SessionGate) -> Iterable[str]:
    rules = gate.rules
    written = [f"- {kind} {_shown(rule)}" for kind in ("deny", "ask", "allow") for rule in getattr(rules, kind)]
    yield "\n".join(["**Rules of your config.yaml**", "", *(written or ["- none"])])
    for title, granted in (("this session", gate.session_rules), ("this repository", gate.repository_rules)):
        lines = [f"- allow {_shown(rule)}" for rule in granted]
        yield "\n".join([f"**Granted for {title}**", "", *(lines or ["- none"])])


def _shown(rule: Rule) -> str:
    """A rule as code in Markdown, whatever is in it."""
    text = bounds.asked_line(rule.text, _RULE_LETTERS)
    fence = "``" if "`" in text else "`"
    return f"{fence} {text} {fence}" if fence == "``" else f"`{text}`"
