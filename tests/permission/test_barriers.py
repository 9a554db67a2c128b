"""While a plan is made nothing is changed: refused for what a call declares, and for what its tool is."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from acpagent.core.toolcalls import Effect, Proposal
from acpagent.toolbox.registry import Registry, builtin_tools
from tests.permission.world import TOOLS, World, judge


@pytest.fixture
def world(tmp_path):
    return World(tmp_path.resolve())


@dataclass
class Tool:
    """A tool by what it says of itself."""

    reads_only: bool = False
    converses: bool = False
    name: str = "mcp__x__y"


def proposed(*effects):
    return Proposal("Do it", "other", effects)


@pytest.mark.parametrize("approval", ["ask", "auto", "yolo"])
@pytest.mark.parametrize(
    ("kind", "target"),
    [("write", "src/a"), ("write", "../out/a"), ("execute", "ls"), ("execute", "git status"), ("execute", "rm -rf /")],
)
def test_no_approval_rule_or_grant_speaks_for_a_change(world, approval, kind, target):
    gate = world.gate(approval, allow=("Edit", "Bash", "Bash(ls:*)"))
    gate.grant_session("Edit")
    gate.grant_session(f"Bash={target}")
    gate.read_only = True
    verdict = judge(world, gate, kind, target)
    assert (verdict.action, verdict.barred) == ("deny", True)
    assert "plan mode is on" in verdict.reason
    gate.read_only = False
    assert not judge(world, gate, kind, target).barred


@pytest.mark.parametrize(
    ("effects", "barred"),
    [
        ((), True),
        ((Effect("network"),), True),
        ((Effect("network", host="example.org"),), False),
        ((Effect("plan"),), False),
        ((Effect("question"),), False),
        ((Effect("job"),), False),
        ((Effect("end_job"),), True),
        ((Effect("plan"), Effect("write", "/x")), True),
        ((Effect("execute"),), True),
    ],
)
def test_what_a_call_declares(world, effects, barred):
    gate = world.gate("yolo")
    gate.read_only = True
    assert gate.judge("mcp__x__y", proposed(*effects)).barred is barred


def test_reading_goes_on_as_the_rules_have_it(world):
    gate = world.gate("auto", deny=("Read(.env)",))
    gate.read_only = True
    assert judge(world, gate, "read", "src/a").action == "allow"
    assert judge(world, gate, "read", "../out/file").action == "ask"
    denied = judge(world, gate, "read", ".env")
    assert (denied.action, denied.barred) == ("deny", False)


@pytest.mark.parametrize(
    ("tool", "effects", "barred"),
    [
        (Tool(), (Effect("read", "/x"),), True),  # it declares little, and its tool says nothing
        (Tool(), (Effect("question"),), True),
        (Tool(reads_only=True), (Effect("read", "/x"),), False),
        (Tool(reads_only=True), (Effect("write", "/x"),), True),
        (Tool(reads_only=True), (), True),
        (Tool(converses=True), (Effect("question"),), False),
        (Tool(converses=True), (Effect("execute", command="ls"),), True),
    ],
)
def test_the_second_barrier_looks_at_the_tool_too(world, tool, effects, barred):
    gate = world.gate("yolo")
    assert gate.barred(tool, proposed(*effects)) == ""
    gate.read_only = True
    assert bool(gate.barred(tool, proposed(*effects))) is barred


def test_which_of_our_own_tools_may_do_something_in_plan_mode(world):
    gate = world.gate("yolo")
    gate.read_only = True
    tools = Registry(builtin_tools(sees_images=True)).tools()
    harmless = {name for name, tool in tools.items() if not gate.barred(tool, proposed(Effect("read", "/x")))}
    assert harmless.isdisjoint(
        {"bash", "job_kill", "write_file", "edit_file", "multi_edit", "move_file", "delete_file"}
    )
    assert harmless >= {"read_file", "list_dir", "glob", "grep", "view_image", "web_fetch", "todo_write", "job_output"}
    assert set(TOOLS.values()) <= set(tools)
