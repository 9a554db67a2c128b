"""Prompts: iterating, waiting, cancelling, from one thread and from many."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from acpagent.client.faults import AgentFault
from acpagent.client.updates import MessageChunk, ToolUpdate


def test_iterating_gives_every_update_and_ends_with_the_answer(launch):
    session = launch("echo").open("/tmp")
    turn = session.prompt("one two three")
    updates = list(turn)
    assert [update.text for update in updates] == ["one", "two", "three"]
    assert all(isinstance(update, MessageChunk) and update.role == "assistant" for update in updates)
    assert updates[0].raw == {
        "sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": "one"},
    }
    assert turn.stop_reason == "end_turn"
    assert turn.response == {"stopReason": "end_turn"}
    assert turn.text == "onetwothree"
    assert list(turn) == []
    assert turn.next_update() is None


def test_waiting_needs_no_iterating(launch):
    turn = launch("echo").open("/tmp").prompt(["one ", {"type": "text", "text": "two"}])
    assert turn.wait(60) == "end_turn"
    assert turn.text == "onetwo"
    assert [update.text for update in turn] == ["one", "two"]


def test_updates_may_be_matched(launch):
    session = launch("echo").open("/tmp")
    said = []
    for update in session.prompt("a b"):
        match update:
            case MessageChunk("assistant", text):
                said.append(text)
    assert said == ["a", "b"]


def test_cancel_from_another_thread(launch):
    session = launch("echo").open("/tmp")
    turn = session.prompt("wait")
    updates = iter(turn)
    assert next(updates).text == "waiting"
    assert turn.stop_reason is None
    canceller = threading.Thread(target=turn.cancel)
    canceller.start()
    assert list(updates) == []
    canceller.join()
    assert turn.stop_reason == "cancelled"
    assert turn.cancelled


def test_cancelling_again_or_too_late_is_not_sent(launch):
    client = launch("echo")
    session = client.open("/tmp")
    turn = session.prompt("wait")
    turn.cancel()
    turn.cancel()
    session.cancel()
    assert turn.wait(60) == "cancelled"
    later = session.prompt("wait")
    assert later.next_update(60).text == "waiting"
    turn.cancel()
    client.call("session/list", {})  # by now the agent would have read it
    assert not later.done
    session.cancel()
    assert later.wait(60) == "cancelled"
    assert session.prompt("on we go").wait(60) == "end_turn"


def test_cancel_hits_its_session_alone(launch):
    client = launch("echo")
    one, two = client.open("/tmp"), client.open("/tmp")
    turns = one.prompt("wait"), two.prompt("wait")
    turns[0].cancel()
    assert turns[0].wait(60) == "cancelled"
    assert not turns[1].done
    two.close()
    assert turns[1].wait(60) == "cancelled"


def test_an_error_is_raised_after_the_updates(launch):
    session = launch("echo").open("/tmp")
    turn = session.prompt("fail now")
    heard = []
    with pytest.raises(AgentFault, match="told to fail") as caught:
        heard.extend(turn)
    assert [update.text for update in heard] == ["so far"]
    assert caught.value.code == -32603
    with pytest.raises(AgentFault):
        turn.wait()
    assert turn.stop_reason is None


def test_the_time_of_a_prompt(launch):
    session = launch("echo").open("/tmp")
    started = time.monotonic()
    turn = session.prompt("wait", timeout=1.5)
    assert turn.next_update().text == "waiting"
    for waiting in (turn.next_update, turn.wait, lambda: turn.wait(60)):
        with pytest.raises(TimeoutError):
            waiting()
    assert 1.4 < time.monotonic() - started < 10
    assert not turn.done
    turn.cancel()
    with session.changed:
        assert session.changed.wait_for(lambda: turn.done, 60)
    assert turn.wait() == "cancelled"  # no waiting, no timeout


def test_the_time_of_one_wait(launch):
    turn = launch("echo").open("/tmp").prompt("wait")
    assert turn.next_update(60).text == "waiting"
    with pytest.raises(TimeoutError):
        turn.next_update(0.05)
    turn.cancel()
    assert turn.next_update(60) is None


def test_what_follows_the_answer_is_no_part_of_the_turn(launch):
    client = launch("late")
    session = client.open("/tmp")
    turn = session.prompt("go")
    assert [update.text for update in turn] == ["before"]
    client.call("session/list", {})
    assert turn.text == "before"
    assert [update.kind for update in session.idle] == [
        "agent_message_chunk",
        "session_info_update",
    ]
    assert session.title == "Too late"


def test_tool_calls_are_kept_as_they_stand(launch):
    session = launch("asks").open("/tmp")
    turn = session.prompt('{"options": ["reject_once"]}')
    updates = [update for update in turn if isinstance(update, ToolUpdate)]
    assert [(update.begins, update.id, update.status) for update in updates] == [
        (True, "c1", "pending"),
        (False, "c1", "completed"),
    ]
    assert turn.tool_calls == {
        "c1": {"toolCallId": "c1", "title": "Write a file", "status": "completed", "kind": "edit"}
    }


def test_twenty_prompts_in_parallel_sessions(launch):
    client = launch("echo")
    sessions = [client.open("/tmp") for _ in range(20)]

    def talk(session):
        turn = session.prompt("meet 20")
        return session.id, turn.wait(60), "".join(update.text for update in turn)

    with ThreadPoolExecutor(20) as pool:
        told = list(pool.map(talk, sessions))
    for id, stop_reason, text in told:
        assert stop_reason == "end_turn"
        assert text == "".join(f"{id}.{part} " for part in range(10))


def test_a_prompt_that_cannot_be_sent_leaves_the_session_usable(launch):
    session = launch("echo").open("/tmp")
    with pytest.raises(ValueError, match="JSON"):
        session.prompt([{"type": "text", "text": float("nan")}])
    turn = session.prompt("fine")
    assert turn.wait(60) == "end_turn"
    assert turn.text == "fine"


def test_one_turn_may_be_read_by_several_threads(launch):
    session = launch("echo").open("/tmp")
    turn = session.prompt(" ".join(map(str, range(500))))
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: [update.text for update in turn], range(4)))
    assert sorted(int(text) for part in parts for text in part) == list(range(500))
