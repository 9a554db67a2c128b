"""kill -9 at any moment: what was answered is there again, in order, and the session goes on."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from tests.agent import Agent, text_in
from tests.conftest import Home, StartAgent

WORDS = "".join(f"w{number:03} " for number in range(120))
READ = {"call": {"tool": "read_file", "args": {"path": "README.md"}}}
RUN = {"call": {"tool": "bash", "args": {"command": "echo one; echo two"}}}
WRITE = {"call": {"tool": "write_file", "args": {"path": "new.txt", "content": "new\n"}}}
TALK = {"text": WORDS, "chunk": 5}
SCRIPT = {
    "turns": [
        {"prompt": "first", "replies": [[{"thought": "Hm."}, TALK, READ, RUN], [WRITE], [{"text": "First done."}]]},
        {"prompt": "second", "replies": [[TALK, RUN, READ], [TALK, WRITE], [{"text": "Second done."}]]},
        {"prompt": "third", "replies": [[{"text": "Third done."}]]},
    ]
}
MOMENTS = 30
SAID = {"agent_thought_chunk", "agent_message_chunk", "tool_call"}


def test_kill_at_thirty_random_moments_of_two_turns(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT, tool_approval="yolo")
    length = sum(run_until(agent, workspace, None)[1])
    random.seed(7)
    moments = sorted(random.randrange(2, length) for _ in range(MOMENTS))
    for moment in moments:
        for name in home.path.glob("store*"):
            name.unlink()
        shutil.rmtree(home.path / "locks", ignore_errors=True)
        session, _, answered, begun = run_until(agent, workspace, moment)
        check_loaded(agent, workspace, session, answered, begun, moment)


def test_a_first_prompt_is_kept_before_anything_is_said_to_it(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT, tool_approval="yolo")
    for _ in range(5):
        one = agent(exit_code=None)
        session = one.new_session(workspace)
        one.start_prompt(session, "first")
        one.expect_update(session, "agent_thought_chunk")
        one.process.signal(9)
        one.process.ended.wait(60)
        check_loaded(agent, workspace, session, [], ["first"], 0)


def run_until(agent: StartAgent, workspace: Path, moment: int | None) -> tuple[str, list[int], list[str], list[str]]:
    """Play two turns and kill the agent when `moment` lines have come: (session, lines per turn, prompts that were
    answered, prompts to which something was said)."""
    one: Agent = agent(exit_code=None)
    session, answered, begun, lines = one.new_session(workspace), [], [], []
    began = len(one.lines)
    for text in ("first", "second"):
        since = len(one.lines)
        prompt = one.start_prompt(session, text)

        def there(_: object, prompt: int = prompt) -> bool:
            reached = moment is not None and len(one.transcript.lines) - began >= moment
            return reached or (int, prompt) in one.transcript.responses

        one.wait_until(there)
        if moment is not None and len(one.lines) - began >= moment:
            one.process.signal(9)
            one.process.ended.wait(60)
            one._reader.join(60)
        if {update["sessionUpdate"] for update in one.updates(session, since)} & SAID:
            begun.append(text)
        if (int, prompt) in one.transcript.responses:
            answered.append(text)
            lines.append(len(one.lines) - since)
        if one.process.ended.is_set():
            break
    if moment is None:
        one.close()
    return session, lines, answered, begun


def check_loaded(
    agent: StartAgent, workspace: Path, session: str, answered: list[str], begun: list[str], moment: int
) -> None:
    one: Agent = agent()
    one.initialize()
    id = one.request("session/load", {"sessionId": session, "cwd": str(workspace), "mcpServers": []})
    answer = one.response(id)
    where = f"killed after {moment} lines"
    if "error" in answer:
        assert not begun, f"{where}: a prompt is lost that was being answered: {answer['error']}"
        assert answer["error"]["code"] == -32002
        one.close()
        return
    replayed = one.updates(session)[: one.transcript.responses[(int, id)]]
    said = [u["content"]["text"] for u in replayed if u["sessionUpdate"] == "user_message_chunk"]
    assert said == ["first", "second"][: len(said)], where
    assert len(said) >= len(begun), where
    expected = {"first": WORDS + "First done.", "second": WORDS + WORDS + "Second done."}
    told = text_in(replayed)
    whole = "".join(expected[text] for text in answered)
    assert told.startswith(whole), where
    assert "".join(expected[text] for text in said).startswith(told), where
    calls = {u["toolCallId"]: u["status"] for u in replayed if "toolCallId" in u and "status" in u}
    assert set(calls.values()) <= {"completed", "failed"}, where  # LOAD-04
    updates, response = one.prompt(session, "third")
    assert response["result"]["stopReason"] == "end_turn", where
    assert text_in(updates) == "Third done.", where
    one.close()
