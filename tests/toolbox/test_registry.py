from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.core.toolcalls import ToolRefusal
from acpagent.extensions.skill_tool import UseSkill
from acpagent.toolbox import arguments
from acpagent.toolbox.complete_step import CompleteStep
from acpagent.toolbox.memory import RecallMemory, Remember
from acpagent.toolbox.registry import Registry, builtin_tools
from acpagent.toolbox.sources import ConnectToolSource
from tests.repository.sources import ROOT
from tests.toolbox.notes import Notes

SCHEMA = arguments.closed(
    {
        "name": arguments.STRING,
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "ratio": {"type": "number", "minimum": 0},
        "flag": arguments.FLAG,
        "kind": {"type": "string", "enum": ["a", "b"]},
        "items": {"type": "array", "items": arguments.closed({"n": arguments.COUNT}, "n")},
    },
    "name",
)


def test_the_tools_and_their_order():
    registry = Registry(reversed(builtin_tools(sees_images=True)))
    names = [spec.name for spec in registry.specs()]
    assert names == [
        "bash", "delete_file", "edit_file", "glob", "grep", "job_kill", "job_output", "list_dir", "move_file",
        "multi_edit", "read_file", "todo_write", "update_goal", "view_image", "web_fetch", "write_file",
    ]  # fmt: skip
    assert registry.specs() == Registry(builtin_tools(sees_images=True)).specs()
    assert registry.get("none") is None
    assert {name for name in names if registry.get(name).reads_only} == {
        "glob",
        "grep",
        "job_output",
        "list_dir",
        "read_file",
        "todo_write",
        "view_image",
        "web_fetch",
    }


def test_only_models_that_see_are_offered_to_look():
    with_eyes, without = (Registry(builtin_tools(sees_images=sees)).tools().keys() for sees in (True, False))
    assert with_eyes - without == {"view_image"}


def test_a_model_has_one_way_to_ask_at_most():
    ways = [Registry(builtin_tools(asks=asks)).tools().keys() for asks in ("form", "choice", "none")]
    assert [names & {"ask_user", "ask"} for names in ways] == [{"ask_user"}, {"ask"}, set()]


@pytest.mark.parametrize("asks", ["form", "choice"])
def test_what_the_model_is_told_is_short_and_closed(asks):
    specs = Registry(builtin_tools(sees_images=True, asks=asks)).specs()
    told = json.dumps([[spec.name, spec.description, spec.schema] for spec in specs], separators=(",", ":"))
    assert len(told) < 7000
    for spec in specs:
        assert spec.schema["additionalProperties"] is False
        assert set(spec.schema["required"]) <= set(spec.schema["properties"])


def test_the_page_tells_of_every_tool_and_its_arguments():
    page = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(?!mcp__)(\w+)` \| (.*?) \|", page, re.MULTILINE)
    told = {name: re.findall(r"`(\w+\??)`", arguments) for name, arguments in rows}
    elsewhere = [ConnectToolSource({"search": ("grep",)}), UseSkill([]), Remember(Notes()), RecallMemory(Notes())]
    assert told == {
        spec.name: [key if key in spec.schema["required"] else f"{key}?" for key in spec.schema["properties"]]
        for asks in ("form", "choice")
        for spec in Registry([*builtin_tools(sees_images=True, asks=asks), CompleteStep(), *elsewhere]).specs()
    }


def test_two_tools_of_one_name_are_an_error():
    with pytest.raises(ValueError, match="two tools are named"):
        Registry([*builtin_tools(), *builtin_tools()])


def test_arguments_are_checked_before_the_tool_sees_them(bench):
    for tool, given_, words in (
        ("read_file", {}, "path is missing"),
        ("read_file", {"file_path": "x"}, "no argument file_path; it takes path, line?, limit?"),
        ("read_file", {"path": ["x"]}, "path must be a string"),
        ("read_file", {"path": "x", "line": 0}, "line must be an integer of at least 1"),
        ("bash", {"command": "ls", "timeout_seconds": 1e9}, "at least 1 and at most 3600"),
        (
            "todo_write",
            {"todos": [{"content": "x", "status": "done"}]},
            "todos[0].status must be one of pending",
        ),
        (
            "todo_write",
            {"todos": [{"content": "x", "status": "pending", "activeForm": "y"}]},
            "todos[0].activeForm",
        ),
    ):
        assert words in bench.refusal(tool, **given_)


@pytest.mark.parametrize(
    ("given_", "read"),
    [
        ({"count": "3"}, {"count": 3}),
        ({"count": 3.0}, {"count": 3}),
        ({"ratio": "2"}, {"ratio": 2}),
        ({"ratio": 0.5}, {"ratio": 0.5}),
        ({"flag": "True"}, {"flag": True}),
        ({"flag": None, "count": None}, {}),
        ({"items": [{"n": "1"}, {"n": 2}]}, {"items": [{"n": 1}, {"n": 2}]}),
    ],
)
def test_what_is_meant_is_taken(given_, read):
    assert arguments.check("t", SCHEMA, {"name": "x", **given_}) == {"name": "x", **read}


@pytest.mark.parametrize(
    "given_",
    [
        {"name": None}, {"name": 1}, {"name": "\ud800"}, {"count": True}, {"count": "x"}, {"count": 1.5}, {"count": 10},
        {"count": "9" * 30}, {"ratio": -1}, {"ratio": float("nan")}, {"ratio": float("inf")}, {"ratio": "1e3"},
        {"flag": 1}, {"flag": "yes"}, {"kind": "c"}, {"items": {}}, {"items": [1]}, {"items": [{}]}, {"extra": 1},
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(given_):
    with pytest.raises(ToolRefusal) as refused:
        arguments.check("t", SCHEMA, {"name": "x", **given_})
    assert next(iter(given_)) in str(refused.value)


VALUES = st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)


@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "other" * 50]), VALUES))
def test_any_arguments_are_taken_or_refused(given_):
    try:
        arguments.check("t", SCHEMA, given_)
    except ToolRefusal as refusal:
        words = str(refusal)
    else:
        words = ""
    assert len(words) < 200
