"""`/mcp` at the wire: how servers do, starting and stopping them, signing in, and secrets that stay secret."""

from __future__ import annotations

import os
import re
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.mcp import notice, plain, says, settle
from tests.acp.seen import call_in, calls, turn
from tests.acp.seen import says as replies
from tests.acp.served import Served, served
from tests.agent import Agent, text_in, updates_in
from tests.mcp_client.bench import over_http

SCRIPT: dict[str, Any] = {
    "turns": [
        turn(r"\bpid$", calls("mcp__one__pid"), replies("Done.")),
        turn(r"\blog$", calls("mcp__locked__log"), replies("Done.")),
        turn("", replies("Hello.")),
    ]
}
SECRET = "s3cr3t-Valu3"


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("command"), SCRIPT, tool_approval="yolo") as made:
        yield made


def test_status_stop_start_restart(one: Served) -> None:
    session = one.new(mcpServers=[plain("one"), {"name": "gone", "command": "/nope", "args": [], "env": []}])
    settle(one, session, ["mcp__one__pid"])
    assert notice(one.agent, session, "gone does not run")
    status = says(one, session, "/mcp")
    assert "MCP servers: 2, ready: 1." in status
    assert "- `one` (stdio, from the client): ready; tools 6, prompts 0, resources 0" in status
    assert "- `gone` (stdio, from the client): failed; its command was not found" in status
    before = call_in(one.prompt(session, "pid")).text
    assert "stopped until" in says(one, session, "/mcp stop one")
    settle(one, session, [], ["mcp__one__pid"])
    assert "`one` (stdio, from the client): stopped" in says(one, session, "/mcp status")
    assert "being started" in says(one, session, "/mcp start one")
    settle(one, session, ["mcp__one__pid"])
    started = call_in(one.prompt(session, "pid")).text
    assert started != before
    assert "started anew" in says(one, session, "/mcp restart one")
    settle(one, session, ["mcp__one__pid"])
    assert call_in(one.prompt(session, "pid")).text not in (before, started)
    for words, answer in (("dance", "There is no `/mcp dance`"), ("start", "Name the server"),
                          ("stop nobody", "no MCP server"), ("auth login one", "nobody signs in to"),
                          ("auth", "There are `/mcp auth"),
                          ("auth login", "Name the server"), ("secret", "A secret has a name")):  # fmt: skip
        assert answer in says(one, session, f"/mcp {words}")
    assert "has no MCP servers" in says(one, one.new(), "/mcp")


def test_reload_reads_the_settings_of_all_servers_anew(one: Served) -> None:
    session = one.new()
    one.prompt(session, "hello")
    config = one.home.path / "config.yaml"
    (line,) = [line for line in config.read_text().splitlines() if line.startswith('  "default_model"')]
    server = plain("one")
    added = f'  "mcp_servers": {{"one": {{"command": "{server["command"]}", "args": {server["args"]!r}}}}},\n'
    config.write_text(config.read_text().replace(line, added.replace("'", '"') + line))
    assert "read anew" in says(one, session, "/mcp reload")
    settle(one, session, ["mcp__one__pid"])
    pid = call_in(one.prompt(session, "pid")).text
    says(one, session, "/mcp reload")
    assert call_in(one.prompt(session, "pid")).text == pid
    assert "from config.yaml" in says(one, session, "/mcp")


