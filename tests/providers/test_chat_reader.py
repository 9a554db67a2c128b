from __future__ import annotations

import json
from typing import Any

import pytest

from acpagent.core.events import Usage
from acpagent.core.model import CallDelta, Finished, ModelEvent, TextDelta, ThoughtDelta, UsageReport
from acpagent.providers.chat_errors import Told
from acpagent.providers.chat_reader import ChatReader
from acpagent.providers.reader import Unreadable


def read(*deltas: Any, finish: str | None = "stop", usage: Any = None) -> list[ModelEvent]:
    reader = ChatReader()
    events: list[ModelEvent] = []
    for delta in deltas:
        events += reader.take(json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode())
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage}
    return events + reader.take(json.dumps(last).encode()) + reader.end()


def calls(*fragments: Any) -> list[tuple[str | None, str | None, str]]:
    """(id, name, arguments) of each call, joined. Every list of fragments is one delta."""
    joined: dict[int, list[Any]] = {}
    events = read(*({"tool_calls": part if isinstance(part, list) else [part]} for part in fragments))
    assert events[-1] == Finished("calls")
    for event in events:
        if isinstance(event, CallDelta):
            parts = joined.setdefault(event.index, [None, None, ""])
            parts[0] = parts[0] or event.provider_id
            parts[1] = parts[1] or event.name
            parts[2] += event.arguments
    return [(one[0], one[1], one[2]) for _, one in sorted(joined.items())]


def part(name: str | None = None, arguments: Any = "", **fields: Any) -> dict[str, Any]:
    function = {} if name is None else {"name": name}
    return {**fields, "function": {**function, "arguments": arguments}}


def test_text_and_thoughts() -> None:
    events = read(
        {"role": "assistant", "content": ""},
        {"reasoning_content": "hm"},
        {"reasoning": "so"},
        {"content": "yes"},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}, {"type": "text", "text": "u"}]},
        {"content": None, "reasoning_content": None},
    )
    assert events == [
        ThoughtDelta("hm"),
        ThoughtDelta("so"),
        TextDelta("yes"),
        ThoughtDelta("t"),
        TextDelta("u"),
        Finished("stop"),
    ]


def test_parallel_calls_in_fragments() -> None:
    assert calls(
        part("read", "", index=0, id="a"),
        part("list", "", index=1, id="b"),
        [part(arguments='{"p"', index=0), part(arguments="{", index=1)],
        [part(arguments="}", index=1), part(arguments=":1}", index=0)],
    ) == [("a", "read", '{"p":1}'), ("b", "list", "{}")]


def test_calls_that_all_have_the_index_0() -> None:
    assert calls(
        part("read", "{}", index=0, id="a"), part("list", "[", index=0, id="b"), part(arguments="]", index=0)
    ) == [("a", "read", "{}"), ("b", "list", "[]")]


def test_calls_without_index() -> None:
    assert calls(
        part("read", "{", id="a"), part(arguments="}"), part("list", "{", id="b"), part(arguments="}", id="b")
    ) == [("a", "read", "{}"), ("b", "list", "{}")]


def test_calls_without_id_get_one() -> None:
    (one, _, _), (two, _, _) = calls(part("read", "{}", index=0), part("list", "{}", index=1))
    assert one
    assert two
    assert one != two


def test_calls_without_index_and_id() -> None:
    named = [(name, arguments) for _, name, arguments in calls(part("read", "{"), part(arguments="}"), part("ls"))]
    assert named == [("read", "{}"), ("ls", "")]


def test_every_fragment_with_the_id_and_name_again() -> None:
    assert calls(*(part("read", letter, index=0, id="a") for letter in "{}")) == [("a", "read", "{}")]


def test_every_fragment_with_another_id() -> None:
    assert calls(part("read", "{", index=0, id="a"), part(None, "}", index=0, id="b")) == [("a", "read", "{}")]


def test_a_name_that_comes_late() -> None:
    assert calls(part(None, "", index=0, id="a"), part("read", "{}", index=0)) == [("a", "read", "{}")]


def test_arguments_as_an_object() -> None:
    assert calls(part("read", {"p": "é"}, index=0, id="a")) == [("a", "read", '{"p": "é"}')]


def test_the_old_function_call() -> None:
    events = read({"function_call": {"name": "read", "arguments": "{"}}, {"function_call": {"arguments": "}"}})
    deltas = [event for event in events if isinstance(event, CallDelta)]
    assert [(delta.index, delta.name, delta.arguments) for delta in deltas] == [(0, "read", "{"), (0, None, "}")]
    assert events[-1] == Finished("calls")


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", "stop"),
        ("tool_calls", "stop"),  # without any call there is nothing to run
        ("length", "length"),
        ("content_filter", "refusal"),
        ("SAFETY", "refusal"),
        ("eos", "stop"),
    ],
)
def test_reasons(word: str, reason: str) -> None:
    assert read({"content": "x"}, finish=word)[-1] == Finished(reason)  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["stop", "tool_calls", "function_call"])
