"""Many sessions, much output, slow readers."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from tests.agent import text_in, updates_in
from tests.conftest import Home, StartAgent
from tests.model_server import ModelServer

# Numbered words, so that a lost or doubled piece shows.
FIREHOSE = "".join(f"w{number:05} " for number in range(20_000))


def test_ten_sessions_prompt_at_once(agent: StartAgent, home: Home, workspace: Path) -> None:
    read = {"call": {"tool": "read_file", "args": {"path": "README.md"}}}
    piece = {"repeat": {"times": 50, "text": "word ", "every": 0.002}}
    home.use_script({"turns": [{"replies": [[piece, read], [{"text": "end"}]]}]})
    one = agent()
    sessions = [one.new_session(workspace) for _ in range(10)]
    prompts = [one.start_prompt(session, "go") for session in sessions]
    for session, prompt in zip(sessions, prompts, strict=True):
        assert one.response(prompt, timeout=60)["result"]["stopReason"] == "end_turn"
        updates = one.updates(session)
        assert text_in(updates) == "word " * 50 + "end"
        assert [u["status"] for u in updates if "status" in u] == ["pending", "in_progress", "completed"]


def test_TRN_18_a_client_that_stops_reading_under_a_firehose(agent: StartAgent, home: Home, workspace: Path) -> None:
    lines = [{"text": FIREHOSE, "chunk": 70}] * 20
    with ModelServer({"turns": [{"replies": [lines]}]}) as server:
        home.use_server(server.base_url)
        one = agent()
        session = one.new_session(workspace)
        settled = memory(one.process.pid)
        with one.not_reading():
            prompt = one.start_prompt(session, "go")
            server.wait_for_request()
            # Ten seconds of silence are the point here; nothing happens that could be waited for.
            threading.Event().wait(10)
            grown = memory(one.process.pid) - settled
            one.notify("session/cancel", {"sessionId": session})
        answer = one.response(prompt, timeout=20)
        assert answer["result"]["stopReason"] == "cancelled"
        one.call("session/list")
        end = one.transcript.responses[(int, prompt)]
        assert updates_in(one.messages[end:], session) == []
        assert (FIREHOSE * 20).startswith(text_in(one.updates(session)))
        assert grown < 24_000_000, f"{grown} bytes more"


def memory(pid: int) -> int:
    """Resident bytes of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
