"""Changes to awkward files: each leaves exactly the bytes said here, or says why not and leaves everything alone."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from acpagent.core import files
from acpagent.core.toolcalls import Proposal, ToolRefusal

BOM = codecs.BOM_UTF8
LE, BE, WIDE = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE
Prepared = Callable[[Path], object]


@dataclass(frozen=True)
class Case:
    """`before` are the bytes of the file `f`, None for no such file. `after` are its bytes afterwards, or the words of
    the refusal. `given` arranges more before the call, `meanwhile` happens between question and change; what it leaves
    is what must be left."""

    before: bytes | None
    after: bytes | str
    tool: str = "edit_file"
    given: Prepared | None = None
    meanwhile: Prepared | None = None
    args: dict[str, Any] = field(default_factory=dict)


def edit(before: bytes | None, old: str, new: str, after: bytes | str, **more: Any) -> Case:
    args = {"path": more.pop("path", "f"), "old": old, "new": new}
    if more.pop("everywhere", False):
        args["replace_all"] = True
    return Case(before, after, args=args, **more)


def several(before: bytes, edits: list[tuple[str, str]], after: bytes | str, **more: Any) -> Case:
    listed = [{"old": old, "new": new} for old, new in edits]
    return Case(before, after, "multi_edit", args={"path": "f", "edits": listed}, **more)


def write(before: bytes | None, content: str, after: bytes | str, **more: Any) -> Case:
    return Case(before, after, "write_file", args={"path": more.pop("path", "f"), "content": content}, **more)


def link(target: str) -> Prepared:
    def make(root: Path) -> None:
        (root / "link").symlink_to(target)

    return make


def mode(bits: int) -> Prepared:
    return lambda root: os.chmod(root / "f", bits)


def becomes(data: bytes) -> Prepared:
    return lambda root: (root / "f").write_bytes(data)


def gone(root: Path) -> None:
    os.unlink(root / "f")


def a_directory(root: Path) -> None:
    if (root / "f").exists():
        os.unlink(root / "f")
    (root / "f").mkdir()


def a_pipe(root: Path) -> None:
    os.mkfifo(root / "f")


def a_link_out(root: Path) -> None:
    (root / "f").unlink()
    (root.parent / "out" / "f").write_bytes(b"theirs")
    (root / "f").symlink_to(root.parent / "out" / "f")


def sparse(size: int) -> Prepared:
    def make(root: Path) -> None:
        with open(root / "f", "wb") as stream:
            stream.write(b"one\n")
            stream.truncate(size)

    return make


def long_text(root: Path) -> None:
    with open(root / "f", "wb") as stream:
        stream.writelines(b"some line of text\n" * 10_000 for _ in range(200))


CORPUS: dict[str, Case] = {
    # Line ends.
    "lf": edit(b"one\ntwo\n", "two", "2", b"one\n2\n"),
    "crlf": edit(b"one\r\ntwo\r\n", "two", "2", b"one\r\n2\r\n"),
    "crlf, several lines with lf": edit(b"a\r\nb\r\nc\r\n", "a\nb", "a\nx\ny", b"a\r\nx\r\ny\r\nc\r\n"),
    "crlf, several lines with crlf": edit(b"a\r\nb\r\nc\r\n", "a\r\nb", "x\r\ny", b"x\r\ny\r\nc\r\n"),
    "lf, old and new with crlf": edit(b"a\nb\nc\n", "a\r\nb", "x\r\ny", b"x\ny\nc\n"),
    "mixed, mostly crlf": edit(b"a\r\nb\nc\r\nd\r\n", "c\nd", "C\nnew\nd", b"a\r\nb\nC\r\nnew\r\nd\r\n"),
    "mixed, mostly lf": edit(b"a\nb\r\nc\nd\n", "c", "C\nnew", b"a\nb\r\nC\nnew\nd\n"),
    "mixed, across both kinds": edit(b"a\r\nb\nc\nd\n", "a\nb\nc", "a\nX\nc", b"a\r\nX\nc\nd\n"),
    "cr alone is no line end": edit(b"a\rb\rc\r", "b", "B", b"a\rB\rc\r"),
    "cr alone, asked for as lf": edit(b"a\rb\rc\r", "a\nb", "x", "old was not found"),
    "cr before crlf": edit(b"a\r\r\nb\r\n", "b", "B", b"a\r\r\nB\r\n"),
    "line separators are letters": edit("a\u2028b\x85c\n".encode(), "b", "B", "a\u2028B\x85c\n".encode()),
    "form feed and vertical tab": edit(b"a\x0cb\x0bc\n", "b", "B", b"a\x0cB\x0bc\n"),
    "remove a whole line": edit(b"a\r\nb\r\nc\r\n", "b\n", "", b"a\r\nc\r\n"),
    "join two lines": edit(b"a\r\nb\r\n", "a\nb", "ab", b"ab\r\n"),
    # The ends of a file.
    "no last newline": edit(b"one\ntwo", "two", "2", b"one\n2"),
    "no last newline, crlf": edit(b"one\r\ntwo", "two", "2", b"one\r\n2"),
    "add the last newline": edit(b"one\ntwo", "two", "two\n", b"one\ntwo\n"),
    "take the last newline": edit(b"one\ntwo\n", "two\n", "two", b"one\ntwo"),
    "all of it": edit(b"one\n", "one\n", "", b""),
    "an empty file": edit(b"", "x", "y", "old was not found"),
    "only newlines": edit(b"\n\n\n", "\n\n\n", "x", b"x"),
    # Encodings.
    "bom": edit(BOM + b"one\ntwo\n", "one", "1", BOM + b"1\ntwo\n"),
    "bom and crlf": edit(BOM + b"one\r\ntwo\r\n", "one\ntwo", "1\n2", BOM + b"1\r\n2\r\n"),
    "bom and nothing else": edit(BOM, "x", "y", "old was not found"),
    "a bom that is asked for": edit(BOM + b"one\n", "\ufeffone", "x", "old was not found"),
    "a second bom stays": edit(BOM + BOM + b"one\n", "one", "1", BOM + BOM + b"1\n"),
    "letters of four bytes": edit("a😀b".encode(), "😀", "🦊🦊", "a🦊🦊b".encode()),
    "combining letters stay apart": edit("e\u0301 é\n".encode(), "é", "E", "e\u0301 E\n".encode()),
    "utf-16 little-endian": edit(LE + b"a\0\r\0\n\0b\0", "a\nb", "x\ny", LE + b"x\0\r\0\n\0y\0"),
    "utf-16 big-endian": edit(BE + "é\n".encode("utf-16-be"), "é", "😀", BE + "😀\n".encode("utf-16-be")),
    "utf-16 without bom is binary": edit("a\n".encode("utf-16-le"), "a", "b", "it is binary"),
    "utf-16 cut in the middle": edit(LE + b"a\x00b", "a", "x", "it is binary"),
    "utf-32": edit(WIDE + b"a\0\0\0", "a", "b", WIDE + b"b\0\0\0"),
    "latin-1": edit("caf\xe9 au lait\n".encode("latin-1"), "café", "thé", "th\xe9 au lait\n".encode("latin-1")),
    "cp1252 quotes": edit(b"\x93a\x94 \x80\n", "“a”", "„b“", b"\x84b\x93 \x80\n"),
    "latin-1 with a letter it lacks": edit(b"caf\xe9\n", "caf", "→", "which has no U+2192"),
    "utf-8 that breaks off is latin-1": edit(b"ok \xc3", "ok", "no", b"no \xc3"),
    "half of a pair in new": edit(b"one\n", "one", "\ud800", "new has half of a surrogate pair"),
    "nul": edit(b"one\0two", "one", "1", "it is binary"),
    "nul in new": edit(b"one\n", "one", "a\0b", "f would be binary: the text has a NUL character"),
    "an image": edit(b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "PNG", "GIF", "it is binary"),
    "control characters throughout": edit(bytes(range(1, 9)) * 20 + b"\xff", "x", "y", "it is binary"),
    "escape sequences": edit(b"\x1b[31mred\x1b[0m\n", "\x1b[31mred", "blue", b"blue\x1b[0m\n"),
    # Which passage.
    "twice": edit(b"x\ny\nx\n", "x", "z", "old was found 2 times in f, at lines 1, 3"),
    "twice, and all": edit(b"x\ny\nx\n", "x", "zz", b"zz\ny\nzz\n", everywhere=True),
    "overlapping": edit(b"aaa\n", "aa", "b", "old was found 2 times"),
    "overlapping, and all": edit(b"aaaa a\n", "aa", "b", b"bb a\n", everywhere=True),
    "new holds old": edit(b"x x\n", "x", "xx", b"xx xx\n", everywhere=True),
    "the same": edit(b"x\n", "x", "x", "nothing to change"),
    "nothing": edit(b"x\n", "", "y", "old is empty"),
    "letters that mean something to a pattern": edit(b"a.*(b)[c]\\d$^", ".*(b)[c]\\d$^", "\\1\\g<0>", b"a\\1\\g<0>"),
    "white space differs": edit(b"if x:\n\treturn\n", "if x:\n    return", "y", "in white space alone"),
    "a trailing blank": edit(b"a \nb\n", "a\nb", "x", "in white space alone"),
    "line numbers copied": edit(b"one\n", "1\tone", "x", "Leave out the line numbers"),
    "upper and lower case are letters": edit(b"One\none\n", "one", "1", b"One\n1\n"),
    "a hundred thousand lines": edit(b"line\n" * 100_000 + b"end\n", "end", "END", b"line\n" * 100_000 + b"END\n"),
    "one line of five megabytes": edit(b"a" * 5_000_000 + b"bc", "bc", "d", b"a" * 5_000_000 + b"d"),
    # Several at once.
    "several": several(b"a\r\nb\nc\r\n", [("c", "C"), ("a", "A")], b"A\r\nb\nC\r\n"),
    "several, each on the last": several(b"a\n", [("a", "b"), ("b", "c\nd"), ("c\nd", "e")], b"e\n"),
    "several, overlapping": several(b"abc\n", [("ab", "x"), ("bc", "y")], "edits[1] after the edits before it"),
    "several, one ambiguous": several(b"a a\nb\n", [("b", "c"), ("a", "x")], "old was found 2 times"),
    "several in latin-1, one letter too many": several(b"caf\xe9 x\n", [("x", "y"), ("caf", "→")], "no U+2192"),
    "several, changed meanwhile": several(b"a\nb\n", [("a", "x")], "changed since", meanwhile=becomes(b"a\nb\nc\n")),
    # What else a path can be.
    "no file": edit(None, "a", "b", "There is no file f."),
    "a directory": edit(None, "a", "b", "f is a directory", given=a_directory),
    "a pipe": edit(None, "a", "b", "it is not a regular file", given=a_pipe),
    "below a file": edit(b"x", "a", "b", "There is no file f/x", path="f/x"),
    "a device": edit(None, "a", "b", "it is not a regular file", path="/dev/zero"),
    "larger than is read": edit(None, "one", "1", "it is larger than 32 MiB", given=sparse(100_000_000)),
    "longer than is read": edit(None, "text", "x", "it is larger than 32 MiB", given=long_text),
    "through a link": edit(b"one\n", "one", "1", b"1\n", given=link("f"), path="link"),
    "through a link to nowhere": edit(b"one\n", "one", "1", "There is no file none", given=link("none"), path="link"),
    "through a link in circles": edit(b"one\n", "one", "1", "link", given=link("link"), path="link"),
    "with dots": edit(b"one\n", "one", "1", b"1\n", path="./x/../f"),
    "executable": edit(b"#!/bin/sh\nexit 1\n", "exit 1", "exit 0", b"#!/bin/sh\nexit 0\n", given=mode(0o755)),
    "read-only": edit(b"one\n", "one", "1", "f cannot be written: Permission denied", given=mode(0o444)),
    "not to be read": edit(b"one\n", "one", "1", "f cannot be read: Permission denied", given=mode(0o000)),
    "nul in the path": edit(b"x", "a", "b", "Not a usable path", path="f\0g"),
    "no path": edit(b"x", "a", "b", "is a directory", path=""),
    # What may have happened meanwhile.
    "changed meanwhile": edit(b"one\n", "one", "1", "f changed since", meanwhile=becomes(b"one\ntwo\n")),
    "line ends changed meanwhile": edit(b"one\n", "one", "1", "f changed since", meanwhile=becomes(b"one\r\n")),
    "encoding changed meanwhile": edit("é\n".encode(), "é", "e", "f changed since", meanwhile=becomes(b"\xe9\n")),
    "written again with the same": edit(b"one\n", "one", "1", b"1\n", meanwhile=becomes(b"one\n")),
    "made binary meanwhile": edit(b"one\n", "one", "1", "it is binary", meanwhile=becomes(b"one\0\n")),
    "removed meanwhile": edit(b"one\n", "one", "1", "f changed since", meanwhile=gone),
    "a directory meanwhile": edit(b"one\n", "one", "1", "f is a directory", meanwhile=a_directory),
    "a link meanwhile": edit(b"one\n", "one", "1", "f leads elsewhere now", meanwhile=a_link_out),
    "read-only meanwhile": edit(b"one\n", "one", "1", "Permission denied", meanwhile=mode(0o444)),
    # Whole files.
    "write a new one": write(None, "a\nb", b"a\nb"),
    "write over crlf": write(b"x\r\ny\r\n", "a\nb\n", b"a\r\nb\r\n"),
    "write crlf over lf": write(b"x\ny\n", "a\r\nb\r\n", b"a\r\nb\r\n"),
    "write over a bom": write(BOM + b"x", "é", BOM + "é".encode()),
    "write over utf-16": write(LE + "x".encode("utf-16-le"), "é\n", LE + "é\n".encode("utf-16-le")),
    "write over latin-1": write(b"caf\xe9", "th\xe9", b"th\xe9"),
    "write over latin-1 what it lacks": write(b"caf\xe9", "→", "which has no U+2192"),
    "write over binary": write(b"\0\1\2", "x", "it is binary"),
    "write a nul": write(None, "a\0b", "f would be binary: the text has a NUL character"),
    "write nothing": write(b"x\n", "", b""),
    "write below directories that are not there": write(None, "x", b"x", path="a/b/../b/c"),
    "write below a file": write(b"x", "y", "a part of its path is a file", path="f/y"),
    "write a file that came meanwhile": write(None, "x", "f changed since", meanwhile=becomes(b"theirs")),
    "write a file that went meanwhile": write(b"x", "y", "f changed since", meanwhile=gone),
}  # fmt: skip
NEEDS_RIGHTS = {"read-only", "not to be read", "read-only meanwhile"}


def everything(root: Path) -> dict[str, Any]:
    """What is in a directory: bytes, modes, links."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        data: object = None
        if path.is_symlink():
            data = os.readlink(path)
        elif path.is_file() and os.access(path, os.R_OK) and status.st_size < 10_000_000:
            data = path.read_bytes()
        found[str(path.relative_to(root))] = (oct(status.st_mode), status.st_size, data)
    return found


