"""How servers tell of an error, in a body or inside a begun answer. Both APIs do it alike."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class Told(Exception):
    """The server told of an error: its words, its code (may be empty), an HTTP status (0 where unknown)."""

    def __init__(self, said: str, code: str = "", status: int = 0) -> None:
        super().__init__(said)
        self.said = said
        self.code = code
        self.status = status


_STATUS_OF_CODE = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "insufficient_quota": 429,
    "overloaded_error": 529,
    "server_error": 500,
    "api_error": 500,
    "internal_error": 500,
    "timeout_error": 504,
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "exceed_context_size_error": 400,
    "request_too_large": 413,
    "not_found_error": 404,
    "billing_error": 402,
    "authentication_error": 401,
    "permission_error": 403,
    "invalid_api_key": 401,
}


def read_error(value: Any) -> Told | None:
    """The error that a decoded body or payload tells of, None if it tells of none."""
    if isinstance(value, list) and len(value) == 1:  # one server wraps its errors so
        value = value[0]
    if not isinstance(value, Mapping):
        return None
    error = value.get("error") or value.get("detail") or (value.get("message") if "choices" not in value else None)
    if isinstance(error, Mapping):
        words = [str(error[key]) for key in ("code", "type") if isinstance(error.get(key), str)]
        said = _with_upstream(error)
        status = next((error[key] for key in ("code", "status") if _is_status(error.get(key))), 0)
        status = status or next((_STATUS_OF_CODE[word] for word in words if word in _STATUS_OF_CODE), 0)
        return Told(said if isinstance(said, str) else json.dumps(error), " ".join(words), status)
    if error:
        return Told(error if isinstance(error, str) else json.dumps(error))
    return None


def _with_upstream(error: Mapping[str, Any]) -> Any:
    """The error's words, with those of the server behind a router, which says no more than that there was one."""
    said, metadata = error.get("message"), error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    if not (isinstance(said, str) and isinstance(raw, str) and raw.strip()):
        return said
    try:
        told = read_error(json.loads(raw))
    except (ValueError, RecursionError):
        told = None
    return f"{said}: {told.said if told is not None else raw}"


def _is_status(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599
