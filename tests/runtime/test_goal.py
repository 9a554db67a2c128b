"""What the history says of a goal, and which modes let nothing change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from acpagent.core.blocks import Text
from acpagent.core.history import CallMade, CallSettled, Entry, GoalSet, HostSaid, PlanSet, Tombstone, UserSaid
from acpagent.core.toolcalls import PlanEntry
from acpagent.runtime.turn import words
from acpagent.runtime.turn.followup import first_answer
from acpagent.runtime.turn.goal import Goals
from acpagent.runtime.turn.mode import ToldMode, marker, read_only
from tests.runtime.histories import settled

BEGUN = GoalSet("t1", "g1", "do it", "brief")
WORKING = replace(BEGUN, phase="working", rounds=1)


def goals(*entries: Entry) -> Goals:
    made = Goals()
    made.feed(entries)
    return made


def call(
    name: str = "bash", arguments: str = "{}", failed: bool = False, turn: str = "t1"
) -> tuple[Entry, CallSettled]:
    made = CallMade(turn, f"{name}{arguments}", "id", name, arguments, 0)
    return made, settled(made, "so", failed)


def plan(**statuses: Any) -> PlanSet:
    return PlanSet("t1", tuple(PlanEntry(name, "medium", status) for name, status in statuses.items()))


@pytest.mark.parametrize(
    ("mode", "goal", "barred"),
    [
        ("normal", None, False),
        ("normal", BEGUN, False),
        ("plan", None, True),
        ("plan", WORKING, True),
        ("goal", None, True),
        ("goal", BEGUN, True),
        ("goal", WORKING, False),
    ],
)
def test_which_modes_let_nothing_change(mode: str, goal: GoalSet | None, barred: bool) -> None:
    assert read_only(mode, goal) is barred


def test_a_goal_is_there_until_it_ends() -> None:
    assert goals().current is None
    assert goals(BEGUN, WORKING).current == WORKING
    for phase in ("complete", "blocked", "stopped"):
        assert goals(BEGUN, replace(WORKING, phase=phase)).current is None
    second = replace(BEGUN, goal_id="g2")
    assert goals(BEGUN, second, replace(BEGUN, phase="stopped")).current == second


def test_a_goal_leaves_no_trace_with_the_turn_that_began_it() -> None:
    assert goals(BEGUN, WORKING, Tombstone("t1")).current is None
    resumed = replace(WORKING, turn_id="t2", rounds=2)
    assert goals(BEGUN, WORKING, resumed, Tombstone("t2")).current == resumed


def test_what_setting_the_mode_does_to_a_goal() -> None:
    ended = replace(WORKING, phase="stopped")
    for mode, pursued, expected in (
        ("normal", False, ended),
        ("plan", True, ended),
        ("goal", False, ended),  # armed anew
        ("goal", True, None),
    ):
        known = goals(BEGUN, WORKING)
        known.pursued = pursued
        assert known.follow(mode) == expected
        assert known.current == (WORKING if expected is None else None)
    assert goals().follow("goal") is None


def test_a_call_is_progress_the_first_time_it_succeeds() -> None:
    known = goals(WORKING)
    assert not known.take_progress()
    for entries, progress in (
        (call(failed=True), False),
        (call(), True),
        (call(), False),
        (call(arguments=' {"a": 1, "b": 2}'), True),
        (call(arguments='{"b":2,"a":1}'), False),
        (call("grep"), True),
        (call("todo_write"), False),
        (call("update_goal"), False),
        (call(arguments="{ no json \udcff"), True),
    ):
        known.feed(entries)
        assert known.take_progress() is progress, entries
    known.feed((replace(BEGUN, goal_id="g2"), *call()))
    assert known.take_progress()  # of another goal


def test_a_call_of_the_host_is_no_progress() -> None:
    known = goals(WORKING, call("start_goal")[1])
    assert not known.take_progress()


def test_an_entry_of_the_todo_list_that_is_completed_is_progress() -> None:
    known = goals(WORKING)
    for entry, progress, left in (
        (plan(a="pending", b="completed"), False, ["a"]),
        (plan(a="in_progress", b="completed"), False, ["a"]),
        (plan(a="completed", c="pending"), True, ["c"]),
        (plan(a="completed", d="completed"), False, []),
        (plan(), False, []),
    ):
        known.feed((entry,))
        assert known.take_progress() is progress, entry
        assert known.unfinished() == left


def user(text: str) -> UserSaid:
    return UserSaid("t", "m", (Text(text),), text)


def test_what_the_model_was_told_of_the_mode_last() -> None:
    told = ToldMode()
    complete = replace(WORKING, phase="complete")
    for entry, mode in (
        (user("hi"), "normal"),
        (user(f"[Today is]\n\n{words.PLAN}\n\nhi"), "plan"),
        (user("guidance"), "plan"),
        (HostSaid("t", words.APPROVED), "normal"),
        (user(f"{words.GOAL}\n\nhi"), "goal"),
        (HostSaid("t", words.accepted("so")), "goal"),
        (complete, "normal"),
        (user(words.resumed("do it", briefed=True)), "goal"),
        (replace(complete, phase="stopped"), "goal"),
        (user(f"{words.off('goal')}\n\nhi"), "normal"),
    ):
        told.feed((entry,))
        assert told.mode == mode, entry


def test_the_marker_comes_with_each_prompt_of_a_plan_and_once_when_a_mode_is_over() -> None:
    assert marker("plan", "normal") == marker("plan", "plan") == words.PLAN
    assert marker("normal", "normal") == marker("goal", "goal") == ""
    assert "The plan mode is off" in marker("normal", "plan")


def test_who_is_asked_first_when_the_model_stops() -> None:
    asked: list[str] = []

    class One:
        def __init__(self, name: str, answer: str | None) -> None:
            self.name, self.answer = name, answer

        def after(self, text: str) -> str | None:
            asked.append(f"{self.name} {text}")
            return self.answer

    assert first_answer([One("a", None), One("b", "go on"), One("c", "no")], "so") == "go on"
    assert asked == ["a so", "b so"]
    assert first_answer([], "so") is None


def test_long_lists_and_objectives_are_told_in_short() -> None:
    told = words.unfinished([f"step {number}" for number in range(30)])
    assert "step 19; and 10 more" in told
    assert len(words.short("x" * 9000)) <= words.OBJECTIVE_CHARACTERS