def test_calls_are_the_reason_whatever_the_server_says(word: str) -> None:
    assert read({"tool_calls": [part("ls", "{}", index=0, id="a")]}, finish=word)[-1] == Finished("calls")


def test_a_cut_reply_with_calls_is_cut() -> None:
    assert read({"tool_calls": [part("ls", "{", index=0)]}, finish="length")[-1] == Finished("length")


def test_a_refusal_in_words() -> None:
    assert read({"refusal": "I will not."}) == [TextDelta("I will not."), Finished("refusal")]


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 4}, Usage(9, 0, 4, 0)),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 6}}, Usage(9, 6, 0, 0)),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 5, "prompt_cache_miss_tokens": 4}, Usage(9, 5, 0, 0)),
        ({"completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 3}}, Usage(0, 0, 4, 3)),
        ({"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 6}}, Usage(1, 1, 0, 0)),
    ],
)
def test_usage(counts: Any, usage: Usage) -> None:
    assert read(usage=counts) == [UsageReport(usage), Finished("stop")]


@pytest.mark.parametrize(
    "counts",
    [
        None,
        {"prompt_tokens": None, "completion_tokens": "4", "prompt_tokens_details": None},
        {"prompt_tokens": -3, "completion_tokens": True},
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    ],
)
def test_no_usage_is_no_report(counts: Any) -> None:
    assert read(usage=counts) == [Finished("stop")]


def test_a_running_count_is_reported_once() -> None:
    reader = ChatReader()
    for count in (1, 2, 3):
        chunk = {"choices": [{"delta": {}}], "usage": {"prompt_tokens": 5, "completion_tokens": count}}
        assert reader.take(json.dumps(chunk).encode()) == []
    assert reader.end() == [UsageReport(Usage(5, 0, 3, 0)), Finished("stop")]


@pytest.mark.parametrize(
    ("payload", "status", "said"),
    [
        ({"error": {"message": "busy", "code": 503}}, 503, "busy"),
        ({"error": {"message": "slow down", "type": "rate_limit_error"}}, 429, "slow down"),
        ({"error": {"message": "long", "code": "context_length_exceeded"}}, 400, "long"),
        ({"error": "out of order"}, 0, "out of order"),
        ({"error": {"reason": 1}}, 0, '{"reason": 1}'),
        ({"detail": "not found"}, 0, "not found"),
        ({"choices": [{"delta": {}, "finish_reason": "insufficient_system_resource"}]}, 503, "it stopped with"),
    ],
)
def test_errors(payload: Any, status: int, said: str) -> None:
    with pytest.raises(Told) as told:
        ChatReader().take(json.dumps(payload).encode())
    assert told.value.status == status
    assert told.value.said.startswith(said)


@pytest.mark.parametrize("payload", [b"nonsense", b"[1]", b"3", b'{"choices":[7]}', b"[" * 100_000, b"\xff"])
def test_what_is_no_answer(payload: bytes) -> None:
    with pytest.raises(Unreadable):
        ChatReader().take(payload)


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"choices": []},
        {"choices": None},
        {"choices": [{}]},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"content": 5, "tool_calls": [None, 3], "reasoning": {}}, "finish_reason": 7}]},
        {"error": None, "choices": [{"delta": {"tool_calls": {}}}]},
    ],
)
def test_what_says_nothing(payload: Any) -> None:
    reader = ChatReader()
    assert reader.take(json.dumps(payload).encode()) == []
    assert not reader.complete


def test_a_letter_cut_in_halves_is_joined() -> None:
    halves = [{"content": "a\ud83d"}, {"content": "\ude00b"}, {"content": "\ud83d"}, {"content": "c\ude00"}]
    assert read(*halves)[:-1] == [TextDelta("a"), TextDelta("\U0001f600b"), TextDelta("\ufffdc\ufffd")]
    assert read({"reasoning": "\ud83d"}, {"reasoning": "\ude00"})[0] == ThoughtDelta("\U0001f600")
    assert calls(part("ls", '{"\ud83d', index=0, id="a"), part(arguments='\ude00"}', index=0)) == [
        ("a", "ls", '{"\U0001f600"}')
    ]
    assert read({"content": "a\ud83d"}) == [TextDelta("a"), Finished("stop")]