@pytest.mark.parametrize("form", ["text", "capitals", "command", "spaces", "forgotten word"])
def test_a_secret_is_nowhere_but_in_its_file(one: Served, tmp_path: Path, form: str) -> None:
    trace, secret = tmp_path / "trace", f"s3cr3t-{form.title().replace(' ', '')}"
    env = one.home.env | {"ACPAGENT_TRACE": str(trace), "ACPAGENT_LOG": "debug"}
    agent = Agent(cwd=one.home.path, env=env)
    try:
        session = agent.new_session(one.workspace)
        words = f"secret set TOKEN {secret}"
        if form == "command":
            params = {"sessionId": session, "prompt": [], "command": {"name": "mcp", "args": words}}
            agent.call("session/prompt", params)
        else:
            spelled = {"capitals": f"/mcp Secret set TOKEN {secret}", "spaces": f" /mcp  secret\tset \nTOKEN  {secret}",
                       "forgotten word": f"/mcp secret TOKEN {secret}"}  # fmt: skip
            updates, _ = agent.prompt(session, spelled.get(form, f"/mcp {words}"))
            assert ("is kept" in text_in(updates)) is (form != "forgotten word")
            assert secret not in str(updates)
        agent.prompt(session, "hello")
        agent.prompt(session, "/mcp secret list")
        agent.call("session/close", {"sessionId": session})
        since = len(agent.messages)
        agent.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
        assert "/mcp" in text_in(updates_in(agent.messages[since:], session), "user_message_chunk")
        assert secret not in str(agent.messages)
        assert secret not in str(agent.call("session/list"))
    finally:
        agent.close()
    assert secret not in agent.stderr()
    assert secret.encode() not in b"".join(request.raw for request in one.server.requests)
    holding = [path for path in (*_files(one.home.path), trace) if secret.encode() in path.read_bytes()]
    assert [path.name for path in holding] == ([] if form == "forgotten word" else ["secrets.json"])
    assert [oct(path.stat().st_mode & 0o777) for path in holding] in ([], ["0o600"])
    assert trace.stat().st_size > 1000


def _files(folder: Path) -> list[Path]:
    return [Path(where, name) for where, _, names in os.walk(folder) for name in names]


def test_a_secret_is_filled_into_settings_and_never_told(tmp_path: Path) -> None:
    server = plain("one", "${TOKEN}")
    mine = {"one": {"command": server["command"], "args": server["args"], "env": {"KEY": "${TOKEN}"}}}
    with served(tmp_path, SCRIPT, mcp_servers=mine, tool_approval="yolo") as one:
        session = one.new()
        assert "the variable TOKEN is not set" in notice(one.agent, session, "TOKEN")
        says(one, session, f"/mcp secret set TOKEN {SECRET}")
        says(one, session, "/mcp reload")
        settle(one, session, ["mcp__one__pid"])
        assert "`TOKEN`" in says(one, session, "/mcp secret list")
        assert "is forgotten" in says(one, session, "/mcp secret unset TOKEN")
        assert "no secret `TOKEN`" in says(one, session, "/mcp secret unset TOKEN")
        assert SECRET not in str(one.agent.messages)


def test_signing_in_and_out(one: Served) -> None:
    with over_http("http", "guarded.py") as url:
        session = one.new(mcpServers=[{"name": "locked", "type": "http", "url": url, "headers": []}])
        assert "sign in" in notice(one.agent, session, "locked cannot be used yet")
        assert "`/mcp auth login locked`" in says(one, session, "/mcp auth status locked")
        since, id = len(one.agent.messages), one.agent.start_prompt(session, "/mcp auth login locked")

        def address(messages: list[Any]) -> str | None:
            found = re.search(r"http://\S+", text_in(updates_in(messages[since:], session)))
            return found[0] if found else None

        where = one.agent.wait_until(address, "an address")
        browser = threading.Thread(target=lambda: urllib.request.urlopen(where, timeout=20).close())
        browser.start()
        one.agent.response(id)
        browser.join()
        settle(one, session, ["mcp__locked__log"])
        assert "authorize" in call_in(one.prompt(session, "log")).text
        (token,) = [path for path in _files(one.home.path) if "oauth" in str(path) or "tokens" in str(path)]
        assert oct(token.stat().st_mode & 0o777) == "0o600"
        assert "Signed out" in says(one, session, "/mcp auth logout locked")
        assert not token.exists()
        settle(one, session, [], ["mcp__locked__log"])
        one.agent.call("session/close", {"sessionId": session})
