"""Guidance for a prompt that runs: taken in at the next model call, or refused, or shown as unused; never lost."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acpagent.providers.script import Stall
from tests.acp.held import locked_store
from tests.acp.seen import calls, says, turn
from tests.agent import Agent, Message, handoff, text_in, updates_in
from tests.conftest import Home, StartAgent
from tests.model_server import ModelServer, Raw, Request

STEER = "_reasonix.io/session/steer"
NOT_USED = "[warning] This guidance came too late for the turn and was not used: "
RUN = calls("bash", command="touch new")
STALL = {"stall": True}
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("hold$", STALL),
        turn("look", [*says("I look."), RUN], says("Seen."), says("Seen again.")),
        turn("talk", [{"repeat": {"times": 3, "text": "word "}}, {"wait": 0}, *says("that is all.")]),
        turn("greet", says("Hello.")),
    ]
}
END = b"]}"


def steer(agent: Agent, session: str, *content: str | Message) -> int:
    """Send guidance; the id of the request."""
    blocks = [{"type": "text", "text": item} if isinstance(item, str) else item for item in content]
    return agent.request(STEER, {"sessionId": session, "prompt": blocks})


def said_by_person(request: Request) -> list[str]:
    """The person's messages as the model reads them."""
    return [message["content"] for message in request.messages if message["role"] == "user"]


def place(session: str, workspace: Path) -> Message:
    return {"sessionId": session, "cwd": str(workspace), "mcpServers": []}


def replayed(agent: Agent, session: str, workspace: Path) -> list[Message]:
    since = len(agent.messages)
    agent.call("session/load", place(session, workspace))
    return agent.updates(session, since)


# The seed's table.


