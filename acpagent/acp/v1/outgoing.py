"""Checking what we send, where it is made, so that a traceback names the culprit (`ACPAGENT_VALIDATE=all`)."""

from __future__ import annotations

from typing import Any

from acpagent.core.faults import OurFault
from acpagent.wire import schema


def check(message: dict[str, Any], method: str | None) -> None:
    """`method` is the one that a response answers. Raises `OurFault` naming what is wrong, every object closed."""
    bundle = schema.bundle()
    try:
        if "method" in message:
            method = message["method"]
            problems = bundle.check_params("client", message["method"], message.get("params"))
        elif "result" in message and method is not None:
            problems = bundle.check_result("agent", method, message["result"])
        else:
            return
    except LookupError:
        raise OurFault(f"outgoing {method}: the schema has no such method") from None
    if problems:
        first = problems[0]
        raise OurFault(f"outgoing {method}: {first.path}: {first.text}")
