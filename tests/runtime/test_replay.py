"""Replay: stored entries as the events they once were, and what a killed process left is mended."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.core.blocks import Image, Link, Text
from acpagent.core.events import Chunk, Event, Notice, PlanChanged, ToolChanged, Usage, UsageChanged
from acpagent.core.history import (
    CallMade,
    CallSettled,
    Entry,
    HostSaid,
    PlanSet,
    Said,
    Told,
    Tombstone,
    TurnClosed,
    TurnOpened,
    UsageSet,
    UserSaid,
    pack,
    unpack,
)
from acpagent.core.toolcalls import Content, PlanEntry, TerminalRef
from acpagent.runtime.session import replay
from tests.runtime.histories import Step, entries_of, histories, settled

PLAN = (PlanEntry("look", "high", "pending"),)


def call(call_id: str, arguments: str = "{}", name: str = "read") -> CallMade:
    return CallMade("t", call_id, "id", name, arguments, 0)


def test_a_session_is_shown_as_it_was() -> None:
    a = call("a")
    link = Link("file:///x", "x")
    entries: list[Entry] = [
        TurnOpened("t"),
        UserSaid("t", "m1", (Text("look"), link, Image("AA==", "image/png")), "look, with what acpagent added"),
        Said("t", "m2", "thought", "h"),
        Said("t", "m2", "thought", "m"),
        Said("t", "m3", "assistant", "I "),
        Said("t", "m3", "assistant", "look"),
        UsageSet("t", 7, 100, 0.5, "EUR"),
        a,
        settled(a, "A", failed=True),
        PlanSet("t", PLAN),
        Told("t", "warning", "image_unseen", {}),
        HostSaid("t", "go on"),
        Said("t", "m4", "assistant", "done"),
        TurnClosed("t", "end_turn", Usage()),
        Tombstone("t"),
    ]
    ended = entries[8]
    assert isinstance(ended, CallSettled)
    assert list(replay.events(entries)) == [
        Chunk("m1", "user", Text("look")),
        Chunk("m1", "user", link),
        Chunk("m1", "user", Image("AA==", "image/png")),
        Chunk("m2", "thought", Text("hm")),
        Chunk("m3", "assistant", Text("I look")),
        UsageChanged(7, 100, 0.5, "EUR"),
        ToolChanged(ended.call),
        PlanChanged(PLAN),
        Notice("warning", "image_unseen", {}),
        Chunk("m4", "assistant", Text("done")),
    ]


@pytest.mark.parametrize(
    ("content", "shown"),
    [((TerminalRef("t1"), Text("out")), (Text("out"),)), ((TerminalRef("t1"),), (Text("out\n[exit 0]"),))],
)
def test_a_terminal_is_not_shown_again(content: tuple[Content, ...], shown: tuple[Content, ...]) -> None:
    ended = settled(call("a"), "out\n[exit 0]")
    ended = replace(ended, call=replace(ended.call, content=content))
    (event,) = replay.events([ended])
    assert event == ToolChanged(replace(ended.call, content=shown))


@given(histories())
def test_everything_said_is_shown_once_and_in_order(steps: list[Step]) -> None:
    everything = entries_of(steps)
    shown = list(replay.events(everything))
    entries = [entry for entry in everything if entry.turn_id not in _failed_and_buried(everything)]
    assert _said(shown) == "".join(entry.text for entry in entries if isinstance(entry, Said))
    messages = [event.message_id for event in shown if isinstance(event, Chunk) and event.role != "user"]
    assert len(set(messages)) == len(messages), "a message is one chunk"
    ended = [entry.call for entry in entries if isinstance(entry, CallSettled)]
    assert [event.call for event in shown if isinstance(event, ToolChanged)] == ended
    sent = [block for entry in entries if isinstance(entry, UserSaid) for block in entry.blocks]
    assert [event.block for event in shown if isinstance(event, Chunk) and event.role == "user"] == sent


def _failed_and_buried(entries: list[Entry]) -> set[str]:
    """Turns whose prompt the client sends again."""
    failed = {entry.turn_id for entry in entries if isinstance(entry, TurnClosed) and entry.stop is None}
    return failed & {entry.turn_id for entry in entries if isinstance(entry, Tombstone)}


def _said(shown: list[Event]) -> str:
    """What the agent said."""
    mine = [event.block for event in shown if isinstance(event, Chunk) and event.role != "user"]
    return "".join(block.text for block in mine if isinstance(block, Text))


@given(histories(), st.randoms())
def test_it_does_not_matter_how_a_message_was_cut_for_storing(steps: list[Step], chance: st.Random) -> None:
    whole = entries_of(steps)
    cut: list[Entry] = []
    for entry in whole:
        at = chance.randrange(1, len(entry.text)) if isinstance(entry, Said) and len(entry.text) > 1 else 0
        if isinstance(entry, Said) and at:
            pieces = (entry.text[:at], entry.text[at:])
            cut += [Said(entry.turn_id, entry.message_id, entry.role, piece) for piece in pieces]
        else:
            cut.append(entry)
    assert list(replay.events(cut)) == list(replay.events(whole))


@given(histories())
def test_stored_entries_are_read_as_they_were(steps: list[Step]) -> None:
    entries = entries_of(steps)
    assert [unpack(*pack(entry)) for entry in entries] == entries


# Mending.


def test_a_whole_session_needs_no_mending() -> None:
    a = call("a")
    assert replay.mend([TurnOpened("t"), a, settled(a, "A"), TurnClosed("t", "end_turn", Usage())]) == []


def test_a_call_without_end_gets_one_and_the_turn_is_closed() -> None:  # LOAD-04
    a, b = call("a"), call("b", '{"path": "x"}', "write")
    ended, closed = replay.mend([TurnOpened("t"), a, b, settled(a, "A")])
    assert isinstance(ended, CallSettled)
    assert (ended.turn_id, ended.call.id, ended.call.name, ended.call.status) == ("t", "b", "write", "failed")
    assert ended.call.raw_input == {"path": "x"}
    assert ended.text == "acpagent stopped before this call finished; nothing is known of its outcome."
    assert ended.call.content == (Text(ended.text),)
    assert closed == TurnClosed("t", None, Usage(), "acpagent stopped during this turn")


def test_a_call_that_the_kill_cut_short_is_mended_too() -> None:
    ended, _ = replay.mend([TurnOpened("t"), call("a", '{"path": ', "")])
    assert isinstance(ended, CallSettled)
    assert (ended.call.title, ended.call.raw_input) == ("unknown tool", None)


def test_a_turn_killed_before_its_first_word_is_closed() -> None:
    assert replay.mend([TurnOpened("t")]) == [TurnClosed("t", None, Usage(), "acpagent stopped during this turn")]
    assert replay.mend([]) == []


def test_a_command_that_the_kill_cut_short_leaves_the_model_no_trace() -> None:
    typed = UserSaid("t", "m1", (Text("/rewind 1"),), "")
    answered = Said("t", "m2", "assistant", "The session goes on from before: x")
    closed, tombstone = replay.mend([TurnOpened("t"), typed, answered])
    assert closed == TurnClosed("t", "cancelled", Usage())
    assert tombstone == Tombstone("t")
    image = UserSaid("t", "m1", (Image("AA==", "image/png"),), "")
    assert replay.mend([TurnOpened("t"), image]) == [
        TurnClosed("t", None, Usage(), "acpagent stopped during this turn")
    ]