def test_a_client_learns_of_it_and_the_plain_name_is_nothing(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    one = agent()
    meta = one.initialize()["agentCapabilities"]["_meta"]["reasonix.io"]
    assert meta["sessionSteer"] == {"method": STEER}
    session = one.new_session(workspace)
    prompt = one.start_prompt(session, "hold")
    params = {"sessionId": session, "prompt": [{"type": "text", "text": "use email"}]}
    assert one.fail("session/steer", params)["code"] == -32601
    assert one.call(STEER, params) == {}
    one.notify("session/cancel", {"sessionId": session})
    one.response(prompt)


@pytest.mark.parametrize(
    "blocks", [None, [], {}, "use email", [{"type": "text", "text": " \n"}], [{"type": "text"}], [{"type": "audio"}]]
)
def test_without_content_it_is_refused(agent: StartAgent, home: Home, workspace: Path, blocks: Any) -> None:
    home.use_script(SCRIPT)
    one = agent()
    session = one.new_session(workspace)
    prompt = one.start_prompt(session, "hold")
    params = {"sessionId": session} if blocks is None else {"sessionId": session, "prompt": blocks}
    error = one.fail(STEER, params)
    assert error["code"] == -32602
    assert error["message"].startswith("params.prompt")
    one.notify("session/cancel", {"sessionId": session})
    assert one.response(prompt)["result"] == {"stopReason": "cancelled"}
    assert NOT_USED not in text_in(one.updates(session))


def test_without_a_session_or_a_prompt_it_is_refused(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    one = agent()
    session = one.new_session(workspace)

    def refused(session: str) -> int:
        return int(one.response(steer(one, session, "use email"))["error"]["code"])

    assert refused("nope") == -32602
    assert refused(session) == -32600
    one.prompt(session, "greet")
    assert refused(session) == -32600
    one.call("session/close", {"sessionId": session})
    assert refused(session) == -32602
    assert text_in(replayed(one, session, workspace), "user_message_chunk") == "greet"


def test_the_turn_of_a_local_command_takes_none(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    one = agent()
    session = one.new_session(workspace)
    one.prompt(session, "greet")
    with locked_store(home.path):
        prompt = one.start_prompt(session, "/help")
        refused = one.response(steer(one, session, "use email"))
    assert refused["error"]["code"] == -32600
    assert one.response(prompt)["result"] == {"stopReason": "end_turn"}


# What the model reads of it, and when.


def test_it_follows_the_results_and_the_bytes_before_it_stay(agent: StartAgent, serve: Any, workspace: Path) -> None:
    server: ModelServer = serve(SCRIPT)
    one = agent()
    session = one.new_session(workspace)
    prompt = one.start_prompt(session, "look")
    question = one.expect_request("session/request_permission")
    assert one.response(steer(one, session, "use email"))["result"] == {}  # while the question is open
    assert len(server.requests) == 1
    one.decide(question, "once")
    assert one.response(prompt)["result"] == {"stopReason": "end_turn"}
    first, second = server.requests
    assert [message["role"] for message in second.messages] == ["user", "assistant", "tool", "user"]
    assert said_by_person(second)[-1].endswith("\nuse email")
    assert second.raw.startswith(first.raw.removesuffix(END))
    assert text_in(one.updates(session), "user_message_chunk") == ""  # who sent it knows it


def test_replay_shows_the_words_alone_where_they_were_said(agent: StartAgent, serve: Any, workspace: Path) -> None:
    server: ModelServer = serve(SCRIPT)
    one = agent()
    session = one.new_session(workspace)
    prompt = one.start_prompt(session, "look")
    question = one.expect_request("session/request_permission")
    for words in ("use email", "and [be] brief"):
        one.response(steer(one, session, words))
    one.decide(question, "once")
    one.response(prompt)
    one.call("session/close", {"sessionId": session})
    told = []
    for update in replayed(one, session, workspace):
        if update["sessionUpdate"].endswith("message_chunk") and handoff(update) is None:
            told.append((update["sessionUpdate"].split("_")[0], update["content"]["text"]))
        elif update["sessionUpdate"] == "tool_call":
            told.append(("tool", update["status"]))
    assert told == [
        ("user", "look"),
        ("agent", "I look."),
        ("tool", "completed"),
        ("user", "use email"),
        ("user", "and [be] brief"),
        ("agent", "Seen."),
    ]
    one.prompt(session, "greet")
    asked = server.requests[-1]
    assert asked.raw.startswith(server.requests[-2].raw.removesuffix(END))  # the model reads it as it did then
    messages = [update for update in replayed(one, session, workspace) if "messageId" in update]
    assert len({update["messageId"] for update in messages}) == len(messages)


def test_several_are_taken_in_order_each_a_message_of_its_own(agent: StartAgent, serve: Any, workspace: Path) -> None:
    server: ModelServer = serve(SCRIPT)
    one = agent()
    session = one.new_session(workspace)
    prompt = one.start_prompt(session, "look")
    question = one.expect_request("session/request_permission")
    words = [f"number {number}" for number in range(20)]
    for id in [steer(one, session, word) for word in words]:
        assert one.response(id)["result"] == {}
    one.decide(question, "deny")
    one.response(prompt)
    heard = [text.rpartition("\n")[2] for text in said_by_person(server.requests[-1])[1:]]
    assert heard == words
    assert len(server.requests) == 2


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.mark.parametrize("vision", [True, False])
def test_it_may_hold_links_resources_and_images(agent: StartAgent, serve: Any, workspace: Path, vision: bool) -> None:
    server: ModelServer = serve(SCRIPT, model={"vision": vision})
    one = agent()
    session = one.new_session(workspace)
    blocks: list[Message] = [
        {"type": "text", "text": "like here:"},
        {"type": "resource_link", "uri": f"file://{workspace}/README.md", "name": "README.md"},
        {"type": "resource", "resource": {"uri": "note:1", "text": "unsaved words", "mimeType": "text/plain"}},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
    ]
    prompt = one.start_prompt(session, "look")
    question = one.expect_request("session/request_permission")
    assert one.response(steer(one, session, *blocks))["result"] == {}
    assert one.response(steer(one, session, blocks[1]))["result"] == {}  # without a word
    one.decide(question, "deny")
    one.response(prompt)
    heard = [json.dumps(content) for content in said_by_person(server.requests[-1])[1:]]
    assert len(heard) == 2
    for part in ("like here:", "Says hello to people.", "unsaved words"):
        assert part in heard[0]
    assert (PNG in heard[0]) is vision
    assert "Says hello to people." in heard[1]
    assert ("cannot see images" in text_in(one.updates(session))) is not vision
    one.call("session/close", {"sessionId": session})
    shown = [u for u in replayed(one, session, workspace) if u["sessionUpdate"] == "user_message_chunk"]
    assert [update["content"] for update in shown[1:]] == [*blocks, blocks[1]]


# At the end of a turn.


class Chunks:
    """A model whose every answer is `count` chunks. `moment(call, number)` runs before each of them, before the end
    (`count`), and once more when all is sent. Where the conversation ends in a prompt with `read` in it, it reads a
    file first."""

    def __init__(self, count: int, moment: Callable[[int, int], None]) -> None:
        self.count, self.moment = count, moment
        self.call = 0

    def __call__(self, request: Request) -> Raw:
        self.call += 1
        reads = request.messages[-1]["role"] == "user" and "read" in request.messages[-1]["content"]
        return Raw(self._pieces(self.call, reads))

    def _pieces(self, call: int, reads: bool) -> Iterator[bytes]:
        for number in range(self.count):
            self.moment(call, number)
            yield _delta({"content": f"c{call}.{number} "})
        if reads:
            function = {"name": "read_file", "arguments": json.dumps({"path": "README.md"})}
            yield _delta({"tool_calls": [{"index": 0, "id": f"call_{call}", "function": function}]})
        self.moment(call, self.count)
        yield _delta({}, "tool_calls" if reads else "stop") + b"data: [DONE]\n\n"
        self.moment(call, self.count + 1)


def _delta(delta: Message, reason: str | None = None) -> bytes:
    return b"data: %b\n\n" % json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}).encode()


@pytest.mark.parametrize("chunk", [0, 1, 2, 3])
def test_during_the_last_text_it_makes_for_one_more_call(
    agent: StartAgent, serve: Any, workspace: Path, chunk: int
) -> None:
    answers = []

    def moment(call: int, number: int) -> None:
        if (call, number) == (1, chunk):
            answers.append(one.response(steer(one, session, "use email")))

    server: ModelServer = serve(Chunks(3, moment))
    one = agent()
    session = one.new_session(workspace)
    updates, answer = one.prompt(session, "greet")
    assert [answer["result"] for answer in answers] == [{}]
    assert answer["result"] == {"stopReason": "end_turn"}
    assert text_in(updates) == "c1.0 c1.1 c1.2 c2.0 c2.1 c2.2 "
    assert [len(said_by_person(request)) for request in server.requests] == [1, 2]


def test_it_takes_no_step_from_the_turn(agent: StartAgent, serve: Any, workspace: Path) -> None:
    """Two calls are allowed and two are needed; guidance for the first adds none."""

    def moment(call: int, number: int) -> None:
        if (call, number) == (1, 1):
            one.response(steer(one, session, "use email"))

    server: ModelServer = serve(Chunks(2, moment), limits={"turn_requests": 2})
    one = agent()
    session = one.new_session(workspace)
    assert one.prompt(session, "read")[1]["result"] == {"stopReason": "end_turn"}
    assert [len(said_by_person(request)) for request in server.requests] == [1, 2]


CALL = {"index": 0, "id": "call_1", "function": {"name": "read_file", "arguments": '{"path": "README.md"}'}}
# How the model's first answer ends, and how the prompt then does.
LEFT: dict[str, tuple[bytes | Stall | int, Message]] = {
    "cancelled": (Stall(), {"result": {"stopReason": "cancelled"}}),
    "closed": (Stall(), {"result": {"stopReason": "cancelled"}}),
    "refused": (_delta({}, "content_filter"), {"result": {"stopReason": "refusal"}}),
    "cut": (_delta({}, "length"), {"result": {"stopReason": "max_tokens"}}),
    "out of calls": (_delta({"tool_calls": [CALL]}, "tool_calls"), {"result": {"stopReason": "max_turn_requests"}}),
    "out of calls with its last word": (_delta({}, "stop"), {"result": {"stopReason": "max_turn_requests"}}),
    "failed": (400, {"error": -32603}),
}


class OneAnswer:
    """A model that answers once with `end`, after `go_on`; from then on it greets."""

    def __init__(self, end: bytes | Stall | int) -> None:
        self._end: bytes | Stall | int | None = end
        self.asked, self.go_on = threading.Event(), threading.Event()

    def __call__(self, request: Request) -> Raw:
        end, self._end = self._end, None
        if end is None:
            return Raw([_delta({"content": "Hello."}, "stop")])
        self.asked.set()
        assert self.go_on.wait(60)
        if isinstance(end, int):
            return Raw([b'{"error": {"message": "no"}}'], end, {"Content-Type": "application/json"})
        return Raw([_delta({"content": "Well. "}), end])


@pytest.mark.parametrize("end", LEFT)
def test_what_came_too_late_is_shown_and_kept(agent: StartAgent, serve: Any, workspace: Path, end: str) -> None:
    final, expected = LEFT[end]
    model = OneAnswer(final)
    server: ModelServer = serve(model, limits={"turn_requests": 1})
    one = agent()
    session = one.new_session(workspace)
    prompt = one.start_prompt(session, "greet")
    assert model.asked.wait(60)
    image = {"type": "image", "data": PNG, "mimeType": "image/png"}
    for content in (["use email"], ["see", image]):
        assert one.response(steer(one, session, *content))["result"] == {}
    model.go_on.set()
    if end == "cancelled":
        one.notify("session/cancel", {"sessionId": session})
    elif end == "closed":
        one.call("session/close", {"sessionId": session})
    answer = one.response(prompt)
    assert {"result": answer["result"]} if "result" in answer else {"error": answer["error"]["code"]} == expected
    shown = text_in(updates_in(one.messages[: one.transcript.responses[int, prompt]], session))
    notices = [f"{NOT_USED}use email\n\n", f"{NOT_USED}see [attachment]\n\n"]
    assert [shown.count(line) for line in notices] == [1, 1]
    if end != "closed":
        one.call("session/close", {"sessionId": session})
    again = text_in(replayed(one, session, workspace))
    assert [again.count(line) for line in notices] == [1, 1]
    one.prompt(session, "greet")
    assert "use email" not in json.dumps(server.requests[-1].messages)


TURNS = 50


class Guidance:
    """One piece of guidance: sent at `moment` of its turn, with a cancel in the same write if `cancels`."""

    def __init__(self, number: int, chance: random.Random) -> None:
        self.words = f"guidance {number}."
        self.prompt = f"{chance.choice(('read', 'talk'))} {number}."
        calls = 2 if self.prompt.startswith("read") else 1
        self.moment = chance.randint(1, calls), chance.randint(0, 4)
        self.waits, self.cancels = chance.random() < 0.5, chance.random() < 0.2
        self.id = self.sent_during = 0
        self.sent = threading.Event()


class Guide:
    """Prompts `TURNS` times, and sends each turn's guidance at its moment, from the thread that plays the model."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.guidance = [Guidance(number, chance) for number in range(TURNS)]
        self.model = Chunks(3, self._pass)
        self.agent: Agent
        self.session = ""
        self._now, self._first_call = self.guidance[0], 0

    def play(self) -> None:
        for now in self.guidance:
            self._now, self._first_call = now, self.model.call
            answer = self.agent.prompt(self.session, now.prompt)[1]
            assert answer["result"]["stopReason"] in ("end_turn", "cancelled" if now.cancels else "end_turn")
            assert now.sent.wait(60)  # the last moment comes when all was answered

    def _pass(self, call: int, number: int) -> None:
        if (call - self._first_call, number) == self._now.moment and not self._now.id:
            self._send(self._now)

    def _send(self, now: Guidance) -> None:
        params = {"sessionId": self.session, "prompt": [{"type": "text", "text": now.words}]}
        request = self.agent.make_request(STEER, params)
        cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": self.session}}
        now.id, now.sent_during = request["id"], self.model.call
        self.agent.send(request, *([cancel] if now.cancels else []))
        now.sent.set()
        if now.waits:
            self.agent.response(now.id)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_fifty_at_random_moments_of_fifty_turns(agent: StartAgent, serve: Any, workspace: Path, seed: int) -> None:
    """Each is in the next request and no other, or shown and kept, or refused: none is lost, none doubled."""
    guide = Guide(seed)
    server: ModelServer = serve(guide.model)
    one = guide.agent = agent()
    session = guide.session = one.new_session(workspace)
    guide.play()
    one.prompt(session, "the end.")
    live = text_in(one.updates(session))
    one.call("session/close", {"sessionId": session})
    again = replayed(one, session, workspace)
    kept = [update["content"]["text"] for update in again if update["sessionUpdate"] == "user_message_chunk"]
    read = [[text.rpartition("\n")[2] for text in said_by_person(request)] for request in server.requests]
    fates = set()
    for now in guide.guidance:
        answer = one.response(now.id)
        shown = f"{NOT_USED}{now.words}\n\n"
        counts = (read[-1].count(now.words), kept.count(now.words), live.count(shown), text_in(again).count(shown))
        if "error" in answer:
            assert (answer["error"]["code"], counts) == (-32600, (0, 0, 0, 0)), now.words
            fates.add("refused")
        elif counts[0]:
            assert counts == (1, 1, 0, 0), now.words
            first = next(number for number, texts in enumerate(read, 1) if now.words in texts)
            late = now.moment[1] == guide.model.count + 1  # then the next call may be on its way already
            assert first in range(now.sent_during + 1, now.sent_during + 2 + late) or not now.waits, now.words
            fates.add("read")
        else:
            assert counts == (0, 0, 1, 1), now.words
            fates.add("shown")
    assert fates >= {"read", "shown"}
    assert [text for text in kept if not text.startswith("guidance")] == [
        *(now.prompt for now in guide.guidance),
        "the end.",
    ]
