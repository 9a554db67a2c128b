"""A cancel ends a call at once, wherever it waits, and the server notices."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import pytest

from acpagent.config.settings import Timeouts
from acpagent.core.model import UserMessage
from acpagent.core.scope import Scope
from tests.model_server import ModelServer
from tests.providers.calling import APIS, Running, ask, call, over_http

BOUND = 5.0  # seconds; milliseconds on an idle machine, and the read timeout is twelve times that


def stalling(*steps: Any) -> dict[str, Any]:
    replies = [[*steps, {"stall": {"times": 1}}, {"text": "here"}]]
    return {"turns": [{"replies": replies}]}


def ends_at_once(running: Running) -> None:
    start = time.monotonic()
    running.cancel()
    assert time.monotonic() - start < BOUND, "the closer blocked"
    outcome = running.end()
    assert time.monotonic() - start < BOUND, "the read went on"
    assert outcome.cancelled
    assert outcome.fault is None


@pytest.mark.parametrize("api", APIS)
def test_before_the_headers(api: str) -> None:
    with ModelServer(stalling()) as server:
        provider = over_http(server.base_url, api=api)
        running = Running(provider)
        server.wait_for_request()
        ends_at_once(running)
        server.wait_for_hangup()
        assert call(provider).text == "here"


@pytest.mark.parametrize("api", APIS)
def test_after_the_headers(api: str) -> None:
    with ModelServer(stalling({"text": "half a"})) as server:
        provider = over_http(server.base_url, api=api)
        running = Running(provider)
        running.wait_for_batch()
        ends_at_once(running)
        server.wait_for_hangup()
        assert running.outcome.text == "half a"
        assert call(provider).reason == "stop"


def test_after_the_headers_over_a_connection_used_before() -> None:
    replies = [[{"text": "a"}, {"stall": {"times": 1}}]]
    script = {"turns": [{"replies": [[{"text": "first"}]]}, {"replies": replies}]}
    with ModelServer(script) as server:
        provider = over_http(server.base_url)
        assert call(provider).text == "first"
        running = Running(provider, ask(provider, UserMessage("a"), UserMessage("b")))
        running.wait_for_batch()
        ends_at_once(running)
        assert server.connections == 1


def test_while_text_streams() -> None:
    endless = {"turns": [{"replies": [[{"repeat": {"times": 10**9, "text": "tick ", "every": 0.001}}]]}]}
    with ModelServer(endless) as server:
        running = Running(over_http(server.base_url))
        running.wait_for_batch(3)
        ends_at_once(running)
        server.wait_for_hangup()


def test_before_the_call() -> None:
    with ModelServer(stalling()) as server:
        scope = Scope()
        scope.cancel()
        assert call(over_http(server.base_url), scope=scope).cancelled
        assert server.requests == []


def test_a_late_cancel_touches_nothing() -> None:
    with ModelServer({"turns": [{"replies": [[{"text": "here"}]]}]}) as server:
        provider = over_http(server.base_url)
        running = Running(provider)
        assert running.end().reason == "stop"
        running.cancel()
        assert call(provider).reason == "stop"
        assert server.connections == 1


def test_an_abandoned_reader_hangs_up() -> None:
    with ModelServer(stalling({"text": "half a"})) as server:
        provider = over_http(server.base_url)
        events = provider.stream(ask(provider), Scope())
        assert next(iter(events))
        del events
        server.wait_for_hangup()


def test_while_a_server_accepts_but_does_not_read() -> None:
    with socket.create_server(("127.0.0.1", 0)) as port:
        running = Running(over_http(f"http://127.0.0.1:{port.getsockname()[1]}/v1"))
        connection, _ = port.accept()
        with connection:
            ends_at_once(running)


def test_while_the_connection_is_made() -> None:
    """Nothing can end a connect from outside. A turn leaves it behind; it ends with its timeout, and sends nothing."""
    with socket.socket() as port, socket.socket() as filler:
        port.bind(("127.0.0.1", 0))
        port.listen(0)
        filler.connect(port.getsockname())
        times = Timeouts(0.3, 5)
        running = Running(over_http(f"http://127.0.0.1:{port.getsockname()[1]}/v1", timeouts=times))
        running.cancel()
        assert running.end(0.3 + BOUND).cancelled


@pytest.mark.parametrize("milliseconds", range(12))
def test_at_any_moment(milliseconds: int) -> None:
    ticking = {"turns": [{"replies": [[{"repeat": {"times": 100, "text": "tick ", "every": 0.001}}]], "loop": True}]}
    with ModelServer(ticking) as server:
        provider = over_http(server.base_url)
        running = Running(provider)
        threading.Event().wait(milliseconds / 1000)
        ends_at_once(running)
        assert call(provider).reason == "stop"
