from __future__ import annotations

import http.client
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests import model_server
from tests.model_server import ModelServer


def post(port: int, body: Any) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/v1/chat/completions", json.dumps(body))
    response = connection.getresponse()
    data = response.read()
    connection.close()
    return response, data


BODY = {"model": "m", "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}]}


def test_the_dialect() -> None:
    script = {"turns": [{"replies": [[{"thought": "t"}, {"text": "a"}, {"call": {"tool": "ls"}}]]}]}
    with ModelServer(script) as server:
        response, data = post(server.port, {**BODY, "stream_options": {"include_usage": True}})
    assert response.headers["Content-Type"].startswith("text/event-stream")
    lines = data.decode().split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
    assert [chunk["choices"][0]["delta"] for chunk in chunks[:-1]] == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "t"},
        {"content": "a"},
        {
            "tool_calls": [
                {"index": 0, "id": "call_1_0", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
            ]
        },
        {},
    ]
    assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] > 0


def test_usage_only_on_request() -> None:
    with ModelServer({"turns": [{"replies": [[{"text": "a"}]]}]}) as server:
        assert b'"usage"' not in post(server.port, BODY)[1]


def test_an_error_with_a_time_to_wait() -> None:
    error = {"status": 429, "message": "slow", "retry_after": 2}
    with ModelServer({"turns": [{"replies": [[{"error": error}]]}]}) as server:
        response, data = post(server.port, BODY)
    assert (response.status, response.headers["Retry-After"]) == (429, "2")
    assert json.loads(data)["error"]["message"] == "slow"


def test_closing_ends_what_is_being_answered() -> None:
    with ModelServer({"turns": [{"replies": [["stall"]]}]}) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("POST", "/v1/chat/completions", json.dumps(BODY))
        assert server.wait_for_request().body == BODY
    connection.close()
    assert server.hangups == 0


def test_as_a_program(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("turns:\n  - replies: [[text: from a file]]\n")
    command = [sys.executable, str(model_server.__file__), "mine.yaml"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        port = int(process.stdout.readline())
        assert b"from a file" in post(port, BODY)[1]
        process.stdin.close()
        assert process.wait(20) == 0
