"""Every cell of the session machine's table, as data, and the rules beside it.

`SITUATIONS` names ways to be in a state; `TABLE` says for an event in a situation what the next state is and what
comes of it, in the words of `tests/runtime/bench.py`.
"""

from __future__ import annotations

import pytest
from statemachine.exceptions import TransitionNotAllowed

from acpagent.core.blocks import Link, Resource, Text
from acpagent.core.faults import OurFault, TheirFault
from acpagent.core.scope import Scope
from acpagent.runtime.session.machine import REFUSALS, SessionMachine, failed, refusal
from acpagent.runtime.session.works import (
    PromptRequest,
    Rebuild,
    Rebuilt,
    Teardown,
    Turn,
    TurnOutcome,
)
from tests.runtime.bench import SPENT, Bench, NamedReply

# How one gets there, and the state one is in then.
SITUATIONS: dict[str, tuple[str, str]] = {
    "idle": ("done", "idle"),
    # prompting
    "turn": ("done; prompt p1", "prompting"),
    "turn, axis waits": ("done; prompt p1; configure model=b c1", "prompting"),
    "turn, sealed": ("done; prompt p1; seal", "prompting"),
    "turn, cancelled": ("done; prompt p1; cancel", "prompting"),
    "turn, cancelled, axis waits": ("done; prompt p1; configure model=b c1; cancel", "prompting"),
    "turn, cancelled, prompt waits": ("done; prompt p1; cancel; prompt p2", "prompting"),
    "turn, cancelled, prompt and axis wait": (
        "done; prompt p1; configure model=b c1; cancel; prompt p2",
        "prompting",
    ),
    "turn, left": ("done; prompt p1; leave", "prompting"),
    "turn, left, axis waits": ("done; prompt p1; configure model=b c1; leave", "prompting"),
    "turn, left and cancelled": ("done; prompt p1; leave; cancel", "prompting"),
    # rebuilding
    "opening": ("", "rebuilding"),
    "opening, prompt waits": ("prompt p1", "rebuilding"),
    "opening again": ("done; reopen load o2", "rebuilding"),
    "opening again, withdrawn": ("done; reopen load o2; withdraw o2", "rebuilding"),
    "opening again, axis waits": ("done; reopen load o2; configure model=b c1", "rebuilding"),
    "rebuild for axis": ("done; configure model=b c1", "rebuilding"),
    "rebuild for axis, another waits": ("done; configure model=b c1; configure model=c c2", "rebuilding"),
    "rebuild for axis, prompt waits": ("done; configure model=b c1; prompt p1", "rebuilding"),
    "rebuild for axis, withdrawn": ("done; configure model=b c1; withdraw c1", "rebuilding"),
    "rebuild for reload": ("done; reload r1", "rebuilding"),
    "rebuild for reload, withdrawn": ("done; reload r1; withdraw r1", "rebuilding"),
    "rebuild, response held": ("done; prompt p1; configure model=b c1; done", "rebuilding"),
    "rebuild, response held, prompt waits": (
        "done; prompt p1; configure model=b c1; done; prompt p2",
        "rebuilding",
    ),
    "rebuild, response held, axis waits": (
        "done; prompt p1; configure model=b c1; done; configure model=c c2",
        "rebuilding",
    ),
    # reload_queued
    "turn, reload waits": ("done; prompt p1; reload r1", "reload_queued"),
    "turn, reload and axis wait": ("done; prompt p1; reload r1; configure model=b c1", "reload_queued"),
    "turn, sealed, reload waits": ("done; prompt p1; reload r1; seal", "reload_queued"),
    "turn, cancelled, reload waits": ("done; prompt p1; reload r1; cancel", "reload_queued"),
    "turn, left, reload waits": ("done; prompt p1; reload r1; leave", "reload_queued"),
    "turn, cancelled, prompt, axis and reload wait": (
        "done; prompt p1; configure model=b c1; reload r1; cancel; prompt p2",
        "reload_queued",
    ),
    "rebuild for axis, reload waits": ("done; configure model=b c1; reload r1", "reload_queued"),
    "rebuild for reload, reload waits": ("done; reload r1; reload r2", "reload_queued"),
    "rebuild, response held, reload waits": (
        "done; prompt p1; configure model=b c1; done; reload r1",
        "reload_queued",
    ),
    "opening again, reload waits": ("done; reopen resume o2; reload r1", "reload_queued"),
    # closing
    "closing, turn runs": ("done; prompt p1; close x1", "closing"),
    "closing, opening runs": ("close x1", "closing"),
    "closing, rebuild runs": ("done; configure model=b c1; close x1", "closing"),
    "closing, teardown runs": ("done; close x1", "closing"),
    "deleting, teardown runs": ("done; delete x1", "closing"),
    "closed": ("done; close x1; done", "closed"),
}

