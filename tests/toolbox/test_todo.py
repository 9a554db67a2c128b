from __future__ import annotations

from acpagent.core.toolcalls import Effect, PlanEntry


def test_the_plan(bench):
    todos = [
        {"content": "Look\naround", "status": "completed", "priority": "high"},
        {"content": "Change", "status": "in_progress"},
        {"content": "Check", "status": "pending", "priority": None},
    ]
    proposal = bench.prepare("todo_write", todos=todos)
    assert (proposal.title, proposal.kind) == ("Plan: 1 of 3 done", "think")
    assert proposal.effects == (Effect("plan"),)
    result = bench.apply("todo_write", proposal)
    assert result.plan == (
        PlanEntry("Look around", "high", "completed"),
        PlanEntry("Change", "medium", "in_progress"),
        PlanEntry("Check", "medium", "pending"),
    )
    assert result.text == "Plan kept: 1 completed, 1 in_progress, 1 pending."


def test_a_plan_can_be_cleared(bench):
    assert bench.prepare("todo_write", todos=[]).title == "Plan cleared"
    assert bench.call("todo_write", todos=[]).plan == ()


def test_what_is_no_plan(bench):
    going = {"content": "x", "status": "in_progress"}
    assert "At most one" in bench.refusal("todo_write", todos=[going, going])
    assert "no content" in bench.refusal("todo_write", todos=[{"content": " \n", "status": "pending"}])
    assert "100 entries" in bench.refusal("todo_write", todos=[{"content": "x", "status": "pending"}] * 101)
