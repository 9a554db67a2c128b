from __future__ import annotations

import os

import pytest

from acpagent.core.blocks import Text
from acpagent.core.scope import Cancelled, Scope
from acpagent.core.toolcalls import Diff, Effect, Location, ToolRefusal


def names(bench):
    return sorted(str(path.relative_to(bench.root)) for path in bench.root.rglob("*"))


def test_a_text_file(bench):
    path = bench.write("a.py", "one\ntwo\n")
    proposal = bench.prepare("delete_file", path="a.py")
    assert (proposal.title, proposal.kind, proposal.subject) == ("Delete a.py", "delete", "a.py")
    assert proposal.effects == (Effect("write", path),)
    assert proposal.locations == (Location(path),)
    assert proposal.diff == Diff(path, "one\ntwo\n", "")
    assert proposal.note == "Deletes a.py: a file of 2 lines."
    result = bench.apply("delete_file", proposal)
    assert names(bench) == []
    assert (result.title, result.text) == ("Deleted a.py", "Deleted a.py: a file of 2 lines.")
    assert result.content == (proposal.diff, Text(result.text))
    assert result.locations == ()
    assert result.raw == {"path": "a.py", "what": "file"}


@pytest.mark.parametrize(
    ("data", "what"),
    [(b"", "a file of 0 lines"), (b"x", "a file of 1 line"), (b"\0" * 9, "a file of 9 bytes, not text")],
)
def test_what_has_no_diff(bench, data, what):
    bench.write("a", data)
    proposal = bench.prepare("delete_file", path="a")
    assert (proposal.diff is None) == (data != b"x")
    assert bench.apply("delete_file", proposal).text == f"Deleted a: {what}."
    assert names(bench) == []


@pytest.mark.parametrize("target", ["kept", "nowhere", "dir"])
def test_a_link_goes_and_what_it_leads_to_stays(bench, target):
    bench.write("kept", "x")
    bench.write("dir/inside", "y")
    (bench.root / "link").symlink_to(target)
    proposal = bench.prepare("delete_file", path="link/")
    assert proposal.effects == (Effect("write", str(bench.root / "link")),)
    result = bench.apply("delete_file", proposal)
    assert result.text == f"Deleted link: a symbolic link to {target}, which stays."
    assert names(bench) == ["dir", "dir/inside", "kept"]


def test_directories(bench):
    (bench.root / "empty").mkdir()
    bench.write("full/a", "12345")
    bench.write("full/sub/b", "1")
    (bench.root / "full" / "link").symlink_to("../..")
    assert bench.call("delete_file", path="empty").text == "Deleted empty: an empty directory."
    refusal = bench.refusal("delete_file", path="full")
    assert "full is not empty (3 files and 1 directory, " in refusal
    assert "set recursive" in refusal
    proposal = bench.prepare("delete_file", path="full", recursive=True)
    assert proposal.effects == (Effect("write", str(bench.root / "full"), below=True),)
    assert proposal.note.split("\n")[1:] == ["a", "link", "sub/", "sub/b"]
    bench.apply("delete_file", proposal)
    assert names(bench) == []
    assert bench.base.is_dir()


def test_of_many_names_the_first_are_told(bench):
    for number in range(30):
        bench.write(f"d/{number:02}")
    note = bench.prepare("delete_file", path="d", recursive=True).note.split("\n")
    assert note[0] == "Deletes d: a directory with 30 files, 0 bytes."
    assert note[-2:] == ["19", "... and 10 more"]


def test_a_repository_inside_is_judged_by_itself(bench):
    bench.write("sub/.git/config")
    effects = bench.prepare("delete_file", path="sub", recursive=True).effects
    assert Effect("write", str(bench.root / "sub" / ".git")) in effects


@pytest.mark.parametrize("path", [".", "..", "/", "sub/.."])
def test_where_the_session_works_stays(bench, path):
    (bench.root / "sub").mkdir()
    assert "holds the working directory; it stays" in bench.refusal("delete_file", path=path, recursive=True)


def test_refusals(bench):
    bench.write("file")
    assert bench.refusal("delete_file", path="none") == "There is no none."
    assert bench.refusal("delete_file", path="file/x") == "There is no file/x."
    assert "the path has a NUL character" in bench.refusal("delete_file", path="a\0b")


@pytest.mark.parametrize("change", ["write", "replace", "link"])
def test_what_changed_meanwhile_stays(bench, change):
    path = bench.root / bench.write("a", "one\n")
    proposal = bench.prepare("delete_file", path="a")
    if change == "write":
        path.write_text("other\n")
    else:
        path.unlink()
        path.write_text("one\n") if change == "replace" else path.symlink_to("b")
    with pytest.raises(ToolRefusal, match="changed since this call was made"):
        bench.apply("delete_file", proposal)
    assert names(bench) == ["a"]


def test_a_directory_that_changed_meanwhile_stays(bench):
    bench.write("d/sub/a", "x")
    proposal = bench.prepare("delete_file", path="d", recursive=True)
    bench.write("d/sub/new", "y")
    with pytest.raises(ToolRefusal, match="What is in d changed"):
        bench.apply("delete_file", proposal)
    assert names(bench) == ["d", "d/sub", "d/sub/a", "d/sub/new"]


def test_a_directory_became_a_link_meanwhile(bench):
    bench.write("d/a", "x")
    (bench.base / "out" / "a").write_text("precious")
    proposal = bench.prepare("delete_file", path="d/a")
    os.rename(bench.root / "d", bench.root / "e")
    (bench.root / "d").symlink_to(bench.base / "out")
    with pytest.raises(ToolRefusal, match="leads elsewhere now"):
        bench.apply("delete_file", proposal)
    assert (bench.base / "out" / "a").read_text() == "precious"


def test_nothing_goes_once_cancelled(bench):
    bench.write("a", "x")
    scope = Scope()
    ctx = bench.context(scope)
    proposal = bench.prepare("delete_file", ctx, path="a")
    scope.cancel()
    with pytest.raises(Cancelled):
        bench.apply("delete_file", proposal, ctx)
    assert names(bench) == ["a"]


def test_an_odd_name_is_told_in_one_line(bench):
    bench.write("d/x\ny", "1")
    proposal = bench.prepare("delete_file", path="d", recursive=True)
    assert "x\ufffdy" in proposal.note
    bench.apply("delete_file", proposal)
    assert names(bench) == []
