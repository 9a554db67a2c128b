"""/permissions: what may happen without a question, and why."""

from __future__ import annotations

from collections.abc import Iterable

from acpagent.core import bounds
from acpagent.core.faults import Fault
from acpagent.core.rules import Rule
from acpagent.runtime.commands.arguments import Refused, split
from acpagent.runtime.session.services import CommandDesk

# What people write -> the approval it stands for.
_APPROVALS = {"ask": "ask", "repo": "auto", "full": "yolo", "auto": "auto", "yolo": "yolo"}
_RULE_LETTERS = 300


def answer(words: str, desk: CommandDesk) -> str:
    """Show what is in force, or set it first. Nothing of it is remembered beyond the session but the approval. Raises
    `Refused`."""
    wanted = " ".join(split(words)).lower()
    if not wanted:
        return _report(desk)
    if wanted == "clear":
        return _clear(desk)
    if wanted not in _APPROVALS:
        raise Refused("permissions_unknown", word=bounds.one_line(wanted, 40))
    desk.set_controls({"tool_approval": _APPROVALS[wanted]})
    return _report(desk)


def _clear(desk: CommandDesk) -> str:
    desk.set_controls({"tool_approval": "ask"})
    try:
        desk.gate.clear()
    except Fault as fault:
        return desk.say("permissions_still_stored", cause=fault.message)
    return f"{desk.say('permissions_cleared')}\n\n{_report(desk)}"


def _report(desk: CommandDesk) -> str:
    approval = desk.controls["tool_approval"]
    meaning = desk.say(f"permissions_{approval}")
    parts = [desk.say("permissions_approval", approval=approval, meaning=meaning)]
    if desk.gate.read_only:
        parts.append(desk.say("permissions_planning"))
    return "\n\n".join([*parts, *_lists(desk), desk.say("permissions_how")])


def _lists(desk: CommandDesk) -> Iterable[str]:
    gate, none = desk.gate, f"- {desk.say('permissions_none')}"
    rules = gate.rules
    written = [f"- {kind} {_shown(rule)}" for kind in ("deny", "ask", "allow") for rule in getattr(rules, kind)]
    yield "\n".join([desk.say("permissions_written"), "", *(written or [none])])
    for code, granted in (("session", gate.session_rules), ("repository", gate.repository_rules)):
        lines = [f"- allow {_shown(rule)}" for rule in granted]
        yield "\n".join([desk.say(f"permissions_{code}"), "", *(lines or [none])])


def _shown(rule: Rule) -> str:
    """A rule as code in Markdown, whatever is in it."""
    text = bounds.asked_line(rule.text, _RULE_LETTERS)
    fence = "``" if "`" in text else "`"
    return f"{fence} {text} {fence}" if fence == "``" else f"`{text}`"
