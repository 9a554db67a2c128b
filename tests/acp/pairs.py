"""Two sessions of one agent that do the same at once, each in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.acp.editor import Editor
from tests.acp.evidence_cases import FILES
from tests.acp.served import Served
from tests.agent import Message, updates_in

NAMES = ("first", "second")


class Pair:
    """`sessions` work in `folders`, which hold the same files but for `name.txt`. `editor` is the client of both."""

    def __init__(self, one: Served, folder: Path, abilities: Message | None = None, **editor: Any) -> None:
        self.one, self.agent = one, one.agent
        self.agent.initialize(abilities)  # it counts from here on (RPC-25)
        self.folders = [folder / name for name in NAMES]
        for place in self.folders:
            place.mkdir()
            for name, content in {**FILES, "name.txt": f"I am {place.name}\n"}.items():
                (place / name).write_bytes(content.encode() if isinstance(content, str) else content)
        self.since = len(self.agent.messages)
        self.sessions = [one.new(place) for place in self.folders]
        self.editor = Editor(self.agent, **editor)

    def at_once(
        self, content: str | list[Message] | Callable[[int], Any], stop: str = "end_turn"
    ) -> list[list[Message]]:
        """Prompt both in one write, which must end so; the updates of each."""
        told = self.answers(content)
        assert [answer["result"] for _, answer in told] == [{"stopReason": stop}] * 2
        return [updates for updates, _ in told]

    def answers(self, content: str | list[Message] | Callable[[int], Any]) -> list[tuple[list[Message], Message]]:
        """The same, however it ends: updates and response of each."""
        since = len(self.agent.messages)
        prompts = self.start(content)
        answers = [self.editor.serve(prompt) for prompt in prompts]
        return [
            (updates_in(self.agent.messages[since : self.place(prompt)], session), answer)
            for prompt, session, answer in zip(prompts, self.sessions, answers, strict=True)
        ]

    def start(self, content: str | list[Message] | Callable[[int], Any]) -> list[int]:
        """Prompt both in one write; the ids of the requests."""
        requests = []
        for index, session in enumerate(self.sessions):
            said = content(index) if callable(content) else content
            blocks = [{"type": "text", "text": said}] if isinstance(said, str) else said
            requests.append(self.agent.make_request("session/prompt", {"sessionId": session, "prompt": blocks}))
        self.agent.send(*requests)
        return [int(request["id"]) for request in requests]

    def place(self, id: int) -> int:
        """Where among all messages the response to a request is."""
        return self.agent.transcript.responses[(int, id)]

    def both(self, method: str, params: Message | Callable[[int], Message] | None = None) -> list[Message]:
        """Send a request for each session in one write; the responses."""
        requests = []
        for index, session in enumerate(self.sessions):
            more = params(index) if callable(params) else params or {}
            requests.append(self.agent.make_request(method, {"sessionId": session, **more}))
        self.agent.send(*requests)
        return [self.agent.response(request["id"]) for request in requests]

    def opened(self, index: int) -> Message:
        """What opening takes, beside the id."""
        return {"cwd": str(self.folders[index]), "mcpServers": []}

    def heard(self, index: int) -> Message:
        """The last request that the model got for a session."""
        found = [one for one in self.one.server.requests if str(self.folders[index]) in str(one.messages)]
        body: Message = found[-1].body
        return body
