"""Every fault of a server, before and after output, over real HTTP and in both APIs."""

from __future__ import annotations

import json
import socket
import sys
from dataclasses import dataclass, replace
from typing import Any

import pytest

from acpagent.config.settings import Timeouts
from acpagent.core.model import AssistantMessage, ModelCall, Provider, TextDelta, ToolMessage, UserMessage
from acpagent.providers.script import Drop, Stall
from tests.model_server import ModelServer, Raw, Request
from tests.providers.calling import APIS, ONCE, QUICK, Outcome, Running, ask, call
from tests.providers.calling import over_http as provider_over_http


@dataclass(frozen=True)
class Spoken:
    """An answer in pieces: a text, why it stopped, that nothing follows; and the same in one piece."""

    chunk: bytes
    stop: bytes
    done: bytes
    error: bytes
    whole: bytes


SPOKEN = {
    "openai-chat": Spoken(
        b'data: {"choices":[{"delta":{"content":"whole"}}]}\n\n',
        b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n',
        b"data: [DONE]\n\n",
        b'data: {"error":{"message":"oops","code":500}}\n\n',
        b'{"choices":[{"message":{"content":"whole"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3}}',
    ),
    "anthropic-messages": Spoken(
        b'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
        b'"content_block":{"type":"text","text":"whole"}}\n\n',
        b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n',
        b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
        b'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"oops"}}\n\n',
        b'{"type":"message","content":[{"type":"text","text":"whole"}],"stop_reason":"end_turn"}',
    ),
}
API = ""
CHUNK, STOP, DONE, ERROR = b"<chunk>", b"<stop>", b"<done>", b"<error>"  # stand for the pieces of the API at hand


@pytest.fixture(autouse=True, params=APIS)
def api(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "API", request.param)


def over_http(base_url: str, **options: Any) -> Provider:
    return provider_over_http(base_url, api=API, **options)


def in_this_api(answer: Raw) -> Raw:
    spoken = SPOKEN[API]

    def spell(piece: Any) -> Any:
        if isinstance(piece, bytes):
            for stand_in in ("chunk", "stop", "done", "error"):
                piece = piece.replace(b"<%b>" % stand_in.encode(), getattr(spoken, stand_in))
        return piece

    return replace(answer, pieces=[spell(piece) for piece in answer.pieces])


def turn(*steps: Any) -> dict[str, Any]:
    return {"turns": [{"replies": [list(steps)]}]}


def play(*steps: Any, tries: int = 4) -> tuple[Outcome, int]:
    """The outcome of a call that these steps answer, and how many requests it took."""
    with ModelServer(turn(*steps)) as server:
        outcome = call(over_http(server.base_url, policy=QUICK if tries == 4 else ONCE))
        return outcome, len(server.requests)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 524, 529])
def test_a_status_that_may_pass_is_tried_again(status: int) -> None:
    outcome, requests = play({"error": {"status": status, "message": "busy", "times": 2}}, {"text": "here"})
    assert outcome.fault is None
    assert outcome.text == "here"
    assert outcome.reason == "stop"
    assert requests == 3
    assert [(again.attempt, again.limit) for again in outcome.retries] == [(2, 4), (3, 4)]
    assert f"HTTP {status}" in outcome.retries[0].cause
    assert "busy" in outcome.retries[0].cause


@pytest.mark.parametrize(("status", "kind"), [(429, "rate"), (500, "unavailable"), (529, "unavailable")])
def test_tries_are_bounded(status: int, kind: str) -> None:
    outcome, requests = play({"error": {"status": status, "message": "still busy"}})
    assert requests == 4
    assert len(outcome.retries) == 3
    assert outcome.fault is not None
    assert outcome.fault.kind == kind
    assert "still busy" in outcome.fault.message


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (401, "who are you", "auth"),
        (403, "not you", "auth"),
        (402, "Insufficient Balance", "payment"),
        (429, "insufficient_quota: pay first", "payment"),
        (400, "Your credit balance is too low to access the API", "payment"),
        (413, "too big", "too_long"),
        (400, "This model's maximum context length is 8192 tokens", "too_long"),
        (400, "the request exceeds the available context size", "too_long"),
        (400, "prompt is too long: 9 tokens > 8", "too_long"),
        (400, "no such field", "rejected"),
        (404, "no such model", "rejected"),
        (422, "unprocessable", "rejected"),
        (501, "not built", "unavailable"),
    ],
)
def test_a_status_that_will_not_pass(status: int, message: str, kind: str) -> None:
    outcome, requests = play({"error": {"status": status, "message": message}})
    assert requests == 1
    assert outcome.events == []
    assert outcome.fault is not None
    assert outcome.fault.kind == kind
    assert f"HTTP {status}" in outcome.fault.message
    assert (message in outcome.fault.message) is (kind != "auth")


