from __future__ import annotations

import json
from typing import Any

import pytest

from acpagent.core.events import Usage
from acpagent.core.model import CallDelta, Finished, Kept, ModelEvent, TextDelta, ThoughtDelta, UsageReport
from acpagent.providers.anthropic_reader import AnthropicReader
from acpagent.providers.chat_errors import Told
from acpagent.providers.reader import Unreadable


def begin(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **piece: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": piece}


def over(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def stop(reason: str | None = "end_turn", **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}


def read(*payloads: Any) -> list[ModelEvent]:
    reader = AnthropicReader()
    events: list[ModelEvent] = []
    for payload in payloads:
        events += reader.take(json.dumps(payload).encode())
    return events + reader.end()


TEXT = begin(0, type="text", text="")


def test_a_whole_answer() -> None:
    events = read(
        {"type": "message_start", "message": {"role": "assistant", "usage": {"input_tokens": 9, "output_tokens": 1}}},
        {"type": "ping"},
        begin(0, type="thinking", thinking="", signature=""),
        delta(0, type="thinking_delta", thinking="hm"),
        delta(0, type="signature_delta", signature="si"),
        delta(0, type="signature_delta", signature="g"),
        over(0),
        begin(1, type="redacted_thinking", data="xyz"),
        over(1),
        begin(2, type="text", text=""),
        delta(2, type="text_delta", text="Yes."),
        over(2),
        begin(3, type="tool_use", id="toolu_1", name="read", input={}),
        delta(3, type="input_json_delta", partial_json=""),
        delta(3, type="input_json_delta", partial_json='{"p"'),
        delta(3, type="input_json_delta", partial_json=":1}"),
        over(3),
        begin(4, type="tool_use", id="toolu_2", name="list", input={}),
        over(4),
        stop("tool_use", output_tokens=30),
        {"type": "message_stop"},
    )
    assert events == [
        ThoughtDelta("hm"),
        TextDelta("Yes."),
        CallDelta(0, "toolu_1", "read"),
        CallDelta(0, arguments='{"p"'),
        CallDelta(0, arguments=":1}"),
        CallDelta(1, "toolu_2", "list"),
        UsageReport(Usage(9, 0, 30, 0)),
        Kept('[["thinking","hm","sig"],["redacted","","xyz"],["text",4],["call"],["call"]]'),
        Finished("calls"),
    ]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("a new word", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "paused"),
    ],
)
def test_reasons(word: str, reason: str) -> None:
    assert read(TEXT, stop(word))[-1] == Finished(reason)  # type: ignore[arg-type]


def test_calls_need_no_reason() -> None:
    assert read(begin(0, type="tool_use", id="a", name="ls", input={}), stop("end_turn"))[-1] == Finished("calls")


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"input_tokens": 9, "output_tokens": 4}, Usage(9, 0, 4)),
        ({"input_tokens": 9, "cache_read_input_tokens": 6, "output_tokens": 4}, Usage(15, 6, 4)),
        (
            {"input_tokens": 9, "cache_read_input_tokens": 6, "cache_creation_input_tokens": 5, "output_tokens": 4},
            Usage(20, 6, 4, 0, 5),
        ),
        ({"output_tokens": 4, "output_tokens_details": {"thinking_tokens": 3}}, Usage(0, 0, 4, 3)),
    ],
)
def test_usage(counts: Any, usage: Usage) -> None:
    assert read(TEXT, stop(**counts)) == [UsageReport(usage), Finished("stop")]


def test_later_counts_replace_earlier_ones() -> None:
    first = {"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}}
    assert read(first, stop(None, output_tokens=2), stop(output_tokens=3, input_tokens=None))[0] == UsageReport(
        Usage(5, 0, 3)
    )


@pytest.mark.parametrize("counts", [{}, {"input_tokens": 0, "output_tokens": 0}, {"input_tokens": "9"}])
def test_no_usage_is_no_report(counts: Any) -> None:
    assert read(TEXT, stop(**counts)) == [Finished("stop")]


def test_what_means_nothing_to_us_is_passed_over() -> None:
    events = read(
        begin(0, type="server_tool_use", id="x", name="web_search", input={}),
        delta(0, type="input_json_delta", partial_json="{}"),
        over(0),
        begin(1, type="text", text="a"),
        delta(1, type="citations_delta", citation={}),
        delta(7, type="text_delta", text="nobody's"),
        {"type": "tomorrow", "index": 9},
        {"type": "content_block_start"},
        {"type": "content_block_delta", "index": 1, "delta": None},
        stop(),
    )
    assert events == [TextDelta("a"), Finished("stop")]


def test_arguments_that_come_with_the_beginning() -> None:
    events = read(begin(0, type="tool_use", id="a", name="ls", input={"path": "b"}), over(0), stop("tool_use"))
    assert events == [CallDelta(0, "a", "ls"), CallDelta(0, arguments='{"path": "b"}'), Finished("calls")]


def test_a_call_without_id_gets_one() -> None:
    (event, *_) = read(begin(0, type="tool_use", name="ls", input={}), stop())
    assert isinstance(event, CallDelta)
    assert event.provider_id


def test_an_unsigned_thought_is_not_kept() -> None:
    assert read(begin(0, type="thinking", thinking="cut"), begin(1, type="text", text="a"), stop("max_tokens")) == [
        ThoughtDelta("cut"),
        TextDelta("a"),
        Finished("length"),
    ]


def test_halves_of_a_pair_in_two_pieces() -> None:
    events = read(TEXT, delta(0, type="text_delta", text="\ud83d"), delta(0, type="text_delta", text="\ude00!"), stop())
    assert events == [TextDelta("\U0001f600!"), Finished("stop")]


def test_an_answer_in_one_piece() -> None:
    whole = {
        "type": "message",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "Yes."},
            {"type": "tool_use", "id": "a", "name": "ls", "input": {"p": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }
    assert read(whole) == [
        ThoughtDelta("hm"),
        TextDelta("Yes."),
        CallDelta(0, "a", "ls"),
        CallDelta(0, arguments='{"p": 1}'),
        UsageReport(Usage(1, 0, 2)),
        Kept('[["thinking","hm","s"],["text",4],["call"]]'),
        Finished("calls"),
    ]


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("overloaded_error", 529),
        ("api_error", 500),
        ("rate_limit_error", 429),
        ("authentication_error", 401),
        ("request_too_large", 413),
        ("billing_error", 402),
        ("timeout_error", 504),
        ("strange_error", 0),
    ],
)
def test_errors(kind: str, status: int) -> None:
    with pytest.raises(Told) as told:
        read({"type": "error", "error": {"type": kind, "message": "Overloaded"}})
    assert (told.value.said, told.value.code, told.value.status) == ("Overloaded", kind, status)


@pytest.mark.parametrize("payload", [b"[]", b"3", b"{", b"null", b'{"choices": []}', b"[" * 100_000])
def test_what_is_no_answer(payload: bytes) -> None:
    with pytest.raises(Unreadable):
        AnthropicReader().take(payload)
