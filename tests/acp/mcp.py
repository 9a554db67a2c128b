"""MCP servers as an editor names them, and what the tests of sessions with them ask of an agent."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.acp.served import Served
from tests.agent import Agent, Message, text_in, updates_in
from tests.descendants import marked

SERVERS = Path(__file__).parents[1] / "mcp_client"
END = b"]}"  # of the messages, and of a request to the model


def plain(name: str, *habits: str, **more: Any) -> Message:
    """A server of the standard library, quick to start."""
    return {"name": name, "command": sys.executable, "args": [str(SERVERS / "plain.py"), *habits], "env": [], **more}


def everything(name: str, **more: Any) -> Message:
    """A server made with the MCP package, which has everything."""
    script = str(SERVERS / "everything.py")
    return {"name": name, "command": sys.executable, "args": [script, "stdio"], "env": [], **more}


def in_file(*servers: Message) -> str:
    """A file that names them, as projects have one."""
    return json.dumps({"mcpServers": {one["name"]: {k: v for k, v in one.items() if k != "name"} for one in servers}})


def tools_of(request: Any) -> set[str]:
    """The tools that a request to the model offers."""
    return {tool["function"]["name"] for tool in request.body["tools"]}


def mcp_tools(request: Any) -> set[str]:
    return {name for name in tools_of(request) if name.startswith("mcp__")}


def settle(
    one: Served, session: str, present: Iterable[str], absent: Iterable[str] = (), agent: Agent | None = None
) -> None:
    """Prompt until the model is offered these tools, and those not: each rebuild is followed by the commands."""
    agent = agent or one.agent
    while True:
        since = len(agent.messages)
        agent.prompt(session, "hello")
        offered = tools_of(one.last)
        if offered.issuperset(present) and offered.isdisjoint(absent):
            return
        agent.expect_update(session, "available_commands_update", since)


def notice(agent: Agent, session: str, pattern: str, since: int = 0) -> str:
    """Wait for something that the person is told."""

    def told(messages: list[Message]) -> str | None:
        texts = [text for text in notices(messages[since:], session) if re.search(pattern, text)]
        return texts[0] if texts else None

    found: str = agent.wait_until(told, f"to be told {pattern}")
    return found


def notices(messages: list[Message], session: str) -> list[str]:
    """All that the person was told by acpagent itself."""
    told = [one for one in updates_in(messages, session) if one.get("messageId", "").startswith("notice_")]
    return [update["content"]["text"].strip() for update in told]


def says(one: Served, session: str, command: str) -> str:
    """What a local command answers."""
    return text_in(one.prompt(session, command))


def children(agent: Agent, *words: str) -> dict[int, str]:
    """The living processes that the agent started, those that have these words in their command line."""
    found = marked(agent._mark)
    found.pop(agent.process.pid, None)
    return {pid: line for pid, line in found.items() if all(word in line for word in words)}


def set_option(agent: Agent, session: str, option: str, value: str) -> None:
    agent.call("session/set_config_option", {"sessionId": session, "configId": option, "value": value})
