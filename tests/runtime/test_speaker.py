"""The speaker: what was streamed reaches the person and the journal whole, in chunks that keep their distance."""

from __future__ import annotations

import threading
import time
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.core.blocks import Text
from acpagent.core.events import Chunk
from acpagent.core.history import Entry, Said
from acpagent.runtime.turn.speaker import JOIN_SECONDS, SAVE_SECONDS, Speaker, Voice, new_id

DEADLINE = 20.0


class Heard:
    """A speaker, and what came out of it."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self.saved: list[Said] = []
        self.speaker = Speaker("turn", self.chunks.append, self._record)

    def _record(self, entry: Entry) -> None:
        assert isinstance(entry, Said)
        self.saved.append(entry)

    @property
    def texts(self) -> list[str]:
        return [text(chunk) for chunk in self.chunks]

    def run_until_due(self) -> None:
        """As the turn does: wait as long as the speaker says, then let it do what is due."""
        seconds = self.speaker.due_in()
        assert seconds is not None
        threading.Event().wait(seconds)
        self.speaker.tick()


@pytest.fixture
def heard() -> Heard:
    return Heard()


def text(chunk: Chunk) -> str:
    assert isinstance(chunk.block, Text)
    return chunk.block.text


def test_the_first_chunk_of_a_message_leaves_at_once(heard: Heard) -> None:
    heard.speaker.say("assistant", "Hel")
    assert heard.texts == ["Hel"]


def test_later_ones_are_joined_until_they_are_due(heard: Heard) -> None:
    for piece in ("Hel", "lo", ", ", "you"):
        heard.speaker.say("assistant", piece)
    assert heard.texts == ["Hel"]
    due = heard.speaker.due_in()
    assert due is not None
    assert due <= JOIN_SECONDS
    heard.run_until_due()
    assert heard.texts == ["Hel", "lo, you"]


def test_chunks_keep_their_distance(heard: Heard) -> None:
    began, said = time.monotonic(), ""
    while len(heard.chunks) < 8 and time.monotonic() < began + DEADLINE:
        heard.speaker.say("assistant", "x")
        heard.speaker.tick()
        said += "x"
    assert len(heard.chunks) <= 1 + (time.monotonic() - began) / JOIN_SECONDS
    heard.speaker.end_message()
    assert "".join(heard.texts) == said


def test_a_flush_sends_what_is_joined_and_the_message_goes_on(heard: Heard) -> None:
    for piece in ("a", "b", "c"):
        heard.speaker.say("assistant", piece)
    heard.speaker.flush()
    heard.speaker.flush()
    heard.speaker.say("assistant", "d")
    assert heard.texts == ["a", "bc"]
    heard.speaker.flush()
    assert heard.texts == ["a", "bc", "d"]
    assert len({chunk.message_id for chunk in heard.chunks}) == 1


def test_every_message_has_an_id_of_its_own(heard: Heard) -> None:  # MSG-01
    heard.speaker.say("assistant", "one")
    heard.speaker.end_message()
    heard.speaker.say("assistant", "two")
    assert heard.texts == ["one", "two"]
    assert heard.chunks[0].message_id != heard.chunks[1].message_id


def test_thought_and_answer_never_share_a_message(heard: Heard) -> None:  # MSG-02
    for voice, piece in (("thought", "hm"), ("thought", "m"), ("assistant", "Yes"), ("thought", "but")):
        heard.speaker.say(voice, piece)  # type: ignore[arg-type]
    assert [(chunk.role, text(chunk)) for chunk in heard.chunks] == [
        ("thought", "hm"),
        ("thought", "m"),
        ("assistant", "Yes"),
        ("thought", "but"),
    ]
    ids = [chunk.message_id for chunk in heard.chunks]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


def test_nothing_is_no_chunk(heard: Heard) -> None:  # TURN-19
    heard.speaker.say("assistant", "")
    heard.speaker.flush()
    heard.speaker.end_message()
    assert (heard.chunks, heard.saved, heard.speaker.due_in()) == ([], [], None)
    heard.speaker.say("assistant", "a")
    heard.speaker.say("thought", "")
    heard.speaker.say("assistant", "b")
    heard.speaker.end_message()
    assert [entry.text for entry in heard.saved] == ["ab"]


def test_what_is_shown_is_saved_before_long(heard: Heard) -> None:
    heard.speaker.say("assistant", "a")
    heard.speaker.say("assistant", "b")
    deadline = time.monotonic() + DEADLINE
    while not heard.saved and time.monotonic() < deadline:
        due = heard.speaker.due_in()
        assert due is not None
        assert due <= SAVE_SECONDS
        heard.run_until_due()
    assert [entry.text for entry in heard.saved] == ["ab"]
    assert heard.speaker.due_in() is None
    heard.speaker.say("assistant", "c")
    heard.speaker.end_message()
    assert [entry.text for entry in heard.saved] == ["ab", "c"]
    assert len({entry.message_id for entry in heard.saved}) == 1


SAYS = st.tuples(st.sampled_from(["assistant", "thought"]), st.text(max_size=3))
OTHERS = st.sampled_from(["flush", "tick", "end_message"])


@given(st.lists(SAYS | OTHERS, max_size=40))
def test_all_that_is_said_is_sent_and_saved_once(steps: list[tuple[Voice, str] | str]) -> None:
    heard, said = Heard(), ""
    for step in steps:
        if isinstance(step, tuple):
            heard.speaker.say(*step)
            said += step[1]
        else:
            getattr(heard.speaker, step)()
    heard.speaker.end_message()
    sent = [(chunk.message_id, chunk.role, text(chunk)) for chunk in heard.chunks]
    saved = [(entry.message_id, entry.role, entry.text) for entry in heard.saved]
    assert all(piece for *_, piece in sent + saved)
    assert "".join(piece for *_, piece in sent) == said
    assert joined(sent) == joined(saved)
    assert len({message for (message, _), _ in joined(sent)}) == len(joined(sent)), "a message's pieces are together"


def joined(pieces: list[tuple[str, str, str]]) -> list[tuple[tuple[str, str], str]]:
    """Message id, voice and whole text of every message."""
    groups = groupby(pieces, key=lambda piece: piece[:2])
    return [((message, voice), "".join(piece[2] for piece in group)) for (message, voice), group in groups]


def test_ids_are_opaque_and_told_apart() -> None:
    ids = {new_id("msg") for _ in range(1000)}
    assert len(ids) == 1000
    assert all(one.startswith("msg_") for one in ids)
