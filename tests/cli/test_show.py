"""What is written to a terminal, piece by piece."""

from __future__ import annotations

import difflib
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.cli.diff import unified
from acpagent.cli.show import TurnView
from acpagent.cli.terminal import Terminal, columns, fitted
from acpagent.client.updates import view

LINES = st.lists(st.sampled_from(["a", "b", "c", "def f():", "", "    pass"]), max_size=30)


class Paper(io.StringIO):
    """A stream that can spell everything."""

    encoding = "utf-8"


class Screen(Paper):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "41")


def shown(*updates: dict[str, Any], screen: io.StringIO | None = None) -> str:
    screen = screen or Paper()
    turn = TurnView(Terminal(screen, environ={"NO_COLOR": "1"}), "/w")
    for update in updates:
        turn.show(view(update))
    turn.end()
    return screen.getvalue()


def text(words: str, kind: str = "agent_message_chunk", message: str = "m") -> dict[str, Any]:
    return {"sessionUpdate": kind, "messageId": message, "content": {"type": "text", "text": words}}


def call(**fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call", "toolCallId": "c", **fields}


def update(**fields: Any) -> dict[str, Any]:
    return {**call(**fields), "sessionUpdate": "tool_call_update"}


@given(LINES, LINES)
def test_diff_says_what_difflib_says(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    told = [text if kind == "@" else kind + text for kind, text in unified(before, after)]
    if old == new:
        assert told == []
        return
    for sign, lines in (("-", old), ("+", new)):
        other = "+" if sign == "-" else "-"
        kept = [line[1:] for line in told if not line.startswith(("@", other))]
        matcher = difflib.SequenceMatcher(None, lines, kept, autojunk=False)
        assert sum(block.size for block in matcher.get_matching_blocks()) == len(kept)
    assert told[0].startswith("@@ -")


def test_diff_numbers_lines() -> None:
    old = [f"line {number}" for number in range(1, 41)]
    new = [*old[:9], "ten", *old[10:29], *old[30:]]
    heads = [text for kind, text in unified("\n".join(old), "\n".join(new)) if kind == "@"]
    assert heads == ["@@ -7,7 +7,7 @@", "@@ -27,7 +27,6 @@"]


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        (None, "a\n", [("@", "@@ -0,0 +1,1 @@"), ("+", "a")]),
        ("a\n", "", [("@", "@@ -1,1 +0,0 @@"), ("-", "a")]),
        ("a\n", "a", [("@", "only line ends differ")]),
        ("a\r\n", "a\n", [("@", "only line ends differ")]),
        (None, "", [("@", "an empty file")]),
        ("", "", []),
        (None, "\x1b[2Jx\n", [("@", "@@ -0,0 +1,1 @@"), ("+", "x")]),
    ],
)
def test_diff_at_the_edges(old: str | None, new: str, lines: list[tuple[str, str]]) -> None:
    assert unified(old, new) == lines


def test_a_huge_change_is_counted() -> None:
    old, new = ("".join(f"{name} {number}\n" for number in range(5000)) for name in "ab")
    assert unified(old, new) == [("@", "5000 lines become 5000")]


@given(st.text(alphabet="ab \n", max_size=200), st.integers(1, 9))
def test_words_wrap_the_same_in_any_pieces(words: str, size: int) -> None:
    whole, pieces = Screen(), Screen()
    terminal = Terminal(whole)
    terminal.say(words)
    terminal.finish()
    terminal = Terminal(pieces)
    for start in range(0, len(words), size):
        terminal.say(words[start : start + size])
    terminal.finish()
    assert whole.getvalue() == pieces.getvalue()
    assert whole.getvalue().split() == words.split()


def test_words_are_not_broken() -> None:
    screen = Screen()
    terminal = Terminal(screen)
    terminal.say("word " * 30)
    terminal.finish()
    lines = [line.split() for line in screen.getvalue().splitlines()]
    assert lines == [["word"] * 8] * 3 + [["word"] * 6]


@pytest.mark.parametrize(
    ("given_text", "width", "cut"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 5, "日本…")]
)
def test_fitted(given_text: str, width: int, cut: str) -> None:
    assert fitted(given_text, width) == cut
    assert columns(fitted(given_text, width)) <= width


def test_messages_and_thoughts_are_parted() -> None:
    told = shown(text("Hm", "agent_thought_chunk"), text("m.", "agent_thought_chunk"), text("Yes", message="n"))
    assert told == "[thought] Hmm.\n\nYes\n"


def test_the_persons_words_are_not_repeated() -> None:
    assert shown(text("me", "user_message_chunk")) == ""


def test_escape_sequences_of_the_model_do_nothing() -> None:
    assert shown(text("a\x1b[2Jb\x07")) == "ab\n"


def test_off_a_terminal_a_call_is_told_when_it_ends() -> None:
    output = [{"type": "content", "content": {"type": "text", "text": "one\ntwo"}}]
    begun = call(title="Run: x", kind="execute", status="pending")
    told = shown(begun, update(status="in_progress", content=output), update(status="completed", content=output))
    assert told == "✓ Run: x\n  │ one\n  │ two\n"


def test_a_call_that_is_over_is_told_once() -> None:
    over = [call(title="Run", kind="execute", status="pending"), update(title="Run", status="failed")]
    end = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "_meta": {}}
    assert shown(*over, end) == shown(*over)


def test_long_output_shows_its_end() -> None:
    lines = "\n".join(str(number) for number in range(100))
    content = [{"type": "content", "content": {"type": "text", "text": lines}}]
    told = shown(call(title="Run: x", kind="execute", status="failed", content=content)).splitlines()
    assert told[:3] == ["✗ Run: x", "  │ (85 lines before)", "  │ 85"]
    assert told[-1] == "  │ 99"


def test_a_diff_is_told_once() -> None:
    diff = [{"type": "diff", "path": "/w/a", "oldText": None, "newText": "x\n"}]
    begun = call(title="Write a", kind="edit", status="pending", content=diff)
    told = shown(begun, update(status="completed", title="Created a", content=diff))
    assert told == "· Write a\n    @@ -0,0 +1,1 @@\n    +x\n✓ Created a\n"


def test_calls_side_by_side_are_written_over_in_place() -> None:
    calls = [call(toolCallId=name, title=name, kind="read", status="in_progress") for name in "ab"]
    ended = [update(toolCallId=name, status="completed") for name in "ab"]
    told = shown(*calls, *ended, screen=Screen())
    assert told == "… a\n… b\x1b[1A\r\x1b[K✓ a\x1b[1B\r\x1b[K✓ b\n"


def test_plan() -> None:
    entries = [{"content": "one", "status": "completed"}, {"content": "two", "status": "in_progress"}]
    assert shown({"sessionUpdate": "plan", "entries": entries}) == "  [x] one\n  [>] two\n"


@pytest.mark.parametrize(
    "odd", [{"sessionUpdate": "plan", "entries": [{"content": 1}, 2]}, call(), {"sessionUpdate": 5}]
)
def test_odd_updates_break_nothing(odd: dict[str, Any]) -> None:
    shown(odd, update(content="x", title=4, status="who knows", rawOutput=[]))
