from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.core import files
from acpagent.core.paths import Roots
from acpagent.core.scope import Scope
from acpagent.core.toolcalls import Diff, Effect, Location, ToolContext, ToolRefusal
from acpagent.toolbox.multi_edit import MAX_EDITS, _after


def edit(old, new, replace_all=False):
    return {"old": old, "new": new, "replace_all": replace_all}


def test_several_edits_are_one_change(bench):
    path = bench.write("a.py", "one\ntwo\nthree\nfour\n")
    edits = [edit("three", "3\n3"), edit("one\n", ""), edit("four", "4")]
    proposal = bench.prepare("multi_edit", path="a.py", edits=edits)
    assert (proposal.title, proposal.kind, proposal.subject) == ("Edit a.py", "edit", "a.py")
    assert proposal.effects == (Effect("write", path),)
    assert proposal.locations == (Location(path, 1),)
    assert proposal.diff == Diff(path, "one\ntwo\nthree\nfour\n", "two\n3\n3\n4\n")
    result = bench.apply("multi_edit", proposal)
    assert bench.read("a.py") == b"two\n3\n3\n4\n"
    assert (result.title, result.text) == ("Edited a.py (3 edits)", "Edited a.py (3 edits) at lines 1, 2, 4.")
    assert result.facts == {"path": "a.py", "edit_count": 3}


def test_each_edit_works_on_what_the_ones_before_left(bench):
    bench.write("a", "x\n")
    bench.call("multi_edit", path="a", edits=[edit("x", "y y"), edit("y", "z", True), edit("z z\n", "end")])
    assert bench.read("a") == b"end"


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([], f"edits must have 1 to {MAX_EDITS} entries"),
        ([edit("a", "b")] * (MAX_EDITS + 1), f"edits must have 1 to {MAX_EDITS} entries"),
        ([edit("alpha", "x"), edit("alpha", "y")], "edits[1] after the edits before it: old was not found in a."),
        ([edit("none", "x")], "edits[0]: old was not found in a."),
        ([edit("beta", "x"), edit("a", "y")], "edits[1] after the edits before it: old was found 4 times in a"),
        ([edit("alpha", "x"), edit("x", "alpha")], "The edits undo each other"),
        ([edit("", "x")], "edits[0]: old is empty"),
        ([{"old": "alpha"}], "edits[0].new is missing"),
    ],
)
def test_all_or_none(bench, edits, words):
    bench.write("a", "alpha\nbeta\ngamma\n")
    assert words in bench.refusal("multi_edit", path="a", edits=edits)
    assert bench.read("a") == b"alpha\nbeta\ngamma\n"


def test_line_ends_bom_and_encoding_stay(bench):
    bench.write("crlf", b"\xef\xbb\xbfa\r\nb\nc\r\nd")
    bench.call("multi_edit", path="crlf", edits=[edit("a\n", "a\na2\n"), edit("c\nd", "C\nD")])
    assert bench.read("crlf") == b"\xef\xbb\xbfa\r\na2\r\nb\nC\r\nD"
    bench.write("old", b"caf\xe9 th\xe9")
    bench.call("multi_edit", path="old", edits=[edit("café", "thé"), edit("thé thé", "é")])
    assert bench.read("old") == b"\xe9"
    assert "no U+2192" in bench.refusal("multi_edit", path="old", edits=[edit("é", "e"), edit("e", "→")])


def test_a_file_that_changed_meanwhile_is_left_alone(bench):
    bench.write("a", "one\n")
    proposal = bench.prepare("multi_edit", path="a", edits=[edit("one", "two"), edit("two", "three")])
    bench.write("a", "one more\n")
    with pytest.raises(ToolRefusal, match="changed since"):
        bench.apply("multi_edit", proposal)
    assert bench.read("a") == b"one more\n"


EDITS = st.lists(st.tuples(st.sampled_from(["a", "b", "a\n", "\n", "ab"]), st.text("ab\né", max_size=3)), max_size=5)
CONTEXT = ToolContext(Roots("/"), Scope(), None, 1, 1)


@given(st.text("ab\n", max_size=12), st.booleans(), EDITS)
def test_the_outcome_is_that_of_one_edit_after_the_other(text, crlf, edits):
    raw = text.replace("\n", "\r\n") if crlf else text
    expected = text
    for old, new in edits:
        if old == new or old not in expected:
            return
        expected = expected.replace(old, new)
    file, lines = _after(files.decode(raw.encode()), [edit(old, new, True) for old, new in edits], "a", CONTEXT)
    assert file.text == expected
    assert len(lines) == len(edits)
    assert all(1 <= line <= expected.count("\n") + 1 for line in lines)