# event, situation, next state, what comes of it. A reply's name ending in 9 is the event's own.
TABLE: list[tuple[str, str, str, str]] = [
    # prompt
    ("prompt p9", "idle", "prompting", ""),
    ("prompt p9", "turn", "prompting", "p9: -32600"),
    ("prompt p9", "turn, sealed", "prompting", "p9: -32600"),
    ("prompt p9", "turn, cancelled", "prompting", ""),
    ("prompt p9", "turn, cancelled, prompt waits", "prompting", "p9: -32600"),
    ("prompt p9", "opening", "rebuilding", ""),
    ("prompt p9", "opening, prompt waits", "rebuilding", "p9: -32600"),
    ("prompt p9", "opening again", "rebuilding", ""),
    ("prompt p9", "rebuild for axis", "rebuilding", ""),
    ("prompt p9", "rebuild for reload", "rebuilding", ""),
    ("prompt p9", "rebuild for axis, prompt waits", "rebuilding", "p9: -32600"),
    ("prompt p9", "rebuild, response held", "rebuilding", ""),
    ("prompt p9", "turn, reload waits", "reload_queued", "p9: -32600"),
    ("prompt p9", "turn, cancelled, reload waits", "reload_queued", ""),
    ("prompt p9", "turn, cancelled, prompt, axis and reload wait", "reload_queued", "p9: -32600"),
    ("prompt p9", "rebuild for axis, reload waits", "reload_queued", ""),
    ("prompt p9", "rebuild, response held, reload waits", "reload_queued", ""),
    ("prompt p9", "opening again, reload waits", "reload_queued", ""),
    ("prompt p9", "closing, turn runs", "closing", "p9: -32002"),
    ("prompt p9", "closing, teardown runs", "closing", "p9: -32002"),
    ("prompt p9", "closed", "closed", "p9: -32002"),
    # steer
    ("steer hint s9", "idle", "idle", "s9: -32600"),
    ("steer hint s9", "turn", "prompting", "s9: done"),
    ("steer hint s9", "turn, sealed", "prompting", "s9: -32600"),
    ("steer hint s9", "turn, cancelled", "prompting", "s9: -32600"),
    ("steer hint s9", "opening", "rebuilding", "s9: -32600"),
    ("steer hint s9", "rebuild for axis", "rebuilding", "s9: -32600"),
    ("steer hint s9", "rebuild, response held", "rebuilding", "s9: -32600"),
    ("steer hint s9", "turn, reload waits", "reload_queued", "s9: done"),
    ("steer hint s9", "turn, sealed, reload waits", "reload_queued", "s9: -32600"),
    ("steer hint s9", "turn, cancelled, reload waits", "reload_queued", "s9: -32600"),
    ("steer hint s9", "rebuild for axis, reload waits", "reload_queued", "s9: -32600"),
    ("steer hint s9", "closing, turn runs", "closing", "s9: -32602"),
    ("steer hint s9", "closing, teardown runs", "closing", "s9: -32602"),
    ("steer hint s9", "closed", "closed", "s9: -32602"),
    # cancel
    ("cancel", "idle", "idle", ""),
    ("cancel", "turn", "prompting", "cancel scope"),
    ("cancel", "turn, sealed", "prompting", "cancel scope"),
    ("cancel", "turn, cancelled", "prompting", ""),
    ("cancel", "turn, cancelled, prompt waits", "prompting", "p2: cancelled"),
    ("cancel", "opening", "rebuilding", ""),
    ("cancel", "opening, prompt waits", "rebuilding", "p1: cancelled"),
    ("cancel", "rebuild for axis", "rebuilding", ""),
    ("cancel", "rebuild for axis, prompt waits", "rebuilding", "p1: cancelled"),
    ("cancel", "rebuild, response held", "rebuilding", "p1: cancelled"),
    ("cancel", "rebuild, response held, prompt waits", "rebuilding", "p1: cancelled; p2: cancelled"),
    ("cancel", "turn, reload waits", "reload_queued", "cancel scope"),
    ("cancel", "turn, cancelled, prompt, axis and reload wait", "reload_queued", "p2: cancelled"),
    ("cancel", "rebuild, response held, reload waits", "reload_queued", "p1: cancelled"),
    ("cancel", "closing, turn runs", "closing", ""),
    ("cancel", "closing, teardown runs", "closing", ""),
    ("cancel", "closed", "closed", ""),
    # configure, an axis that a loadout is built from
    ("configure model=b c9", "idle", "rebuilding", ""),
    ("configure model=a c9", "idle", "idle", "c9: model=a"),
    ("configure model=b c9", "turn", "prompting", "controls model=b; c9: model=b"),
    ("configure model=a c9", "turn", "prompting", "c9: model=a"),
    ("configure model=c c9", "turn, axis waits", "prompting", "controls model=c; c9: model=c"),
    ("configure model=b c9", "turn, cancelled", "prompting", "controls model=b; c9: model=b"),
    ("configure model=b c9", "opening", "rebuilding", "c9: -32002"),
    ("configure model=b c9", "opening again", "rebuilding", "controls model=b; c9: model=b"),
    ("configure model=c c9", "rebuild for axis", "rebuilding", "controls model=c; c9: model=c"),
    ("configure model=b c9", "rebuild for axis", "rebuilding", "c9: model=b"),
    ("configure model=b c9", "rebuild for axis, withdrawn", "rebuilding", "controls model=b; c9: model=b"),
    ("configure model=b c9", "rebuild for reload", "rebuilding", "controls model=b; c9: model=b"),
    ("configure model=c c9", "rebuild, response held", "rebuilding", "controls model=c; c9: model=c"),
    ("configure model=b c9", "turn, reload waits", "reload_queued", "controls model=b; c9: model=b"),
    ("configure model=c c9", "rebuild for axis, reload waits", "reload_queued", "controls model=c; c9: model=c"),
    ("configure model=b c9", "closing, turn runs", "closing", "c9: -32002"),
    ("configure model=b c9", "closing, teardown runs", "closing", "c9: -32002"),
    ("configure model=b c9", "closed", "closed", "c9: -32002"),
    # adjust, a control that needs no rebuild
    ("adjust a9", "idle", "idle", "apply"),
    ("adjust a9", "turn", "prompting", "apply"),
    ("adjust a9", "turn, axis waits", "prompting", "apply"),
    ("adjust a9", "opening", "rebuilding", "a9: -32002"),
    ("adjust a9", "opening again", "rebuilding", "apply"),
    ("adjust a9", "rebuild for axis", "rebuilding", "apply"),
    ("adjust a9", "turn, reload waits", "reload_queued", "apply"),
    ("adjust a9", "closing, turn runs", "closing", "a9: -32002"),
    ("adjust a9", "closing, teardown runs", "closing", "a9: -32002"),
    ("adjust a9", "closed", "closed", "a9: -32002"),
    # reload
    ("reload r9", "idle", "rebuilding", ""),
    ("reload r9", "turn", "reload_queued", "r9: queued"),
    ("reload r9", "turn, cancelled", "reload_queued", "r9: queued"),
    ("reload r9", "opening", "rebuilding", "r9: -32602"),
    ("reload r9", "opening again", "reload_queued", "r9: queued"),
    ("reload r9", "rebuild for axis", "reload_queued", "r9: queued"),
    ("reload r9", "rebuild for reload", "reload_queued", "r9: queued"),
    ("reload r9", "rebuild, response held", "reload_queued", "r9: queued"),
    ("reload r9", "turn, reload waits", "reload_queued", "r9: queued"),
    ("reload r9", "rebuild for axis, reload waits", "reload_queued", "r9: queued"),
    ("reload r9", "closing, turn runs", "closing", "r9: -32602"),
    ("reload r9", "closing, teardown runs", "closing", "r9: -32602"),
    ("reload r9", "closed", "closed", "r9: -32602"),
    # load and resume of a live session
    ("reopen load o9", "idle", "rebuilding", ""),
    ("reopen resume o9", "idle", "rebuilding", ""),
    ("reopen load o9", "turn", "prompting", "o9: -32600"),
    ("reopen load o9", "turn, cancelled", "prompting", "o9: -32600"),
    ("reopen load o9", "opening", "rebuilding", "o9: -32600"),
    ("reopen load o9", "opening again", "rebuilding", "o9: -32600"),
    ("reopen load o9", "rebuild for axis", "rebuilding", "o9: -32600"),
    ("reopen load o9", "turn, reload waits", "reload_queued", "o9: -32600"),
    ("reopen load o9", "rebuild for axis, reload waits", "reload_queued", "o9: -32600"),
    ("reopen load o9", "closing, turn runs", "closing", "o9: -32600"),
    ("reopen load o9", "closing, teardown runs", "closing", "o9: -32600"),
    ("reopen load o9", "closed", "closed", "o9: -32002"),  # the registry opens a new one under the id instead
    # work_done
    ("done", "turn", "idle", "p1: end_turn"),
    ("done fault", "turn", "idle", "p1: -32603"),
    ("done", "turn, cancelled", "idle", "p1: cancelled"),
    ("done fault", "turn, cancelled", "idle", "p1: cancelled"),
    ("done", "turn, axis waits", "rebuilding", ""),
    ("done", "turn, cancelled, axis waits", "rebuilding", "p1: cancelled"),
    ("done", "turn, cancelled, prompt waits", "prompting", "p1: cancelled"),
    ("done", "turn, cancelled, prompt and axis wait", "rebuilding", "p1: cancelled"),
    ("done", "turn, left", "closing", "p1: end_turn"),
    ("done", "turn, left, axis waits", "closing", "p1: end_turn"),
    ("done", "turn, left and cancelled", "closing", "p1: cancelled"),
    ("done", "turn, left, reload waits", "closing", "p1: end_turn"),
    ("done", "opening", "idle", "install; o1: model=a; title; commands"),
    ("done fault", "opening", "closed", "o1: -32002"),
    ("done", "opening, prompt waits", "prompting", "install; o1: model=a; title; commands"),
    ("done fault", "opening, prompt waits", "closed", "o1: -32002; p1: -32002"),
    ("done", "opening again", "idle", "install; o2: model=a; title; commands"),
    ("done fault", "opening again", "idle", "o2: -32002"),
    ("done", "opening again, axis waits", "rebuilding", "install; o2: model=b; title; commands"),
    ("done fault", "opening again, axis waits", "rebuilding", "o2: -32002"),
    ("done", "rebuild for axis", "idle", "install; controls model=b; c1: model=b; commands"),
    ("done axes-fault", "rebuild for axis", "idle", "controls model=a; c1: -32603; commands"),
    (
        "done",
        "rebuild for axis, another waits",
        "rebuilding",
        "install; controls model=c; c1: model=c; commands",
    ),
    ("done axes-fault", "rebuild for axis, another waits", "rebuilding", "controls model=c; c1: -32603; commands"),
    ("done", "rebuild for axis, prompt waits", "prompting", "install; controls model=b; c1: model=b; commands"),
    ("done axes-fault", "rebuild for axis, prompt waits", "prompting", "controls model=a; c1: -32603; commands"),
    ("done", "rebuild for axis, withdrawn", "idle", ""),
    ("done axes-fault", "rebuild for axis, withdrawn", "idle", ""),
    ("done", "rebuild for reload", "idle", "install; r1: reloaded; commands"),
    ("done reload-fault", "rebuild for reload", "idle", "r1: -32603; commands"),
    ("done", "rebuild, response held", "idle", "install; controls model=b; p1: end_turn; commands"),
    (
        "done axes-fault",
        "rebuild, response held",
        "idle",
        "report controls_not_changed (it broke); controls model=a; p1: end_turn; commands",
    ),
    (
        "done",
        "rebuild, response held, prompt waits",
        "prompting",
        "install; controls model=b; p1: end_turn; commands",
    ),
    (
        "done",
        "rebuild, response held, axis waits",
        "rebuilding",
        "install; controls model=c; p1: end_turn; commands",
    ),
    ("done", "turn, reload waits", "rebuilding", ""),
    ("done", "turn, reload and axis wait", "rebuilding", ""),
    ("done", "turn, cancelled, reload waits", "rebuilding", "p1: cancelled"),
    ("done", "turn, cancelled, prompt, axis and reload wait", "rebuilding", "p1: cancelled"),
    ("done", "rebuild for axis, reload waits", "rebuilding", "install; controls model=b; c1: model=b; commands"),
    ("done", "rebuild for reload, reload waits", "rebuilding", "install; r1: reloaded; commands"),
    (
        "done",
        "rebuild, response held, reload waits",
        "rebuilding",
        "install; controls model=b; p1: end_turn; commands",
    ),
    ("done", "opening again, reload waits", "rebuilding", "install; o2: model=a; title; commands"),
    ("done fault", "opening again, reload waits", "rebuilding", "o2: -32002"),
    ("done", "closing, turn runs", "closing", "p1: cancelled"),
    ("done fault", "closing, turn runs", "closing", "p1: cancelled"),
    ("done", "closing, opening runs", "closing", "discard"),
    ("done fault", "closing, opening runs", "closing", ""),
    ("done", "closing, rebuild runs", "closing", ""),
    ("done", "closing, teardown runs", "closed", "x1: done"),
    ("done fault", "closing, teardown runs", "closed", "x1: -32603"),
    ("done", "deleting, teardown runs", "closed", "x1: done"),
    # withdraw: a `$/cancel_request`
    ("withdraw p9", "idle", "idle", ""),
    ("withdraw p1", "turn", "prompting", "cancel scope"),
    ("withdraw p1", "turn, cancelled", "prompting", ""),
    ("withdraw p9", "turn", "prompting", ""),
    ("withdraw c1", "turn, axis waits", "prompting", ""),
    ("withdraw p2", "turn, cancelled, prompt waits", "prompting", "p2: cancelled"),
    ("withdraw p1", "turn, cancelled, prompt waits", "prompting", ""),
    ("withdraw p9", "turn, cancelled, prompt waits", "prompting", ""),
    ("withdraw o1", "opening", "closing", "cancel scope; o1: -32800"),
    ("withdraw o1", "opening, prompt waits", "closing", "cancel scope; o1: -32800; p1: cancelled"),
    ("withdraw p1", "opening, prompt waits", "rebuilding", "p1: cancelled"),
    ("withdraw o2", "opening again", "rebuilding", "cancel scope; o2: -32800"),
    ("withdraw p9", "opening again", "rebuilding", ""),
    ("withdraw o2", "opening again, withdrawn", "rebuilding", ""),
    ("withdraw c1", "rebuild for axis, prompt waits", "rebuilding", "c1: -32800; controls model=a"),
    ("withdraw c1", "rebuild for axis, withdrawn", "rebuilding", ""),
    ("withdraw c1", "rebuild, response held", "rebuilding", ""),
    ("withdraw c1", "rebuild for axis", "rebuilding", "c1: -32800; controls model=a"),
    ("withdraw c9", "rebuild for axis", "rebuilding", ""),
    ("withdraw c1", "rebuild for axis, another waits", "rebuilding", "c1: -32800; controls model=c"),
    ("withdraw p1", "rebuild for axis, prompt waits", "rebuilding", "p1: cancelled"),
    ("withdraw r1", "rebuild for reload", "rebuilding", "r1: -32800"),
    ("withdraw p1", "rebuild, response held", "rebuilding", "p1: cancelled"),
    ("withdraw p2", "rebuild, response held, prompt waits", "rebuilding", "p2: cancelled"),
    ("withdraw p1", "turn, reload waits", "reload_queued", "cancel scope"),
    ("withdraw r1", "turn, reload waits", "reload_queued", ""),
    ("withdraw p2", "turn, cancelled, prompt, axis and reload wait", "reload_queued", "p2: cancelled"),
    ("withdraw c1", "rebuild for axis, reload waits", "reload_queued", "c1: -32800; controls model=a"),
    ("withdraw p1", "rebuild, response held, reload waits", "reload_queued", "p1: cancelled"),
    ("withdraw o2", "opening again, reload waits", "reload_queued", "cancel scope; o2: -32800"),
    ("withdraw p1", "closing, turn runs", "closing", ""),
    ("withdraw x1", "closing, teardown runs", "closing", ""),
    ("withdraw x1", "closed", "closed", ""),
    # close
    ("close x9", "idle", "closing", ""),
    ("close x9", "turn", "closing", "cancel scope"),
    ("close x9", "turn, axis waits", "closing", "cancel scope"),
    ("close x9", "turn, cancelled", "closing", ""),
    ("close x9", "turn, cancelled, prompt waits", "closing", "p2: cancelled"),
    ("close x9", "opening", "closing", "cancel scope; o1: -32800"),
    ("close x9", "opening, prompt waits", "closing", "cancel scope; o1: -32800; p1: cancelled"),
    ("close x9", "opening again", "closing", "cancel scope; o2: -32800"),
    ("close x9", "opening again, withdrawn", "closing", "cancel scope"),
    ("close x9", "rebuild for axis", "closing", "c1: -32800"),
    ("close x9", "rebuild for axis, withdrawn", "closing", ""),
    ("close x9", "rebuild for reload, withdrawn", "closing", ""),
    ("close x9", "rebuild for reload", "closing", "r1: -32800"),
    ("close x9", "rebuild, response held", "closing", "p1: cancelled"),
    ("close x9", "rebuild, response held, prompt waits", "closing", "p1: cancelled; p2: cancelled"),
    ("close x9", "turn, reload and axis wait", "closing", "cancel scope"),
    ("close x9", "rebuild for axis, reload waits", "closing", "c1: -32800"),
    ("close x9", "closing, turn runs", "closing", ""),
    ("close x9", "closing, teardown runs", "closing", ""),
    ("close x9", "closed", "closed", "x9: -32002"),
    ("delete x9", "idle", "closing", ""),
    ("delete x9", "closing, teardown runs", "closing", ""),
    ("close x9", "deleting, teardown runs", "closing", ""),
    ("delete x9", "closed", "closed", "x9: -32002"),
]

