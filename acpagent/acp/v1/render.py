"""Events as `session/update` payloads: a table from event type to function."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from acpagent.acp.v1 import compactions, evidence, options, surfaces
from acpagent.core import catalogue
from acpagent.core.blocks import Block, Image, Link, Resource, Text
from acpagent.core.events import (
    Chunk,
    CommandsChanged,
    CompactionChanged,
    ControlsChanged,
    Event,
    EvidenceReady,
    Notice,
    PlanChanged,
    SummaryChunk,
    Surface,
    TitleChanged,
    ToolChanged,
    UsageChanged,
)
from acpagent.core.toolcalls import Content, Diff, TerminalRef, ToolCall

Update = dict[str, Any]

_CHUNKS = {"user": "user_message_chunk", "assistant": "agent_message_chunk", "thought": "agent_thought_chunk"}
_PREVIEW = 500
# Facts of a call that clients are shown under `_meta.soba`, by their name there.
_FACTS = {
    "command": "command",
    "path": "path",
    "query": "query",
    "exit_code": "exitCode",
    "signal": "signalCode",
    "timed_out": "timedOut",
    "aborted": "aborted",
    "truncated": "truncated",
    "total_lines": "totalLines",
    "read_lines": "readLines",
    "start_line": "startLine",
    "end_line": "endLine",
    "entry_count": "entryCount",
    "match_count": "matchCount",
    "duration_ms": "durationMs",
    "plan_mode_blocked": "planModeBlocked",
}
_EVIDENCE_FACTS = ("command", "path", "query", "exitCode", "durationMs")
_PHASES = {"pending": "start", "in_progress": "start", "completed": "result", "failed": "result"}


class Renderer:
    """One per session: it remembers how each open call, the mode and what plugins show were last shown, to send only
    what differs (TOOL-07). `structured` says whether the client shows by itself what plugins publish."""

    def __init__(
        self,
        address: Callable[[], str] = lambda: "",
        structured: Callable[[], bool] = lambda: False,
        language: Callable[[], str] = lambda: catalogue.ENGLISH,
        compactions: Callable[[], bool] = lambda: False,
    ) -> None:
        self._compactions = compactions
        self._language = language
        self._surfaces = surfaces.Surfaces(address, structured, language)
        self._shown: dict[str, Update] = {}
        self._mode: str | None = None
        self._table: dict[type[Any], Callable[[Any], Update]] = {
            Chunk: lambda event: _chunk(event, self._language()),
            PlanChanged: _plan,
            UsageChanged: _usage,
            CommandsChanged: lambda event: _commands(event, self._language()),
            TitleChanged: _title,
            Notice: self._notice,
            EvidenceReady: lambda event: evidence.handoff(event, self._language()),
        }

    def render(self, event: Event) -> list[Update]:
        """The updates for an event; none for those that v1 does not show."""
        if isinstance(event, ControlsChanged):
            return self._controls(event)
        if isinstance(event, ToolChanged):
            return self._tool(event)
        if isinstance(event, CompactionChanged):
            return compactions.render(event, self._compactions(), self._language())
        if isinstance(event, SummaryChunk):
            return compactions.render_chunk(event, self._compactions())
        if isinstance(event, Surface):
            return self._surfaces.render(event)
        function = self._table.get(type(event))
        return [function(event)] if function else []

    def _controls(self, event: ControlsChanged) -> list[Update]:
        """Both selectors in step: the options always, the mode only when it is another (MODE-03, MODE-05)."""
        mode = event.controls.values["mode"]
        changed, self._mode = self._mode not in (None, mode), mode
        if not event.announce:
            return []
        listed: Update = {"sessionUpdate": "config_option_update", "configOptions": options.options(event.controls)}
        return [{"sessionUpdate": "current_mode_update", "currentModeId": mode}, listed] if changed else [listed]

    def _notice(self, event: Notice) -> Update:
        """Shown as a message of its own to every client, in the language that is spoken by now; correctness never hangs
        on it (NOTE-02)."""
        language = self._language()
        text = catalogue.say(f"level_{event.level}", {}, language) + catalogue.say(event.code, event.params, language)
        return {
            "sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": f"{text}\n\n"},
            "messageId": event.message_id or f"notice_{uuid.uuid4().hex}",
        }

    def _tool(self, event: ToolChanged) -> list[Update]:
        """What changed of a call. Its end is said once more by itself, without a status: that one is final. Of a call
        that is told when it is over there is nothing but its end."""
        call = event.call
        over = call.status in ("completed", "failed")
        fields = tool_fields(call, self._language())
        before = self._shown.get(call.id)
        ended = {"tool_name": call.name, "soba": _soba(call, "end")} if over else {}
        if over:
            self._shown.pop(call.id, None)
        else:
            self._shown[call.id] = fields
        if before is None:
            return [{"sessionUpdate": "tool_call", **fields, **({"_meta": ended} if over else {})}]
        changed = {key: value for key, value in fields.items() if before.get(key) != value}
        updates: list[Update] = [{"sessionUpdate": "tool_call_update", "toolCallId": call.id, **changed}]
        if over:
            updates.append({"sessionUpdate": "tool_call_update", "toolCallId": call.id, "_meta": ended})
        return updates


def _chunk(event: Chunk, language: str) -> Update:
    return {
        "sessionUpdate": _CHUNKS[event.role],
        "content": block(event.block, language),
        "messageId": event.message_id,
    }


def _plan(event: PlanChanged) -> Update:
    entries = [
        {"content": entry.content, "priority": entry.priority, "status": entry.status} for entry in event.entries
    ]
    return {"sessionUpdate": "plan", "entries": entries}


def _usage(event: UsageChanged) -> Update:
    update: Update = {"sessionUpdate": "usage_update", "used": event.used, "size": event.size}
    if event.cost is not None:
        update["cost"] = {"amount": round(event.cost, 6), "currency": event.currency}
    if event.estimated:
        update["_meta"] = {"acpagent": {"estimated": True}}
    return update


def _commands(event: CommandsChanged, language: str) -> Update:
    commands = []
    for command in event.commands:
        slashed = f"/{command.name}"
        usage = f"{slashed} {command.hint}" if command.hint else slashed
        about = catalogue.spoken(command.description, language)
        shown: Update = {"name": command.name, "description": about}
        if command.hint:
            shown["input"] = {"hint": command.hint}
        shown["_meta"] = {"soba": {"commandId": command.name, "slashCommand": slashed, "usage": usage}}
        commands.append(shown)
    return {"sessionUpdate": "available_commands_update", "availableCommands": commands}


def _title(event: TitleChanged) -> Update:
    update: Update = {"sessionUpdate": "session_info_update", "updatedAt": event.updated_at}
    if event.title:
        update["title"] = event.title
    return update


def tool_fields(call: ToolCall, language: str) -> Update:
    """A call's fields, the same for the first report, an update and a permission request. What is unknown is left
    out."""
    fields: Update = {
        "toolCallId": call.id,
        "title": catalogue.spoken(call.title, language),
        "kind": call.kind,
        "status": call.status,
        "content": [content(item, language) for item in call.content],
        "locations": [
            {"path": place.path} if place.line is None else {"path": place.path, "line": place.line}
            for place in call.locations
        ],
        "_meta": {"tool_name": call.name, "soba": _soba(call)},
    }
    if call.name:
        fields["name"] = call.name
    if call.raw_input is not None:
        fields["rawInput"] = call.raw_input
    if call.raw_output is not None:
        fields["rawOutput"] = call.raw_output
    return fields


def _soba(call: ToolCall, phase: str = "") -> Update:
    facts = {name: call.facts[key] for key, name in _FACTS.items() if key in call.facts}
    evidence: Update = {
        "source": "tool_lifecycle",
        "phase": phase or _PHASES[call.status],
        "toolName": call.name,
        "kind": call.kind,
        "status": "pending" if call.status == "in_progress" else call.status,
    }
    evidence |= {name: facts[name] for name in _EVIDENCE_FACTS if name in facts}
    preview = " ".join(" ".join(item.text.split()) for item in call.content if isinstance(item, Text))
    if evidence["phase"] != "start" and preview:
        evidence["outputPreview"] = preview if len(preview) <= _PREVIEW else preview[: _PREVIEW - 3] + "..."
    return {"toolName": call.name, "kind": call.kind, **facts, "evidence": evidence}


def content(item: Content, language: str) -> Update:
    """One item of a call's content, in its wrapper (TOOL-08)."""
    if isinstance(item, Diff):
        return {"type": "diff", "path": item.path, "oldText": item.old, "newText": item.new}
    if isinstance(item, TerminalRef):
        return {"type": "terminal", "terminalId": item.terminal_id}
    return {"type": "content", "content": block(item, language)}


def block(item: Block, language: str) -> Update:
    """A content block (CONT-01)."""
    if isinstance(item, Text):
        return {"type": "text", "text": catalogue.spoken(item.text, language)}
    if isinstance(item, Image):
        return _present({"type": "image", "data": item.data, "mimeType": item.media_type, "uri": item.uri})
    if isinstance(item, Link):
        link = {"type": "resource_link", "uri": item.uri, "name": item.name}
        return _present({**link, "mimeType": item.media_type, "size": item.size})
    return {"type": "resource", "resource": _resource(item)}


def _resource(item: Resource) -> Update:
    return _present({"uri": item.uri, "text": item.text, "blob": item.blob, "mimeType": item.media_type})


def _present(fields: Update) -> Update:
    return {key: value for key, value in fields.items() if value is not None}
