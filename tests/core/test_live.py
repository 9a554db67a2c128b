from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from acpagent.core.live import LiveOutput


def test_a_snapshot_is_what_was_written():
    live = LiveOutput()
    live.write(b"one\n")
    live.write(b"")
    live.write(b"two\n")
    assert (live.snapshot(), live.total) == ("one\ntwo\n", 8)


def test_only_the_first_write_after_a_snapshot_tells():
    told = []
    live = LiveOutput(lambda: told.append(live.dirty))
    live.write(b"a")
    live.write(b"b")
    assert told == [True]
    live.snapshot()
    assert not live.dirty
    live.write(b"c")
    assert told == [True, True]


def test_the_callback_runs_without_the_lock():
    seen = []
    live = LiveOutput(lambda: seen.append(live.snapshot()))
    live.write(b"x")
    assert seen == ["x"]


def test_a_character_that_comes_in_two_pieces_is_held_back():
    live = LiveOutput()
    live.write("é".encode()[:1])
    assert live.snapshot() == ""
    live.write("é".encode()[1:])
    assert live.snapshot() == "é"


def test_bad_bytes_are_marked_and_the_end_is_shown_once_it_is_the_end():
    live = LiveOutput()
    live.write(b"a\xffb\xe2\x82")
    assert live.snapshot() == "a\ufffdb"
    assert live.excerpt(99).text == "a\ufffdb\ufffd"


def test_escape_sequences_are_taken_out_even_in_pieces():
    live = LiveOutput()
    for piece in (b"\x1b", b"[3", b"1mred", b"\x1b[0", b"m\n"):
        live.write(piece)
    assert live.snapshot() == "red\n"


def test_head_and_tail_are_kept_and_the_rest_is_counted():
    live = LiveOutput(limit=1000)
    for number in range(5000):
        live.write(f"line {number}\n".encode())
    excerpt = live.excerpt(1000)
    lines = excerpt.text.splitlines()
    assert (lines[0], lines[-1]) == ("line 0", "line 4999")
    assert f"[... {excerpt.left_out} bytes left out ...]" in lines
    assert live.snapshot() == excerpt.text


def test_multibyte_text_cut_anywhere_has_no_broken_characters():
    live = LiveOutput(limit=101)
    live.write("€".encode() * 500)
    assert "\ufffd" not in live.excerpt(101).text


@given(st.lists(st.binary(max_size=300), max_size=30), st.integers(0, 300), st.integers(80, 300))
def test_no_more_than_the_limit_is_kept_or_shown(pieces, kept, shown):
    live = LiveOutput(limit=kept)
    for piece in pieces:
        live.write(piece)
    assert live.total == sum(map(len, pieces))
    assert len(live._head) + sum(map(len, live._tail)) <= max(2 * kept, 1)
    assert len(live.excerpt(shown).text.encode()) <= shown


def test_writers_on_many_threads_lose_nothing():
    live = LiveOutput(limit=100_000)
    threads = [threading.Thread(target=lambda: [live.write(b"x\n") for _ in range(1000)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert live.snapshot() == "x\n" * 8000