# What the table's words stand for in the machine.
EVENTS = {"done": "work_done", "delete": "close"}
RAISES = {("work_done", "idle"), ("work_done", "closed")}


def event_of(step: str) -> str:
    verb = step.split(" ")[0]
    return EVENTS.get(verb, verb)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_situation_is_the_state_it_says(situation: str) -> None:
    script, state = SITUATIONS[situation]
    assert Bench(script).state == state


@pytest.mark.parametrize(("step", "situation", "state", "effects"), TABLE, ids=[f"{r[0]} [{r[1]}]" for r in TABLE])
def test_cell(step: str, situation: str, state: str, effects: str) -> None:
    bench = Bench(SITUATIONS[situation][0])
    assert bench.do(step) == effects
    assert bench.state == state


@pytest.mark.parametrize("situation", ["idle", "closed"])
def test_work_that_ends_where_none_runs_is_our_bug(situation: str) -> None:
    bench = Bench(SITUATIONS[situation][0])
    with pytest.raises(TransitionNotAllowed):
        bench.do("done")
    assert bench.state == situation


# The table is whole.


CELLS = [(event.id, state.id) for event in SessionMachine.events for state in SessionMachine.states]


def test_the_tests_visit_every_cell() -> None:
    visited = {(event_of(step), SITUATIONS[situation][1]) for step, situation, _, _ in TABLE}
    assert set(CELLS) - visited == RAISES


