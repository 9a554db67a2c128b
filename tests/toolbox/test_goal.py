from __future__ import annotations

from dataclasses import replace

import pytest

from acpagent.core.toolcalls import Effect, GoalReport, ToolRefusal, is_harmless


def test_a_report_reaches_whoever_keeps_the_goal(bench):
    reports = []
    ctx = replace(bench.context(), report_goal=lambda report: reports.append(report) or "Noted.")
    proposal = bench.prepare("update_goal", ctx, status="complete", note="all \x1b[1mdone\n")
    assert proposal.effects == (Effect("plan"),)
    assert bench.apply("update_goal", proposal, ctx).text == "Noted."
    assert reports == [GoalReport("complete", "all done")]


def test_where_no_goal_can_be_it_says_so(bench):
    assert bench.refusal("update_goal", status="continue", note="on") == "There is no goal."


def test_who_is_blocked_says_by_what(bench):
    assert "what blocks" in bench.refusal("update_goal", status="blocked", note=" ")


def test_it_changes_nothing_and_is_not_run_beside_others(bench):
    tool = bench.registry.get("update_goal")
    assert is_harmless(tool)
    assert not tool.reads_only


def test_an_unknown_status_is_refused(bench):
    with pytest.raises(ToolRefusal, match="continue"):
        bench.prepare("update_goal", status="done", note="")
