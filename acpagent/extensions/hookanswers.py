"""What a hook says, by its exit code and what it printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from acpagent.core import bounds
from acpagent.core.bounds import one_line
from acpagent.core.catalogue import Phrase
from acpagent.core.events import Notice
from acpagent.core.process import Result
from acpagent.extensions.happening import camel
from acpagent.extensions.hooks import Hook

CONTEXT_BYTES = 16_384
REASON_BYTES = 4_000
_REMARK_LETTERS = 400
REFUSES = 2  # the exit code that refuses

_NO = frozenset({"block", "deny"})
_YES = frozenset({"approve", "allow", "defer"})  # which loosen nothing: the gate has judged already
# Events whose context goes with the call that they are about.
_OF_CALLS = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What hooks say of an event. `refusal`: why it must not be; `question`: why the person is to be asked first;
    `context` is for the model, `notices` for the person."""

    refusal: str | None = None
    question: str | None = None
    context: str = ""
    notices: tuple[Notice, ...] = ()

    def __add__(self, later: Answer) -> Answer:
        return Answer(
            self.refusal if self.refusal is not None else later.refusal,
            self.question if self.question is not None else later.question,
            "\n".join(part for part in (self.context, later.context) if part),
            (*self.notices, *later.notices),
        )


NOTHING = Answer()


def notice(hook: Hook, code: str, level: Any = "warning", **params: Any) -> Notice:
    """Something to say to the person of a hook."""
    return Notice(level, code, {"hook": hook.label, "event": hook.event, **params})


def read(hook: Hook, result: Result, said: str, complained: str) -> Answer:
    """What a hook that ended means. `said` is its stdout, `complained` its stderr, both clean and bounded."""
    if result.timed_out:
        return _late(hook)
    if result.exit_code == 0:
        return _agreed(hook, said.strip())
    complaint = complained.strip() or said.strip()
    if result.exit_code == REFUSES and (hook.kind.blocks or hook.event in _OF_CALLS):
        return _refused(hook, complaint)
    how = Phrase("hook_signal", signal=result.signal) if result.signal else Phrase("hook_unended")
    if result.exit_code is not None:
        how = Phrase("hook_exit", code=result.exit_code)
    first = one_line(complaint, _REMARK_LETTERS)
    return Answer(
        notices=(notice(hook, "hook_failed", cause=Phrase("cause_said", cause=how, said=first) if first else how),)
    )


def _late(hook: Hook) -> Answer:
    told = notice(hook, "hook_timed_out", seconds=f"{hook.seconds:g}")
    if hook.kind.guards:
        return Answer(Phrase("hook_no_answer", hook=hook.label, seconds=f"{hook.seconds:g}"), notices=(told,))
    return Answer(notices=(told,))


def _refused(hook: Hook, reason: str) -> Answer:
    """A no; of what has happened already, a word on it."""
    reason = bounds.cut(reason, REASON_BYTES).text or Phrase("hook_no_reason", hook=hook.label)
    return Answer(reason) if hook.kind.blocks else Answer(context=reason)


def _agreed(hook: Hook, said: str) -> Answer:
    if said.startswith("{"):
        try:
            written = json.loads(said)
        except (ValueError, RecursionError):
            return Answer(notices=(notice(hook, "hook_garbled"),))
        return _decided(hook, written)
    return Answer(context=bounds.cut(said, CONTEXT_BYTES).text) if hook.kind.hears else NOTHING


def _decided(hook: Hook, written: dict[str, Any]) -> Answer:
    """The answer as JSON, in any of the forms there are."""
    own = written.get("hookSpecificOutput")
    own = own if isinstance(own, dict) else {}
    inner = own.get("decision")
    inner = inner if isinstance(inner, dict) else {}
    decision = _first(own.get("permissionDecision"), inner.get("behavior"), written.get("decision"))
    reasons = (own.get("permissionDecisionReason"), inner.get("message"), written.get("reason"))
    reason = _first(*reasons, written.get(camel("stop_reason")))
    answer = Answer(context=_context(hook, own, written), notices=tuple(_notices(hook, written, decision)))
    ends = written.get("continue") is False and hook.event != "Stop"
    if decision in _NO or (ends and hook.kind.blocks):
        return answer + _refused(hook, reason) if _counts(hook) else answer
    if decision == "ask" and hook.event == "PreToolUse":
        return replace(answer, question=one_line(reason, _REMARK_LETTERS) or Phrase("hook_asks", hook=hook.label))
    return answer


def _counts(hook: Hook) -> bool:
    return hook.kind.blocks or hook.event in _OF_CALLS


def _context(hook: Hook, own: dict[str, Any], written: dict[str, Any]) -> str:
    if not (hook.kind.hears or hook.event in _OF_CALLS):
        return ""
    text = _first(own.get("additionalContext"), written.get("additionalContext"))
    return bounds.cut(bounds.clean(text), CONTEXT_BYTES).text


def _notices(hook: Hook, written: dict[str, Any], decision: str) -> Iterator[Notice]:
    message = _first(written.get("systemMessage"))
    if message:
        yield notice(hook, "hook_says", "info", text=bounds.cut(bounds.clean(message), REASON_BYTES).text)
    if decision and decision not in _NO | _YES | {"ask"}:
        yield notice(hook, "hook_garbled")


def _first(*values: Any) -> str:
    """The first that is a text with something in it."""
    return next((value for value in values if isinstance(value, str) and value.strip()), "")
