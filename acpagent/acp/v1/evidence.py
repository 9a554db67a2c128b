"""The hand-off at the end of a turn: the evidence as data beside a few lines for the person, which nobody parses."""

from __future__ import annotations

from typing import Any

from acpagent.core import catalogue, evidence
from acpagent.core.events import EvidenceReady
from acpagent.core.evidence import Bundle, ChangedFile, CheckRun

SOURCE = "assistant_handoff"
_MOST_FILES, _MOST_CHECKS = 8, 6


def handoff(event: EvidenceReady, language: str) -> dict[str, Any]:
    """The update for the evidence of a turn."""
    found = {"source": SOURCE, **evidence.to_data(event.bundle), "seal": event.seal}
    return {
        "sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": f"\n\n{text(event.bundle, language)}\n"},
        "messageId": event.message_id,
        "_meta": {"soba": {"evidence": found}},
    }


def text(bundle: Bundle, language: str) -> str:
    """The evidence in a few lines."""

    def say(code: str, **params: Any) -> str:
        return catalogue.say(code, params, language)

    lines = [say("evidence_head", status=[f"evidence_{bundle.status}"])]
    if bundle.changed_files:
        names = [_file(file, say) for file in bundle.changed_files[:_MOST_FILES]]
        more = len(bundle.changed_files) - _MOST_FILES
        names += [say("evidence_more", count=more)] if more > 0 else []
        totals = {"count": bundle.diff.file_count, "added": bundle.diff.added, "removed": bundle.diff.removed}
        lines.append(say("evidence_files", **totals, files=", ".join(names)))
    checks = [_check(check, say) for check in bundle.checks[:_MOST_CHECKS]]
    lines.append(say("evidence_checks", checks="; ".join(checks)) if checks else say("evidence_no_checks"))
    risks = [say(risk.message) for risk in bundle.risks if risk.severity != "info"]
    if risks:
        lines.append(say("evidence_risks", risks="; ".join(dict.fromkeys(risks))))
    return "\n".join([lines[0], *(f"- {line}" for line in lines[1:])])


def _file(file: ChangedFile, say: Any) -> str:
    how = "binary" if file.binary else "uncounted" if file.added is None else "counted"
    lines = say(f"evidence_lines_{how}", added=file.added, removed=file.removed)
    if file.old_path is not None:
        return str(say("evidence_renamed", old=file.old_path, path=file.path, lines=lines))
    return str(say(f"evidence_{file.operation}", path=file.path, lines=lines))


def _check(check: CheckRun, say: Any) -> str:
    code = f"evidence_check_{check.verification_kind or 'missing'}"
    label = say(code) if catalogue.knows(code) else check.label
    told = say(f"evidence_check_{check.status}", label=label)
    told = told if check.command is None else f"{told} (`{check.command}`)"
    return told if check.reason in (None, "check_missing") else f"{told}: {say(str(check.reason))}"
