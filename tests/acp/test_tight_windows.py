"""Windows that are too small for what is asked: summaries end where they bring nothing, and the person is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.acp.long_model import LongModel
from tests.agent import Agent, Message, text_in
from tests.conftest import StartAgent
from tests.model_server import ModelServer, Raw

Serve = Callable[..., ModelServer]
TIGHT = "Even summarised, this takes"


def read(path: str) -> Message:
    return {"tool": "read_file", "args": {"path": path}}


class Steps(LongModel):
    """Goes on reading, so many times in one prompt."""

    def __init__(self, window: int, rounds: int, call: Message | list[Message]) -> None:
        super().__init__(window)
        self.rounds, self.done = rounds, 0
        self.asked: list[list[Message]] = []
        self.call = call if isinstance(call, list) else [call]

    def _step(self, messages: list[Message], tokens: int) -> Raw:
        self.done += 1
        self.asked.append(messages)
        return self.speak(["Reading. ", *self.call] if self.done % self.rounds else ["All is read."], tokens)


def session_of(agent: StartAgent, serve: Serve, workspace: Path, model: LongModel, window: int) -> tuple[Agent, str]:
    serve(model, model={"context_window": window, "max_output_tokens": 500}, tool_approval="yolo")
    one = agent(deadline=30)
    return one, one.new_session(workspace)


def test_summaries_that_bring_nothing_are_not_repeated(agent: StartAgent, serve: Serve, workspace: Path) -> None:
    (workspace / "some.txt").write_text("a line of the file\n" * 30)
    model = Steps(8_000, 30, read("some.txt"))
    model.real_window = 10**9  # takes what is too much, as servers do that cut it silently
    one, session = session_of(agent, serve, workspace, model, 8_000)
    updates, answer = one.prompt(session, "step 1 " + "word " * 6_000)
    assert answer["result"] == {"stopReason": "end_turn"}
    assert model.faults == []
    assert model.done == 30
    assert model.summarised <= 4
    assert text_in(updates).count(TIGHT) == 1


def test_a_window_that_holds_little_more_than_the_instructions(
    agent: StartAgent, serve: Serve, workspace: Path
) -> None:
    (workspace / "some.txt").write_text("a line of the file\n" * 30)
    model = Steps(3_200, 6, read("some.txt"))
    one, session = session_of(agent, serve, workspace, model, 3_200)
    updates, answer = one.prompt(session, "step 1")
    assert answer["result"] == {"stopReason": "end_turn"}
    assert model.refused == 0
    assert model.summarised <= 3
    assert text_in(updates).count(TIGHT) == 1


def test_a_window_that_holds_not_even_the_instructions(agent: StartAgent, serve: Serve, workspace: Path) -> None:
    model = Steps(2_000, 6, read("some.txt"))
    one, session = session_of(agent, serve, workspace, model, 2_000)
    updates, answer = one.prompt(session, "step 1")
    assert "a model with a larger window" in answer["error"]["message"]
    assert (model.summarised, model.refused) == (0, 1)
    assert text_in(updates).count(TIGHT) == 1


def test_results_that_fill_the_window_are_cut_and_the_turn_goes_on(
    agent: StartAgent, serve: Serve, workspace: Path
) -> None:
    (workspace / "long.txt").write_text("".join(f"line {n} of the file\n" for n in range(4_000)))
    model = Steps(12_000, 2, [read("long.txt")] * 5)
    one, session = session_of(agent, serve, workspace, model, 12_000)
    one.prompt(session, "/auto-compact off")
    _, answer = one.prompt(session, "step 1")
    assert answer["result"] == {"stopReason": "end_turn"}
    assert model.faults == []
    assert model.refused == 0
    results = [message["content"] for message in model.seen if message["role"] == "tool"]
    assert len(results) == 5
    assert all("line 1 of the file" in result for result in results)
    one.close()
    two = agent()
    two.initialize()
    two.call("session/load", {"sessionId": session, "cwd": str(workspace), "mcpServers": []})
    assert two.prompt(session, "step 2")[1]["result"] == {"stopReason": "end_turn"}
    assert model.asked[2][: len(model.asked[1])] == model.asked[1]
