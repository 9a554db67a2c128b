"""What some servers of chat completions want back with a reply, word for word.

OpenRouter's `reasoning_details` hold the signed thoughts of models that refuse to go on without them; Gemini puts such
a signature into the `extra_content` of a call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from acpagent.core.model import Kept

_GROWING = ("text", "summary", "data")  # what comes in pieces


class Keeping:
    """Gathers it while an answer is read."""

    def __init__(self) -> None:
        self._details: list[dict[str, Any]] = []
        self._extras: dict[str, Any] = {}

    def take_details(self, pieces: Any) -> None:
        for piece in pieces if isinstance(pieces, list) else ():
            if not isinstance(piece, dict):
                continue
            last = self._details[-1] if self._details else None
            if last is None or any(last.get(key) != piece.get(key) for key in ("type", "index")):
                self._details.append(dict(piece))
            else:
                _extend(last, piece)

    def take_extra(self, number: int, extra: Any) -> None:
        if isinstance(extra, dict) and extra:
            self._extras[str(number)] = extra

    def end(self) -> list[Kept]:
        if not (self._details or self._extras):
            return []
        return [Kept(json.dumps({"details": self._details, "extras": self._extras}, separators=(",", ":")))]


def _extend(whole: dict[str, Any], piece: Mapping[str, Any]) -> None:
    for key, value in piece.items():
        if key in _GROWING and isinstance(value, str) and isinstance(whole.get(key), str):
            whole[key] += value
        elif value is not None:
            whole[key] = value


def read(kept: str) -> tuple[list[Any], dict[str, Any]]:
    """The `reasoning_details` of a reply, and the `extra_content` of its calls by their number."""
    try:
        value = json.loads(kept) if kept else {}
        return value.get("details", []), value.get("extras", {})
    except (ValueError, AttributeError):
        return [], {}
