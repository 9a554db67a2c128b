"""The check of what is sent, by itself and inside a driver."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from acpagent.wire.driver import Driver
from acpagent.wire.outgoing import InvalidMessage, check_message, outgoing_check
from acpagent.wire.schema import bundle
from tests.wire.echo import Echo
from tests.wire.ends import Lines
from tests.wire.samples import SESSION, update

CHUNK = update("agent_message_chunk", content={"type": "text", "text": "x"})


def message(**fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **fields}


def problems(sender: str, sent: Any, answered: str | None = None) -> list[str]:
    return [str(problem) for problem in check_message(bundle(), sender, sent, answered)]


@pytest.mark.parametrize(
    ("sender", "sent", "answered"),
    [
        ("agent", message(method="session/update", params=CHUNK), None),
        ("agent", message(id=1, result={"stopReason": "cancelled"}), "session/prompt"),
        ("agent", message(id=None, error={"code": -32700, "message": "no JSON"}), None),
        ("agent", message(id="a", error={"code": 7, "message": "x", "data": {"any": "thing"}}), "session/new"),
        ("agent", message(id=1, method="terminal/kill", params={**SESSION, "terminalId": "t"}), None),
        ("agent", message(method="$/cancel_request", params={"requestId": 1}), None),
        ("client", message(method="$/cancel_request", params={"requestId": 1}), None),
        ("client", message(id=1, method="logout"), None),
        ("client", message(id=1, method="_reasonix.io/session/reloadExtensions", params=SESSION), None),
    ],
)
def test_what_may_be_sent(sender: str, sent: dict[str, Any], answered: str | None) -> None:
    assert problems(sender, sent, answered) == []


@pytest.mark.parametrize(
    ("sender", "sent", "answered", "problem"),
    [
        ("agent", [], None, ": must be an object"),
        ("agent", {"method": "session/update", "params": CHUNK}, None, "jsonrpc: is required"),
        ("agent", message(method="session/update", params=CHUNK, extra=1), None, "extra: is not a known key"),
        ("agent", message(id=1, method="session/update", params=CHUNK), None, "id: a request has one"),
        ("agent", message(method="terminal/kill", params={}), None, "id: a request has one"),
        ("agent", message(id=1, method="session/prompt", params={}), None, "method: is none that the client has"),
        ("agent", message(method="_own/thing"), None, "method: is none that the client has"),
        ("client", message(id=1, method="logout", params=None), None, "params: must be left out rather than null"),
        ("agent", message(id=1, result={}), None, "id: answers no request"),
        ("agent", message(id=1.5, result={}), "logout", "id: must be"),
        ("agent", message(id=1, result=None), "logout", "result: must be an object"),
        ("agent", message(id=1, result={}), "_own/thing", "result: answers a method"),
        ("agent", message(result={}), "logout", "id: is required"),
        ("agent", message(id=1, result={}, error={"code": 1, "message": "x"}), "logout", "result: is not a known key"),
        ("agent", message(id=1, error={"code": "1", "message": "x"}), "logout", "error.code: must be"),
        ("agent", message(id=1, error={"code": 1, "message": "x", "more": 1}), "logout", "error.more: is not a known"),
    ],
)
def test_what_may_not(sender: str, sent: Any, answered: str | None, problem: str) -> None:
    assert problems(sender, sent, answered)[0].startswith(problem)


def test_a_driver_raises_where_the_message_is_made(capfd: pytest.CaptureFixture[str]) -> None:
    (inner_read, outer_write), (outer_read, inner_write) = os.pipe(), os.pipe()
    echo, peer = Echo(), Lines(outer_read, outer_write)
    echo.driver = Driver(inner_read, inner_write, echo, name="agent", check=outgoing_check("agent"))
    with pytest.raises(InvalidMessage, match=r"session/update .* params.update.sessionUpdate: must be one of"):
        echo.driver.notify("session/update", update("sing"))
    echo.driver.notify("session/update", CHUNK)
    echo.driver.start()
    assert peer.message()["params"] == CHUNK
    peer.send(b'{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}\n{"jsonrpc":"2.0","id":2,"method":"nothing"}\n')
    assert peer.message()["error"]["code"] == -32603  # a result for a method that no agent has
    assert peer.message()["error"]["code"] == -32601
    os.close(outer_write)
    echo.driver.finish(time.monotonic() + 5)
    os.close(outer_read)
    said = capfd.readouterr().err
    assert "InvalidMessage while handling the request 'echo'" in said
    assert "do_echo" in said
