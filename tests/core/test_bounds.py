from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.core import bounds


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain\tand ünïcode 😀\n", "plain\tand ünïcode 😀\n"),
        ("\x1b[1;31mred\x1b[0m and \x1b[38;2;1;2;3mmore\x1b[m", "red and more"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x.example/\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;never closed\nnext line", "\nnext line"),
        ("\x1bP1$r0m\x1b\\after", "after"),
        ("\x1b(Bset", "set"),
        ("\x1b7saved\x1b8", "saved"),
        ("\x9b31mred", "red"),
        ("cut short\x1b[3", "cut short"),
        ("cut short\x1b", "cut short"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("10%\r 50%\r100%\ndone", "100%\ndone"),
        ("100%\r", "100%"),
        ("N\bNA\bAME\bE", "NAME"),
        ("bell\x07 nul\x00 del\x7f", "bell nul del"),
        ("\ud800lone", "lone"),
    ],
)
def test_clean(raw, shown):
    assert bounds.clean(raw) == shown


def test_a_long_line_is_cleaned_in_one_go():
    assert bounds.clean("\x1b[1m" + "x" * 1_000_000 + "\r") == "x" * 1_000_000


@given(st.text())
def test_clean_leaves_no_control_character_and_is_stable(text):
    cleaned = bounds.clean(text)
    assert not [c for c in cleaned if c not in "\n\t" and (ord(c) < 32 or 0x7F <= ord(c) < 0xA0)]
    assert bounds.clean(cleaned) == cleaned


@pytest.mark.parametrize(
    ("raw", "limit", "line"),
    [
        ("npm test", 20, "npm test"),
        ("a\nb\n\n  c", 20, "a b c"),
        ("x" * 30, 10, "x" * 9 + "…"),
        ("\x1b[31mred", 10, "red"),
        ("", 10, ""),
    ],
)
def test_one_line(raw, limit, line):
    assert bounds.one_line(raw, limit) == line


def test_a_file_name_that_is_no_utf8_can_be_sent():
    assert bounds.printable("caf\udce9\n.txt") == "caf\ufffd\ufffd.txt"


def test_short_text_is_left_alone():
    assert bounds.cut("é" * 50, 100) == bounds.Excerpt("é" * 50, 0)


def test_long_text_keeps_whole_lines_of_head_and_tail():
    text = "".join(f"line {number}\n" for number in range(10_000))
    excerpt = bounds.cut(text, 1000)
    lines = excerpt.text.splitlines()
    assert lines[0] == "line 0"
    assert lines[-1] == "line 9999"
    mark = next(number for number, line in enumerate(lines) if line.startswith("[..."))
    first, last = lines[mark - 1], lines[mark + 1]
    assert lines[mark] == f"[... {excerpt.left_out} bytes left out ...]"
    gap = range(int(first.split()[1]) + 1, int(last.split()[1]))
    assert excerpt.left_out == sum(len(f"line {number}\n") for number in gap)


@given(st.text(min_size=1), st.integers(70, 400))
def test_a_cut_is_never_larger_than_asked(text, limit):
    text = text * (1 + 2000 // len(text))
    excerpt = bounds.cut(text, limit)
    assert len(excerpt.text.encode("utf-8", "replace")) <= limit
    assert (excerpt.left_out > 0) == (len(text.encode("utf-8", "replace")) > limit)
