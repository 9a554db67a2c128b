"""What is measured: scenarios that drive one agent and note samples under the names of the table's rows."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from benching.driven import Agent, Model, prompt_params

FILES = 20
FILE_LINES = 60


@dataclass(frozen=True)
class Entrant:
    """An agent in the race, and how to start it."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str]
    keeps_sessions: bool

    def start(self, cwd: str) -> Agent:
        return Agent(self.command, self.env, cwd)


@dataclass(frozen=True)
class Sizes:
    """How much of everything; smaller for a smoke run."""

    launches: int = 15
    rounds: int = 6
    prompts: int = 10
    chunks: int = 2000
    reads: int = FILES
    cancels: int = 4
    sessions: int = 20
    memories: int = 3
    turns: int = 200
    early: int = 10
    histories: int = 3
    loads: int = 3


QUICK = Sizes(
    launches=1, rounds=1, prompts=1, chunks=20, reads=2, cancels=1, sessions=2, memories=1, turns=4, early=2,
    histories=1, loads=1,
)  # fmt: skip


@dataclass
class Notes:
    """Samples by row and entrant, in the unit of the row (milliseconds, unless it says otherwise)."""

    samples: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, row: str, entrant: Entrant, *values: float) -> None:
        self.samples.setdefault(row, {}).setdefault(entrant.name, []).extend(values)

    def add_time(self, row: str, entrant: Entrant, *seconds: float) -> None:
        self.add(row, entrant, *(1000 * value for value in seconds))


Scenario = Callable[[Entrant, Model, str, Sizes, Notes], None]


def make_workspace(folder: str) -> None:
    """The files that are read."""
    for number in range(FILES):
        with open(os.path.join(folder, f"file{number}.txt"), "w", encoding="utf-8") as file:
            file.writelines(
                f"line {line} of file {number}, as long as lines usually are\n" for line in range(FILE_LINES)
            )


def launching(entrant: Entrant, model: Model, cwd: str, sizes: Sizes, notes: Notes) -> None:
    """Launch, an impatient first session, later ones, a turn, the end of input."""
    with entrant.start(cwd) as agent:
        notes.add_time("launch", entrant, agent.ready_after)
        session = agent.new_session()
        notes.add_time("new_first", entrant, agent.answered - agent.asked)
        for _ in range(3):
            agent.new_session()
            notes.add_time("new_later", entrant, agent.answered - agent.asked)
        agent.prompt(session, "now")
        model.mark()
        notes.add_time("exit", entrant, agent.close())


def remembering(entrant: Entrant, model: Model, cwd: str, sizes: Sizes, notes: Notes) -> None:
    """Memory with one session, with many, and after a turn in each of them."""
    with entrant.start(cwd) as agent:
        sessions = [agent.new_session()]
        first = agent.memory()
        notes.add("memory_first", entrant, first)
        sessions += [agent.new_session() for _ in range(sizes.sessions)]
        many = agent.memory()
        notes.add("memory_more", entrant, (many - first) / sizes.sessions)
        agent.prompt(sessions[0], "now")
        notes.add("memory_turn", entrant, agent.memory())
        model.mark()


def prompting(entrant: Entrant, model: Model, cwd: str, sizes: Sizes, notes: Notes) -> None:
    """Turns in a process that has warmed up."""
    with entrant.start(cwd) as agent:
        session = agent.new_session()
        agent.prompt(session, "now")
        marks = model.mark()
        notes.add("request_size", entrant, marks["bytes"] / 1000)
        notes.add("request_tools", entrant, marks["tools"])
        _overhead(agent, session, entrant, model, sizes, notes)
        agent.prompt(session, f"stream {sizes.chunks}")
        model.mark()
        notes.add_time("chunks", entrant, agent.answered - agent.asked)
        notes.add("chunk_messages", entrant, sum(b"agent_message_chunk" in line for _, line in agent.updates))
        agent.prompt(session, f"read {sizes.reads}")
        model.marks(sizes.reads + 1)
        notes.add_time("reads", entrant, agent.answered - agent.asked)
        for _ in range(sizes.cancels):
            notes.add_time("cancel", entrant, _cancel(agent, session))
            model.mark()