@pytest.mark.parametrize(("event", "state"), CELLS)
def test_every_cell_is_defined_exactly(event: str, state: str) -> None:
    """The last transition of a cell has no condition and REFUSALS no row; or REFUSALS says what an event is
    answered with that none takes; or the event cannot happen there."""
    transitions = [t for t in getattr(SessionMachine, state).transitions if t.event == event]
    certain = [not list(t.cond) for t in transitions]
    assert not any(certain[:-1]), "a transition after one without condition is never taken"
    assert (any(certain), (event, state) in REFUSALS, (event, state) in RAISES).count(True) == 1


def test_refusals_are_of_the_machine() -> None:
    assert set(REFUSALS) <= set(CELLS)


@pytest.mark.parametrize(("event", "state"), REFUSALS)
def test_a_refusal_says_what_to_do(event: str, state: str) -> None:
    fault = refusal(event, state)
    assert fault.code == REFUSALS[event, state]
    assert "; " in fault.message


@pytest.mark.parametrize(("event", "state"), REFUSALS)
def test_every_refusal_happens(event: str, state: str) -> None:
    code = f": {REFUSALS[event, state]}"
    rows = [row for row in TABLE if event_of(row[0]) == event and SITUATIONS[row[1]][1] == state]
    assert any(effects.endswith(code) for *_, effects in rows)


