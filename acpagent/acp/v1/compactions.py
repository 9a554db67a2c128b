"""Summaries of a conversation: structured for clients that offer to show them; for all others a thought while one is
written, and one line when it is there. Never both."""

from __future__ import annotations

from typing import Any

from acpagent.core import catalogue
from acpagent.core.events import CompactionChanged, SummaryChunk

Update = dict[str, Any]


def render(event: CompactionChanged, structured: bool, language: str) -> list[Update]:
    """The updates for a step of a compaction (COMP-01, COMP-02)."""
    if structured:
        return [_update(event)]
    if event.status == "in_progress":  # thoughts and messages share no id (MSG-02)
        said = _said("agent_thought_chunk", catalogue.say("compacting", {}, language), f"{event.compaction_id}_begun")
    elif event.status == "completed":
        text = catalogue.say(f"compacted_{event.trigger}", {"before": event.before, "after": event.after}, language)
        checkpoint = catalogue.say("compacted_checkpoint", {"id": event.compaction_id}, language)
        said = _said("agent_message_chunk", f"{text} {checkpoint}", event.compaction_id)
    else:
        return []
    return [{**said, "_meta": _meta(event)}]


def _said(kind: str, text: str, message_id: str) -> Update:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": f"{text}\n\n"}, "messageId": message_id}


def render_chunk(event: SummaryChunk, structured: bool) -> list[Update]:
    """What the summary has so far is appended to; the update at the end replaces it by the whole (COMP-02)."""
    if not structured:
        return []
    content = {"type": "text", "text": event.text}
    return [{"sessionUpdate": "compaction_summary_chunk", "compactionId": event.compaction_id, "content": content}]


def _update(event: CompactionChanged) -> Update:
    update: Update = {
        "sessionUpdate": "compaction_update",
        "compactionId": event.compaction_id,
        "status": event.status,
        "_meta": _meta(event),
    }
    if event.status == "completed":
        update["summary"] = [{"type": "text", "text": event.summary}]
    elif event.status == "failed":
        update["error"] = event.error
    return update


def _meta(event: CompactionChanged) -> Update:
    """The facts under the seed's name."""
    facts: Update = {"operationId": event.compaction_id, "status": event.status, "trigger": event.trigger}
    if event.status == "completed":
        facts |= {
            "checkpointId": event.compaction_id,
            "effectiveTokensBefore": event.before,
            "estimatedTokensAfter": event.after,
            "reclaimedTokens": max(event.before - event.after, 0),
            "strategy": "portable" if event.by_model else "deterministic",
        }
    return {"soba": {"compaction": facts}}
