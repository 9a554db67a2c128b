"""The JSON-RPC envelope: one line to one message, one message to one line."""

from __future__ import annotations

import json

from acpagent.wire.codes import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Request:
    """Wants exactly one answer. `params` is None when absent or null (RPC-23), else whatever was sent."""

    __slots__ = ("id", "method", "params")

    def __init__(self, id: Any, method: str, params: Any) -> None:
        self.id = id
        self.method = method
        self.params = params


class Notification:
    """Wants no answer, not even when it is wrong (RPC-10)."""

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: Any) -> None:
        self.method = method
        self.params = params


class Response:
    """Answers a request of ours. `error` is None, or a dict with an int `code` and a str `message`."""

    __slots__ = ("error", "id", "result")

    def __init__(self, id: Any, result: Any, error: dict[str, Any] | None) -> None:
        self.id = id
        self.result = result
        self.error = error


class Malformed:
    """No message; to be answered with this error and a null id (RPC-04, RPC-05)."""

    __slots__ = ("code", "message")

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        self.message = message


def parse(line: bytes) -> Request | Notification | Response | Malformed | None:
    """Read one line. None is a response that answers nothing and is to be ignored (RPC-05, RPC-18)."""
    try:
        # Decoded here, strictly: `json` alone guesses encodings and lets lone surrogates in (TRN-20).
        value = _decode(line.decode("utf-8"))
    except UnicodeDecodeError:
        return Malformed(PARSE_ERROR, "the line is not valid UTF-8")
    except ValueError:
        return Malformed(PARSE_ERROR, "the line is not valid JSON")
    except RecursionError:
        return Malformed(PARSE_ERROR, "the line is nested too deeply")
    if isinstance(value, dict):
        return _envelope(value)
    if isinstance(value, list):
        return Malformed(INVALID_REQUEST, "batches are not supported")  # RPC-06: one answer, none executed
    return Malformed(INVALID_REQUEST, "a message must be an object")


def encode(message: dict[str, Any]) -> bytes:
    """One line of UTF-8 with its newline.

    No raw line break of any alphabet is inside (TRN-02: U+0085, U+2028 and U+2029 leave as escapes),
    and a lone surrogate leaves as U+FFFD (TRN-20). Raises `ValueError` for NaN and infinities,
    `TypeError` for what JSON cannot say.
    """
    text = _encode(message)
    if text.isascii():
        return (text + "\n").encode("ascii")
    for raw, escaped in _LINE_BREAKS:
        text = text.replace(raw, escaped)
    try:
        return (text + "\n").encode("utf-8")
    except UnicodeEncodeError:
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return (whole + "\n").encode("utf-8")


def _envelope(value: dict[str, Any]) -> Request | Notification | Response | Malformed | None:
    if "method" not in value and ("id" in value or "result" in value or "error" in value):
        return _response(value)
    if value.get("jsonrpc") != "2.0":
        return Malformed(INVALID_REQUEST, 'jsonrpc: must be "2.0"')
    method = value.get("method")
    if not isinstance(method, str):
        return Malformed(INVALID_REQUEST, "method: must be a string")
    params = value.get("params")
    if "id" not in value:
        return Notification(method, params)
    if not _is_id(value["id"]):
        return Malformed(INVALID_REQUEST, "id: must be a string, a whole number or null")
    return Request(value["id"], method, params)  # RPC-03: a null id is a request all the same


def _response(value: dict[str, Any]) -> Response | None:
    """An answer is never answered with an error; a malformed one fails the call it is for (RPC-20)."""
    if "id" not in value or ("result" not in value and "error" not in value):
        return None
    error = value.get("error")
    if error is None and "result" in value:
        return Response(value["id"], value["result"], None)
    if value.get("result") is not None or not _is_error(error):
        error = {"code": INTERNAL_ERROR, "message": "the peer's response is malformed"}
    return Response(value["id"], None, error)


def _is_id(value: object) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return value is None or (isinstance(value, int | str) and not isinstance(value, bool))


def _is_error(value: object) -> bool:
    if not isinstance(value, dict) or isinstance(value.get("code"), bool):
        return False
    return isinstance(value.get("code"), int) and isinstance(value.get("message"), str)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError("number out of range")  # could not be sent on: JSON has no infinity
    return number


_LINE_BREAKS = (("\x85", "\\u0085"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"))
_decode = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse_constant).decode
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")).encode