def test_there_are_enough() -> None:
    assert len(CORPUS) >= 60


def carried_out(bench: Any, case: Case) -> tuple[Proposal | None, str, dict[str, Any]]:
    """What was proposed, the words of the refusal or none, and what there was right before the change."""
    ctx, before, proposal = bench.context(), everything(bench.base), None
    try:
        proposal = bench.prepare(case.tool, ctx, **case.args)
        assert everything(bench.base) == before, "prepare must change nothing"
        if case.meanwhile is not None:
            case.meanwhile(bench.root)
            before = everything(bench.base)
        bench.apply(case.tool, proposal, ctx)
    except ToolRefusal as refusal:
        return proposal, str(refusal), before
    return proposal, "", before


@pytest.mark.parametrize("case", CORPUS.values(), ids=CORPUS.keys())
def test_exact_bytes_or_a_clear_refusal(bench: Any, case: Case, request: pytest.FixtureRequest) -> None:
    if request.node.callspec.id in NEEDS_RIGHTS and os.geteuid() == 0:
        pytest.skip("root may read and write everything")
    if case.before is not None:
        bench.write("f", case.before)
    if case.given is not None:
        case.given(bench.root)
    proposal, refusal, before = carried_out(bench, case)
    after = everything(bench.base)
    if isinstance(case.after, str):
        assert case.after in refusal
        assert after == before
        return
    assert refusal == ""
    assert proposal is not None
    changed = Path(str(proposal.effects[0].path))
    assert changed.read_bytes() == case.after
    name = str(changed.relative_to(bench.base))
    made = {name, *(str(parent) for parent in Path(name).parents if str(parent) not in before)}
    assert {other: what for other, what in after.items() if other not in made} == {
        other: what for other, what in before.items() if other != name
    }
    if name in before:
        assert after[name][0] == before[name][0], "the mode stays"
    assert proposal.diff is None or proposal.diff.new == files.decode(case.after).raw
