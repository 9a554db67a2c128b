"""What is said between acpagent and a plugin's program: the methods, their shapes, and how it goes wrong."""

from __future__ import annotations

from typing import Any

from acpagent.core.catalogue import Phrase
from acpagent.core.faults import TheirFault
from acpagent.extensions.manifest import SCHEMA
from acpagent.wire import codes
from acpagent.wire.schema import check_document

INITIALIZE, INITIALIZED, SHUTDOWN = "initialize", "initialized", "shutdown"
INTERCEPT, EVENT = "intercept", "event"
ACTION, SUBMIT = "ui/action", "ui/submit"
CALL, CANCEL = "tool/call", "tool/cancel"
PUBLISH, REQUEST = "host/ui/publish", "host/ui/request"

FRAME_BYTES = 8 * 1024 * 1024
# The code of errors of our own; `data.reason` says which.
DOMAIN_ERROR = -32000


class SidecarFault(Exception):
    """A program did not do what it was asked to: `reason` for a program to read, the text for a person.

    stopped, timeout, refused (it answered with an error), invalid_answer, frame_too_large.
    """

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


def fault(reason: str, text: str, code: int = DOMAIN_ERROR) -> TheirFault:
    """What a program's request is refused with."""
    return TheirFault(code, text, {"reason": reason})


def checked(method: str, params: Any) -> dict[str, Any]:
    """The params of a program's request. Raises `TheirFault`."""
    wrong = check_document(SCHEMA, params, method)
    if wrong:
        told = f"params.{wrong[0]}" if wrong[0].path else f"params: {wrong[0].text}"
        raise fault("invalid_params", told, codes.INVALID_PARAMS)
    result: dict[str, Any] = params
    return result


def answered(method: str, result: Any) -> dict[str, Any]:
    """A program's answer. Raises `SidecarFault`."""
    wrong = check_document(SCHEMA, result, f"{method}.result")
    if wrong:
        told = str(wrong[0]) if wrong[0].path else wrong[0].text
        raise SidecarFault("invalid_answer", Phrase("program_misfit", method=method, wrong=told))
    checked_result: dict[str, Any] = result
    return checked_result