# Opening.


def test_a_failed_opening_ends_the_session_and_who_waits() -> None:
    bench = Bench("prompt p1")
    assert bench.do("done fault") == "o1: -32002; p1: -32002"
    assert bench.record.work is None
    assert bench.do("prompt p2") == "p2: -32002"


def test_opening_again_leaves_the_session_as_it_was_when_it_fails() -> None:
    bench = Bench("done; reopen load o2; prompt p1")
    assert bench.do("done fault") == "o2: -32002"
    assert bench.state == "prompting"
    assert bench.do("done") == "p1: end_turn"


def test_an_opening_that_is_withdrawn_brings_nothing() -> None:
    bench = Bench("done; reopen load o2; withdraw o2")
    assert bench.do("done") == "discard"
    assert bench.state == "idle"


def test_the_withdrawn_first_opening_closes_the_session() -> None:
    bench = Bench("withdraw o1")
    assert bench.do("done") == "discard"
    assert isinstance(bench.record.work, Teardown)
    assert bench.do("done") == ""
    assert bench.state == "closed"


def test_closing_cancels_an_opening() -> None:
    bench = Bench("close x1")
    assert bench.opening.scope is not None
    assert bench.opening.scope.cancelled
    assert [bench.do("done fault"), bench.do("done")] == ["", "x1: done"]


