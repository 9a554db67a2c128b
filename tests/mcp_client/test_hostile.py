"""Servers that do everything wrong harm nobody: not the session, not each other, not our stdout."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acpagent.core.toolcalls import ToolRefusal
from acpagent.mcp_client.spec import ServerSpec, read
from tests.mcp_client.bench import Bench, bench, plain


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as made:
        yield made


def start_failure(one: Bench, spec: ServerSpec) -> str:
    """Why a server does not come up; a good one beside it does."""
    one.open(spec, plain("good"))
    found = one.notice("mcp_failed")
    assert found["server"] == spec.name
    assert one.states() == {spec.name: "failed", "good": "ready"}
    assert one.call("mcp__good__pid").text.isdecimal()
    cause: str = found["cause"]
    return cause


def program(name: str, *argv: str, **more: Any) -> ServerSpec:
    return read({"name": name, "command": argv[0], "args": list(argv[1:]), **more})


@pytest.mark.parametrize(
    ("argv", "cause"),
    [
        (["/nope/nothing"], "its command was not found"),
        (["nothing-of-this-name"], "its command was not found"),
        (["/etc/passwd"], "its command may not be run"),
        (["true"], "it ended with exit code 0"),
        (["false"], "it ended with exit code 1"),
        (["sh", "-c", "kill -9 $$"], "it died of SIGKILL"),
        (["sh", "-c", "exec >&-; sleep 60"], "it closed its output"),
    ],
)
def test_programs_that_are_no_servers(one: Bench, argv: list[str], cause: str) -> None:
    assert start_failure(one, program("bad", *argv)) == cause


def test_one_that_echoes(one: Bench) -> None:
    """Our own requests come back: they are answered with an error, and so is ours."""
    assert start_failure(one, program("bad", "cat"))


def test_a_directory_that_is_gone(one: Bench) -> None:
    assert start_failure(one, program("bad", "true", cwd="/nope")) == "the working directory is gone"


def test_one_that_never_answers(one: Bench) -> None:
    assert not one.open(plain("bad", "silent", startup_timeout_seconds=2), plain("good"), seconds=0.3)
    assert one.states()["bad"] == "starting"  # nobody waited for its end
    assert one.notice("mcp_failed") == {"server": "bad", "cause": "it did not get ready within 2 s"}


def test_one_that_prints_garbage_before_its_first_message(one: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    one.open(plain("a", "garbage"))
    assert one.call("mcp__a__pid").text.isdecimal()
    assert one.line("stdout") == "a: prints on stdout what is no message"
    assert capfd.readouterr() == ("", "")


def test_one_that_prints_nothing_but_garbage(one: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    assert start_failure(one, plain("bad", "flood")) == "it prints what is no MCP message"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("how", ["die", "half"])
def test_one_that_dies_in_the_middle_of_a_call(one: Bench, how: str) -> None:
    one.open(plain("bad"), plain("good"))
    started = time.monotonic()
    with pytest.raises(ToolRefusal, match=r"^The MCP server bad: "):
        one.call(f"mcp__bad__{how}")
    assert time.monotonic() - started < 60  # a call may take five minutes
    assert one.call("mcp__good__pid").text.isdecimal()
    assert one.call("mcp__bad__pid").text.isdecimal()


def test_a_result_of_twenty_megabytes(one: Bench) -> None:
    one.open(plain("bad"))
    result = one.call("mcp__bad__huge", one.context(limit=5000), mib=20)
    assert len(result.text) <= 5000
    assert "bytes left out" in result.text
    assert result.facts["original_characters"] == 20 << 20


def test_a_result_that_is_more_than_anybody_should_hold(one: Bench) -> None:
    one.open(plain("bad"))
    with pytest.raises(ToolRefusal, match="the answer is larger than 32 MiB"):
        one.call("mcp__bad__huge", mib=40)
    assert one.line("32 MiB")
    assert one.call("mcp__bad__pid").text.isdecimal()


def test_a_result_that_makes_no_sense(one: Bench) -> None:
    one.open(plain("bad"))
    with pytest.raises(ToolRefusal, match="it answered with what is no MCP result"):
        one.call("mcp__bad__odd")
    assert one.call("mcp__bad__pid").text.isdecimal()


def test_stderr_is_bounded_and_nobody_waits_for_it(one: Bench) -> None:
    noise = "import sys\nfor n in range(20000): sys.stderr.write('x' * 100 + chr(27) + '[31m\\n')\n"
    one.open(program("bad", sys.executable, "-c", noise))
    one.close()
    said = 0
    while not one.lines.empty():
        line = one.lines.get()
        assert "\x1b" not in line
        said += len(line)
    assert 0 < said < 80_000


@contextmanager
def answering(status: int, body: bytes = b"{}", kind: str = "application/json") -> Iterator[str]:
    """An address that answers everything the same."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = answer

        def log_message(self, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("kind", ["http", "sse"])
@pytest.mark.parametrize(("status", "body"), [(500, b"oops"), (404, b"none"), (200, b"<html>"), (200, b"{}")])
def test_addresses_that_are_no_servers(one: Bench, kind: str, status: int, body: bytes) -> None:
    with answering(status, body) as url:
        spec = read({"name": "bad", "type": kind, "url": f"{url}?key=opensesame", "headers": {"X-Key": "opensesame"}})
        assert "opensesame" not in start_failure(one, spec)


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_nobody_at_the_address(one: Bench, kind: str) -> None:
    spec = read({"name": "bad", "type": kind, "url": "http://127.0.0.1:9/mcp"})
    assert start_failure(one, spec) == "it could not be reached"


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_one_that_wants_a_sign_in(one: Bench, kind: str) -> None:
    with answering(401) as url:
        one.open(read({"name": "bad", "type": kind, "url": url}), plain("good"))
        assert one.notice("mcp_sign_in") == {"server": "bad", "cause": "it wants you to sign in"}
        assert one.pool.status()[0].sign_in


def test_an_answer_over_http_that_is_too_large(one: Bench) -> None:
    with answering(200, b'{"x": "' + b"y" * (33 << 20) + b'"}') as url:
        spec = read({"name": "bad", "type": "http", "url": url})
        assert "32 MiB" in start_failure(one, spec)


def test_nothing_of_it_reaches_our_own_streams(tmp_path: Path) -> None:
    """Neither the package's logging nor a server writes to stdout or, but for its remarks, stderr."""
    code = (
        "from pathlib import Path\nfrom tests.mcp_client.bench import bench, plain\n"
        f"with bench(Path({str(tmp_path)!r})) as one:\n"
        "    one.open(plain('a', 'garbage'), plain('b', 'flood'))\n"
        "    try:\n        one.call('mcp__a__odd')\n    except Exception as error:\n        print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "The MCP server a: it answered with what is no MCP result.\n"
    assert found.stderr == ""
