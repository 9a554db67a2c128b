from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.core import files
from acpagent.core.toolcalls import Diff, Effect, Location, ToolRefusal
from acpagent.toolbox import passages


def test_one_passage(bench):
    path = bench.write("a.py", "def f():\n    return 1\n")
    proposal = bench.prepare("edit_file", path="a.py", old="return 1", new="return 2")
    assert (proposal.title, proposal.kind, proposal.subject) == ("Edit a.py", "edit", "a.py")
    assert proposal.effects == (Effect("write", path),)
    assert proposal.locations == (Location(path, 2),)
    assert proposal.diff == Diff(path, "def f():\n    return 1\n", "def f():\n    return 2\n")
    result = bench.apply("edit_file", proposal)
    assert bench.read("a.py") == b"def f():\n    return 2\n"
    assert (result.title, result.text) == ("Edited a.py", "Edited a.py at line 2.")
    assert result.facts == {"path": "a.py", "edit_count": 1}


def test_all_passages(bench):
    bench.write("a", "x\ny\nx x\n")
    result = bench.call("edit_file", path="a", old="x", new="zz", replace_all=True)
    assert bench.read("a") == b"zz\ny\nzz zz\n"
    assert (result.title, result.text) == ("Edited a (3 edits)", "Edited a (3 edits) at lines 1, 3, 3.")


@pytest.mark.parametrize(
    ("data", "old", "new", "expected"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", b"a\r\nx\r\nb\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "a\r\nb", "x\ny", b"x\r\ny\r\nc\r\n"),
        (b"a\nb\n", "a\r\nb", "x", b"x\n"),
        (b"a\r\nb\nc\r\nd", "b\nc", "b\nX", b"a\r\nb\nX\r\nd"),
        (b"\xef\xbb\xbfone\n", "one", "two", b"\xef\xbb\xbftwo\n"),
        (b"no end", "end", "final", b"no final"),
        (b"caf\xe9\n", "café", "thé", b"th\xe9\n"),
        (b"\xff\xfea\x00\r\x00\n\x00", "a\n", "b\n", b"\xff\xfeb\x00\r\x00\n\x00"),
        ("😀 a\n".encode(), "😀", "é", "é a\n".encode()),
        (b"a\n\x0cb\x1b[0m\n", "\x0cb\x1b", "c", b"a\nc[0m\n"),
        (b"a\rb\n", "b", "c", b"a\rc\n"),
        (b"delete me\nkeep\n", "delete me\n", "", b"keep\n"),
    ],
)
def test_all_else_is_kept(bench, data, old, new, expected):
    path = bench.write("a", data)
    os.chmod(path, 0o751)
    bench.call("edit_file", path="a", old=old, new=new)
    assert bench.read("a") == expected
    assert os.stat(path).st_mode & 0o777 == 0o751


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("", "x", "old is empty; to create a file or replace all of it, use write_file."),
        ("beta", "beta", "nothing to change"),
        ("omega", "x", "old was not found in a. Read the file again"),
        ("alpha", "x", "old was found 2 times in a, at lines 1, 3. Add lines around it"),
        ("2\tbeta", "x", "Leave out the line numbers"),
        ("if x:\n  go()", "x", "Lines 4-5 differ from it in white space alone"),
        ("if x:\n    stop()", "x", "Its first line is at line 4, but what follows differs"),
        ("}\n}", "x", "found 2 times"),
    ],
)
def test_refusals_help(bench, old, new, words):
    bench.write("a", "alpha\nbeta\nalpha\nif x:\n    go()\n}\n}\n}\n")
    assert words in bench.refusal("edit_file", path="a", old=old, new=new)


def test_many_places_are_not_all_named(bench):
    bench.write("a", "x\n" * 50)
    assert "at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ..." in bench.refusal("edit_file", path="a", old="x", new="y")


def test_a_file_that_is_not_there(bench):
    assert "There is no file a" in bench.refusal("edit_file", path="a", old="x", new="y")


def test_an_edit_that_the_encoding_cannot_hold(bench):
    bench.write("a", b"caf\xe9")
    with pytest.raises(ToolRefusal, match=r"no U\+2192"):
        bench.prepare("edit_file", path="a", old="caf", new="→")


LINES = st.lists(st.sampled_from(["a", "b", "ab", "", "é"]), max_size=8)
ENDS = st.lists(st.sampled_from(["\n", "\r\n"]), min_size=8, max_size=8)


@given(LINES, ENDS, st.data(), st.text("ab\né", max_size=6))
def test_an_edit_is_the_replacement_in_text_and_keeps_other_lines(lines, ends, data, new):
    """Whatever the line ends: the text changes as `str.replace` would, and each line outside keeps its end."""
    raw = "".join(line + end for line, end in zip(lines, ends, strict=False))
    file = files.decode(raw.encode())
    start = data.draw(st.integers(0, len(file.text)))
    old = file.text[start : data.draw(st.integers(start, len(file.text)))]
    if not old or old == new:
        return
    edited, spans = passages.replaced(file, "a", old, new, replace_all=True)
    assert edited.replace("\r\n", "\n") == file.text.replace(old, new)
    before = file.text[: spans[0][0]].count("\n")
    assert edited.splitlines(keepends=True)[:before] == raw.splitlines(keepends=True)[:before]
