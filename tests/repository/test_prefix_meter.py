"""The metering proxy passes everything on as it is, and reports whatever breaks a prefix."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from tests.model_server import ModelServer, Raw, Request
from tests.repository.sources import ROOT

Body = dict[str, Any]
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("read", "write")]


def user(text: str) -> Body:
    return {"role": "user", "content": text}


def reply(text: str) -> Body:
    return {"role": "assistant", "content": text}


TALK = [user("Look at it."), reply("I see."), user("And now?"), reply("Still there."), user("Thanks.")]


def chat(*messages: Body, system: str = "You help.", tools: list[Body] = TOOLS, **more: Any) -> bytes:
    said = [{"role": "system", "content": system}, *messages]
    return json.dumps({"model": "m", "tools": tools, "messages": said, **more}).encode()


class Metered:
    """The proxy as a process, before a server that answers whatever `answer` says, or before `upstream`."""

    def __init__(self, answer: Callable[[Request], Raw], upstream: str | None = None) -> None:
        self.server = ModelServer(answer)
        command = [sys.executable, str(ROOT / "tools" / "prefix_meter.py"), "--report", "json"]
        self._process = subprocess.Popen(
            [*command, "--upstream", upstream or f"{self.server.base_url}/"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stderr is not None
        self.said = self._process.stderr.readline()
        self.port = int(self.said.split("http://127.0.0.1:")[1].split()[0])

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def post(self, body: Any, path: str = "/chat/completions", **headers: str) -> bytes:
        """Send a request; what it is answered with."""
        with contextlib.closing(self.connect()) as connection:
            connection.request("POST", path, body, headers)
            return connection.getresponse().read()

    def report(self, end: signal.Signals | None = None) -> Body:
        """End the proxy, by closing its stdin or by a signal; its report."""
        if end is not None:
            self._process.send_signal(end)
        told, complaint = self._process.communicate(timeout=60) if end is None else self._leave_open()
        assert (self._process.returncode, complaint) == (0, "")
        report: Body = json.loads(told)
        return report

    def _leave_open(self) -> tuple[str, str]:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        ended = self._process.stdout.read(), self._process.stderr.read()
        self._process.wait(20)
        return ended

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        self.server.close()


def answers(request: Request) -> Raw:
    return Raw([b"data: {}\n\n", b"data: [DONE]\n\n"])


@pytest.fixture
def metered() -> Iterator[Metered]:
    made = Metered(answers)
    yield made
    made.close()


def measure(metered: Metered, *bodies: bytes) -> Body:
    """The one conversation that these requests make."""
    for body in bodies:
        metered.post(body)
    (one,) = metered.report()["conversations"]
    assert one["requests"] == len(bodies)
    return dict(one)


def test_a_conversation_that_only_grows(metered: Metered) -> None:
    one = measure(metered, chat(*TALK[:1]), chat(*TALK[:3]), chat(*TALK[:3]), chat(*TALK))
    assert one["opening"] == '{"role": "user", "content": "Look at it."}'
    assert (one["models"], one["system_messages"], one["tool_lists"]) == (1, 1, 1)
    assert (one["pairs"], one["append_only_pairs"], one["append_only_share"], one["repeats"]) == (3, 3, 1.0, 1)
    assert one["first_break"] is None
    sizes = [len(json.dumps(part)) - 2 for part in (TALK[:1], TALK[:3], TALK[:3], TALK)]
    fixed = len(json.dumps(TOOLS)) + len('{"role": "system", "content": "You help."}')
    assert one["prompt_bytes"] == sum(sizes) + 4 * fixed
    assert one["cache_eligible_bytes"] == sum(sizes[:3]) + 3 * fixed
    assert one["cache_eligible_share"] == one["cache_eligible_bytes"] / one["prompt_bytes"]


def spaced(body: bytes) -> bytes:
    """The same JSON, other bytes."""
    return json.dumps(json.loads(body), separators=(",", ":")).encode()


def turned(message: Body) -> Body:
    """The same message, its keys the other way round."""
    return dict(reversed(message.items()))


START, GROWN = chat(*TALK[:3]), chat(*TALK)
BREAKS: dict[str, tuple[bytes, tuple[str, str, int | None]]] = {
    "another model": (chat(*TALK, model="n"), ("model", "changed", None)),
    "a changed system message": (chat(*TALK, system="You help!"), ("system", "changed", None)),
    "another order of tools": (chat(*TALK, tools=TOOLS[::-1]), ("tools", "changed", None)),
    "a tool more": (chat(*TALK, tools=[*TOOLS, TOOLS[0]]), ("tools", "changed", None)),
    "a rewritten message": (chat(TALK[0], reply("I saw."), *TALK[2:]), ("messages", "rewritten", 1)),
    "a rewritten first message": (chat(user("Look at it!"), *TALK[1:]), ("messages", "rewritten", 0)),
    "keys in another order": (chat(*TALK[:2], turned(TALK[2]), *TALK[3:]), ("messages", "rewritten", 2)),
    "a dropped first message": (chat(*TALK[1:]), ("messages", "dropped", 0)),
    "a dropped message": (chat(TALK[0], *TALK[2:]), ("messages", "dropped", 1)),
    "a dropped last message": (chat(*TALK[:2]), ("messages", "dropped", 2)),
    "a message put between": (chat(*TALK[:2], user("By the way"), *TALK[2:]), ("messages", "rewritten", 2)),
}


@pytest.mark.parametrize("what", BREAKS)
def test_what_breaks_a_prefix_is_told(metered: Metered, what: str) -> None:
    body, (part, how, message) = BREAKS[what]
    one = measure(metered, chat(*TALK[:1]), START, body)
    assert (one["pairs"], one["append_only_pairs"], one["append_only_share"]) == (2, 1, 0.5)
    broken = one["first_break"]
    assert (broken["request"], broken["part"], broken["how"], broken["message"]) == (2, part, how, message)
    assert broken["before"] != broken["after"]
    assert one["system_messages"] == 1 + (part == "system")
    assert one["tool_lists"] == 1 + (part == "tools")
    assert one["models"] == 1 + (part == "model")


def test_the_same_in_other_bytes(metered: Metered) -> None:
    one = measure(metered, START, spaced(GROWN))
    assert (one["system_messages"], one["tool_lists"], one["append_only_share"]) == (2, 2, 0.0)
    assert one["first_break"]["part"] == "tools"


def test_only_the_space_between_two_messages_differs(metered: Metered) -> None:
    between = b"}, " + json.dumps(TALK[1]).encode()
    one = measure(metered, START, GROWN.replace(between, between.replace(b", ", b",\n", 1), 1))
    assert (one["first_break"]["part"], one["first_break"]["how"]) == ("messages", "respaced")
    assert one["append_only_share"] == 0.0


def test_where_a_system_message_first_differs(metered: Metered) -> None:
    one = measure(metered, chat(*TALK[:1], system="Today is Monday."), chat(*TALK[:3], system="Today is Tuesday."))
    broken = one["first_break"]
    assert broken["at"] == len('{"role": "system", "content": "Today is ')
    assert broken["before"].endswith('Today is Monday."}')
    assert broken["after"].endswith('Today is Tuesday."}')
    share = one["cache_eligible_bytes"]
    assert share == len(json.dumps(TOOLS)) + broken["at"]


def test_the_system_message_of_anthropic_and_of_responses(metered: Metered) -> None:
    def body(system: str, count: int, names: tuple[str, str]) -> bytes:
        talk = [user(names[0]), reply(names[1]), *TALK][:count]
        return json.dumps({"model": "m", names[1]: talk, names[0]: system, "tools": TOOLS}).encode()

    for names in (("system", "messages"), ("instructions", "input")):
        for system, count in (("one", 1), ("one", 3), ("two", 5)):
            metered.post(body(system, count, names), "/v1/messages")
    metered.post(b'{"input": "words"}', "/v1/embeddings")
    report = metered.report()
    assert report["other_requests"] == 1
    for one in report["conversations"]:
        assert (one["requests"], one["system_messages"], one["append_only_pairs"]) == (3, 2, 1)
        assert one["first_break"]["part"] == "system"


def test_conversations_side_by_side(metered: Metered) -> None:
    context = user("The workspace is here.")  # which every session begins with
    talks = [[context, user(f"Session {number}"), reply(f"Yes {number}"), user("More")] for number in range(3)]
    title = chat(user("Session 0"), system="Give it a title.", tools=[])
    for body in (title, *(chat(*talk[:2]) for talk in talks), *(chat(*talk) for talk in talks[::-1])):
        metered.post(body)
    report = metered.report()
    assert [one["requests"] for one in report["conversations"]] == [1, 2, 2, 2]
    assert (report["pairs"], report["append_only_pairs"], report["system_messages"]) == (3, 3, 2)


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was sent."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Encoding", self.headers.get("Content-Encoding", "identity"))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


def test_packed_and_chunked_requests() -> None:
    with HTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        metered = Metered(answers, f"http://127.0.0.1:{server.server_port}")
        try:
            packed = gzip.compress(START)
            assert metered.post(packed, **{"Content-Encoding": "gzip"}) == packed
            assert metered.post(iter([GROWN[:10], GROWN[10:]])) == GROWN
            assert metered.post(b"not packed", **{"Content-Encoding": "gzip"}) == b"not packed"
            report = metered.report()
        finally:
            metered.close()
            server.shutdown()
    assert (report["pairs"], report["append_only_pairs"], report["other_requests"]) == (1, 1, 1)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_the_report(metered: Metered, end: signal.Signals) -> None:
    metered.post(START)
    assert metered.report(end)["requests"] == 1


def test_what_passes_is_unchanged(metered: Metered) -> None:
    body = b' {"messages":[{"role":"user","content":"\xc3\xbc \\u00fc"}],  "stream":true}'
    got = metered.post(body, "/chat/completions?a=b%20c", **{"X-Key": "k", "Accept-Encoding": "br"})
    assert got == b"data: {}\n\ndata: [DONE]\n\n"
    (request,) = metered.server.requests
    assert request.raw == body
    assert request.path == "/v1/chat/completions?a=b%20c"
    headers = {name.lower(): text for name, text in request.headers.items()}
    assert (headers["x-key"], headers["accept-encoding"]) == ("k", "br")
    assert headers["host"] == f"127.0.0.1:{metered.server.port}"


def test_other_methods_pass(metered: Metered) -> None:
    with contextlib.closing(metered.connect()) as connection:
        connection.request("GET", "/models")
        response = connection.getresponse()
        assert response.status == 200
        assert json.loads(response.read())["object"] == "list"
    report = metered.report()
    assert (report["requests"], report["other_requests"]) == (0, 1)


def test_pieces_come_as_they_are_sent() -> None:
    go_on = threading.Event()

    def pieces() -> Iterator[bytes]:
        yield b"data: 1\n\n"
        assert go_on.wait(60)
        yield b"data: 2\n\n"

    metered = Metered(lambda _: Raw(pieces()))
    try:
        with contextlib.closing(metered.connect()) as connection:
            connection.request("POST", "/chat/completions", START)
            response = connection.getresponse()
            assert response.readline() == b"data: 1\n"
            go_on.set()
            assert response.read() == b"\ndata: 2\n\n"
    finally:
        metered.close()


def test_a_client_that_hangs_up_ends_the_answer() -> None:
    from acpagent.providers.script import Stall

    metered = Metered(lambda _: Raw([b"data: 1\n\n", Stall()]))
    try:
        with contextlib.closing(metered.connect()) as connection:
            connection.request("POST", "/chat/completions", START)
            connection.getresponse().readline()
        metered.server.wait_for_hangup()
    finally:
        metered.close()


def test_a_server_that_resets_resets() -> None:
    from acpagent.providers.script import Drop

    metered = Metered(lambda _: Raw([b"data: 1\n\n", Drop("reset")]))
    try:
        with contextlib.closing(metered.connect()) as connection:
            connection.request("POST", "/chat/completions", START)
            with pytest.raises(ConnectionResetError):
                connection.getresponse().read()
    finally:
        metered.close()


def test_a_server_that_is_not_there(metered: Metered) -> None:
    metered.server.close()
    with contextlib.closing(metered.connect()) as connection:
        connection.request("POST", "/chat/completions", START)
        response = connection.getresponse()
        assert response.status == 502
        assert "cannot reach the server" in json.loads(response.read())["error"]["message"]


def test_the_report_as_text(metered: Metered) -> None:
    command = [sys.executable, str(ROOT / "tools" / "prefix_meter.py"), "--upstream", metered.server.base_url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        port = int(process.stderr.readline().decode().split("127.0.0.1:")[1].split()[0])
        for body in (START, BREAKS["another order of tools"][0]):
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
                connection.request("POST", "/chat/completions", body)
                connection.getresponse().read()
        told = process.communicate(timeout=60)[0].decode()
    assert "requests to a model: 2, conversations: 1" in told
    assert "append-only pairs     0 of 1 (0.00%)" in told
    assert "first break: request 1, tools changed at byte" in told


def test_a_server_that_no_url_names() -> None:
    command = [sys.executable, str(ROOT / "tools" / "prefix_meter.py"), "--upstream", "127.0.0.1:80"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "not an http or https URL" in done.stderr
