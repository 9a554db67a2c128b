"""One agent for a whole module, because starting one takes longer than most tests do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent import Agent, Message, text_in
from tests.conftest import Home


class Stage:
    """An agent that plays the module's `SCRIPT` in `workspace`, a folder that its tests share."""

    def __init__(self, folder: Path, script: Any, config: dict[str, Any]) -> None:
        self.home = Home(folder / "home")
        self.home.path.mkdir()
        self.home.use_script(script, **config)
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.agent = self.start()

    def start(self) -> Agent:
        """Another agent with the same home. Whoever starts it closes it."""
        return Agent(cwd=self.home.path, env=self.home.env)

    def new(self, cwd: str | os.PathLike[str] | None = None, **params: Any) -> str:
        return self.agent.new_session(cwd or self.workspace, **params)

    def prompt(self, session: str, text: str, permission: str = "once") -> list[Message]:
        """Prompt, which must end by itself; the updates."""
        updates, answer = self.agent.prompt(session, text, permission=permission)
        assert answer["result"] == {"stopReason": "end_turn"}
        return updates

    def says(self, session: str, text: str) -> str:
        """Prompt; what the agent says."""
        return text_in(self.prompt(session, text))


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The module's agent, initialized. What it wrote is checked when the module is done."""
    made = Stage(tmp_path_factory.mktemp("stage"), request.module.SCRIPT, getattr(request.module, "CONFIG", {}))
    made.agent.initialize()
    yield made
    made.agent.close()


def no_answer_but(one: Agent, *lines: bytes) -> None:
    """Send lines that nothing must be answered to, not even by an update; of sessions that were there before something
    may be told at any time."""
    one.call("session/list")
    before, known = len(one.messages), one.known_sessions
    one.send_raw(b"".join(line + b"\n" for line in lines))
    id = one.request("session/list")
    one.response(id)
    came = [m for m in one.messages[before:] if m.get("params", {}).get("sessionId") not in known]
    assert [message.get("id") for message in came] == [id]
