from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from types import SimpleNamespace

import pytest

from acpagent.core.scope import Cancelled, Scope
from acpagent.core.toolcalls import Diff, Effect, Location, ToolRefusal


def names(bench):
    return sorted(str(path.relative_to(bench.root)) for path in bench.root.rglob("*"))


@pytest.fixture
def elsewhere(bench):
    """A directory on another file system."""
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == bench.root.stat().st_dev:
        pytest.skip("there is no other file system to write to")
    folder = shared / f"acpagent-test-{uuid.uuid4().hex}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def test_a_file(bench):
    path = bench.write("a.py", "one\n")
    os.chmod(path, 0o751)
    proposal = bench.prepare("move_file", source="a.py", target="new/deep/b.py")
    target = str(bench.root / "new" / "deep" / "b.py")
    assert (proposal.title, proposal.kind, proposal.subject) == ("Move a.py to new/deep/b.py", "move", "a.py")
    assert proposal.effects == (Effect("read", path), Effect("write", path), Effect("write", target))
    assert (proposal.diff, proposal.note) == (None, "")
    result = bench.apply("move_file", proposal)
    assert bench.tree() == {"new/deep/b.py": b"one\n"}
    assert os.stat(target).st_mode & 0o777 == 0o751
    assert result.title == "Moved a.py to new/deep/b.py"
    assert result.text == "Moved a.py to new/deep/b.py."
    assert result.locations == (Location(target),)


def test_a_directory(bench):
    bench.write("d/sub/a", "x")
    (bench.root / "d" / "link").symlink_to("sub/a")
    proposal = bench.prepare("move_file", source="d", target="e")
    assert {effect.below for effect in proposal.effects} == {True}
    bench.apply("move_file", proposal)
    assert names(bench) == ["e", "e/link", "e/sub", "e/sub/a"]


@pytest.mark.parametrize("leads_to", ["../out", "nowhere", "file"])
def test_a_link_is_moved_itself(bench, leads_to):
    bench.write("file", "x")
    (bench.root / "link").symlink_to(leads_to)
    bench.call("move_file", source="link", target="sub/link")
    assert os.readlink(bench.root / "sub" / "link") == leads_to
    assert (bench.root / "file").exists()
    assert not os.path.lexists(bench.root / "link")


def test_nothing_is_replaced_unasked(bench):
    bench.write("a", "new\n")
    path = bench.write("b", "old\n")
    bench.write("d/x", "y")
    (bench.root / "dangling").symlink_to("nowhere")
    assert "There is a b already" in bench.refusal("move_file", source="a", target="b")
    assert "There is a dangling already" in bench.refusal("move_file", source="a", target="dangling")
    for overwrite in (False, True):
        words = bench.refusal("move_file", source="a", target="d", overwrite=overwrite)
        assert words == "d is a directory; target must be the full new path, such as d/a."
    proposal = bench.prepare("move_file", source="a", target="b", overwrite=True)
    assert (proposal.diff, proposal.note) == (Diff(path, "old\n", "new\n"), "Replaces b.")
    bench.apply("move_file", proposal)
    assert bench.tree() == {"b": b"new\n", "d/x": b"y"}


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("none", "x", "There is no none."),
        ("a", "a", "source and target are the same."),
        ("a", "./sub/../a", "source and target are the same."),
        ("d", "d/e", "d cannot be moved into itself."),
        ("d", "a", "a is a file, which a directory cannot replace."),
        ("a", "twin", "two names of one file"),
        ("a", "b/x", "a part of its path is a file"),
        (".", "../x", "holds the working directory"),
        ("..", "/x", "holds the working directory"),
    ],
)
def test_refusals(bench, source, target, words):
    bench.write("a", "1")
    bench.write("b", "2")
    bench.write("d/x", "3")
    (bench.root / "sub").mkdir()
    os.link(bench.root / "a", bench.root / "twin")
    before = names(bench)
    assert words in bench.refusal("move_file", source=source, target=target, overwrite=True)
    assert names(bench) == before


@pytest.mark.parametrize("what", ["source", "target", "both there"])
def test_what_changed_meanwhile_stays(bench, what):
    bench.write("a", "1")
    if what == "target":
        bench.write("b", "2")
    proposal = bench.prepare("move_file", source="a", target="b", overwrite=True)
    bench.write("a" if what == "source" else "b", "somebody's")
    before = bench.tree()
    with pytest.raises(ToolRefusal, match="changed since this call was made"):
        bench.apply("move_file", proposal)
    assert bench.tree() == before


def test_a_failure_leaves_nothing_behind(bench):
    bench.write("a", "1")
    long = "x" * 300
    assert "cannot be moved" in bench.refusal("move_file", source="a", target=f"new/dir/{long}")
    assert names(bench) == ["a"]


def test_nothing_moves_once_cancelled(bench):
    bench.write("a", "x")
    scope = Scope()
    ctx = bench.context(scope)
    proposal = bench.prepare("move_file", ctx, source="a", target="new/b")
    scope.cancel()
    with pytest.raises(Cancelled):
        bench.apply("move_file", proposal, ctx)
    assert names(bench) == ["a"]


def test_to_another_file_system(bench, elsewhere):
    path = bench.write("d/sub/a", "x")
    os.chmod(path, 0o640)
    (bench.root / "d" / "link").symlink_to("nowhere")
    bench.call("move_file", source="d", target=str(elsewhere / "new" / "d"))
    assert names(bench) == []
    assert (elsewhere / "new" / "d" / "sub" / "a").stat().st_mode & 0o777 == 0o640
    assert os.readlink(elsewhere / "new" / "d" / "link") == "nowhere"
    bench.call("move_file", source=str(elsewhere / "new" / "d" / "sub" / "a"), target="back")
    assert bench.tree() == {"back": b"x"}
    (bench.root / "link").symlink_to("back")
    bench.call("move_file", source="link", target=str(elsewhere / "link"))
    assert os.readlink(elsewhere / "link") == "back"
    bench.write("other", "y")
    bench.call("move_file", source="other", target=str(elsewhere / "link"), overwrite=True)
    assert (elsewhere / "link").read_text() == "y"
    assert not (elsewhere / "link").is_symlink()
    assert sorted(path.name for path in elsewhere.rglob("*")) == ["d", "link", "link", "new", "sub"]


def test_what_cannot_be_copied_stays_where_it_is(bench, elsewhere):
    bench.write("d/a", "x")
    os.mkfifo(bench.root / "d" / "pipe")
    words = bench.refusal("move_file", source="d", target=str(elsewhere / "d"))
    assert "pipe: " in words
    assert "not a regular file" in words
    assert "not a regular file" in bench.refusal("move_file", source="d/pipe", target=str(elsewhere / "p"))
    assert names(bench) == ["d", "d/a", "d/pipe"]
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(("tool", "path"), [("move_file", "source"), ("delete_file", "path")])
def test_unsaved_changes_in_the_editor_are_not_left_behind(bench, tool, path):
    bench.write("a", "saved\n")
    bench.write("data", b"\0")
    ctx = bench.context()
    ctx.files = SimpleNamespace(read=lambda path, line, limit, scope: "not saved\n", write=None)
    target = {"target": "b"} if tool == "move_file" else {}
    with pytest.raises(ToolRefusal, match="a has unsaved changes in the editor"):
        bench.prepare(tool, ctx, **{path: "a"}, **target)
    bench.apply(tool, bench.prepare(tool, ctx, **{path: "data"}, **target), ctx)
    assert not (bench.root / "data").exists()
