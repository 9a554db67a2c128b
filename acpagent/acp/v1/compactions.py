"""Summaries of a conversation: structured for clients that offer to show them, one line for all others, never both."""

from __future__ import annotations

from typing import Any

from acpagent.core import catalogue
from acpagent.core.events import CompactionChanged, SummaryChunk

Update = dict[str, Any]


def render(event: CompactionChanged, structured: bool, language: str) -> list[Update]:
    """The updates for a step of a compaction (COMP-01, COMP-02)."""
    if structured:
        return [_update(event)]
    if event.status != "completed":
        return []
    text = catalogue.say(f"compacted_{event.trigger}", {"before": event.before, "after": event.after}, language)
    return [
        {
            "sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": f"{text}\n\n"},
            "messageId": event.compaction_id,
            "_meta": _meta(event),
        }
    ]


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
    facts: Update = {"checkpointId": event.compaction_id, "status": event.status, "trigger": event.trigger}
    if event.status == "completed":
        facts |= {
            "effectiveTokensBefore": event.before,
            "estimatedTokensAfter": event.after,
            "reclaimedTokens": max(event.before - event.after, 0),
            "strategy": "portable" if event.by_model else "deterministic",
        }
    return {"soba": {"compaction": facts}}
