from __future__ import annotations

import os

import pytest

from acpagent.core.blocks import Text
from acpagent.core.scope import Cancelled, Scope
from acpagent.core.toolcalls import Effect, Location, ToolRefusal


def test_a_whole_file(bench):
    path = bench.write("src/a.py", "one\ntwo\n\nfour")
    proposal = bench.prepare("read_file", path="src/a.py")
    assert (proposal.title, proposal.kind, proposal.subject) == ("Read src/a.py", "read", "src/a.py")
    assert proposal.effects == (Effect("read", path),)
    result = bench.apply("read_file", proposal)
    assert result.text == "src/a.py: lines 1-4 of 4\n1\tone\n2\ttwo\n3\t\n4\tfour"
    assert result.title == "Read src/a.py lines 1-4 of 4"
    assert result.facts == {
        "path": "src/a.py", "start_line": 1, "end_line": 4, "read_lines": 4, "total_lines": 4, "truncated": False,
    }  # fmt: skip
    assert result.raw == result.facts
    assert not result.content


def test_a_part(bench):
    bench.write("a", "".join(f"{n}\n" for n in range(1, 101)))
    proposal = bench.prepare("read_file", path="a", line="10", limit=2)
    assert proposal.title == "Read a lines 10-11"
    assert proposal.locations == (Location(str(bench.root / "a"), 10),)
    result = bench.apply("read_file", proposal)
    assert result.text == "a: lines 10-11 of 100 (go on with line 12)\n10\t10\n11\t11"
    assert bench.call("read_file", path="a", line=99, limit=50).title == "Read a lines 99-100 of 100"
    assert bench.prepare("read_file", path="a", line=5).title == "Read a from line 5"
    assert "has 100 lines; there is no line 101" in bench.refusal("read_file", path="a", line=101)


def test_a_long_file_stops_at_a_line_within_the_budget(bench):
    bench.write("a", "".join(f"line {n} " + "x" * 100 + "\n" for n in range(1, 1001)))
    bench.output_bytes = 5000
    result = bench.call("read_file", path="a")
    assert len(result.text.encode()) <= 5000
    assert result.facts["truncated"]
    last = result.facts["end_line"]
    assert result.text.splitlines()[-1].startswith(f"{last}\tline {last} ")
    assert f"go on with line {last + 1}" in result.text


def test_a_huge_line_is_cut(bench):
    bench.write("a", "é" * 1_000_000 + "\nnext\n")
    result = bench.call("read_file", path="a")
    assert "[... 998000 more characters]\n2\tnext" in result.text
    bench.output_bytes = 1000
    result = bench.call("read_file", path="a")
    assert len(result.text.encode()) <= 1000
    assert result.facts["read_lines"] == 1


def test_an_empty_file(bench):
    bench.write("a")
    result = bench.call("read_file", path="a")
    assert (result.text, result.title, result.facts["total_lines"]) == ("a is empty.", "Read a (empty)", 0)


def test_line_ends_bom_and_encoding_do_not_show(bench):
    bench.write("a", b"\xef\xbb\xbfx\r\ny\r\n")
    assert bench.call("read_file", path="a").text.endswith("\n1\tx\n2\ty")
    bench.write("b", b"caf\xe9\n")
    assert bench.call("read_file", path="b").text.endswith("\n1\tcafé")


def test_the_model_reads_what_is_there_and_the_person_no_escapes(bench):
    bench.write("a", "\x1b[31mred\x1b[0m\n")
    result = bench.call("read_file", path="a")
    assert "1\t\x1b[31mred\x1b[0m" in result.text
    assert result.content == (Text("a: lines 1-1 of 1\n1\tred"),)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("none.py", "There is no file none.py. Close to it: nine.py."),
        ("nine.py/x", "There is no file nine.py/x"),
        ("dir", "dir is a directory; list_dir"),
        ("binary", "binary cannot be used as text: it is binary (4 bytes)"),
        ("pipe", "pipe cannot be used as text: it is not a regular file"),
        ("/dev/zero", "not a regular file"),
        ("x\0y", "Not a usable path"),
        ("loop", "loop"),
        ("x" * 5000, "cannot be read: File name too long"),
    ],
)
def test_what_cannot_be_read(bench, path, words):
    bench.write("nine.py")
    bench.write("dir/x")
    bench.write("binary", b"\x00\x01\x02\x03")
    os.mkfifo(bench.root / "pipe")
    (bench.root / "loop").symlink_to("loop")
    assert words in bench.refusal("read_file", path=path)


def test_a_link_is_named_by_where_it_leads(bench):
    (bench.root / "link").symlink_to(bench.base / "out")
    (bench.base / "out" / "x").write_text("secret")
    proposal = bench.prepare("read_file", path="link/x")
    assert proposal.effects == (Effect("read", str(bench.base / "out" / "x")),)
    assert proposal.title == f"Read {bench.base}/out/x"


def test_a_link_that_comes_in_after_the_question_is_not_followed(bench):
    bench.write("sub/x", "harmless")
    (bench.base / "out" / "x").write_text("secret")
    proposal = bench.prepare("read_file", path="sub/x")
    (bench.root / "sub").rename(bench.root / "was")
    (bench.root / "sub").symlink_to(bench.base / "out")
    with pytest.raises(ToolRefusal, match="leads elsewhere"):
        bench.apply("read_file", proposal)


def test_nothing_is_read_once_cancelled(bench):
    bench.write("a", "x")
    scope = Scope()
    scope.cancel()
    ctx = bench.context(scope)
    with pytest.raises(Cancelled):
        bench.apply("read_file", bench.prepare("read_file", ctx, path="a"), ctx)


def test_titles_fit_a_line(bench):
    name = "long\nname " + "x" * 200
    bench.write(name, "x\n")
    for title in (bench.prepare("read_file", path=name).title, bench.call("read_file", path=name).title):
        assert len(title) <= 120
        assert title.isprintable()


def test_a_directory_is_listed(bench):
    for path in ("b", "A", ".hidden", "dir/x", "sub/.git"):
        bench.write(path)
    (bench.root / "link").symlink_to("dir/x")
    (bench.root / os.fsdecode(b"bad\xff")).touch()
    result = bench.call("list_dir")
    assert result.text.split("\n") == [
        ".: 7 entries", ".hidden", "A", "b", "bad\ufffd", "dir/", "link -> dir/x", "sub/",
    ]  # fmt: skip
    assert (result.title, result.facts["entry_count"]) == ("List . (7 entries)", 7)
    assert bench.call("list_dir", path="dir").title == "List dir (1 entry)"
    assert "There is no directory none" in bench.refusal("list_dir", path="none")
    assert "is a file; read_file" in bench.refusal("list_dir", path="b")


def test_a_full_directory_is_bounded(bench):
    for number in range(2100):
        (bench.root / f"{number:04}").touch()
    result = bench.call("list_dir", path="")
    assert result.text.endswith("1999\n[... 100 more entries]")
    assert result.facts == {"path": ".", "entry_count": 2100, "truncated": True}
    bench.output_bytes = 1000
    result = bench.call("list_dir", path="")
    assert len(result.text) <= 1000
    assert "bytes left out" in result.text