# Waiting.


def test_the_waiting_prompt_runs_next() -> None:
    bench = Bench("done; prompt p1; cancel; prompt p2; done")
    assert bench.record.waiting is None
    assert bench.do("done") == "p2: end_turn"


def test_another_prompt_may_wait_once_the_waiting_one_is_cancelled() -> None:
    bench = Bench("done; prompt p1; cancel; prompt p2; cancel")
    assert bench.do("prompt p3") == ""
    assert [bench.do("done"), bench.do("done")] == ["p1: cancelled", "p3: end_turn"]


def test_a_prompt_waits_through_rebuilds() -> None:
    bench = Bench("done; configure model=b c1; prompt p1; configure model=c c2; done")
    assert bench.state == "rebuilding"
    bench.do("done")
    assert bench.state == "prompting"
    assert bench.do("done") == "p1: end_turn"


# The held response.


def test_only_the_rebuild_that_the_turn_caused_holds_its_response() -> None:
    bench = Bench("done; prompt p1; configure model=b c1; done; configure model=c c2")
    assert bench.do("done").split("; ")[2] == "p1: end_turn"
    assert bench.do("done") == "install; controls model=c; commands"


def test_a_reload_holds_the_response_too() -> None:
    bench = Bench("done; prompt p1; reload r1; done")
    assert bench.do("done reload-fault") == "report reload_failed (it broke); p1: end_turn; commands"


def test_a_fault_is_held_as_well() -> None:
    bench = Bench("done; prompt p1; configure model=b c1; done fault")
    assert bench.do("done") == "install; controls model=b; p1: -32603; commands"


@pytest.mark.parametrize("how", ["cancel", "withdraw p1", "close x1"])
@pytest.mark.parametrize("end", ["done", "done fault"])
def test_a_held_response_is_cancelled_and_leaves_at_once(how: str, end: str) -> None:
    bench = Bench(f"done; prompt p1; configure model=b c1; {end}")
    assert bench.do(how) == "p1: cancelled"
    assert bench.replies["p1"].outcome == TurnOutcome("cancelled", SPENT)
    assert "p1" not in bench.do("done")


def test_the_rebuild_goes_on_after_its_held_response_was_cancelled() -> None:
    bench = Bench("done; prompt p1; configure model=b c1; done; cancel")
    assert bench.do("done") == "install; controls model=b; commands"
    assert bench.record.active == {"model": "b"}


# The stop reason is decided where the response is queued (CAN-01).


