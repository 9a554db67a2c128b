"""The bytes of a request extend those of the one before, so that the provider's cache of the beginning holds."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.acp.seen import calls, calls_in, says, turn
from tests.acp.served import served

PLAN = [{"content": "Do it", "status": "in_progress"}]
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("first", [{"thought": "Where?"}, *says("I look."), calls("grep", pattern="x"), calls("list_dir")],
             [calls("read_file", path="a.txt"), calls("todo_write", todos=PLAN)], says("Seen.")),
        turn("second", calls("edit_file", path="a.txt", old="x", new="ü\u2028\"\\"), [*says("Edited."),
             calls("bash", command="cat a.txt; exit 3")], says("It failed.")),
        turn("third", calls("nothing"), {"call": {"tool": "read_file", "args": "{ no json"}}, says("Odd.")),
        turn("fourth", calls("write_file", path="b.txt", content="b"), says("Not allowed.")),
        turn("fifth", [{"error": {"status": 503, "message": "busy", "retry_after": 0, "times": 1}}, *says("Late.")]),
        turn("sixth", says("Even now.")),
    ]
}  # fmt: skip
END = b"]}"  # of the messages, and of the request


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The requests of six prompts in one session, the last one loaded by another process."""
    with served(tmp_path_factory.mktemp("prefix"), SCRIPT) as one:
        (one.workspace / "a.txt").write_text("x\n")
        session = one.new()
        link = {"type": "resource_link", "uri": f"file://{one.workspace}/a.txt", "name": "a.txt"}
        for number, word in enumerate(("first", "second", "third", "fourth", "fifth")):
            answer = "deny" if word == "fourth" else "once"
            updates = one.prompt(session, [{"type": "text", "text": word}, *[link][: number % 2]], permission=answer)
            assert len(calls_in(updates)) == (4, 2, 2, 1, 0)[number]
            one.prompt(session, "/help")
        one.agent.call("session/close", {"sessionId": session})
        second = one.start()
        try:
            second.initialize()
            params = {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []}
            second.call("session/load", params)
            assert second.prompt(session, "sixth")[1]["result"] == {"stopReason": "end_turn"}
        finally:
            second.close()
        return [request.raw for request in one.server.requests]


def test_each_request_begins_with_the_one_before(asked: list[bytes]) -> None:
    assert len(asked) == 14
    repeated = 0
    for before, after in itertools.pairwise(asked):
        assert before.endswith(END)
        assert after.endswith(END)
        assert after.startswith(before.removesuffix(END))
        repeated += after == before
    assert repeated == 1  # the retry


def test_other_sessions_begin_with_the_same_tools_and_system_prompt(tmp_path: Path, asked: list[bytes]) -> None:
    with served(tmp_path, SCRIPT) as one:
        one.prompt(one.new(), "sixth")
        one.prompt(one.new(one.home.path), "sixth")
        starts = {request.raw.split(b'{"role":"user"')[0] for request in one.server.requests}
    assert starts == {asked[0].split(b'{"role":"user"')[0]}
