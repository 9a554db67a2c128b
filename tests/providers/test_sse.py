from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.providers import sse

DATA = [
    b"data: {}",
    b"data:x",
    b"data",
    b"data:  two",
    "data: \u00e9 \u2028 \u0085 \U0001f600".encode(),
    b"data: \x0c\x1c",
]
OTHER = [b"", b"", b": comment", b"event: ping", b"id: 1", b"retry: 5", b"dataset: no"]
LINES = st.sampled_from([*DATA, *OTHER])
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


def decode(data: bytes, cuts: list[int]) -> list[bytes]:
    decoder = sse.Decoder()
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    events = []
    for start, end in pairwise(places):
        events += decoder.feed(data[start:end])
    return events + decoder.end()


@given(st.lists(st.tuples(LINES, ENDS), max_size=30), st.lists(st.integers(0, 10_000), max_size=12))
def test_any_split_gives_the_same_events(lines: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    data = b"".join(line + end for line, end in lines)
    whole = decode(data, [])
    assert decode(data, cuts) == whole
    assert decode(data, list(range(len(data)))) == whole


@given(st.lists(st.tuples(st.sampled_from([b"data: a", b"data: b", b"", b": c", b"event: e"]), ENDS), max_size=30))
def test_events_are_those_of_the_standard(lines: list[tuple[bytes, bytes]]) -> None:
    data = b"".join(line + end for line, end in lines)
    events: list[bytes] = []
    open_event: list[bytes] = []
    for line in [*data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"), b""]:
        if line.startswith(b"data: "):
            open_event.append(line[6:])
        elif not line and open_event:
            events.append(b"\n".join(open_event))
            open_event = []
    assert decode(data, []) == events


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_an_event_comes_out_with_the_bytes_that_end_it(end: bytes) -> None:
    decoder = sse.Decoder()
    assert decoder.feed(b"data: one" + end) == []
    assert decoder.feed(end) == [b"one"]
    assert decoder.feed(b"data: two" + end + end) == [b"two"]


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    data = b"\xef\xbb\xbfdata: one\n\n"
    assert decode(data, [1, 2]) == [b"one"]


def test_separators_of_other_standards_stay_in_their_line() -> None:
    text = '{"text": "\u2028\u2029\u0085\x0b\x0c\x1c"}'
    assert decode(f"data: {text}\n\n".encode(), []) == [text.encode()]


def test_an_event_without_end_is_given_up() -> None:
    decoder = sse.Decoder()
    block = b"x" * (sse.LIMIT // 4)
    for _ in range(4):
        decoder.feed(block)
    with pytest.raises(sse.Oversized):
        decoder.feed(b"x")
