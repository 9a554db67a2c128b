"""The trace of a connection: every line both ways, with secrets and long values taken out (`ACPAGENT_TRACE=FILE`)."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from typing import Any

_SECRET_KEYS = frozenset({"env", "headers", "data", "blob", "authorization"})
_LONGEST = 2000
# The command that stores secrets, as a text and as a command of its own, of which these are the keys of its words.
_SECRET_WORDS = re.compile(r"(\s*/mcp\s+secret\s).*", re.DOTALL | re.IGNORECASE)
_WORDS = frozenset({"args", "arguments"})


class Trace:
    """Owns its file, written under one leaf lock by the reader and the writer thread. Mode 0600."""

    def __init__(self, path: str) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._file = os.fdopen(descriptor, "w", encoding="utf-8")
        self._lock = threading.Lock()
        self._began = time.monotonic()

    def __call__(self, direction: str, line: bytes) -> None:
        try:
            shown = redact(json.loads(line))
        except (ValueError, RecursionError):
            shown = f"not JSON, {len(line)} bytes"
        self._write({"to": direction, "message": shown})

    def machine(self, session_id: str, event: str, state: str) -> None:
        """An event of a session's machine, and the state it led to."""
        self._write({"session": session_id, "event": event, "state": state})

    def _write(self, fields: dict[str, Any]) -> None:
        entry = {"at": round(time.monotonic() - self._began, 4), **fields}
        with self._lock:
            self._file.write(json.dumps(entry) + "\n")
            self._file.flush()


def redact(value: Any) -> Any:
    """A copy without what may be secret: environments, headers, binary data, secrets that a command is given; long
    texts are cut."""
    if isinstance(value, dict):
        return {key: "[redacted]" if _is_secret(key, item) else redact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [redact(item) for item in value]
    if isinstance(value, str):
        value = _SECRET_WORDS.sub(r"\1[redacted]", value)
        if len(value) > _LONGEST:
            return f"{value[:_LONGEST]}[{len(value) - _LONGEST} characters more]"
    return value


def _is_secret(key: str, item: Any) -> bool:
    key = key.lower()
    return key in _SECRET_KEYS or (
        key in _WORDS and isinstance(item, str) and item.lower().lstrip().startswith("secret")
    )
