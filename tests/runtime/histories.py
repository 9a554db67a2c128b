"""Random sessions as the runtime writes them: entries in order, and `ASK` wherever the model is asked."""

from __future__ import annotations

from itertools import count

from hypothesis import strategies as st

from acpagent.core.blocks import Block, Image, Text
from acpagent.core.events import Usage
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
)
from acpagent.core.toolcalls import PlanEntry, ToolCall

ASK = "ask"
Step = Entry | str

WORDS = st.text("ab \n", min_size=1, max_size=4)
BLOCKS = st.lists(st.builds(Text, WORDS) | st.just(Image("AA==", "image/png")), min_size=1, max_size=2)


def settled(made: CallMade, words: str, failed: bool = False) -> CallSettled:
    """The end of a call."""
    call = ToolCall(made.call_id, made.name, made.name, "other", "failed" if failed else "completed", {})
    return CallSettled(made.turn_id, call, words)


@st.composite
def histories(draw: st.DrawFn, turns: int = 4) -> list[Step]:
    """Whole sessions. Turns end well, in the middle of a reply, or are tombstoned."""
    steps: list[Step] = []
    numbers = count()
    for turn in range(draw(st.integers(1, turns))):
        steps += draw(_turns(f"turn{turn}", numbers))
    return steps


@st.composite
def _turns(draw: st.DrawFn, turn_id: str, numbers: count[int]) -> list[Step]:
    steps: list[Step] = [TurnOpened(turn_id), _user(draw, turn_id, numbers, steer=False)]
    for number in range(draw(st.integers(0, 3))):
        steps.append(ASK)
        steps += draw(_replies(turn_id, number, numbers))
        if not _settled(steps):
            break
        steers = draw(st.integers(0, 2))
        steps += [_user(draw, turn_id, numbers, steer=True) for _ in range(steers)]
        if not steers and not any(isinstance(step, CallMade) and step.round == number for step in steps):
            if draw(st.booleans()):
                break
            steps += [*draw(_host_calls(turn_id, numbers)), HostSaid(turn_id, draw(WORDS))]
    steps.append(TurnClosed(turn_id, draw(st.sampled_from(["end_turn", "cancelled", None])), Usage()))
    if draw(st.integers(0, 4)) == 0:
        steps.append(Tombstone(turn_id))
    return steps


def _settled(steps: list[Step]) -> bool:
    """Whether every call has its end. A turn goes on only then."""
    made = {step.call_id for step in steps if isinstance(step, CallMade)}
    return made == {step.call.id for step in steps if isinstance(step, CallSettled)}


def _user(draw: st.DrawFn, turn_id: str, numbers: count[int], steer: bool) -> UserSaid:
    blocks: tuple[Block, ...] = tuple(draw(BLOCKS))
    return UserSaid(turn_id, f"user{next(numbers)}", blocks, draw(WORDS), steer)


@st.composite
def _replies(draw: st.DrawFn, turn_id: str, number: int, numbers: count[int]) -> list[Step]:
    """Thought, text, calls, their results in any order and perhaps not all, with what else is noted between."""
    steps: list[Step] = []
    for role in draw(st.lists(st.sampled_from(["thought", "assistant"]), max_size=3)):
        message_id = f"message{next(numbers)}"
        steps += [Said(turn_id, message_id, role, words) for words in draw(st.lists(WORDS, min_size=1, max_size=2))]
    steps.append(UsageSet(turn_id, 1, 2, None, "USD"))
    calls = [
        CallMade(turn_id, f"call{next(numbers)}", f"id{index}", draw(st.sampled_from("fg")), draw(WORDS), number)
        for index in range(draw(st.integers(0, 3)))
    ]
    steps += calls
    ended = draw(st.permutations(calls))[: draw(st.integers(0, len(calls)))]
    for made in ended:
        steps.append(settled(made, draw(WORDS), draw(st.booleans())))
        if draw(st.booleans()):
            steps.append(draw(_notes(turn_id)))
    return steps


@st.composite
def _host_calls(draw: st.DrawFn, turn_id: str, numbers: count[int]) -> list[Step]:
    """A call that acpagent made itself has an end, and nobody who made it."""
    made = CallMade(turn_id, f"call{next(numbers)}", "", "exit_plan_mode", "{}", 0)
    return [settled(made, draw(WORDS), draw(st.booleans()))] if draw(st.booleans()) else []


def _notes(turn_id: str) -> st.SearchStrategy[Step]:
    told = Told(turn_id, "info", "image_unseen", {})
    return st.sampled_from([told, PlanSet(turn_id, (PlanEntry("look", "high", "pending"),))])


def entries_of(steps: list[Step]) -> list[Entry]:
    return [step for step in steps if not isinstance(step, str)]
