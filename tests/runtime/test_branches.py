"""Random lives of a session: after turns, summaries, rewindings, kills and loads the conversation can go on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from acpagent.core.blocks import Text
from acpagent.core.events import Usage
from acpagent.core.history import (
    CallMade,
    Compacted,
    CompactionTrigger,
    Entry,
    Rewound,
    Said,
    Tombstone,
    TurnClosed,
    TurnOpened,
    UserSaid,
    pack,
    unpack,
)
from acpagent.core.model import AssistantMessage, Message, UserMessage
from acpagent.runtime.session import replay
from acpagent.runtime.turn.branches import live
from acpagent.runtime.turn.conversation import Conversation
from acpagent.runtime.turn.cutting import cut
from acpagent.runtime.turn.goal import Goals
from acpagent.runtime.turn.workrecord import WorkRecord
from tests.runtime.histories import settled
from tests.runtime.test_conversation import check_answered, conversation


@dataclass
class Life:
    """A session as its worker keeps it: entries in the store, and the fold of those that count."""

    stored: list[Entry] = field(default_factory=list)
    told: Conversation = field(default_factory=lambda: conversation([]))
    turns: list[str] = field(default_factory=list)  # of the live branch, for the model
    gone: set[str] = field(default_factory=set)
    numbers: count[int] = field(default_factory=count)

    def add(self, *entries: Entry) -> None:
        self.stored += entries
        self.told.feed(entries)

    def load(self) -> None:
        """As another process would."""
        past: list[Entry] = []
        for entry in self.stored:
            unpacked = unpack(*pack(entry))
            assert unpacked == entry
            past.append(unpacked)
        self.told = conversation(live(past))
        self.add(*replay.mend(past))

    def compact(self, turn_id: str, trigger: CompactionTrigger, room: int) -> None:
        pieces = [piece for piece in self.told.pieces() if piece.turn_id != turn_id or trigger != "person"]
        found = cut(pieces, room, room)
        if found is None:
            return
        begin = found.begin
        summary = " ".join(texts([piece.message for piece in pieces[:begin]]))
        kept_from = pieces[begin].anchor if begin < len(pieces) else ""
        assert begin == len(pieces) or kept_from
        number = next(self.numbers)
        made = Compacted(turn_id, f"compaction{number}", summary, kept_from, 9, 5, 99, trigger, True)
        self.add(replace(made, results=found.results))

    def rewind(self, target: str) -> None:
        turn_id = f"local{next(self.numbers)}"
        opened = [TurnOpened(turn_id), UserSaid(turn_id, f"m-{turn_id}", (Text("/rewind"),), "")]
        self.add(*opened)
        self.stored.append(Rewound(turn_id, target, (), 1, 2, None, "USD"))
        self.told = conversation(live(self.stored))
        at = self.turns.index(target)
        self.gone |= set(self.turns[at:])
        del self.turns[at:]
        self.add(TurnClosed(turn_id, "end_turn", Usage()), Tombstone(turn_id))

    def check(self) -> None:
        messages = self.told.messages()
        check_answered(messages)
        assert sum(message_is_summary(message) for message in messages) <= 1
        assert messages == conversation(live(self.stored)).messages()
        assert self.told.fragments() == conversation(live(self.stored)).fragments()
        assert self.told.letters == sum(piece.letters for piece in self.told.pieces())
        said = " ".join(texts(messages))
        for turn_id in self.turns:
            assert f"<{turn_id}>" in said
        for turn_id in self.gone:
            assert f"<{turn_id}>" not in said
        list(replay.events(self.stored))
        for fold in (Goals(), WorkRecord()):
            fold.feed(live(self.stored))


def message_is_summary(message: Message) -> bool:
    return isinstance(message, UserMessage) and "<conversation-summary>" in message.text


def texts(messages: list[Message]) -> list[str]:
    return [
        text
        for message in messages
        for text in ([message.text, message.thought] if isinstance(message, AssistantMessage) else [message.text])
    ]


def turn(draw: st.DrawFn, life: Life) -> None:
    """A prompt with calls and perhaps a summary in the middle; it may be killed, or leave no trace."""
    turn_id = f"turn{next(life.numbers)}"
    steps: list[Entry | int] = [TurnOpened(turn_id), UserSaid(turn_id, f"m-{turn_id}", (Text("x"),), f"<{turn_id}>")]
    rounds = draw(st.integers(0, 3))
    for number in range(rounds):
        if draw(st.integers(0, 3)) == 0:
            steps.append(draw(st.integers(0, 2_000)))
        steps.append(Said(turn_id, f"{turn_id}-{number}", "assistant", f"<{turn_id}> says"))
        calls = [
            CallMade(turn_id, f"{turn_id}-{number}-{each}", f"id{each}", "f", "{}", number)
            for each in range(draw(st.integers(0 if number + 1 == rounds else 1, 2)))
        ]
        length = draw(st.sampled_from([0, 900]))
        steps += [*calls, *(settled(made, f"<{turn_id}> result {'x' * length}") for made in calls)]
    buried = draw(st.integers(0, 4)) == 0
    stop = None if buried else "end_turn"
    steps.append(TurnClosed(turn_id, stop, Usage()))  # type: ignore[arg-type]
    steps += [Tombstone(turn_id)] if buried else []
    kill = draw(st.none() | st.integers(1, len(steps)))
    for step in steps[:kill]:
        if isinstance(step, int):
            life.compact(turn_id, "threshold", step)
        else:
            life.add(step)
    if kill is not None:
        life.load()
    if any(isinstance(step, Tombstone) for step in steps[:kill]):
        life.gone.add(turn_id)
    elif kill != 1:
        life.turns.append(turn_id)


def by_hand(draw: st.DrawFn, life: Life) -> None:
    turn_id = f"local{next(life.numbers)}"
    life.add(TurnOpened(turn_id), UserSaid(turn_id, f"m-{turn_id}", (Text("/compact"),), ""))
    life.compact(turn_id, "person", draw(st.integers(0, 600)))
    life.add(TurnClosed(turn_id, "end_turn", Usage()), Tombstone(turn_id))


@settings(max_examples=300)
@given(st.data())
def test_any_life_leaves_a_conversation_that_can_go_on(data: st.DataObject) -> None:
    life = Life()

    @st.composite
    def step(draw: st.DrawFn) -> None:
        kind = draw(st.sampled_from(["turn", "turn", "turn", "compact", "rewind", "load"]))
        if kind == "turn":
            turn(draw, life)
        elif kind == "compact":
            by_hand(draw, life)
        elif kind == "rewind" and life.turns:
            life.rewind(draw(st.sampled_from(life.turns)))
        elif kind == "load":
            life.load()

    for _ in range(data.draw(st.integers(1, 10))):
        data.draw(step())
        life.check()


def test_a_branch_that_was_left_can_be_left_again() -> None:
    def prompt(name: str) -> list[Entry]:
        return [
            TurnOpened(name),
            UserSaid(name, f"m-{name}", (Text(name),), name),
            TurnClosed(name, "end_turn", Usage()),
        ]

    def rewound(name: str, target: str) -> list[Entry]:
        return [TurnOpened(name), Rewound(name, target, (), 0, 0, None, "USD"), TurnClosed(name, "end_turn", Usage())]

    entries = [*prompt("a"), *prompt("b"), *rewound("r1", "b"), *prompt("c"), *rewound("r2", "b"), *rewound("r3", "a")]
    kept = {entry.turn_id for entry in live(entries)}
    assert kept == {"r3"}  # `b` was gone already when `r2` named it
    assert {entry.turn_id for entry in live(entries[:-3])} == {"a", "r1", "c", "r2"}


def test_a_turn_that_leaves_no_trace_takes_its_summary_along() -> None:
    told = conversation([TurnOpened("a"), UserSaid("a", "m1", (Text("a"),), "a"), TurnOpened("b")])
    told.feed([UserSaid("b", "m2", (Text("b"),), "b"), Compacted("b", "c", "a and b", "", 9, 5, 99, "threshold", True)])
    assert len(told.messages()) == 1
    told.feed([Tombstone("b")])
    assert told.messages() == [UserMessage("a")]


def test_a_summary_that_the_person_asked_for_outlives_the_command() -> None:
    told = conversation([TurnOpened("a"), UserSaid("a", "m1", (Text("a"),), "a"), TurnOpened("b")])
    told.feed([UserSaid("b", "m2", (Text("/compact"),), ""), Compacted("b", "c", "of a", "", 9, 5, 99, "person", True)])
    told.feed([TurnClosed("b", "end_turn", Usage()), Tombstone("b")])
    (message,) = told.messages()
    assert message_is_summary(message)
    assert "of a" in message.text


def test_a_summary_whose_place_is_not_there_keeps_nothing() -> None:
    told = conversation([UserSaid("a", "m1", (Text("a"),), "a")])
    told.feed([Compacted("a", "c", "all", "nowhere", 9, 5, 99, "overflow", False)])
    assert len(told.messages()) == 1
