"""Whole streams of both APIs: however their bytes are cut and their lines end, the events are the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.core.model import CallDelta, Finished, ModelEvent, TextDelta, ThoughtDelta
from acpagent.providers.anthropic_reader import AnthropicReader
from acpagent.providers.chat_reader import ChatReader
from acpagent.providers.reader import AnswerReader, is_whole
from acpagent.providers.sse import Decoder

WORDS = st.text(max_size=8)
PIECES = st.lists(WORDS, min_size=1, max_size=3)
# What an answer holds, in order: a text or a thought in pieces, or a call's arguments in pieces.
PARTS = st.lists(st.tuples(st.sampled_from(["text", "thought", "call"]), PIECES), max_size=5)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


def chat(parts: list[tuple[str, list[str]]]) -> list[tuple[str, Any]]:
    events: list[tuple[str, Any]] = []
    calls = 0
    for kind, pieces in parts:
        for number, piece in enumerate(pieces):
            if kind == "call":
                function = {"arguments": piece} | ({"name": "ls"} if number == 0 else {})
                made = {"index": calls, "function": function} | ({"id": f"c{calls}"} if number == 0 else {})
                delta: dict[str, Any] = {"tool_calls": [made]}
            else:
                delta = {"content" if kind == "text" else "reasoning_content": piece}
            events.append(("", {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}))
        calls += kind == "call"
    events.append(("", {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))
    events.append(("", {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}))
    return [*events, ("", "[DONE]")]


def messages(parts: list[tuple[str, list[str]]]) -> list[tuple[str, Any]]:
    deltas = {"text": ("text_delta", "text"), "thought": ("thinking_delta", "thinking")}
    values: list[Any] = [{"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}}]
    for index, (kind, pieces) in enumerate(parts):
        block = {"text": {"type": "text", "text": ""}, "thought": {"type": "thinking", "thinking": ""}}.get(
            kind, {"type": "tool_use", "id": f"c{index}", "name": "ls", "input": {}}
        )
        values.append({"type": "content_block_start", "index": index, "content_block": block})
        delta_kind, key = deltas.get(kind, ("input_json_delta", "partial_json"))
        for piece in pieces:
            values.append({"type": "content_block_delta", "index": index, "delta": {"type": delta_kind, key: piece}})
        values.append({"type": "content_block_stop", "index": index})
    values.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}})
    return [(value["type"], value) for value in [*values, {"type": "message_stop"}]]


def spelled(events: list[tuple[str, Any]], end: bytes, plain: bool) -> bytes:
    """The stream, each line with that end; `plain`: every letter as it is, else as an escape where JSON has one."""
    lines: list[bytes] = []
    for kind, value in events:
        data = value if isinstance(value, str) else json.dumps(value, ensure_ascii=not plain)
        lines += [*([f"event: {kind}".encode()] if kind else []), f"data: {data}".encode(), b"", b": ping", b""]
    return b"".join(line + end for line in lines)


def read(reader: AnswerReader, pieces: list[bytes]) -> tuple[list[ModelEvent], list[ModelEvent]]:
    """What came while the stream ran, and what its end brought."""
    decoder = Decoder()
    events: list[ModelEvent] = []
    for payloads in [*map(decoder.feed, pieces), [one for one in decoder.end() if is_whole(one)]]:
        more, fault = reader.take_all(payloads)
        assert fault is None
        events += more
    assert reader.complete
    return events, reader.end()


@pytest.mark.parametrize(("spell", "make"), [(chat, ChatReader), (messages, AnthropicReader)])
@given(parts=PARTS, end=ENDS, plain=st.booleans(), cuts=st.lists(st.integers(0)))
def test_any_split_gives_the_same_events(
    spell: Callable[[Any], Any], make: Callable[[], AnswerReader], parts: Any, end: bytes, plain: bool, cuts: list[int]
) -> None:
    data = spelled(spell(parts), end, plain)
    whole = read(make(), [data])
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    assert read(make(), [data[start:end] for start, end in pairwise(places)]) == whole
    assert read(make(), [data[place : place + 1] for place in range(len(data))]) == whole


@given(parts=PARTS)
def test_both_apis_say_the_same(parts: Any) -> None:
    def summary(reader: AnswerReader, events: list[tuple[str, Any]]) -> Any:
        came, end = read(reader, [spelled(events, b"\n", True)])
        calls: dict[int, str] = {}
        for event in came:
            if isinstance(event, CallDelta):
                calls[event.index] = calls.get(event.index, "") + event.arguments
        text = "".join(event.text for event in came if isinstance(event, TextDelta))
        thought = "".join(event.text for event in came if isinstance(event, ThoughtDelta))
        return text, thought, calls, end

    assert summary(ChatReader(), chat(parts)) == summary(AnthropicReader(), messages(parts))
    assert summary(ChatReader(), chat([]))[-1][-1] == Finished("stop")
