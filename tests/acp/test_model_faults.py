"""Every fault of a model's server, in both APIs, at every place of a turn, through the real agent.

Each ends in bounded time, never silently, with the right error, and the next prompt works.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from tests.acp.seen import calls, calls_in, says, turn
from tests.acp.served import Served, served
from tests.agent import Message, text_in
from tests.providers.calling import APIS

BOUND = 30.0  # seconds for a turn that takes milliseconds, on a very busy machine
READ_SECONDS = 1.2
TRIES = 3


@dataclass(frozen=True)
class Fault:
    """A step that fails. `kind` of the error if nothing was said before it, and whether it is tried again then;
    `kept`: the kind once something was said."""

    step: Any
    kind: str
    again: bool
    kept: str = "broken"


def status(number: int, message: str = "as the script says") -> Any:
    return {"error": {"status": number, "message": message, "retry_after": 0.01}}


FAULTS = {
    "400": Fault(status(400), "rejected", False, "rejected"),
    "401": Fault(status(401), "auth", False, "auth"),
    "402": Fault(status(402), "payment", False, "payment"),
    "403": Fault(status(403), "auth", False, "auth"),
    "404": Fault(status(404), "rejected", False, "rejected"),
    "413": Fault(status(413), "too_long", False, "too_long"),
    "too long": Fault(status(400, "prompt is too long: 9 tokens > 8 maximum"), "too_long", False, "too_long"),
    "429": Fault(status(429), "rate", True),
    "500": Fault(status(500), "unavailable", True),
    "503": Fault(status(503), "unavailable", True),
    "529": Fault(status(529), "unavailable", True),
    "close": Fault({"drop": "close"}, "unavailable", True),
    "reset": Fault({"drop": "reset"}, "unavailable", True),
    "truncated": Fault({"drop": "end"}, "broken", True),
    "stall": Fault({"stall": True}, "unavailable", False),
}
# What the model did before the fault in the same answer, if anything: a half call must never be run.
BEFORE: dict[str, list[Any]] = {
    "at first": [],
    "after text": says("The answer is"),
    "after thought": [{"thought": "Let me think"}],
    "in a call": [{**calls("write_file", path="half.txt", content="x" * 50), "chunk": 20}],
    "after a call": [*says("Now"), calls("write_file", path="whole.txt", content="x")],
}
PLACES = [*BEFORE, "after a round"]
# A conversation that is too long is summarised and asked once more, if there is something to summarise.
GOT_OVER = [("413", "after a round"), ("too long", "after a round")]


def failing(fault: str, place: str) -> str:
    return f"fault {fault} {place}."


def replies(fault: str, place: str) -> list[Any]:
    step = FAULTS[fault].step
    if place == "after a round":
        return [[*says("Looking. " * 400), calls("list_dir"), calls("glob", pattern="*")], [step]]
    return [[*BEFORE[place], step]]


def passing(fault: str) -> Any:
    ((kind, how),) = FAULTS[fault].step.items()
    return {kind: {"how": how} | {"times": 1} if kind == "drop" else {**how, "times": 1}}


SCRIPT: dict[str, Any] = {
    "turns": [
        *(turn(failing(fault, place), *replies(fault, place)) for fault in FAULTS for place in PLACES),
        *(turn(f"passing {fault}.", [passing(fault), *says("Here.")]) for fault in FAULTS if FAULTS[fault].again),
        turn("next", says("Hello.")),
        turn("empty", []),
        turn("slow", [{"wait": 0.6}, calls("list_dir")], [{"wait": 0.6}, *says("There.")]),
    ]
}


@pytest.fixture(scope="module", params=APIS)
def one(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    provider = {
        "timeouts": {"connect": 5, "read": READ_SECONDS},
        "retries": {"tries": TRIES, "base_seconds": 0.01},
    }
    folder = tmp_path_factory.mktemp("faults")
    with served(folder, SCRIPT, dialect=request.param, provider=provider, tool_approval="yolo") as made:
        yield made


def prompt(one: Served, session: str, text: str) -> tuple[list[Message], Message]:
    started = time.monotonic()
    updates, answer = one.agent.prompt(session, text)
    assert time.monotonic() - started < BOUND
    return updates, answer


def assert_usable(one: Served, session: str) -> None:
    """The next prompt works, and what the model reads then is a conversation that its server takes."""
    updates, answer = prompt(one, session, "next")
    assert answer.get("result") == {"stopReason": "end_turn"}, answer
    assert text_in(updates).endswith("Hello.")  # a busy machine may have a line about waiting first
    if one.last.path.endswith("/chat/completions"):  # the other dialect's server looks for itself
        open_calls: list[str] = []
        for message in one.read():
            if message["role"] == "tool":
                open_calls.remove(message["tool_call_id"])
            else:
                assert open_calls == []
                open_calls = [call["id"] for call in message.get("tool_calls", ())]
        assert open_calls == []


def notices(updates: list[Message]) -> int:
    return text_in(updates).count("[warning] The model did not answer")


@pytest.mark.parametrize(("fault", "place"), [pair for pair in product(FAULTS, PLACES) if pair not in GOT_OVER])
def test_BB_16_a_fault_is_an_error_and_the_next_prompt_works(one: Served, fault: str, place: str) -> None:
    expected = FAULTS[fault]
    fresh = place in ("at first", "after a round")
    kind = expected.kind if fresh else expected.kept
    session, before = one.new(), len(one.server.requests)
    updates, answer = prompt(one, session, failing(fault, place))
    error = answer["error"]  # never a silent end
    assert error["code"] == (-32000 if kind == "auth" else -32603)
    assert kind == "auth" or error["data"]["kind"] == kind
    assert "Traceback" not in json.dumps(error)
    assert notices(updates) == (TRIES - 1 if fresh and expected.again else 0)
    made = 1 + (place == "after a round") + notices(updates)
    assert len(one.server.requests) - before == made
    assert ("The answer is" in text_in(updates)) == (place == "after text")
    seen = [call.status for call in calls_in(updates)]
    assert seen == (["completed", "completed"] if place == "after a round" else [])
    assert list(one.workspace.iterdir()) == []
    assert_usable(one, session)


@pytest.mark.parametrize(("fault", "place"), GOT_OVER)
def test_what_is_too_long_is_summarised_and_asked_once_more(one: Served, fault: str, place: str) -> None:
    session, before = one.new(), len(one.server.requests)
    prompt(one, session, failing(fault, place))
    asked = one.server.requests[before:]
    assert "tools" not in asked[2].body
    assert sum("tools" not in request.body for request in asked) < 20  # the script goes on for a hundred calls
    assert "<conversation-summary>" in json.dumps(asked[3].messages)
    assert_usable(one, session)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if FAULTS[fault].again])
def test_a_fault_that_passes_is_shown_and_got_over(one: Served, fault: str) -> None:
    session, before = one.new(), len(one.server.requests)
    updates, answer = prompt(one, session, f"passing {fault}.")
    assert answer["result"] == {"stopReason": "end_turn"}
    assert notices(updates) == 1
    assert f"try 2 of {TRIES} follows in 1 s" in text_in(updates)
    assert text_in(updates).endswith("Here.")
    sent = {request.raw for request in one.server.requests[before:]}
    assert len(sent) == 1  # the same call again
    assert_usable(one, session)


def test_an_answer_of_nothing_is_no_silent_end(one: Served) -> None:
    session = one.new()
    updates, answer = prompt(one, session, "empty")
    assert "answer was empty" in answer["error"]["message"]
    assert notices(updates) == TRIES - 1
    assert_usable(one, session)


def test_a_slow_model_is_waited_for_and_the_person_told_once(one: Served) -> None:
    updates, answer = prompt(one, one.new(), "slow")
    assert answer["result"] == {"stopReason": "end_turn"}
    told = "The model has not answered for 0.3 s; it is still waited for."
    assert text_in(updates).count(told) == 1
    assert text_in(updates).endswith("There.")
    assert [call.status for call in calls_in(updates)] == ["completed"]
