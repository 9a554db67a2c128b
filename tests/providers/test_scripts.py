from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from acpagent.config.problems import ConfigError
from acpagent.core.events import Usage
from acpagent.providers import chat_messages, script_reader
from acpagent.providers.script import Count, Drop, Fail, Finish, MakeCall, Say, Stall, Wait

FITTING = {
    "turns": [
        {"prompt": "(?i)list", "replies": [[{"text": "l0"}], [{"text": "l1"}]]},
        {"prompt": "go on$", "replies": [[{"text": "g0"}]], "loop": True},
        {"prompt": "list everything", "replies": [[{"text": "never"}]]},
    ]
}
COUNTED = {"turns": [{"replies": [["stall"], ["stall"]]}, {"replies": [["drop"]]}]}
OPEN = {"turns": [{"prompt": "special", "replies": [["stall"]]}, {"replies": [["drop"]]}]}


def choose(script: Any, conversation: str) -> tuple[int, int] | None:
    """The choice for a conversation written as `u:text a:text ...`."""
    roles = {"u": "user", "a": "assistant", "t": "tool"}
    messages = [
        {"role": roles[role], "content": text}
        for role, _, text in (part.partition(":") for part in conversation.split(" | "))
    ]
    return script_reader.from_value(script).choose(reversed(messages))


@pytest.mark.parametrize(
    ("script", "conversation", "choice"),
    [
        (FITTING, "u:List it", (0, 0)),
        (FITTING, "u:List it | a:x | t:y", (0, 1)),
        (FITTING, "u:List it | a:x | t:y | a:z", (0, 2)),
        (FITTING, "u:list everything", (0, 0)),  # the first turn that fits
        (FITTING, "u:list | a:x | u:go on", (1, 0)),
        (FITTING, "u:go on | a:x | u:list | a:y", (0, 1)),
        (FITTING, "u:list | a:x | u:faster! | a:y", (0, 2)),  # a message that fits no turn belongs to the one before
        (FITTING, "u:hello", None),
        (COUNTED, "u:a", (0, 0)),
        (COUNTED, "u:a | a:x | t:y", (0, 1)),
        (COUNTED, "u:a | a:x | u:b", (1, 0)),
        (COUNTED, "u:a | a:x | u:b | a:y | u:c", (1, 0)),
        (COUNTED, "u:a | a:x | u:b | a:y | u:c | a:z", (1, 1)),
        (COUNTED, "a:x", None),
        (OPEN, "u:a special | a:x", (0, 1)),
        (OPEN, "u:a special | a:x | u:b", (1, 0)),
    ],
)
def test_choices(script: Any, conversation: str, choice: tuple[int, int] | None) -> None:
    assert choose(script, conversation) == choice


def test_past_the_last_reply() -> None:
    turns = script_reader.from_value(FITTING).turns
    assert turns[0].reply(2) == ()
    assert turns[1].reply(7) == turns[1].reply(0)


def test_the_text_of_parts_is_searched() -> None:
    parts = [{"type": "text", "text": "please"}, {"type": "image_url"}, {"type": "text", "text": "list"}]
    assert chat_messages.text_of(parts) == "please\nlist"
    assert script_reader.from_value(FITTING).choose([{"role": "user", "content": parts}]) == (0, 0)


def test_all_steps() -> None:
    steps: list[Any] = [
        {"text": "a"},
        {"thought": "b", "chunk": 2},
        {"call": {"tool": "ls"}},
        {"call": {"tool": "ls", "args": {"p": "\u00e9"}}, "chunk": 3},
        {"call": {"tool": "ls", "args": '{"p'}},
        {"usage": {"input": 3, "cached": 2, "output": 1, "thought": 1}},
        {"wait": 0.5},
        {"repeat": {"times": 3, "text": "t", "every": 0.1}},
        {"repeat": {"times": 3, "thought": "t"}},
        {"error": {"status": 500}},
        {"error": {"status": 429, "message": "m", "retry_after": 2, "after_output": True, "times": 1}},
        "drop",
        {"drop": "reset"},
        {"drop": {"how": "end", "times": 2}},
        "stall",
        {"stall": {"times": 1}},
        {"finish": "length"},
    ]
    (turn,) = script_reader.from_value({"turns": [{"replies": [steps]}]}).turns
    assert turn.replies[0] == (
        Say("a"),
        Say("b", thought=True, chunk=2),
        MakeCall("ls", "{}"),
        MakeCall("ls", '{"p":"\u00e9"}', 3),
        MakeCall("ls", '{"p'),
        Count(Usage(3, 2, 1, 1)),
        Wait(0.5),
        Say("t", times=3, every=0.1),
        Say("t", thought=True, times=3),
        Fail(500, ""),
        Fail(429, "m", 2, True, 1),
        Drop(),
        Drop("reset"),
        Drop("end", 2),
        Stall(),
        Stall(1),
        Finish("length"),
    )


