"""What plugins show: structured for clients that asked for it, as a message for all others, never both."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from acpagent.acp.v1.initialize import SURFACE, VENDOR
from acpagent.core.catalogue import say
from acpagent.core.events import Surface

Update = dict[str, Any]

_UPDATE = "_reasonix.io/extension_surface"
# What plugins call how serious something is -> what acpagent does.
_LEVELS = {"warn": "warning", "error": "error"}


class Surfaces:
    """One per session. It remembers what each surface said last, so that a message is not said again."""

    def __init__(self, address: Callable[[], str], structured: Callable[[], bool], language: Callable[[], str]) -> None:
        self._language = language
        self._address = address
        self._structured = structured
        self._said: dict[tuple[str, str], str] = {}

    def render(self, event: Surface) -> list[Update]:
        if self._structured():
            return [self._update(event)]
        text = _TEXTS[event.kind](event.plugin, event.payload)
        level = _LEVELS.get(event.payload.get("severity", ""), "info")
        if text and event.kind in _GRADED:
            text = say(f"level_{level}", {}, self._language()) + text
        key = (event.plugin, event.surface)
        if not text or (event.kind != "notification" and self._said.get(key) == text):
            return []
        self._said[key] = text
        return [
            {
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": f"{text}\n\n"},
                "messageId": f"surface_{uuid.uuid4().hex}",
            }
        ]

    def _update(self, event: Surface) -> Update:
        shown: Update = {
            "pluginId": event.plugin,
            "surfaceId": event.surface,
            "sessionId": self._address(),
            "generation": event.generation,
            "kind": event.kind,
            event.kind: dict(event.payload),
        }
        if event.instance:
            shown["formInstanceId"] = event.instance
        return {"sessionUpdate": _UPDATE, "_meta": {VENDOR: {SURFACE: shown}}}


def _status(plugin: str, payload: Mapping[str, Any]) -> str:
    parts = [payload["label"], payload.get("detail", "")]
    return f"[{plugin}] {': '.join(filter(None, parts))}{_percent(payload)}"


def _card(plugin: str, payload: Mapping[str, Any]) -> str:
    body = payload.get("markdown") or payload.get("text", "")
    fields = "\n".join(f"- {one['key']}: {one['value']}" for one in payload.get("fields", ()))
    offered = "\n".join(f"- `/{plugin}:{one['actionId']}`: {one['label']}" for one in payload.get("actions", ()))
    parts = [f"**{payload['title']}**{_percent(payload)}", body, fields, offered]
    return "\n\n".join(filter(None, parts))


def _notification(plugin: str, payload: Mapping[str, Any]) -> str:
    return "\n\n".join(filter(None, [f"[{plugin}] {payload['title']}", payload.get("body", "")]))


def _form(plugin: str, payload: Mapping[str, Any]) -> str:
    """Nothing: the person is asked instead."""
    return ""


def _percent(payload: Mapping[str, Any]) -> str:
    return f" ({payload['progress']:.0%})" if "progress" in payload else ""


# What begins with how serious it is.
_GRADED = frozenset({"status", "notification"})
_TEXTS: Mapping[str, Callable[[str, Mapping[str, Any]], str]] = {
    "status": _status,
    "card": _card,
    "notification": _notification,
    "form": _form,
}
