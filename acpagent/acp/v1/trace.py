"""The trace of a connection: every line both ways, with secrets and long values taken out (`ACPAGENT_TRACE=FILE`)."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable
from typing import Any

from acpagent.config import redaction
from acpagent.config.redaction import Current

_SECRET_KEYS = frozenset({"env", "headers", "data", "blob", "authorization"})
_LONGEST = 2000
_MOST_SAID = 64 * 1024
# The command that stores secrets, as a text and as a command of its own, of which these are the keys of its words.
_SECRET_WORDS = re.compile(r"(\s*/mcp\s+secret\s).*", re.DOTALL | re.IGNORECASE)
_WORDS = frozenset({"args", "arguments"})
_CHUNKS = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})


class Trace:
    """Owns its file, written under one leaf lock by the reader and the writer thread. Mode 0600.

    What is said in pieces is written when all of it was said, since half of a secret looks like none: `_said` is that
    of each session, by message; `_asked` says of which session a request is, whose answer ends all that.
    """

    def __init__(self, path: str, home: str) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._file = os.fdopen(descriptor, "w", encoding="utf-8")
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._known = Current(home, lambda home: redaction.known(home, named=True))
        self._said: dict[str, dict[tuple[str, Any], list[str]]] = {}
        self._asked: dict[str, str] = {}

    def __call__(self, direction: str, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._write({"to": direction, "message": f"not JSON, {len(line)} bytes"})
            return
        hide = self._known.secrets.strictly
        with self._lock:
            if isinstance(message, dict):
                message = self._followed(message, hide)
            try:
                shown = redact(message, hide)
            except RecursionError:
                shown = f"nested too deeply, {len(line)} bytes"
            self._put({"to": direction, "message": shown})

    def machine(self, session_id: str, event: str, state: str) -> None:
        """An event of a session's machine, and the state it led to."""
        self._write({"session": session_id, "event": event, "state": state})

    def _followed(self, message: dict[str, Any], hide: Callable[[str], str]) -> dict[str, Any]:
        """The message, without what is only a piece of something said."""
        params = _object(message.get("params"))
        session, id = params.get("sessionId"), json.dumps(message.get("id"))
        if "id" in message and "method" in message and isinstance(session, str):
            self._asked[id] = session
        if "method" not in message:
            self._end(self._asked.pop(id, ""), hide)
        update = _object(params.get("update"))
        content, kind = _object(update.get("content")), update.get("sessionUpdate")
        text = content.get("text")
        if not isinstance(session, str) or kind not in _CHUNKS or not isinstance(text, str):
            return message
        if sum(len(piece) for pieces in self._said.get(session, {}).values() for piece in pieces) > _MOST_SAID:
            self._end(session, hide)
        self._said.setdefault(session, {}).setdefault((kind, update.get("messageId")), []).append(text)
        short = {**update, "content": {**content, "text": f"[{len(text)} characters]"}}
        return {**message, "params": {**params, "update": short}}

    def _end(self, session: str, hide: Callable[[str], str]) -> None:
        """Write what a session has said."""
        for (kind, message_id), pieces in self._said.pop(session, {}).items():
            self._put({"session": session, "messageId": message_id, kind: redact("".join(pieces), hide)})

    def _write(self, fields: dict[str, Any]) -> None:
        with self._lock:
            self._put(fields)

    def _put(self, fields: dict[str, Any]) -> None:
        entry = {"at": round(time.monotonic() - self._began, 4), **fields}
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def redact(value: Any, hide: Callable[[str], str]) -> Any:
    """A copy without what may be secret: environments, headers, binary data, secrets that a command is given, what
    `hide` hides; long texts are cut."""
    if isinstance(value, dict):
        return {hide(key): "[redacted]" if _is_secret(key, item) else redact(item, hide) for key, item in value.items()}
    if isinstance(value, list):
        return [redact(item, hide) for item in value]
    if isinstance(value, str):
        value = hide(_SECRET_WORDS.sub(r"\1[redacted]", value))
        if len(value) > _LONGEST:
            return f"{value[:_LONGEST]}[{len(value) - _LONGEST} characters more]"
    return value


def _is_secret(key: str, item: Any) -> bool:
    key = key.lower()
    if key in _SECRET_KEYS:
        return True
    if not isinstance(item, str):
        return False
    return redaction.is_secret_name(key) or (key in _WORDS and item.lower().lstrip().startswith("secret"))
