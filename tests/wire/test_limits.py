"""A connection with a limit of its own, which is told of lines that were no messages."""

from __future__ import annotations

import json
import os
import threading
import time

from acpagent.wire.driver import Driver
from acpagent.wire.messages import Notification, Request
from acpagent.wire.peer import Refusal


class Nobody:
    def on_request(self, request: Request) -> None: ...
    def on_notification(self, notification: Notification) -> None: ...
    def on_end(self, reason: str) -> None: ...


def test_lines_that_are_too_long_and_no_messages() -> None:
    inbound, their_output = os.pipe()
    their_input, outbound = os.pipe()
    refused: list[Refusal] = []
    both = threading.Event()

    def note(refusal: Refusal) -> None:
        refused.append(refusal)
        if len(refused) == 2:
            both.set()

    driver = Driver(inbound, outbound, Nobody(), name="test", limit=100, on_refusal=note)
    driver.start()
    os.write(their_output, b'{"x": "' + b"x" * 100 + b'"}\nhello\n')
    assert both.wait(60)
    os.close(their_output)
    assert driver.finish(time.monotonic() + 5)
    assert [refusal.oversize for refusal in refused] == [True, False]
    with open(their_input, "rb") as answers:
        told = [json.loads(line)["error"] for line in answers]
    assert [error["code"] for error in told] == [-32600, -32700]
    assert told[0]["message"] == "the line is longer than 100 bytes"
