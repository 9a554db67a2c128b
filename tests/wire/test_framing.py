from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.wire.framing import Framer, Oversize

Line = bytes | None  # None stands for a line that was too long


def lines_of(pieces: list[bytes], limit: int = 1000) -> list[Line]:
    framer = Framer(limit)
    found = [line for piece in pieces for line in framer.feed(piece)] + framer.finish()
    return [None if isinstance(line, Oversize) else line for line in found]


def split_at(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


pieces = st.sampled_from([b"\n", b"\r", b" ", b"\t", b"a", b"{}", "é".encode(), b"x" * 9])
streams = st.lists(pieces).map(b"".join)


@given(streams, st.lists(st.integers(0, 200)))
def test_every_split_gives_the_same_lines(data: bytes, places: list[int]) -> None:
    assert lines_of(split_at(data, places), 8) == lines_of([data], 8)


@given(streams)
def test_byte_by_byte(data: bytes) -> None:
    assert lines_of([data[index : index + 1] for index in range(len(data))], 8) == lines_of([data], 8)


@given(streams)
def test_lines_are_what_split_and_strip_give(data: bytes) -> None:
    assert lines_of([data]) == [line.strip(b" \t\r") for line in data.split(b"\n") if line.strip(b" \t\r")]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"a\r\nb\n", [b"a", b"b"]),
        (b"\n\r\n \t\na\n", [b"a"]),
        (b"  a b \n", [b"a b"]),
        (b"a\nb", [b"a", b"b"]),
        (b"a\rb\n", [b"a\rb"]),
        (b"", []),
    ],
)
def test_ends_and_blanks(data: bytes, lines: list[Line]) -> None:
    assert lines_of([data]) == lines


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"12345678\n", [b"12345678"]),
        (b"123456789\n", [None]),
        (b"123456789", [None]),
        (b"1234567\r\n", [b"1234567"]),
        (b"a\n" + b"x" * 100 + b"\nb\n", [b"a", None, b"b"]),
    ],
)
def test_a_line_over_the_limit_is_one_marker(data: bytes, lines: list[Line]) -> None:
    assert lines_of([data], 8) == lines


def test_the_marker_comes_as_soon_as_the_line_is_too_long() -> None:
    framer = Framer(8)
    assert framer.feed(b"123456") == []
    assert [type(line) for line in framer.feed(b"789")] == [Oversize]
    assert framer.feed(b"0" * 100) == []
    assert framer.feed(b"\nnext\n") == [b"next"]


def test_many_pieces_cost_no_more_than_their_bytes() -> None:
    """Quadratic work would take minutes."""
    piece = b"x" * 16
    framer = Framer()
    start = time.thread_time()
    for _ in range(500_000):
        framer.feed(piece)
    (line,) = framer.feed(b"\n")
    assert isinstance(line, bytes)
    assert len(line) == 8_000_000
    assert time.thread_time() - start < 20
