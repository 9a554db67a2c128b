"""Files that are too large to be read whole."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any

import pytest

from acpagent.core import files
from acpagent.core.files import NotText
from acpagent.core.scope import Cancelled, Scope
from acpagent.toolbox import grepper, large

LINES = 6_000_000  # of 17 bytes


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hundred megabytes."""
    path = tmp_path_factory.mktemp("huge") / "big.log"
    with open(path, "wb") as stream:
        for start in range(1, LINES, 100_000):
            stream.write(b"".join(b"this is %08d\n" % number for number in range(start, start + 100_000)))
    return path


@pytest.fixture
def linked(bench: Any, huge: Path) -> Any:
    (bench.root / "big.log").hardlink_to(huge)
    return bench


def test_the_start_of_a_huge_file(linked: Any) -> None:
    result = linked.call("read_file", path="big.log", limit=2)
    assert result.text == "big.log: lines 1-2 (go on with line 3)\n1\tthis is 00000001\n2\tthis is 00000002"
    assert result.facts == {"path": "big.log", "start_line": 1, "end_line": 2, "read_lines": 2, "truncated": False}


def test_the_middle_and_the_end_of_a_huge_file(linked: Any) -> None:
    result = linked.call("read_file", path="big.log", line=5_000_000, limit=1)
    assert result.text == "big.log: lines 5000000-5000000 (go on with line 5000001)\n5000000\tthis is 05000000"
    result = linked.call("read_file", path="big.log", line=LINES)
    assert result.text == f"big.log: lines {LINES}-{LINES} of {LINES}\n{LINES}\tthis is {LINES:08}"
    assert result.facts["total_lines"] == LINES
    refusal = linked.refusal("read_file", path="big.log", line=LINES + 1)
    assert refusal == f"big.log has {LINES} lines; there is no line {LINES + 1}."


def test_as_much_of_a_huge_file_as_may_be_told(linked: Any) -> None:
    linked.output_bytes = 5000
    result = linked.call("read_file", path="big.log")
    assert len(result.text.encode()) <= 5000
    last = result.facts["end_line"]
    assert f"(go on with line {last + 1})" in result.text


def test_a_huge_file_is_not_changed(linked: Any) -> None:
    assert "larger than 32 MiB" in linked.refusal("edit_file", path="big.log", old="x", new="y")
    assert "larger than 32 MiB" in linked.refusal("write_file", path="big.log", content="y")


def test_a_cancel_ends_the_reading(huge: Path) -> None:
    scope = Scope()
    scope.cancel()
    with pytest.raises(Cancelled):
        large.part(str(huge), LINES, 1, 1000, scope)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """`small(data)`: the path of a file that counts as too large."""
    monkeypatch.setattr(files, "MAX_BYTES", 10)

    def write(data: bytes) -> str:
        (tmp_path / "f").write_bytes(data)
        return str(tmp_path / "f")

    return write


@pytest.mark.parametrize(
    ("data", "chosen"),
    [
        (codecs.BOM_UTF8 + b"one\r\ntwo\r\n" + b"x" * 10, ["one", "two", "x" * 10]),
        (b"caf\xe9\n" + b"x" * 10 + b"\n", ["caf\ufffd", "x" * 10]),
        (b"\n\n\n" + b"x" * 10 + b"\n\n", ["", "", "", "x" * 10, ""]),
        (b"x" * 70_000 + b"\nnext", ["x" * 65_536 + " [... 4465 more bytes]", "next"]),
    ],
)
def test_lines_are_those_of_any_file(small: Any, data: bytes, chosen: list[str]) -> None:
    path = small(data)
    assert large.is_large(path)
    for first in range(1, len(chosen) + 1):
        found = large.part(path, first, 100, 1_000_000, Scope())
        assert (found.chosen, found.total, found.more) == (chosen[first - 1 :], len(chosen), False)
        found = large.part(path, first, 1, 1_000_000, Scope())
        assert found.chosen == [chosen[first - 1]]
        assert found.more == (first < len(chosen))
    assert large.part(path, len(chosen) + 2, 1, 100, Scope()) == large.Lines([], len(chosen), False)


@pytest.mark.parametrize(
    "data", [b"x" * 20 + b"\0", codecs.BOM_UTF16_LE + b"a\0" * 20, codecs.BOM_UTF16_BE + b"\0a" * 9]
)
def test_what_is_no_utf_8_is_refused(small: Any, data: bytes) -> None:
    with pytest.raises(NotText, match="no UTF-8"):
        large.part(small(data), 1, 1, 100, Scope())


def test_what_is_no_file_is_not_large(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", "/dev/zero", "a\0b"):
        assert not large.is_large(str(path))


def test_a_huge_file_is_searched(linked: Any) -> None:
    result = linked.call("grep", pattern="59999[0-9]9", path="big.log")
    lines = result.text.split("\n")
    assert lines[0] == "big.log:5999909: this is 05999909"
    assert lines[-1] == "big.log:5999999: this is 05999999"
    assert result.facts["match_count"] == len(lines) == 10


@pytest.mark.parametrize("size", [1, 7, 4 << 20])
def test_lines_of_a_search_do_not_depend_on_how_a_file_is_read(
    bench: Any, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(grepper, "_PIECE", size)
    monkeypatch.setattr(grepper, "_SNIFFED", max(size, 3))  # room for a BOM
    data = codecs.BOM_UTF8 + "éa\r\n\r\nbé\n\n\n\ufeffé\nlast é".encode()
    path = bench.write("f", data)
    found = list(grepper.Search("é", False, 10, 1000).found([path.encode()]))
    assert found == [(0, 1, "éa"), (0, 3, "bé"), (0, 6, "\ufeffé"), (0, 7, "last é")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"])
def test_a_search_finds_what_read_file_shows(bench: Any, encoding: str) -> None:
    bench.write("f", "nothing\r\nun café\r\n".encode(encoding))
    assert "2\tun café" in bench.call("read_file", path="f").text
    assert bench.call("grep", pattern="café$", path="f").text == "f:2: un café"


def test_a_line_in_another_encoding_spoils_no_other(bench: Any) -> None:
    bench.write("f", "é one\n".encode() + b"\xe9 two\n" + "é three\n".encode() + b"\x81\xe9 four\n")
    assert bench.call("grep", pattern="é", path="f").facts["match_count"] == 4
