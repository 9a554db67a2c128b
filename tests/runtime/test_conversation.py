"""What the model reads: the same live as replayed, whole, and only ever longer."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from acpagent.core.blocks import Image, Text
from acpagent.core.history import CallMade, Entry, HostSaid, ReplyKept, Said, Tombstone, UserSaid
from acpagent.core.model import AssistantMessage, Message, ModelCall, ToolMessage, UserMessage
from acpagent.providers import chat_messages
from acpagent.runtime.session import replay
from acpagent.runtime.turn.conversation import INTERRUPTED, Conversation
from tests.runtime.histories import ASK, Step, entries_of, histories, settled


class Dialect:
    """A provider's spelling. `images`: whether the model sees them."""

    def __init__(self, images: bool = True) -> None:
        self.images = images

    def encode(self, message: Message) -> list[str]:
        return [chat_messages.message(message, images=self.images)]


def conversation(entries: list[Entry], images: bool = True) -> Conversation:
    made = Conversation(Dialect(images))  # type: ignore[arg-type]
    made.feed(entries)
    return made


def call(call_id: str, provider_id: str | None = None, turn: str = "t") -> CallMade:
    return CallMade(turn, call_id, provider_id or call_id.upper(), "read", "{}", 0)


def user(text: str, turn: str = "t") -> UserSaid:
    return UserSaid(turn, f"m-{text}", (Text(text),), text)


# The rules, one by one.


def test_images_of_results_follow_all_results() -> None:
    a, b = call("a"), call("b")
    pixel = Image("AA==", "image/png")
    ended = settled(a, "A")
    shown = replace(ended, call=replace(ended.call, content=(Text("A"), pixel, pixel)))
    assert conversation([user("hi"), a, b, shown, settled(b, "B")]).messages()[2:] == [
        ToolMessage("A", "read", "A"),
        ToolMessage("B", "read", "B"),
        UserMessage("[Shown by read: image/png, image/png]", (pixel, pixel)),
    ]


def test_a_reply_is_one_message_and_its_results_follow() -> None:
    a, b = call("a"), call("b")
    entries: list[Entry] = [
        user("hi"),
        Said("t", "1", "thought", "hm"),
        Said("t", "2", "assistant", "I "),
        Said("t", "2", "assistant", "look"),
        a,
        b,
        settled(a, "A"),
        settled(b, "B", failed=True),
        Said("t", "3", "assistant", "done"),
    ]
    assert conversation(entries).messages() == [
        UserMessage("hi"),
        AssistantMessage("I look", "hm", (ModelCall("A", "read", "{}"), ModelCall("B", "read", "{}"))),
        ToolMessage("A", "read", "A"),
        ToolMessage("B", "read", "B", failed=True),
        AssistantMessage("done"),
    ]


def test_what_a_model_keeps_belongs_to_the_reply_it_was_kept_with() -> None:
    a, b = call("a"), call("b")
    entries: list[Entry] = [
        user("hi"),
        Said("t", "1", "thought", "hm"),
        ReplyKept("t", "p/m", "first"),
        a,
        settled(a, "A"),
        Said("t", "2", "assistant", "pausing"),
        ReplyKept("t", "p/m", "second"),
        Said("t", "3", "assistant", "on"),
        ReplyKept("t", "p/m", "third"),
        b,
        settled(b, "B"),
        Said("t", "4", "assistant", "done"),
    ]
    assert conversation(entries).messages() == [
        UserMessage("hi"),
        AssistantMessage("", "hm", (ModelCall("A", "read", "{}"),), "first", "p/m"),
        ToolMessage("A", "read", "A"),
        AssistantMessage("pausing", "", (), "second", "p/m"),
        AssistantMessage("on", "", (ModelCall("B", "read", "{}"),), "third", "p/m"),
        ToolMessage("B", "read", "B"),
        AssistantMessage("done"),
    ]


def test_what_the_host_says_is_read_as_words_of_the_user() -> None:
    shown = settled(call("host"), "approved")
    entries = [user("plan"), Said("t", "1", "assistant", "the plan"), shown, HostSaid("t", "go on")]
    expected = [UserMessage("plan"), AssistantMessage("the plan"), UserMessage("go on"), AssistantMessage("done")]
    told = conversation([*entries, Said("t", "2", "assistant", "done")])
    assert told.messages() == expected
    told.feed([Tombstone("t")])
    assert told.messages() == []


