"""Random lives of a session over the wire: turns, summaries, rewindings, kills and loads. Whatever happened, what is
loaded is what was lived, the model reads a conversation that can go on, and files come back whole or not at all.

`ACPAGENT_TEST_LIVES=n` plays that many.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.acp.long_model import LongModel
from tests.agent import Agent, Message, text_in
from tests.conftest import Home
from tests.model_server import ModelServer

COUNT = os.environ.get("ACPAGENT_TEST_LIVES", "")
FEW = 4
WINDOW = 9_000
_STEP = re.compile(r"step (\d+)\b")
Files = dict[str, bytes]


@dataclass(frozen=True)
class Move:
    """Something that happens. `at` says where to go back to, counted from the end; `kill` after so many lines of the
    agent, if it lives so long."""

    what: Literal["read", "write", "run", "talk", "compact", "rewind", "restore", "load"]
    at: int = 0
    kill: int | None = None


KILLS = st.one_of(st.none(), st.none(), st.integers(1, 12))
MOVES = st.builds(
    Move,
    st.sampled_from(["read", "read", "write", "write", "run", "talk", "compact", "rewind", "restore", "load"]),
    st.integers(0, 3),
    KILLS,
)


class Life:
    """A session, and what is known to be true of it: the steps that count, each with the files as they were before."""

    def __init__(self, folder: Path, server: ModelServer, model: LongModel) -> None:
        self.model = model
        self.plan: dict[int, Message | str] = {}
        model.plan = self.plan
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        (self.workspace / "long.txt").write_text("a line of the file\n" * 60)
        self.home = Home(folder / "home")
        self.home.path.mkdir()
        small = {"context_window": WINDOW, "max_output_tokens": 500}
        self.home.use_server(server.base_url, small, tool_approval="yolo")
        self.one = self.start()
        self.session = self.one.new_session(self.workspace)
        self.steps: list[tuple[int, Files]] = []
        self.number = 0
        self.step(Move("talk"))  # a session without a prompt is not stored

    def start(self) -> Agent:
        made = Agent(cwd=self.home.path, env=self.home.env, deadline=60)
        made.exit_code = None
        return made

    def files(self) -> Files:
        return {path.name: path.read_bytes() for path in self.workspace.iterdir() if not path.name.startswith(".acp")}

    def do(self, move: Move) -> None:
        if move.what == "load":
            self.load(None)
        elif move.what == "compact":
            if self.prompt("/compact", move.kill) is None:
                self.load(None)
        elif move.what in ("rewind", "restore"):
            if self.steps:
                self.rewind(max(len(self.steps) - 1 - move.at, 0), move)
        else:
            self.step(move)

    def step(self, move: Move) -> None:
        self.number += 1
        name, number = f"file{self.number % 3}.txt", self.number
        calls: dict[str, Message | str] = {
            "read": {"tool": "read_file", "args": {"path": "long.txt"}},
            "write": {"tool": "write_file", "args": {"path": name, "content": f"{number}\n"}},
            "run": {"tool": "bash", "args": {"command": f"echo {number} >> {name}"}},
            "talk": "Talking. " * 100,
        }
        self.plan[number] = calls[move.what]
        before = self.files()
        if self.prompt(f"step {number}", move.kill) is None:
            self.load((number, before))
            return
        self.steps.append((number, before))
        self.check_read()

    def rewind(self, place: int, move: Move) -> None:
        """To before a step, perhaps with its files."""
        before, wanted = self.files(), self.steps[place][1]
        how = " --files" if move.what == "restore" else ""
        said = self.prompt(f"/rewind {place + 1}{how}", move.kill)
        if said is None:
            self.load(None, self.steps[:place])
            assert self.files() in (before, wanted) or how
            return
        if "Nothing was changed" in said:
            assert how
            assert self.files() == before
            return
        assert f"step {self.steps[place][0]}" in said
        assert self.files() == (wanted if how else before)
        del self.steps[place:]

    def prompt(self, words: str, kill: int | None) -> str | None:
        """What was said; None if the agent was killed before it answered."""
        since = len(self.one.lines)
        asked = self.one.start_prompt(self.session, words)

        def over(_: object) -> bool:
            return (int, asked) in self.one.transcript.responses or (
                kill is not None and len(self.one.lines) - since >= kill
            )

        self.one.wait_until(over, words, 60)
        if (int, asked) not in self.one.transcript.responses:
            self.one.process.signal(9)
            self.one.process.ended.wait(10)
            return None
        assert self.one.response(asked)["result"] == {"stopReason": "end_turn"}, self.one.response(asked)
        return text_in(
            [m["params"]["update"] for m in self.one.messages[since:] if m.get("method") == "session/update"]
        )

    def load(self, doubtful: tuple[int, Files] | None, otherwise: list[tuple[int, Files]] | None = None) -> None:
        """By another process: it shows the steps that count, one that was being worked on or not, or `otherwise`."""
        self.one.close()
        self.one = self.start()
        self.one.initialize()
        self.one.call("session/load", {"sessionId": self.session, "cwd": str(self.workspace), "mcpServers": []})
        updates = self.one.updates(self.session)
        said = [u["content"]["text"] for u in updates if u["sessionUpdate"] == "user_message_chunk"]
        shown = [int(found[1]) for words in said if (found := _STEP.fullmatch(words))]
        known = [number for number, _ in self.steps]
        if doubtful is not None and shown == [*known, doubtful[0]]:
            self.steps.append(doubtful)
        elif otherwise is not None and shown == [number for number, _ in otherwise]:
            self.steps = otherwise
        else:
            assert shown == known
        statuses = {u["toolCallId"]: u["status"] for u in updates if u.get("status") and "toolCallId" in u}
        assert set(statuses.values()) <= {"completed", "failed"}

    def check_read(self) -> None:
        """The model read what can go on, and nothing of what was left."""
        assert self.model.faults == []
        read = {int(number) for message in self.model.seen for number in _STEP.findall(str(message["content"]))}
        assert read <= {number for number, _ in self.steps}
        assert self.steps[-1][0] in read


@contextmanager
def living() -> Iterator[Life]:
    with tempfile.TemporaryDirectory(prefix="acpagent-life-") as folder:
        model = LongModel(WINDOW)
        with ModelServer(model) as server:
            life = Life(Path(folder), server, model)
            try:
                yield life
                life.load(None)
                life.step(Move("read"))
            finally:
                life.one.close()


@settings(
    max_examples=int(COUNT or FEW),
    derandomize=not COUNT,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate,),  # to make a life shorter takes longer than to read it
)
@given(st.lists(MOVES, min_size=6, max_size=14))
def test_whatever_happens_the_session_goes_on(moves: list[Move]) -> None:
    with living() as life:
        for move in moves:
            life.do(move)
