"""An agent whose model is a real server on loopback, for tests that look at what the model was asked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.agent import Agent, Message, Permission
from tests.conftest import Home
from tests.model_server import ModelServer, Request, Source


class Served:
    """`agent` works in `workspace`; its model is `server`."""

    def __init__(self, folder: Path, server: ModelServer, model: Message, config: Message) -> None:
        self.server = server
        self.home = Home(folder / "home")
        self.home.path.mkdir(parents=True)
        self.home.use_server(server.base_url, model, **config)
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.agent = self.start()

    def start(self) -> Agent:
        """Another agent with the same home. Whoever starts it closes it."""
        return Agent(cwd=self.home.path, env=self.home.env)

    def new(self, cwd: str | os.PathLike[str] | None = None, **params: Any) -> str:
        return self.agent.new_session(cwd or self.workspace, **params)

    def prompt(
        self, session: str, content: str | list[Message], permission: str | Permission = "once", stop: str = "end_turn"
    ) -> list[Message]:
        """Prompt, which must end with that stop reason; the updates."""
        updates, answer = self.agent.prompt(session, content, permission=permission)
        assert answer["result"] == {"stopReason": stop}
        return updates

    @property
    def last(self) -> Request:
        """The last request that the model got."""
        return self.server.requests[-1]

    def read(self) -> list[Message]:
        """The messages of the last request, but for the system's; those of chat completions in either API."""
        return self.last.messages

    def heard(self) -> str:
        """The person's last message, as the model read it, without the facts of the day."""
        text: str = [message for message in self.read() if message["role"] == "user"][-1]["content"]
        return text.split("]\n\n", 1)[1] if text.startswith("[Today is ") else text


@contextmanager
def served(folder: Path, source: Source, model: Message | None = None, **config: Any) -> Iterator[Served]:
    """Serve the model for as long as the block lasts; what the agent wrote is checked at its end."""
    with ModelServer(source) as server:
        made = Served(folder, server, model or {}, config)
        try:
            yield made
        finally:
            made.agent.close()