def test_results_come_in_the_order_of_the_calls() -> None:
    a, b = call("a"), call("b")
    results = conversation([user("hi"), a, b, settled(b, "B"), settled(a, "A")]).messages()[2:]
    assert [result.text for result in results if isinstance(result, ToolMessage)] == ["A", "B"]


def test_a_call_without_result_gets_one_that_says_so() -> None:  # CAN-15
    a, b = call("a"), call("b")
    results = conversation([user("hi"), a, b, settled(b, "B"), user("go on")]).messages()[2:4]
    assert results == [ToolMessage("A", "read", INTERRUPTED, failed=True), ToolMessage("B", "read", "B")]


def test_a_result_that_comes_too_late_is_not_told_twice() -> None:
    a = call("a")
    told = conversation([user("hi"), a, user("go on")])
    before = told.messages()
    told.feed([settled(a, "A")])
    assert told.messages() == before


def test_images_are_kept_for_models_that_see() -> None:
    image = Image("AA==", "image/png")
    told = conversation([UserSaid("t", "m", (Text("look"), image), "look")])
    assert told.messages() == [UserMessage("look", (image,))]


def test_a_tombstone_takes_its_turn_out_and_no_other() -> None:
    entries: list[Entry] = [
        user("one", "t1"),
        Said("t1", "1", "assistant", "1"),
        user("two", "t2"),
        call("a", turn="t2"),
    ]
    told = conversation(entries)
    assert len(told.fragments()) == 5
    told.feed([Tombstone("t2")])
    assert told.messages() == [UserMessage("one"), AssistantMessage("1")]
    assert told.fragments() == conversation(entries[:2]).fragments()


def test_a_tombstone_takes_the_reply_that_is_still_coming_in() -> None:
    told = conversation([user("one", "t1"), Said("t1", "1", "assistant", "half"), Tombstone("t1")])
    assert told.messages() == []


def test_another_provider_reads_everything_in_its_spelling() -> None:
    entries: list[Entry] = [UserSaid("t", "m", (Image("AA==", "image/png"),), "look"), Said("t", "1", "assistant", "!")]
    told = conversation(entries)
    told.fragments()
    told.rebind(Dialect(images=False))  # type: ignore[arg-type]
    assert told.fragments() == conversation(entries, images=False).fragments()


# Any session at all.


@given(histories())
def test_live_and_replayed_are_the_same(steps: list[Step]) -> None:
    live = conversation([])
    fed: list[Entry] = []
    for step in steps:
        if isinstance(step, str):
            assert live.fragments() == conversation(fed).fragments()
        else:
            fed.append(step)
            live.feed([step])
    replayed = conversation(entries_of(steps))
    assert live.messages() == replayed.messages()
    assert live.fragments() == replayed.fragments()


@given(histories())
def test_every_request_extends_the_last_one(steps: list[Step]) -> None:
    live, last = conversation([]), list[str]()
    for step in [*steps, ASK]:
        if isinstance(step, str):
            fragments = list(live.fragments())
            assert fragments[: len(last)] == last
            last = fragments
        else:
            live.feed([step])
            if isinstance(step, Tombstone):
                last = []


@given(histories())
def test_every_call_is_answered_once_and_in_order(steps: list[Step]) -> None:
    check_answered(conversation(entries_of(steps)).messages())


@given(histories(), st.data())
def test_a_killed_process_leaves_a_session_that_can_go_on(steps: list[Step], data: st.DataObject) -> None:
    whole = entries_of(steps)
    past = whole[: data.draw(st.integers(0, len(whole)), label="killed after")]
    mended = replay.mend(past)
    assert replay.mend([*past, *mended]) == []
    told = conversation(past)
    told.feed(mended)
    messages = told.messages()
    check_answered(messages)
    assert messages == conversation([*past, *mended]).messages()
    told.feed([user("next", "next")])
    assert told.messages() == [*messages, UserMessage("next")]


def check_answered(messages: list[Message]) -> None:
    """Behind every reply stands one result for each of its calls, in their order, and nowhere else one."""
    rest = list(messages)
    while rest:
        message = rest.pop(0)
        assert not isinstance(message, ToolMessage)
        if isinstance(message, AssistantMessage):
            assert message.text or message.thought or message.calls
            results, rest = rest[: len(message.calls)], rest[len(message.calls) :]
            assert [result.provider_id for result in results if isinstance(result, ToolMessage)] == [
                made.provider_id for made in message.calls
            ]
