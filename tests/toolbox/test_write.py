from __future__ import annotations

import os
import threading

import pytest

from acpagent.core.blocks import Text
from acpagent.core.scope import Cancelled, Scope
from acpagent.core.toolcalls import Diff, Effect, Location, ToolRefusal


def test_a_new_file_with_its_directories(bench):
    path = str(bench.root / "a" / "b" / "c.txt")
    proposal = bench.prepare("write_file", path="a/b/c.txt", content="hello\n")
    assert (proposal.title, proposal.kind) == ("Write a/b/c.txt", "edit")
    assert proposal.effects == (Effect("write", path),)
    assert proposal.locations == (Location(path),)
    assert proposal.diff == Diff(path, None, "hello\n")
    assert bench.tree() == {}
    result = bench.apply("write_file", proposal)
    assert bench.tree() == {"a/b/c.txt": b"hello\n"}
    assert (result.title, result.text) == ("Created a/b/c.txt", "Created a/b/c.txt (6 bytes, 1 line).")
    assert result.content == (proposal.diff, Text(result.text))


def test_an_old_file_is_replaced(bench):
    bench.write("a", "")
    assert bench.prepare("write_file", path="a", content="x").diff.old == ""
    result = bench.call("write_file", path="a", content="x")
    assert (result.title, bench.read("a")) == ("Updated a", b"x")


@pytest.mark.parametrize(
    ("old", "content", "new"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "x\r\ny\n", b"x\r\ny\n"),
        (b"a\nb\n", "x\r\n", b"x\r\n"),
        (b"\xef\xbb\xbfa\n", "ü", b"\xef\xbb\xbf\xc3\xbc"),
        (b"caf\xe9", "thé\n", b"th\xe9\n"),
        (b"\xff\xfea\x00", "b", b"\xff\xfeb\x00"),
    ],
)
def test_the_style_of_the_old_file_is_kept(bench, old, content, new):
    bench.write("a", old)
    bench.call("write_file", path="a", content=content)
    assert bench.read("a") == new


@pytest.mark.parametrize(
    ("path", "content", "words"),
    [
        ("latin", "→", "latin is cp1252, which has no U+2192"),
        ("dir", "x", "dir is a directory"),
        ("latin/x/y", "x", "a part of its path is a file"),
        ("binary", "x", "it is binary"),
        ("", "x", ". is a directory"),
    ],
)
def test_what_cannot_be_written(bench, path, content, words):
    bench.write("latin", b"caf\xe9")
    bench.write("binary", b"\x00")
    bench.write("dir/x")
    before = bench.tree()
    assert words in bench.refusal("write_file", path=path, content=content)
    assert bench.tree() == before


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
def test_a_file_that_changed_since_is_left_alone(bench, tool):
    bench.write("a", "one\n")
    arguments = {"content": "x"} if tool == "write_file" else {"old": "one", "new": "x"}
    proposal = bench.prepare(tool, path="a", **arguments)
    bench.write("a", "one\nmore\n")
    with pytest.raises(ToolRefusal, match="a changed since this call was made; read it again"):
        bench.apply(tool, proposal)
    assert bench.read("a") == b"one\nmore\n"


def test_a_file_that_came_or_went_meanwhile_is_left_alone(bench):
    proposal = bench.prepare("write_file", path="a", content="x")
    bench.write("a", "theirs")
    with pytest.raises(ToolRefusal, match="changed since"):
        bench.apply("write_file", proposal)
    proposal = bench.prepare("write_file", path="a", content="x")
    os.unlink(bench.root / "a")
    with pytest.raises(ToolRefusal, match="changed since"):
        bench.apply("write_file", proposal)
    assert bench.tree() == {}


@pytest.mark.parametrize("existing", [True, False])
def test_a_link_that_comes_in_after_the_question_is_not_followed(bench, existing):
    if existing:
        bench.write("sub/x", "old")
        (bench.base / "out" / "x").write_text("old")
    (bench.root / "sub").mkdir(exist_ok=True)
    proposal = bench.prepare("write_file", path="sub/x", content="new")
    (bench.root / "sub").rename(bench.root / "was")
    (bench.root / "sub").symlink_to(bench.base / "out")
    with pytest.raises(ToolRefusal, match="leads elsewhere"):
        bench.apply("write_file", proposal)
    assert [path.read_text() for path in (bench.base / "out").iterdir()] == ["old"] * existing


def test_the_target_of_a_link_is_written_and_named(bench):
    bench.write("real/x", "old")
    (bench.root / "link").symlink_to("real/x")
    proposal = bench.prepare("write_file", path="link", content="new")
    assert proposal.effects == (Effect("write", str(bench.root / "real" / "x")),)
    bench.apply("write_file", proposal)
    assert (bench.root / "link").is_symlink()
    assert bench.read("real/x") == b"new"


@pytest.mark.parametrize("path", ["../out/new", "link/new", "link/deep/new", "dangling", "sub/../../out/new"])
def test_what_leads_outside_is_named_as_outside(bench, path):
    (bench.root / "sub").mkdir()
    (bench.root / "link").symlink_to(bench.base / "out")
    (bench.root / "dangling").symlink_to(bench.base / "out" / "none")
    proposal = bench.prepare("write_file", path=path, content="x")
    assert proposal.effects[0].path.startswith(str(bench.base / "out") + "/")
    assert str(bench.base / "out") in proposal.title


def test_nothing_is_written_once_cancelled(bench):
    scope = Scope()
    ctx = bench.context(scope)
    proposal = bench.prepare("write_file", ctx, path="a/b", content="x")
    scope.cancel()
    with pytest.raises(Cancelled):
        bench.apply("write_file", proposal, ctx)
    assert not list(bench.root.iterdir())


def test_a_large_change_has_no_diff(bench):
    proposal = bench.prepare("write_file", path="a", content="x" * 1_000_001)
    assert proposal.diff is None
    assert bench.apply("write_file", proposal).content == ()


def test_of_many_writers_to_one_new_file_one_wins(bench):
    for turn in range(30):
        results: list[str] = []
        proposals = [bench.prepare("write_file", path=f"{turn}/a", content=str(n)) for n in range(4)]

        def write(proposal, results=results):
            try:
                results.append(bench.apply("write_file", proposal).title)
            except ToolRefusal:
                results.append("refused")

        threads = [threading.Thread(target=write, args=(proposal,)) for proposal in proposals]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(results) == [f"Created {turn}/a"] + ["refused"] * 3
