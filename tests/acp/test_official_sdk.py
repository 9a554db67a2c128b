"""The official Python SDK's client drives acpagent; what it decodes, its own models accept."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from acp import (
    PROTOCOL_VERSION,
    Client,
    RequestError,
    RequestPermissionResponse,
    schema,
    spawn_agent_process,
    text_block,
)
from acp.client.connection import ClientSideConnection

from tests.conftest import Home

SCRIPT = {
    "turns": [
        {
            "prompt": "polite",
            "replies": [
                [
                    {"text": "The greeting gets a comma less."},
                    {
                        "call": {
                            "tool": "edit_file",
                            "args": {"path": "src/greeter.py", "old": "hello, ", "new": "good day, "},
                        }
                    },
                ],
                [{"text": "That was it.", "chunk": 4}],
            ],
        },
        {"prompt": "wait", "replies": [[{"text": "Waiting."}, {"stall": {}}]]},
        {"prompt": "broken", "replies": [[{"error": {"status": 400, "message": "no such model"}}]]},
        {"prompt": "again", "replies": [[{"text": "Here again."}]]},
    ]
}


class Editor(Client):
    """An editor that answers every question with one option, and remembers what it was told."""

    def __init__(self, choice: str | None) -> None:
        self.choice = choice
        self.updates: list[Any] = []
        self.questions: list[tuple[schema.ToolCallUpdate, list[schema.PermissionOption]]] = []
        self.told = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update)
        self.told.set()

    async def request_permission(
        self,
        session_id: str,
        tool_call: schema.ToolCallUpdate,
        options: list[schema.PermissionOption],
        **kwargs: Any,
    ) -> RequestPermissionResponse:
        self.questions.append((tool_call, options))
        if self.choice is None:
            outcome: Any = schema.DeniedOutcome(outcome="cancelled")
        else:
            outcome = schema.AllowedOutcome(outcome="selected", option_id=self.choice)
        return RequestPermissionResponse(outcome=outcome)

    async def until_told(self, kind: type[Any]) -> Any:
        """The first update of that kind, once it is here."""
        while True:
            self.told.clear()
            found = [update for update in self.updates if isinstance(update, kind)]
            if found:
                return found[0]
            await self.told.wait()

    def said(self, kind: type[Any] = schema.AgentMessageChunk) -> str:
        return "".join(update.content.text for update in self.updates if isinstance(update, kind))

    def of(self, *kinds: type[Any]) -> list[Any]:
        return [update for update in self.updates if isinstance(update, kinds)]


Scene = Callable[[ClientSideConnection], Awaitable[None]]


@pytest.fixture
def play(home: Home) -> Callable[[Editor, Scene], int]:
    """Runs a scene with an editor against a new agent process; its exit code."""
    home.use_script(SCRIPT)

    async def on_stage(editor: Editor, scene: Scene) -> int:
        async with asyncio.timeout(30):
            command = (sys.executable, "-m", "acpagent", "acp")
            async with spawn_agent_process(editor, *command, env=home.env, cwd=home.path) as (agent, process):
                answer = await agent.initialize(protocol_version=PROTOCOL_VERSION)
                assert answer.protocol_version == PROTOCOL_VERSION
                assert answer.agent_info.name == "acpagent"
                await scene(agent)
        return await process.wait()

    return lambda editor, scene: asyncio.run(on_stage(editor, scene))


def test_an_edit_is_asked_for_shown_and_made(play, workspace: Path) -> None:
    editor = Editor("once")

    async def scene(agent: ClientSideConnection) -> None:
        session = await agent.new_session(cwd=str(workspace))
        answer = await agent.prompt(session_id=session.session_id, prompt=[text_block("be polite")])
        assert answer.stop_reason == "end_turn"

    assert play(editor, scene) == 0
    greeter = workspace / "src" / "greeter.py"
    assert greeter.read_text() == 'def greet(name):\n    return "good day, " + name\n'
    assert editor.said().startswith("The greeting gets a comma less.That was it.\n\n**Evidence**: unverified\n")
    ((call, options),) = editor.questions
    assert {"once", "deny"} <= {option.option_id for option in options}
    started, *changes = editor.of(schema.ToolCallStart, schema.ToolCallProgress)
    assert started.tool_call_id == call.tool_call_id
    assert (started.kind, started.status) == ("edit", "pending")
    assert [change.status for change in changes if change.status][-1] == "completed"
    (diff,) = call.content or []
    assert (diff.path, diff.old_text is None) == (str(greeter), False)
    assert "good day" in diff.new_text


@pytest.mark.parametrize(("choice", "stop_reason"), [("deny", "end_turn"), (None, "cancelled")])
def test_an_edit_that_is_not_allowed_is_not_made(play, workspace: Path, choice, stop_reason) -> None:
    editor = Editor(choice)
    before = (workspace / "src" / "greeter.py").read_bytes()

    async def scene(agent: ClientSideConnection) -> None:
        session = await agent.new_session(cwd=str(workspace))
        answer = await agent.prompt(session_id=session.session_id, prompt=[text_block("be polite")])
        assert answer.stop_reason == stop_reason

    assert play(editor, scene) == 0
    assert (workspace / "src" / "greeter.py").read_bytes() == before
    assert [change.status for change in editor.of(schema.ToolCallProgress) if change.status][-1] == "failed"


def test_cancel(play, workspace: Path) -> None:
    editor = Editor("once")

    async def scene(agent: ClientSideConnection) -> None:
        id = (await agent.new_session(cwd=str(workspace))).session_id
        prompt = asyncio.create_task(agent.prompt(session_id=id, prompt=[text_block("wait")]))
        await editor.until_told(schema.AgentMessageChunk)
        await agent.cancel(session_id=id)
        assert (await prompt).stop_reason == "cancelled"
        answer = await agent.prompt(session_id=id, prompt=[text_block("again")])
        assert answer.stop_reason == "end_turn"

    assert play(editor, scene) == 0
    assert editor.said() == "Waiting.Here again."


def test_load_in_another_process(play, workspace: Path) -> None:
    ids = []

    async def talk(agent: ClientSideConnection) -> None:
        ids.append((await agent.new_session(cwd=str(workspace))).session_id)
        await agent.prompt(session_id=ids[0], prompt=[text_block("be polite")])

    first = Editor("once")
    assert play(first, talk) == 0
    second = Editor("once")

    async def come_back(agent: ClientSideConnection) -> None:
        listed = await agent.list_sessions(cwd=str(workspace))
        assert [session.session_id for session in listed.sessions] == ids
        await agent.load_session(session_id=ids[0], cwd=str(workspace), mcp_servers=[])
        assert second.said(schema.UserMessageChunk) == "be polite"
        assert second.said() == first.said()
        (call,) = second.of(schema.ToolCallStart)
        assert call.tool_call_id == first.of(schema.ToolCallStart)[0].tool_call_id
        states = [update.status for update in second.of(schema.ToolCallStart, schema.ToolCallProgress)]
        assert states[-1] == "completed"
        answer = await agent.prompt(session_id=ids[0], prompt=[text_block("again")])
        assert answer.stop_reason == "end_turn"
        assert second.said().endswith("Here again.")
        await agent.close_session(session_id=ids[0])

    assert play(second, come_back) == 0
    assert second.questions == []


def test_errors(play, workspace: Path) -> None:
    async def scene(agent: ClientSideConnection) -> None:
        with pytest.raises(RequestError) as caught:
            await agent.load_session(session_id="nope", cwd=str(workspace), mcp_servers=[])
        assert caught.value.code == -32002
        with pytest.raises(RequestError) as caught:
            await agent.new_session(cwd="relative")
        assert caught.value.code == -32602
        id = (await agent.new_session(cwd=str(workspace))).session_id
        with pytest.raises(RequestError) as caught:
            await agent.prompt(session_id=id, prompt=[text_block("broken")])
        assert caught.value.code == -32603

    assert play(Editor("once"), scene) == 0