@pytest.mark.parametrize("how", ["cancel", "withdraw p1", "close x1"])
@pytest.mark.parametrize("end", ["done", "done fault"])
@pytest.mark.parametrize("before", ["done; prompt p1", "done; prompt p1; seal", "done; prompt p1; reload r1"])
def test_a_turn_that_was_cancelled_in_time_is_answered_so(how: str, end: str, before: str) -> None:
    bench = Bench(f"{before}; {how}")
    assert bench.do(end) == "p1: cancelled"
    assert bench.replies["p1"].outcome == TurnOutcome("cancelled", SPENT)


def test_a_cancel_after_the_answer_changes_nothing() -> None:
    bench = Bench("done; prompt p1; done; cancel; prompt p2")
    assert bench.do("done") == "p2: end_turn"  # CAN-09, CAN-13


# The joint rebuild.

JOINT = "done; prompt p1; configure model=b c1; reload r1; done"


def test_axes_and_reload_are_rebuilt_together() -> None:
    bench = Bench(JOINT)
    work = bench.record.work
    assert isinstance(work, Rebuild)
    assert (work.axes, work.reload) == ({"model": "b"}, True)
    assert bench.do("done") == "install; controls model=b; p1: end_turn; commands"
    assert (bench.state, bench.record.reload) == ("idle", False)


@pytest.mark.parametrize(
    ("faults", "effects"),
    [
        (
            "axes-fault",
            "install; report controls_not_changed (it broke); controls model=a; p1: end_turn; commands",
        ),
        ("reload-fault", "install; report reload_failed (it broke); controls model=b; p1: end_turn; commands"),
        (
            "axes-fault reload-fault",
            "report controls_not_changed (it broke); report reload_failed (it broke); controls model=a; p1: end_turn;"
            " commands",
        ),
    ],
)
def test_each_part_of_a_joint_rebuild_is_reported(faults: str, effects: str) -> None:
    assert Bench(JOINT).do(f"done {faults}") == effects


def test_a_failed_rebuild_is_always_ours() -> None:
    bench = Bench("done; configure model=b c1")
    bench.machine.send("work_done", outcome=Rebuilt(axes_fault=TheirFault(-32000, "no key for b")))
    bench.carry_out()
    fault = bench.replies["c1"].fault
    assert fault is not None
    assert (fault.code, fault.message) == (-32603, "no key for b")


# Axes.


def test_the_last_value_of_an_axis_wins() -> None:
    bench = Bench("done; prompt p1; configure model=b c1; configure model=c c2; done")
    assert isinstance(bench.record.work, Rebuild)
    assert bench.record.work.axes == {"model": "c"}


def test_each_axis_has_a_value_of_its_own() -> None:
    bench = Bench("done; prompt p1; configure model=b c1")
    assert bench.do("configure effort=high c2") == "controls effort=high model=b; c2: effort=high model=b"
    bench.do("done")
    assert isinstance(bench.record.work, Rebuild)
    assert bench.record.work.axes == {"model": "b", "effort": "high"}


def test_back_to_the_active_value_drops_it() -> None:
    bench = Bench("done; prompt p1; configure model=b c1")
    assert bench.do("configure model=a c2") == "controls model=a; c2: model=a"
    assert bench.do("done") == "p1: end_turn"
    assert bench.state == "idle"


def test_a_requested_value_asked_for_again_changes_nothing() -> None:
    bench = Bench("done; prompt p1; configure model=b c1")
    assert bench.do("configure model=b c2") == "c2: model=b"


def test_values_are_compared_with_where_the_running_rebuild_leads() -> None:
    bench = Bench("done; configure model=b c1")
    assert bench.do("configure model=b c2") == "c2: model=b"
    assert bench.do("configure model=a c3") == "controls model=a; c3: model=a"
    assert bench.do("configure model=b c4") == "controls model=b; c4: model=b"
    assert bench.do("done") == "install; controls model=b; c1: model=b; commands"
    assert bench.state == "idle"


def test_a_pending_value_that_a_failure_makes_pointless_is_dropped() -> None:
    bench = Bench("done; configure model=b c1; configure model=a c2")
    assert bench.do("done axes-fault") == "controls model=a; c1: -32603; commands"
    assert (bench.state, bench.record.axes) == ("idle", {})


def test_a_pending_value_outlives_the_failure_of_another() -> None:
    bench = Bench("done; configure model=b c1; configure model=c c2; done axes-fault")
    assert bench.do("done") == "install; controls model=c; commands"
    assert bench.record.active == {"model": "c"}


def test_a_pending_value_that_a_withdrawal_makes_pointless_is_dropped() -> None:
    bench = Bench("done; configure model=b c1; configure model=a c2; withdraw c1")
    assert bench.record.axes == {}
    assert bench.do("done") == ""
    assert bench.state == "idle"


