"""The editor goes away: idle, in the middle of anything, politely or not."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.agent import Agent, updates_in
from tests.conftest import Home, StartAgent

SCRIPT = {
    "turns": [
        {"prompt": "talk", "replies": [[{"repeat": {"times": 1_000_000, "text": "word ", "every": 0.001}}]]},
        {
            "prompt": "run",
            "replies": [[{"call": {"tool": "bash", "args": {"command": "touch x; sleep 300 & sleep 300"}}}]],
        },
        {
            "prompt": "stubborn",
            "replies": [[{"call": {"tool": "bash", "args": {"command": "trap '' TERM HUP; sleep 300; sleep 300"}}}]],
        },
        {"prompt": "edit", "replies": [[{"call": {"tool": "write_file", "args": {"path": "n", "content": "x"}}}]]},
    ]
}


def begin(one: Agent, session: str, what: str) -> int | None:
    """Bring the agent into the middle of something; the prompt's id."""
    if what == "idle":
        return None
    prompt = one.start_prompt(session, what)
    if what == "talk":
        one.expect_update(session, "agent_message_chunk")
    elif what == "edit":
        one.expect_request("session/request_permission")
    else:
        one.decide(one.expect_request("session/request_permission"), "once")
        one.expect(lambda m: any(u.get("status") == "in_progress" for u in updates_in([m], session)))
    return prompt


@pytest.mark.parametrize("what", ["idle", "talk", "run", "stubborn", "edit"])
@pytest.mark.parametrize("end", ["eof", "term", "int"])
def test_TRN_12_TRN_14_BB_21_the_agent_ends_within_five_seconds(
    agent: StartAgent, home: Home, workspace: Path, what: str, end: str
) -> None:
    home.use_script(SCRIPT)
    one = agent()
    session = one.new_session(workspace)
    prompt = begin(one, session, what)
    if end == "eof":
        one.close_stdin()
    else:
        one.process.signal(signal.SIGTERM if end == "term" else signal.SIGINT)
    assert one.wait_exit(5) == 0
    if prompt is not None:
        assert one.response(prompt)["result"] == {"stopReason": "cancelled"}
    assert not (workspace / "n").exists()