UPSTREAM = '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8"}}'
# As they come from OpenAI, Azure, Groq, Anthropic, llama.cpp, vLLM, LM Studio, Ollama, OpenRouter, DeepSeek, Gemini,
# Mistral, xAI, Moonshot, DashScope, Zhipu, Cerebras, Copilot and TGI.
TOO_LONG: list[tuple[int, Any]] = [
    (400, {"error": {"message": "This model's maximum context length is 8192 tokens. However, your messages resulted "
                     "in 9000 tokens.", "type": "invalid_request_error", "code": "context_length_exceeded"}}),
    (400, {"error": {"message": "Your input exceeds the context window of this model.", "param": "input"}}),
    (400, {"error": {"message": "no words of use", "code": "context_length_exceeded"}}),
    (429, {"error": {"message": "Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 43000.",
                     "type": "tokens", "code": "rate_limit_exceeded"}}),
    (413, {"error": {"message": "Request too large for model `l`", "type": "tokens", "code": "rate_limit_exceeded"}}),
    (400, {"type": "error", "error": {"type": "invalid_request_error",
                                      "message": "prompt is too long: 213462 tokens > 200000 maximum"}}),
    (400, {"type": "error", "error": {"type": "invalid_request_error", "message": "input length and `max_tokens` "
                                      "exceed context limit: 197202 + 21333 > 200000, decrease input length"}}),
    (413, {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
    (400, {"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it",
                     "type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 8}}),
    (500, {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}),
    (400, {"object": "error", "message": "This model's maximum context length is 4096 tokens. However, you requested "
           "5000 tokens", "type": "BadRequestError", "code": 400}),
    (400, {"error": {"message": "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
                     "type": "BadRequestError", "code": 400}}),
    (400, {"error": {"message": "max_tokens must be at least 1, got -308.", "type": "BadRequestError", "code": 400}}),
    (400, {"error": "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded "
           "with context length of only 4096 tokens, which is not enough."}),
    (400, {"error": {"message": "prompt too long; exceeded max context length by 12 tokens", "type": "api_error"}}),
    (400, {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": UPSTREAM}}}),
    (400, {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "prompt is too long"}}}),
    (400, [{"error": {"code": 400, "message": "The input token count (12) exceeds the maximum number of tokens allowed "
                      "(10).", "status": "INVALID_ARGUMENT"}}]),
    (400, {"object": "error", "message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context "
           "length", "type": "invalid_request_prompt", "code": "3051"}),
    (400, {"code": "Client specified an invalid argument",
           "error": "This model's maximum prompt length is 131072 but the request contains 150000 tokens."}),
    (400, {"error": {"message": "Invalid request: Your request exceeded model token limit: 131072"}}),
    (400, {"error": {"code": "invalid_parameter_error",
                     "message": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 9]"}}),
    (400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}),
    (400, {"message": "Please reduce the length of the messages or completion. Current length is 10 while limit is 8",
           "type": "invalid_request_error", "code": "context_length_exceeded"}),
    (400, {"error": {"message": "prompt token count of 15 exceeds the limit of 12",
                     "code": "model_max_prompt_tokens_exceeded"}}),
    (422, {"error": "Input validation error: `inputs` must have less than 1024 tokens. Given: 1500"}),
    (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4000 and 200"}),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body"), TOO_LONG)
def test_every_server_has_its_own_words_for_too_long(status: int, body: Any) -> None:
    refused = Raw([json.dumps(body).encode()], status, {"Content-Type": "application/json"})
    told = body[0] if isinstance(body, list) else body
    inside = Raw([b"data: %b\n\n" % json.dumps(told).encode()])
    for answer in (refused, inside) if "error" in told else (refused,):
        with ModelServer(lambda request, answer=answer: answer) as server:
            outcome = call(over_http(server.base_url, policy=QUICK))
            assert len(server.requests) == 1  # the same again would fail again
        assert outcome.fault is not None
        assert outcome.fault.kind == "too_long", outcome.fault.message


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens: 200000 > 8192, which is the maximum allowed number of output tokens",
        "tools.0.function.name is too long",
        "Unsupported parameter: 'max_tokens'",
    ],
)
def test_what_only_sounds_like_it_is_no_conversation_that_is_too_long(message: str) -> None:
    outcome, _ = play({"error": {"status": 400, "message": message}})
    assert outcome.fault is not None
    assert outcome.fault.kind == "rejected"


@pytest.mark.parametrize(
    "message",
    [
        "tiny does not support tools",
        '"auto" tool choice requires --enable-auto-tool-choice',
        "No endpoints found that support tool use",
    ],
)
def test_a_model_without_tools_is_told_what_to_do_about(message: str) -> None:
    outcome, _ = play({"error": {"status": 400, "message": message}})
    assert outcome.fault is not None
    assert outcome.fault.message.endswith("write `tools: false` in config.yaml")


def test_an_empty_answer_is_tried_again() -> None:
    answers = [Raw([STOP, DONE]), Raw([CHUNK, STOP, DONE])]
    with ModelServer(lambda request: in_this_api(answers.pop(0))) as server:
        outcome = call(over_http(server.base_url))
    assert (outcome.text, outcome.reason, outcome.fault) == ("whole", "stop", None)
    assert [again.cause for again in outcome.retries] == ["the model's answer was empty"]


def test_empty_answers_are_a_failure() -> None:
    outcome = answer_with(Raw([STOP, DONE]), tries=4)
    assert outcome.fault is not None
    assert outcome.fault.message == "local/tiny: the model's answer was empty"
    assert (outcome.reason, len(outcome.retries)) == (None, 3)


def test_nothing_more_to_say_about_results_is_no_failure() -> None:
    made = ModelCall("c", "ls", "{}")
    said = (UserMessage("hi"), AssistantMessage("", calls=(made,)), ToolMessage("c", "ls", "a"))
    with ModelServer(lambda request: in_this_api(Raw([STOP, DONE]))) as server:
        provider = over_http(server.base_url)
        outcome = call(provider, ask(provider, *said))
    assert (outcome.text, outcome.reason, outcome.fault) == ("", "stop", None)


@pytest.mark.parametrize("how", ["close", "reset", "end"])
def test_a_drop_before_output_is_tried_again(how: str) -> None:
    outcome, requests = play({"drop": {"how": how, "times": 1}}, {"text": "here"})
    assert (outcome.text, outcome.fault, requests) == ("here", None, 2)
    assert len(outcome.retries) == 1


@pytest.mark.parametrize("how", ["close", "reset", "end"])
def test_a_drop_after_output_keeps_it_and_says_so(how: str) -> None:
    outcome, requests = play({"text": "half a"}, {"wait": 0.05}, {"drop": how})
    assert requests == 1
    assert outcome.events == [TextDelta("half a")]
    assert outcome.fault is not None
    assert outcome.fault.kind == "broken"
    assert "cut off" in outcome.fault.message


@pytest.mark.parametrize("step", [{"thought": "hm"}, {"call": {"tool": "ls"}}])
def test_thoughts_and_calls_are_output(step: dict[str, Any]) -> None:
    outcome, requests = play(step, {"drop": "close"})
    assert outcome.fault is not None
    assert (outcome.fault.kind, requests, outcome.reason) == ("broken", 1, None)


def test_an_error_inside_the_answer_before_output_is_tried_again() -> None:
    error = {"status": 502, "message": "upstream", "after_output": True, "times": 1}
    outcome, requests = play({"error": error}, {"text": "here"})
    assert (outcome.text, outcome.fault, requests) == ("here", None, 2)


def test_an_error_inside_the_answer_after_output_is_final() -> None:
    outcome, requests = play({"text": "half a"}, {"error": {"status": 502, "message": "upstream"}})
    assert (outcome.text, requests) == ("half a", 1)
    assert outcome.fault is not None
    assert outcome.fault.kind == "broken"
    assert "upstream" in outcome.fault.message


def test_a_refused_key_inside_the_answer() -> None:
    outcome, _ = play({"error": {"status": 401, "message": "no", "after_output": True}})
    assert outcome.fault is not None
    assert outcome.fault.kind == "auth"


@pytest.mark.parametrize("shown", [False, True])
def test_silence_is_bounded_and_not_tried_again(shown: bool) -> None:
    with ModelServer(turn(*([{"text": "half a"}] if shown else []), "stall")) as server:
        outcome = call(over_http(server.base_url, timeouts=Timeouts(5, 1)))
        assert len(server.requests) == 1
    assert outcome.fault is not None
    assert outcome.fault.kind == ("broken" if shown else "unavailable")
    assert "silent for 1 s" in outcome.fault.message


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        outcome = call(over_http(f"http://127.0.0.1:{port}/v1"))
    assert len(outcome.retries) == 3
    assert outcome.fault is not None
    assert outcome.fault.kind == "unavailable"
    assert outcome.fault.message == f"local/tiny: 127.0.0.1:{port} takes no connections"


def test_an_unknown_host() -> None:
    outcome = call(over_http("http://no-such-host.invalid/v1", policy=ONCE))
    assert outcome.fault is not None
    assert outcome.fault.kind == "unavailable"
    assert outcome.fault.message == "local/tiny: the host no-such-host.invalid is not found"


def answer_with(answer: Raw, tries: int = 1) -> Outcome:
    with ModelServer(lambda request: in_this_api(answer)) as server:
        return call(over_http(server.base_url, policy=ONCE if tries == 1 else QUICK))


@pytest.mark.parametrize(
    "answer",
    [
        Raw([CHUNK, STOP, DONE]),
        Raw([CHUNK, STOP]),
        Raw([CHUNK, STOP, Drop("close")]),
        Raw([CHUNK, DONE]),
        Raw([CHUNK, DONE, Drop("close")]),
        Raw([CHUNK + STOP + DONE], chunked=False),
        Raw([CHUNK, STOP, DONE, b": more\n\n", b"data: {broken\n\n"]),
    ],
)
def test_an_answer_that_is_whole(answer: Raw) -> None:
    outcome = answer_with(answer)
    assert (outcome.text, outcome.reason, outcome.fault) == ("whole", "stop", None)


def test_any_line_ends_and_any_pieces() -> None:
    spoken = SPOKEN[API]
    data = spoken.chunk + spoken.stop + spoken.done
    for pieces in ([data.replace(b"\n", b"\r\n")], [bytes([byte]) for byte in data], [data[:-2]]):
        outcome = answer_with(Raw(pieces))
        assert (outcome.text, outcome.reason, outcome.fault) == ("whole", "stop", None)


@pytest.mark.parametrize("after", [ERROR, b"data: {cut", b"data: nonsense\n\n"])
def test_text_that_comes_together_with_a_fault_is_kept(after: bytes) -> None:
    outcome = answer_with(Raw([CHUNK + after]))
    assert outcome.text == "whole"
    assert outcome.fault is not None
    assert outcome.fault.kind == "broken"


@pytest.mark.parametrize("after", [ERROR, b"data: {cut", b"data: nonsense\n\n"])
def test_what_goes_wrong_after_the_end_harms_nobody(after: bytes) -> None:
    outcome = answer_with(Raw([CHUNK + STOP, after]))
    assert (outcome.text, outcome.reason, outcome.fault) == ("whole", "stop", None)


def test_a_server_that_never_ends_its_answer_is_not_waited_for() -> None:
    with ModelServer(lambda request: in_this_api(Raw([CHUNK, STOP, DONE, Stall()]))) as server:
        running = Running(over_http(server.base_url))
        assert running.end(20).reason == "stop"
        server.wait_for_hangup()


def test_an_answer_in_one_piece() -> None:
    outcome = answer_with(Raw([SPOKEN[API].whole], headers={"Content-Type": "application/json"}))
    assert (outcome.text, outcome.reason) == ("whole", "stop")


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (Raw([]), "broken", "too early"),
        (Raw([b"<html>welcome</html>"]), "broken", "too early"),
        (Raw([b"data: <html>\n\n"]), "broken", "no answer"),
        (Raw([b'{"error": "model is loading"}'], headers={"Content-Type": "application/json"}), "broken", "is loading"),
        (Raw([b'data: {"error": "odd"}\n\n']), "broken", "odd"),
        (Raw([b""], 307, {"Location": "http://127.0.0.1:9/"}), "rejected", "redirects"),
        (Raw([b"<h1>Bad\r\n\x00gateway</h1>"], 400, {}), "rejected", "Bad gateway"),
        (Raw([b"[" * 9000], 400, {}), "rejected", "[["),
        (Raw([b"x" * 9000], 400, {}), "rejected", "x" * 200),
    ],
)
def test_an_answer_that_is_none(answer: Raw, kind: str, words: str) -> None:
    outcome = answer_with(answer)
    assert outcome.fault is not None
    assert outcome.fault.kind == kind
    assert words in outcome.fault.message
    assert len(outcome.fault.message) < 400
    assert outcome.fault.message.isprintable()


def test_the_request_after_a_fault_works() -> None:
    answers = iter([Raw([CHUNK, Drop("reset")]), Raw([CHUNK, STOP, DONE])])
    with ModelServer(lambda request: in_this_api(next(answers))) as server:
        provider = over_http(server.base_url, policy=ONCE)
        assert call(provider).reason is None
        assert call(provider).reason == "stop"


def test_one_connection_serves_many_calls() -> None:
    with ModelServer(turn({"text": "a"}, {"text": "b"})) as server:
        provider = over_http(server.base_url)
        for _ in range(5):
            assert call(provider).reason == "stop"
        assert {request.connection for request in server.requests} == {1}


def test_a_connection_outlives_an_error_answer() -> None:
    with ModelServer(turn({"error": {"status": 500, "times": 2}}, {"text": "a"})) as server:
        assert call(over_http(server.base_url)).reason == "stop"
        assert server.connections == 1


def test_a_connection_that_the_server_closed_meanwhile_costs_no_retry() -> None:
    def answer(request: Request) -> Raw:
        return in_this_api(Raw([CHUNK, STOP, DONE], chunked=False))  # and closes

    with ModelServer(answer) as server:
        provider = over_http(server.base_url)
        assert [call(provider, ask(provider)).retries for _ in range(3)] == [[], [], []]
        assert server.connections == 3