def test_a_value_asked_for_again_after_its_withdrawal_is_rebuilt_for() -> None:
    bench = Bench("done; configure model=b c1; withdraw c1; configure model=b c2; done")
    assert bench.state == "rebuilding"
    assert bench.do("done") == "install; controls model=b; commands"


def test_a_withdrawn_rebuild_keeps_the_old_values() -> None:
    bench = Bench("done; configure model=b c1; withdraw c1; done")
    assert bench.record.active == {"model": "a"}
    assert bench.do("configure model=a c2") == "c2: model=a"


# Teardown.


def test_closing_waits_for_the_work_then_tears_down_once() -> None:
    bench = Bench("done; prompt p1; close x1; close x2")
    assert bench.do("done") == "p1: cancelled"
    assert isinstance(bench.record.work, Teardown)
    assert bench.do("close x3") == ""
    assert bench.do("done") == "x1: done; x2: done; x3: done"
    assert (bench.state, bench.record.work) == ("closed", None)


def test_closing_forgets_what_was_queued() -> None:
    bench = Bench("done; prompt p1; configure model=b c1; reload r1; close x1")
    assert (bench.record.axes, bench.record.reload) == ({}, False)


def test_a_half_built_loadout_is_thrown_away() -> None:
    bench = Bench("done; configure model=b c1; close x1")
    assert "install" not in bench.do("done")


@pytest.mark.parametrize("script", ["done; delete x1", "done; prompt p1; delete x1; done", "delete x1; done"])
def test_a_delete_is_carried_out_by_the_teardown(script: str) -> None:
    work = Bench(script).record.work
    assert isinstance(work, Teardown)
    assert work.erase


@pytest.mark.parametrize("script", ["done; prompt p1; close x1; delete x2; done", "close x1; delete x2; done"])
def test_a_delete_joins_before_the_teardown(script: str) -> None:
    bench = Bench(script)
    assert isinstance(bench.record.work, Teardown)
    assert bench.record.work.erase
    assert bench.do("done") == "x1: done; x2: done"


def test_a_delete_that_comes_while_the_teardown_runs_gets_another() -> None:
    bench = Bench("done; close x1; delete x2")
    first = bench.record.work
    assert bench.do("done") == ""
    assert isinstance(bench.record.work, Teardown)
    assert bench.record.work is not first
    assert bench.record.work.erase
    assert bench.do("done") == "x1: done; x2: done"
    assert bench.state == "closed"


def test_a_close_after_a_delete_needs_no_other_teardown() -> None:
    bench = Bench("done; delete x1; close x2")
    assert bench.do("done") == "x1: done; x2: done"


# Guidance is never dropped.


@pytest.mark.parametrize(
    ("script", "end", "effects", "state"),
    [
        ("done; prompt p1; steer hint s1", "done", "report steer_unused (hint); p1: end_turn", "idle"),
        ("done; prompt p1; steer hint s1", "done fault", "report steer_unused (hint); p1: -32603", "idle"),
        ("done; prompt p1; steer hint s1; cancel", "done", "report steer_unused (hint); p1: cancelled", "idle"),
        ("done; prompt p1; steer hint s1; close x1", "done", "report steer_unused (hint); p1: cancelled", "closing"),
        ("done; prompt p1; steer hint s1; reload r1", "done", "report steer_unused (hint)", "rebuilding"),
    ],
)
def test_guidance_that_the_turn_left_is_shown_before_its_response(
    script: str, end: str, effects: str, state: str
) -> None:
    bench = Bench(script)
    assert bench.do(end) == effects
    assert bench.state == state


def test_guidance_that_is_no_text_is_shown_as_well() -> None:
    bench = Bench("done; prompt p1")
    assert isinstance(bench.record.work, Turn)
    bench.record.work.steers.append((Text("look:"), Link("file:///a", "a"), Resource("file:///b", text="B")))
    assert bench.do("done") == "report steer_unused (look: [attachment] B); p1: end_turn"


def test_guidance_is_taken_or_the_turn_is_sealed() -> None:
    turn = Turn(PromptRequest((), NamedReply("p1")), Scope())
    turn.steers.extend([("one",), ("two",)])  # type: ignore[list-item]
    assert turn.take_or_seal() == [("one",), ("two",)]
    assert not turn.sealed
    assert turn.take() == []
    assert not turn.sealed
    assert turn.take_or_seal() == []
    assert turn.sealed


# Work that broke.


@pytest.mark.parametrize(
    ("script", "effects"),
    [
        ("done; prompt p1", "p1: -32603"),
        ("done; configure model=b c1", "controls model=a; c1: -32603; commands"),
        ("done; reload r1", "r1: -32603; commands"),
        ("", "o1: -32603"),
        ("done; close x1", "x1: -32603"),
    ],
)
def test_broken_work_answers_with_its_fault(script: str, effects: str) -> None:
    bench = Bench(script)
    work = bench.record.work
    assert work is not None
    bench.machine.send("work_done", outcome=failed(work, OurFault("it broke")))
    assert "; ".join(bench.carry_out()) == effects
