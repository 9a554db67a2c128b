"""Conversations that no longer fit: they are summarised in time, and what matters is still there afterwards."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acp.long_model import SUMMARY, LongModel, Summaries
from tests.agent import Agent, Message, text_in
from tests.conftest import Home, StartAgent
from tests.model_server import ModelServer
from tests.settling import processor_seconds

Serve = Callable[..., ModelServer]
# Fewer show the same, where time is short.
TURNS = int(os.environ.get("ACPAGENT_LONG_TURNS", "400"))
SHOWS = {"session": {"compaction": {}}}


@pytest.fixture
def long_workspace(workspace: Path) -> Path:
    (workspace / "long.txt").write_text("a line of the file\n" * 60)
    return workspace


def say(agent: Agent, session: str, number: int, more: str = "") -> tuple[list[Message], Message]:
    return agent.prompt(session, f"step {number}{more}", permission="once", timeout=60)


def compactions(updates: list[Message]) -> list[Message]:
    return [update for update in updates if update["sessionUpdate"] == "compaction_update"]


def lines(updates: list[Message]) -> list[Message]:
    """The lines that say that a conversation was summarised, for clients that do not show it."""
    found = [update for update in updates if "compaction" in update.get("_meta", {}).get("soba", {})]
    return [update for update in found if update["sessionUpdate"] == "agent_message_chunk"]


PLAN: dict[int, Message | str] = {
    3: {"tool": "write_file", "args": {"path": "planted/amber.txt", "content": "x"}},
    4: {"tool": "bash", "args": {"command": "echo teal-outcome; exit 3"}},
    5: {"tool": "todo_write", "args": {"todos": [{"content": "ship the violet part", "status": "in_progress"}]}},
    6: "We decided to keep the index in indigo files instead of one database.",
}


def test_a_long_conversation_stays_quick_small_and_true(agent: StartAgent, serve: Serve, long_workspace: Path) -> None:
    model = LongModel(32_000, PLAN)
    serve(model, model={"context_window": 32_000, "max_output_tokens": 2_000}, tool_approval="yolo")
    one = agent(deadline=30)
    session = one.new_session(long_workspace)
    spent, memory = [processor_seconds(one.process.pid)], []
    shown = 0
    for number in range(1, TURNS + 1):
        more = ". Never write into the folder crimson." if number == 2 else ""
        updates, answer = say(one, session, number, more)
        assert answer["result"] == {"stopReason": "end_turn"}
        shown += len(lines(updates))
        spent.append(processor_seconds(one.process.pid))
        if number in (TURNS // 3, TURNS):
            memory.append(resident(one.process.pid))
    assert model.faults == []
    assert model.refused == 0
    assert shown == model.summarised >= TURNS // 50
    assert model.largest < 32_000
    read = json.dumps(model.seen)
    for planted in ("folder crimson", "planted/amber.txt", "exit 3; ", "teal-outcome", "violet part", "indigo files"):
        assert planted in read, planted
    some = TURNS // 8
    assert spent[-1] - spent[-1 - some] < 1.5 * (spent[1 + some] - spent[1]) + 0.1
    assert memory[1] < memory[0] * 1.3 + 4_000_000


def resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def fill(one: Agent, session: str, model: LongModel, until: int = 1, first: int = 1) -> list[Message]:
    """Go on until so many summaries were asked for; the updates of the last prompt."""
    for number in range(first, first + 200):
        updates, answer = say(one, session, number)
        assert answer["result"] == {"stopReason": "end_turn"}
        if model.summarised >= until:
            return updates
    raise AssertionError("never summarised")


def fill_until_asked(one: Agent, session: str, model: LongModel) -> tuple[int, int]:
    """Go on until a summary is asked for; the request that waits for it, and the number of its prompt."""
    number = 0
    while True:
        number += 1
        id = one.start_prompt(session, f"step {number}")
        while not (answered := one.transcript.responses.get((int, id))):
            if model.asked_for_summary.wait(0.01):
                return id, number
        assert answered


BOTH = pytest.mark.parametrize("api", ["openai-chat", "anthropic-messages"])
SMALL = {"context_window": 12_000, "max_output_tokens": 1_000}


@BOTH
@pytest.mark.parametrize("summaries", ["good", "empty", "fail", "calls"])
def test_a_summary_there_is_whatever_the_model_says(
    agent: StartAgent, serve: Serve, long_workspace: Path, summaries: Summaries, api: str
) -> None:
    model = LongModel(12_000, PLAN, summaries)
    serve(model, dialect=api, model=SMALL, tool_approval="yolo")
    one = agent()
    session = one.new_session(long_workspace)
    updates = fill(one, session, model)
    (line,) = lines(updates)
    facts = line["_meta"]["soba"]["compaction"]
    assert facts["strategy"] == ("portable" if summaries == "good" else "deterministic")
    assert facts["estimatedTokensAfter"] < facts["effectiveTokensBefore"]
    assert model.faults == []
    read = json.dumps(model.seen)
    assert (SUMMARY in read) == (summaries == "good")
    assert "planted/amber.txt" in read
    assert "indigo files" in read


def test_COMP_01_COMP_02_clients_that_show_summaries_get_them(
    agent: StartAgent, serve: Serve, long_workspace: Path
) -> None:
    model = LongModel(12_000)
    serve(model, model=SMALL)
    one = agent()
    one.initialize(SHOWS)
    session = one.new_session(long_workspace)
    updates = fill(one, session, model)
    begun, ended = compactions(updates)
    assert [begun["status"], ended["status"]] == ["in_progress", "completed"]
    chunks = [update for update in updates if update["sessionUpdate"] == "compaction_summary_chunk"]
    assert [chunk["content"]["text"] for chunk in chunks] == [SUMMARY]
    assert chunks[0]["compactionId"] == begun["compactionId"]
    assert updates.index(begun) < updates.index(chunks[0]) < updates.index(ended)
    assert begun["compactionId"] == ended["compactionId"]
    assert "summary" not in begun
    assert SUMMARY in ended["summary"][0]["text"]
    assert not [update for update in updates if "was summarised" in text_in([update])]
    at = updates.index(ended)
    assert updates[at + 1]["sessionUpdate"] == "usage_update"
    assert updates[at + 1]["used"] <= updates[at + 1]["size"]


def test_USE_03_what_a_summary_costs_is_counted(agent: StartAgent, serve: Serve, long_workspace: Path) -> None:
    model = LongModel(12_000)
    price = {"input": 1.0, "cached": 1.0, "output": 1.0, "currency": "USD", "per": 1}
    serve(model, model=SMALL | {"price": price})
    one = agent()
    session = one.new_session(long_workspace)
    updates = fill(one, session, model)
    costs = [update["cost"]["amount"] for update in updates if update["sessionUpdate"] == "usage_update"]
    assert costs == sorted(costs)
    (line,) = lines(updates)
    at = updates.index(line)
    before = [u for u in one.updates(session) if u["sessionUpdate"] == "usage_update"]
    spent = updates[at + 1]["cost"]["amount"]
    earlier = max(u["cost"]["amount"] for u in before if u["cost"]["amount"] < spent)
    body = model.summary_bodies[0]
    assert spent - earlier >= len(json.dumps(body)) // 4 * 0.8


@BOTH
def test_what_turns_out_too_long_is_summarised_and_asked_once_more(
    agent: StartAgent, serve: Serve, long_workspace: Path, api: str
) -> None:
    model = LongModel(64_000)
    model.real_window = 9_000  # the settings say more than is true
    serve(model, dialect=api, model={"context_window": 64_000, "max_output_tokens": 1_000})
    one = agent()
    session = one.new_session(long_workspace)
    updates = fill(one, session, model)
    assert model.refused == 1
    assert lines(updates)[0]["_meta"]["soba"]["compaction"]["trigger"] == "overflow"
    fill(one, session, model, until=3, first=300)
    assert model.refused == 1  # from then on it is known what fits
    assert model.faults == []


def test_what_is_too_long_by_itself_ends_the_turn(agent: StartAgent, serve: Serve, long_workspace: Path) -> None:
    model = LongModel(32_000)
    model.real_window = 100
    serve(model, model={"context_window": 32_000})
    one = agent()
    session = one.new_session(long_workspace)
    _, answer = say(one, session, 1)
    assert "too long" in answer["error"]["message"]
    assert model.refused == 1


def test_it_can_be_switched_off_but_for_what_does_not_fit(
    agent: StartAgent, serve: Serve, long_workspace: Path
) -> None:
    model = LongModel(12_000)
    serve(model, model=SMALL)
    one = agent()
    session = one.new_session(long_workspace)
    updates, _ = one.prompt(session, "/auto-compact off")
    assert "only when they no longer fit" in text_in(updates)
    updates = fill(one, session, model)
    assert lines(updates)[0]["_meta"]["soba"]["compaction"]["effectiveTokensBefore"] >= 11_000
    one.close()
    two = agent()
    two.initialize()
    two.call("session/load", {"sessionId": session, "cwd": str(long_workspace), "mcpServers": []})
    updates, _ = two.prompt(session, "/auto-compact")
    assert "only when they no longer fit" in text_in(updates)


@BOTH
def test_the_person_asks_for_a_summary(agent: StartAgent, serve: Serve, long_workspace: Path, api: str) -> None:
    model = LongModel(64_000, PLAN)
    serve(model, dialect=api, model={"context_window": 64_000}, compaction={"keep": 0.01}, tool_approval="yolo")
    one = agent()
    session = one.new_session(long_workspace)
    updates, _ = one.prompt(session, "/compact")
    assert "nothing to summarise" in text_in(updates)
    for number in range(1, 9):
        say(one, session, number)
    first = json.dumps(model.seen)
    updates, answer = one.prompt(session, "/compact keep the word OCHRE")
    assert answer["result"] == {"stopReason": "end_turn"}
    assert "was summarised" in text_in(updates)
    assert "keep the word OCHRE" in json.dumps(model.summary_bodies[0])
    window = re.search(r"(\d+) of the window's 64000 tokens", asked(one, session, "/budget"))
    assert window
    assert f"Context: {window[1]} of 64000 tokens" in asked(one, session, "/session")
    say(one, session, 9)
    then = json.dumps(model.seen)
    assert len(then) < len(first)
    assert "/compact" not in then
    assert "step 2" in then.split("# From the record")[1]  # a prompt of the record
    assert then.count("Today is") == 1  # told again
    assert model.faults == []


def test_cancel_during_a_summary_changes_nothing(agent: StartAgent, serve: Serve, long_workspace: Path) -> None:
    model = LongModel(12_000)
    serve(model, model=SMALL, compaction={"seconds": 600})
    one = agent()
    one.initialize(SHOWS)
    session = one.new_session(long_workspace)
    model.summaries = "stall"
    id, _ = fill_until_asked(one, session, model)
    one.notify("session/cancel", {"sessionId": session})
    assert one.response(id)["result"] == {"stopReason": "cancelled"}
    assert [update["status"] for update in compactions(one.updates(session))] == ["in_progress", "cancelled"]
    model.summaries = "good"
    say(one, session, 101)
    assert model.faults == []
    assert model.summarised == 2


def test_a_summary_that_never_comes_is_waited_for_no_longer_than_it_may_take(
    agent: StartAgent, serve: Serve, long_workspace: Path
) -> None:
    model = LongModel(12_000, summaries="stall")
    serve(model, model=SMALL, compaction={"seconds": 0.3})
    one = agent()
    session = one.new_session(long_workspace)
    updates = fill(one, session, model)
    assert lines(updates)[0]["_meta"]["soba"]["compaction"]["strategy"] == "deterministic"


@BOTH
def test_LOAD_a_summary_is_loaded_as_it_was(agent: StartAgent, serve: Serve, long_workspace: Path, api: str) -> None:
    model = LongModel(12_000, PLAN)
    serve(model, dialect=api, model=SMALL, tool_approval="yolo")
    one = agent()
    session = one.new_session(long_workspace)
    fill(one, session, model, until=2)
    say(one, session, 190)
    before = model.seen
    one.close()
    two = agent()
    two.initialize(SHOWS)
    two.call("session/load", {"sessionId": session, "cwd": str(long_workspace), "mcpServers": []})
    replayed = two.updates(session)
    assert [update["status"] for update in compactions(replayed)] == ["completed"] * 2
    said = [u["content"]["text"] for u in replayed if u["sessionUpdate"] == "user_message_chunk"]
    assert said[:3] == ["step 1", "step 2", "step 3"]
    say(two, session, 191)
    assert model.seen[: len(before)] == before
    assert model.faults == []


def test_kill_9_during_a_summary_loses_nothing(
    agent: StartAgent, serve: Serve, long_workspace: Path, home: Home
) -> None:
    model = LongModel(12_000)
    serve(model, model=SMALL, compaction={"seconds": 600})
    one = agent(exit_code=None)
    session = one.new_session(long_workspace)
    model.summaries = "stall"
    _, number = fill_until_asked(one, session, model)
    os.kill(one.process.pid, signal.SIGKILL)
    one.close()
    model.summaries = "good"
    two = agent()
    two.initialize()
    two.call("session/load", {"sessionId": session, "cwd": str(long_workspace), "mcpServers": []})
    said = [u["content"]["text"] for u in two.updates(session) if u["sessionUpdate"] == "user_message_chunk"]
    assert said == [f"step {each}" for each in range(1, number + 1)]
    _, answer = say(two, session, number + 1)
    assert answer["result"] == {"stopReason": "end_turn"}
    assert model.faults == []
    assert model.summarised == 2


def test_instructions_and_mode_are_told_again(agent: StartAgent, serve: Serve, long_workspace: Path) -> None:
    (long_workspace / "AGENTS.md").write_text("Use tabs of OLIVE width.\n")
    model = LongModel(12_000, {n: {"tool": "read_file", "args": {"path": "long.txt"}} for n in range(1, 100)})
    serve(model, model=SMALL, compaction={"keep": 0.02})
    one = agent()
    session = one.new_session(long_workspace)
    fill(one, session, model)
    told = json.dumps(model.seen)
    assert told.count("OLIVE") >= 1
    one.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
    for number in range(50, 70):
        one.prompt(session, f"step {number}", permission="deny")
        told = json.dumps(model.seen)
        assert "<plan-mode>" in told
        assert "OLIVE" in told


def test_a_hook_can_refuse_a_summary(agent: StartAgent, serve: Serve, long_workspace: Path, home: Home) -> None:
    seen = home.path / "seen.json"
    command = f"cat > {seen}; echo not now >&2; exit 2"
    (home.path / "hooks.json").write_text(json.dumps({"hooks": {"PreCompact": [{"command": command}]}}))
    model = LongModel(64_000)
    serve(model, model={"context_window": 64_000}, compaction={"keep": 0})
    one = agent()
    session = one.new_session(long_workspace)
    for number in range(1, 4):
        say(one, session, number)
    updates, _ = one.prompt(session, "/compact please")
    assert "nothing to summarise" in text_in(updates)
    happened = json.loads(seen.read_text())
    assert (happened["source"], happened["message"]) == ("manual", "please")
    assert model.summarised == 0


def test_the_budget_is_shown_and_warned_of(agent: StartAgent, serve: Serve, long_workspace: Path) -> None:
    model = LongModel(64_000)
    serve(model, model={"context_window": 64_000}, limits={"session_tokens": 30_000})
    one = agent()
    session = one.new_session(long_workspace)
    warned = []
    for number in range(1, 9):
        updates, _ = say(one, session, number)
        warned += [text for u in updates if "% of its tokens" in (text := text_in([u]))]
    assert 1 <= len(warned) <= 3
    updates, _ = one.prompt(session, "/budget")
    said = text_in(updates)
    assert "of the window's 64000 tokens" in said
    assert "/30000 (" in said
    assert "No price is known" in said


def asked(one: Agent, session: str, words: str) -> str:
    """What acpagent says to a prompt that must end well."""
    updates, answer = one.prompt(session, words, permission="once")
    assert answer["result"] == {"stopReason": "end_turn"}
    return text_in(updates)


def test_a_spent_budget_ends_the_turn_until_it_is_raised(agent: StartAgent, serve: Serve, long_workspace: Path) -> None:
    model = LongModel(64_000)
    server = serve(model, model={"context_window": 64_000}, limits={"session_tokens": 5_000})
    one = agent()
    session = one.new_session(long_workspace)
    updates, answer = say(one, session, 1)  # two requests: the second one passes the limit
    assert answer["result"] == {"stopReason": "end_turn"}
    before = len(server.requests)
    updates, answer = say(one, session, 2)
    assert answer["result"] == {"stopReason": "max_tokens"}
    assert "so the model is not asked any more" in text_in(updates)
    assert len(server.requests) == before
    assert "is no number above 0" in asked(one, session, "/budget tokens many")
    assert "There is no `/budget coins 5`" in asked(one, session, "/budget coins 5")
    assert "/2000000 (" in asked(one, session, "/budget tokens 2m")
    assert asked(one, session, "go on with step 2")
    assert "step 2" in json.dumps(model.seen[-4:])  # what was said while nothing could be asked
    assert "there is no limit" in asked(one, session, "/budget tokens none")
    one.close()
    two = agent()
    two.initialize()
    two.call("session/load", {"sessionId": session, "cwd": str(long_workspace), "mcpServers": []})
    assert "there is no limit" in asked(two, session, "/budget")
    assert "/5000 (" in asked(two, session, "/budget tokens default")


def test_a_limit_on_cost_holds_in_the_middle_of_a_turn(agent: StartAgent, serve: Serve, long_workspace: Path) -> None:
    price = {"input": 1.0, "cached": 1.0, "output": 1.0, "currency": "EUR", "per": 1_000, "as_of": "2026-11-15"}
    model = LongModel(64_000)
    serve(model, model={"context_window": 64_000, "price": price}, limits={"session_cost": 2})
    one = agent()
    session = one.new_session(long_workspace)
    assert asked(one, session, "/compact")
    assert model.summarised == 0
    updates, answer = say(one, session, 1)
    assert answer["result"] == {"stopReason": "max_tokens"}
    assert "of its 2 EUR, so the model is not asked any more" in text_in(updates)
    read = [update for update in updates if update.get("status") == "completed"]
    assert read  # what was begun was finished
    said = asked(one, session, "/budget cost 100")
    assert "of 100 EUR" in said
    assert "Prices are of 2026-11-15" in said
    assert asked(one, session, "go on with step 1")
    assert model.faults == []
