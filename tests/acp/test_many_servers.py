"""Many sessions with servers come and go, and nothing of them stays in the agent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.mcp import children, plain, settle
from tests.acp.seen import call_in, calls, turn
from tests.acp.seen import says as replies
from tests.acp.served import Served, served
from tests.acp.test_many_at_once import memory
from tests.descendants import gone
from tests.settling import until

SESSIONS = 20
SERVERS = ("one", "two", "three")
SCRIPT: dict[str, Any] = {
    "turns": [*[turn(rf"\b{name}$", calls(f"mcp__{name}__pid"), replies("Done.")) for name in SERVERS],
              turn("", replies("Hello."))]
}  # fmt: skip


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, SCRIPT, tool_approval="yolo") as made:
        yield made


def threads(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def work(one: Served, count: int) -> None:
    """Open so many sessions, use each of their servers, and close them."""
    asked = [
        one.agent.request("session/new", {"cwd": str(one.workspace), "mcpServers": [plain(name) for name in SERVERS]})
        for _ in range(count)
    ]
    sessions = [one.agent.response(id, 60)["result"]["sessionId"] for id in asked]
    for session in sessions:
        settle(one, session, [f"mcp__{name}__pid" for name in SERVERS])
        for name in SERVERS:
            assert call_in(one.prompt(session, name)).status == "completed"
    running = children(one.agent, "plain.py")
    assert len(running) == count * len(SERVERS)
    closing = [one.agent.request("session/close", {"sessionId": session}) for session in sessions]
    assert all("result" in one.agent.response(id) for id in closing)
    assert all(gone(pid, 0) for pid in running)


def test_twenty_sessions_with_three_servers_each(one: Served) -> None:
    one.agent.initialize()
    for _ in range(2):  # what is imported, and pools that fill, once
        work(one, SESSIONS)
    pid = one.agent.process.pid
    before = memory(pid), threads(pid), descriptors(pid)
    work(one, SESSIONS)
    one.agent.call("session/list")
    assert children(one.agent) == {}
    until(lambda: threads(pid) <= before[1] + 1, f"the end of threads: {before[1]}, now {threads(pid)}")
    until(lambda: descriptors(pid) <= before[2] + 2, f"the end of pipes: {before[2]}, now {descriptors(pid)}")
    after = memory(pid)
    assert after <= before[0] + 6_000_000, (before, after)  # a tenth of a megabyte for each server that stayed
