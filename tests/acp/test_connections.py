"""What becomes of the connections to the model's server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.conftest import StartAgent
from tests.model_server import ModelServer


def test_a_closed_session_keeps_none(agent: StartAgent, serve: Callable[..., ModelServer], workspace: Path) -> None:
    server = serve({"turns": [{"replies": [[{"text": "Hello."}]]}]})
    one = agent()
    session = one.new_session(workspace)
    one.prompt(session, "hi")
    one.prompt(session, "hi")
    assert server.connections == 1
    one.call("session/close", {"sessionId": session})
    server.wait_until_alone()
