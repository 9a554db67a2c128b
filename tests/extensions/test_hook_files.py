"""Files with hooks: both forms, and what is said of those that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acpagent.extensions import hookfiles, jsonlines
from acpagent.extensions.hooks import EVENTS, HookSet, arranged, names_of


def parse(written: Any, **more: Any) -> HookSet:
    data = written if isinstance(written, bytes) else json.dumps(written).encode()
    return hookfiles.parse("/p/settings.json", data, more.pop("origin", "user"), **more)


def of(event: str, *entries: Any) -> dict[str, Any]:
    return {"hooks": {event: list(entries)}}


def test_the_flat_form() -> None:
    entry = {
        "match": "Bash|Edit",
        "command": "./check.sh",
        "description": "checks",
        "timeout": 1500,
        "cwd": "tools",
        "env": {"A": "1"},
        "contextFile": "notes.md",
    }
    (hook,) = parse(of("PreToolUse", entry)).hooks
    assert (hook.event, hook.command, hook.seconds, hook.cwd) == ("PreToolUse", "./check.sh", 1.5, "tools")
    assert (hook.env, hook.context_file, hook.label) == ({"A": "1"}, "notes.md", "checks")


def test_the_nested_form() -> None:
    inner = [{"type": "command", "command": "one", "timeout": 7}, {"type": "command", "command": "two"}]
    found = parse(of("PostToolUse", {"matcher": "Write", "hooks": inner}, {"hooks": inner[:1]}) | {"model": "x"})
    assert [(hook.command, hook.seconds) for hook in found.hooks] == [("one", 7), ("two", 30), ("one", 7)]
    assert [hook.matcher is None for hook in found.hooks] == [False, False, True]
    assert not found.problems


@pytest.mark.parametrize(("event", "seconds"), [("PreToolUse", 5), ("UserPromptSubmit", 5), ("Stop", 30)])
@pytest.mark.parametrize("timeout", [{}, {"timeout": 0}, {"timeout": None}])
def test_how_long_a_hook_may_take_that_does_not_say_so(event: str, seconds: float, timeout: dict[str, Any]) -> None:
    assert parse(of(event, {"command": "x", **timeout})).hooks[0].seconds == seconds


@pytest.mark.parametrize(
    ("matcher", "tool", "fits"),
    [
        ("bash", "bash", True),
        ("Bash", "bash", True),
        ("bas", "bash", False),
        ("ash", "bash", False),
        ("Edit|Write", "write_file", True),
        ("Edit", "bash", False),
        ("Read", "grep", True),
        ("mcp__.*", "mcp__a__b", True),
        ("mcp__a", "mcp__a__b", False),
        ("*", "anything", True),
        ("", "anything", True),
        (None, "anything", True),
    ],
)
def test_matchers(matcher: str | None, tool: str, fits: bool) -> None:
    flat = parse(of("PreToolUse", {"match": matcher, "command": "x"}))
    nested = parse(of("PreToolUse", {"matcher": matcher, "hooks": [{"type": "command", "command": "x"}]}))
    assert bool(flat.waiting_for("PreToolUse", tool)) is fits
    assert bool(nested.waiting_for("PreToolUse", tool)) is fits


def test_where_there_is_no_tool_the_source_is_compared() -> None:
    found = parse(of("SessionStart", {"match": "startup", "command": "x"}))
    assert found.waiting_for("SessionStart", "startup")
    assert not found.waiting_for("SessionStart", "resume")


def test_a_matcher_that_has_nothing_to_compare_is_remarked_upon() -> None:
    found = parse(of("Stop", {"match": "Bash", "command": "x"}))
    assert found.waiting_for("Stop")
    (problem,) = found.problems
    assert not problem.fatal
    assert "hooks.Stop.0.match: does not count" in problem.what


WRONG: list[tuple[Any, str]] = [
    ([], "must hold one object"),
    ({"hooks": []}, "hooks: must be an object"),
    ({"PreToolUse": []}, "has events outside of `hooks`"),
    (of("PreToolUs", {"command": "x"}), "hooks.PreToolUs: is no event; did you mean PreToolUse?"),
    ({"hooks": {"Stop": {}}}, "hooks.Stop: must be a list"),
    (of("Stop", "x"), "hooks.Stop.0: must be an object"),
    (of("Stop", {}), "hooks.Stop.0.command: must be a command line"),
    (of("Stop", {"command": " "}), "command: must be a command line"),
    (of("Stop", {"command": ["x"]}), "command: must be a command line"),
    (of("Stop", {"comand": "x"}), "comand: is not known here; did you mean command?"),
    (of("Stop", {"command": "x", "timeout": -1}), "timeout: must be a number of milliseconds"),
    (of("Stop", {"command": "x", "timeout": True}), "timeout: must be a number of milliseconds"),
    (of("Stop", {"command": "x", "timeout": 1e9}), "timeout: must be a number of milliseconds"),
    (of("Stop", {"command": "x", "env": {"A": 1}}), "env: must be an object of texts"),
    (of("Stop", {"command": "x", "cwd": 1}), "cwd: must be a text"),
    (of("PreToolUse", {"command": "x", "match": "("}), "match: is no regular expression"),
    (of("PreToolUse", {"command": "x", "match": 1}), "match: must be a text"),
    (of("PreToolUse", {"hooks": {}}), "hooks.PreToolUse.0.hooks: must be a list"),
    (of("PreToolUse", {"hooks": [{"command": "x"}]}), "type: is not given"),
    (of("PreToolUse", {"hooks": [{"type": "prompt", "prompt": "x"}]}), "hooks of the type prompt do not run here"),
    (of("PreToolUse", {"hooks": [{"type": "command", "command": "x", "if": "Bash(rm:*)"}]}), "if: is not known here"),
    (of("PreToolUse", *[{"command": "x"}] * 201), "holds more than 200 hooks"),
]


@pytest.mark.parametrize(("written", "said"), WRONG, ids=[said for _, said in WRONG])
def test_a_file_is_all_or_nothing(written: Any, said: str) -> None:
    if isinstance(written, dict) and isinstance(written.get("hooks"), dict):
        written["hooks"].setdefault("SessionStart", [{"command": "fine"}])
    found = parse(written)
    assert not found.hooks
    assert any(said in str(problem) and problem.fatal for problem in found.problems), found.problems


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b'{"hooks": {}, "hooks": {}}', b"[" * 100_000, b'{"a": NaN'])
def test_what_is_no_json(data: bytes) -> None:
    found = parse(data)
    assert not found.hooks
    assert len(found.problems) == 1


def test_every_mistake_is_told_with_its_line() -> None:
    text = '{\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{"command": "fine"},\n\t\t\t{"command": 3}\n\t\t],\n'
    text += '\t\t"Sotp": []\n\t}\n}'
    found = parse(text.encode())
    assert [(problem.line, problem.fatal) for problem in found.problems] == [(5, True), (7, True)]
    assert [problem.line for problem in parse(text.encode(), has_lines=False).problems] == [None, None]


def test_events_that_never_happen_are_left_out_with_a_remark() -> None:
    found = parse({"hooks": {"SubagentStop": [{"command": "x"}], "PostCompact": [{}], "Stop": [{"command": "y"}]}})
    assert [hook.command for hook in found.hooks] == ["y"]
    assert [(problem.fatal, problem.what) for problem in found.problems] == [
        (False, "hooks.SubagentStop: never happens here"),
        (False, "hooks.PostCompact: never happens here"),
    ]


def test_what_only_looks_on_can_be_left_out() -> None:
    prompt = {"hooks": [{"type": "prompt", "prompt": "x"}, {"type": "command", "command": "y", "async": True}]}
    found = parse(of("PostToolUse", prompt))
    assert [hook.command for hook in found.hooks] == ["y"]
    assert [problem.fatal for problem in found.problems] == [False, False]


def test_hooks_can_be_switched_off() -> None:
    assert parse({"disableAllHooks": True, **of("Stop", {"command": "x"})}) == HookSet()
    assert parse({}) == HookSet()


def test_the_project_goes_first_and_the_person_last() -> None:
    sets = [parse(of("Stop", {"command": origin}), origin=origin) for origin in ("user", "plugin", "project")]
    assert [hook.command for hook in arranged(sets).hooks] == ["project", "plugin", "user"]


def test_files_on_the_disk(tmp_path: Path) -> None:
    assert hookfiles.of_home(str(tmp_path)) == HookSet()
    (tmp_path / "settings.json").write_text(json.dumps(of("Stop", {"command": "one"})))
    (tmp_path / "hooks.json").write_text("{")
    found = hookfiles.of_home(str(tmp_path))
    assert [hook.command for hook in found.hooks] == ["one"]
    assert [problem.file for problem in found.problems] == [str(tmp_path / "hooks.json")]
    (tmp_path / "hooks.json").unlink()
    (tmp_path / "hooks.json").mkdir()
    assert "cannot be read" in hookfiles.of_home(str(tmp_path)).problems[0].what
    (tmp_path / "settings.json").write_bytes(b" " * (hookfiles.MAX_BYTES + 1))
    assert "larger" in hookfiles.of_home(str(tmp_path)).problems[0].what


def test_every_group_of_a_tool_names_it() -> None:
    assert set(names_of("edit_file")) == {"edit_file", "Edit", "Write"}
    assert names_of("of_a_plugin") == ("of_a_plugin",)


def test_events_that_guard_can_block() -> None:
    assert all(kind.blocks for kind in EVENTS.values() if kind.guards)


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ('{"a": 1}', ("a",), 1),
        ('{\n"a": [\n1,\n{"b,{": "\\"}"},\n[2,\n3]\n]}', ("a", 1, "b,{"), 4),
        ('{\n"a": [\n1,\n{"b": []},\n[2,\n3]\n]}', ("a", 2, 1), 6),
        ('{"a":{},\n"b":\nnull}', ("b",), 2),
        ('[{},\n{},\n{"x": "\\u00e4"}]', (2, "x"), 3),
    ],
)
def test_the_lines_of_json(text: str, path: tuple[str | int, ...], line: int) -> None:
    assert jsonlines.parse("f", text.encode()).line(path) == line