def _overhead(agent: Agent, session: str, entrant: Entrant, model: Model, sizes: Sizes, notes: Notes) -> None:
    for _ in range(sizes.prompts):
        agent.prompt(session, "say")
        marks = model.mark()
        notes.add_time("to_model", entrant, marks["arrived"] - agent.asked)
        notes.add_time("to_chunk", entrant, agent.chunk_at() - marks["first"])
        notes.add_time("to_response", entrant, agent.answered - marks["last"])


def _cancel(agent: Agent, session: str) -> float:
    """Seconds from a cancel to the response, a little into an answer that never ends."""
    agent.updates.clear()
    agent.begin("session/prompt", prompt_params(session, "drip"))
    agent.first_chunk()
    time.sleep(0.05)
    cancelled = agent.send({"method": "session/cancel", "params": {"sessionId": session}})
    stop = agent.finish()["stopReason"]
    assert stop == "cancelled", f"a cancelled turn ended with {stop}"
    return agent.answered - cancelled


def growing(entrant: Entrant, model: Model, cwd: str, sizes: Sizes, notes: Notes) -> None:
    """A session of many turns, every fifth of which reads a file: what a plain one costs early and late, and the load
    of the whole by a fresh process."""
    with entrant.start(cwd) as agent:
        session = agent.new_session()
        costs = _work(agent, model, session, sizes.turns)
        early, late = _around(costs, sizes.early), costs[-sizes.early :]
        notes.add("turn_early", entrant, *early)
        notes.add("turn_late", entrant, *late)
        notes.add("turn_growth", entrant, statistics.median(late) / statistics.median(early))
        half = agent.new_session()
        if entrant.keeps_sessions:
            _work(agent, model, half, sizes.turns // 2)
    if entrant.keeps_sessions:
        for _ in range(sizes.loads):
            _load(entrant, session, half, cwd, notes)


def _work(agent: Agent, model: Model, session: str, turns: int) -> list[float]:
    """So many turns; what the plain ones cost."""
    costs = []
    for number in range(turns):
        if number % 5 == 4:
            agent.prompt(session, "read 1")
            model.marks(2)
            continue
        agent.prompt(session, "now")
        marks = model.mark()
        costs.append(1000 * (marks["arrived"] - agent.asked + agent.answered - marks["last"]))
    return costs


def _around(costs: list[float], turn: int) -> list[float]:
    """The turns around a turn, which alone would say little."""
    start = turn // 2
    return costs[start : start + turn]


def _load(entrant: Entrant, session: str, half: str, cwd: str, notes: Notes) -> None:
    """By an impatient client, and by one whose agent has warmed up; and `half`, a session half as long."""
    params = {"sessionId": session, "cwd": cwd, "mcpServers": []}
    with entrant.start(cwd) as agent:
        agent.call("session/load", params)
        notes.add_time("load_first", entrant, agent.answered - agent.asked)
    with entrant.start(cwd) as agent:
        agent.new_session()
        agent.memory()  # which waits until all is quiet
        agent.call("session/load", params)
        notes.add_time("load", entrant, agent.answered - agent.asked)
        took, replayed = agent.answered - agent.asked, len(agent.updates)
        notes.add("load_messages", entrant, replayed)
        agent.call("session/load", params | {"sessionId": half})
        notes.add("load_growth", entrant, took / (agent.answered - agent.asked) / 2)


# Each with the number of times it is run, for every entrant in turn.
SCENARIOS: Sequence[tuple[Scenario, Callable[[Sizes], int]]] = (
    (launching, lambda sizes: sizes.launches),
    (remembering, lambda sizes: sizes.memories),
    (prompting, lambda sizes: sizes.rounds),
    (growing, lambda sizes: sizes.histories),
)