@pytest.mark.parametrize(
    ("yaml", "line", "words"),
    [
        ("", 1, "must hold keys and values"),
        ("turns: []", 1, "at least a turn"),
        ("turn: []", 1, "turn: is unknown here"),
        ("turns:\n  - replys: []", 2, "turns.0.replys: is unknown here"),
        ("turns:\n  - prompt: hi", 2, "turns.0.replies: must be a list"),
        ("turns:\n  - replies:\n      - text: hi", 3, "a reply must be a list of steps"),
        ("turns:\n  - prompt: '('\n    replies: [[stall]]", 2, "is not a regular expression"),
        ("turns:\n  - loop: 3\n    replies: [[stall]]", 2, "must be true or false"),
        ("turns:\n  - replies:\n      - - txt: hi", 3, "unknown step 'txt'; a step is one of text, thought"),
        ("turns:\n  - replies:\n      - - text: a\n          wait: 1", 3, "exactly one step"),
        ("turns:\n  - replies:\n      - - text: 7", 3, "must be a text; put it in quotes"),
        ("turns:\n  - replies:\n      - - wait: soon", 3, "must be a number"),
        ("turns:\n  - replies:\n      - - wait: -1", 3, "at least 0"),
        ("turns:\n  - replies:\n      - - wait: 1\n          chunk: 2", 4, "chunk: is unknown here"),
        ("turns:\n  - replies:\n      - - call: {args: {}}", 3, "tool: must be a text"),
        ("turns:\n  - replies:\n      - - call: {tool: ls, args: 3}", 3, "must be a mapping"),
        ("turns:\n  - replies:\n      - - error: {status: 200}", 3, "300 to 599"),
        ("turns:\n  - replies:\n      - - drop: hard", 3, "close, reset, end"),
        ("turns:\n  - replies:\n      - - finish: now", 3, "stop, length, refusal, calls"),
        ("turns:\n  - replies:\n      - - repeat: {times: 2}", 3, "either `text` or `thought`"),
        ("turns:\n  - replies:\n      - - repeat: {text: a}", 3, "must be a whole number"),
        ("turns:\n  - replies: [[text: a\n", 2, "is not valid YAML"),
    ],
)
def test_mistakes_are_told_with_their_line(yaml: str, line: int, words: str, tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_text(yaml)
    with pytest.raises(ConfigError) as error:
        script_reader.load(str(path))
    assert str(error.value).startswith(f"{path}:{line}: ")
    assert words in str(error.value)


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no such script; shipped scripts are .*hello\.yaml"):
        script_reader.load("missing.yaml")
    with pytest.raises(ConfigError, match="there is no such script; write the path"):
        script_reader.load(str(tmp_path / "missing.yaml"))


@pytest.mark.parametrize("name", sorted(os.listdir(script_reader.SHIPPED)))
def test_shipped_scripts_can_be_used(name: str) -> None:
    assert script_reader.load(name).turns


def test_the_manual_shows_a_script_that_works(tmp_path: Path) -> None:
    manual = (Path(__file__).parents[2] / "docs" / "scripts.md").read_text(encoding="utf-8")
    examples = [part.partition("```")[0] for part in manual.split("```yaml\n")[1:]]
    whole = [example for example in examples if example.startswith("turns:")]
    assert whole
    for example in whole:
        (tmp_path / "script.yaml").write_text(example, encoding="utf-8")
        assert script_reader.load(str(tmp_path / "script.yaml")).turns


def test_a_script_in_json_is_a_script(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(json.dumps(FITTING))
    assert script_reader.load(str(path)).turns == script_reader.from_value(FITTING).turns
