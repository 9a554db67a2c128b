"""How the process starts: flags, settings and surroundings, good and bad. Nothing is written to stdout before it is
clear that the agent can run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agent import ACPAGENT, text_in
from tests.conftest import Home, StartAgent
from tests.model_server import ModelServer

SCRIPT: dict[str, Any] = {
    "turns": [
        {
            "prompt": "work$",
            "replies": [
                [{"thought": "Hm."}, {"call": {"tool": "write_file", "args": {"path": "a", "content": "a\n"}}}],
                [{"call": {"tool": "bash", "args": {"command": "cat a"}}}],
                [{"text": "Done."}],
            ],
        },
        {"replies": [[{"text": "Hello."}]]},
    ]
}
GREETING = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
CANARY = "canary-4711"


def starts(home: Home, *arguments: str, env: dict[str, str] | None = None) -> tuple[int, bytes, str]:
    """Run the agent with a greeting on its stdin: exit code, stdout, stderr."""
    done = subprocess.run(
        [*ACPAGENT, *arguments], input=GREETING, capture_output=True, timeout=60, env={**home.env, **(env or {})}
    )
    return done.returncode, done.stdout, done.stderr.decode()


def refuses(home: Home, code: int, *arguments: str, env: dict[str, str] | None = None) -> str:
    """It must end with that code before the first byte; the one message."""
    found, out, said = starts(home, *arguments, env=env)
    assert (found, out) == (code, b"")
    assert all(line.startswith(("[acpagent acp] ", "/", "and ")) for line in said.splitlines())
    assert "Traceback" not in said
    return said


def test_without_a_provider_it_starts_and_says_what_is_missing(agent: StartAgent, home: Home, workspace: Path) -> None:
    one = agent("--model", "any")
    assert one.initialize()["protocolVersion"] == 1
    error = one.fail("session/new", {"cwd": str(workspace), "mcpServers": []})
    assert error["code"] == -32000
    assert "acpagent setup" in error["message"]
    assert one.call("session/list") == {"sessions": []}


def test_a_required_provider_that_is_missing(home: Home) -> None:
    said = refuses(home, 1, "--require-provider")
    assert said.count("\n") == 1
    assert "acpagent setup" in said
    home.configure({"language": "en"})
    refuses(home, 1, "--require-provider", "--model", "any")
    home.use_script(SCRIPT)
    code, out, said = starts(home, "--require-provider")
    assert (code, json.loads(out)["id"], said) == (0, 1, "")


SCRIPTED = "providers:\n  p: {api: scripted, script: hello.yaml}\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("providers: [\n", 2),
        ("- a list\n", 1),
        ("just text\n", 1),
        (SCRIPTED + "colour: red\n", 3),
        (SCRIPTED + "\n\ntool_approval: sometimes\n", 5),
        (SCRIPTED + "limits:\n  turn_requests: many\n", 4),
        (SCRIPTED + 'permissions:\n  deny:\n    - "Bash("\n', 5),
        ("providers:\n  p:\n    api: gopher\n", 3),
        ("providers:\n  p:\n    api: openai-chat\n    models: {m: {}}\n", 2),
        (SCRIPTED + "default_model: other/model\n", 3),
        (SCRIPTED + f"mcp_servers:\n  s: {{command: x, env: {{TOKEN: [{CANARY}]}}}}\n", 4),
        ("\tproviders: {}\n", 1),
        ("a: &x [*x]\n", 1),
    ],
)
def test_a_malformed_configuration_is_named_by_file_and_line(home: Home, text: str, line: int) -> None:
    (home.path / "config.yaml").write_text(text)
    said = refuses(home, 2)
    assert f"[acpagent acp] {home.path / 'config.yaml'}:{line}:" in said
    assert CANARY not in said


def test_a_configuration_that_breaks_later_is_found_at_the_next_start(
    agent: StartAgent, home: Home, workspace: Path
) -> None:
    home.use_script(SCRIPT)
    one = agent()
    one.initialize()
    (home.path / "config.yaml").write_text("colour: red\n")
    for flags in ([], [], ["--require-provider"], ["--model", "nope"]):  # no copy of an earlier start hides it
        assert "config.yaml:1:" in refuses(home, 2, *flags)
    home.use_script(SCRIPT)
    assert starts(home)[0] == 0
    # What it read at the first need is what it works with.
    assert text_in(one.prompt(one.new_session(workspace), "hi")[0]) == "Hello."


def test_a_rule_that_cannot_be_understood(agent: StartAgent, home: Home) -> None:
    home.use_script(SCRIPT, permissions={"deny": ["Edit( )"]})
    one = agent(exit_code=2)
    one.wait_exit()
    assert one.messages == []
    assert "config.yaml:" in one.stderr()
    assert "Edit( )" in one.stderr()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--model", "nope"], "--model: no model 'nope' is configured"),
        (["--model=p/nope"], "--model: no model 'p/nope'"),
        (["--model", "same"], "several providers"),
        (["--model"], "--model needs a value"),
        (["--model", ""], "--model"),
        (["--profile", "fast"], "--profile must be one of economy, balanced, delivery"),
        (["--profile"], "--profile needs a value"),
        (["--verbose"], "unknown option --verbose"),
        (["--require-provider=yes"], "unknown option --require-provider"),
        (["session"], "unknown option session"),
    ],
)
def test_a_bad_flag(home: Home, flags: list[str], words: str) -> None:
    provider = {"api": "openai-chat", "base_url": "http://127.0.0.1:9/v1"}
    providers = {name: {**provider, "models": {"same": {}, name: {}}} for name in ("p", "q")}
    home.configure({"providers": providers})
    assert words in refuses(home, 2, *flags)


@pytest.mark.parametrize(("flag", "model"), [("q", "one"), ("two", "two"), ("p/one", "one"), (None, "one")])
def test_the_model_of_the_flag_is_used(
    agent: StartAgent, home: Home, workspace: Path, flag: str | None, model: str
) -> None:
    with ModelServer(SCRIPT) as first, ModelServer(SCRIPT) as second:
        providers = {
            name: {"api": "openai-chat", "base_url": server.base_url, "models": {"one": {}, extra: {}}}
            for name, server, extra in (("p", first, "two"), ("q", second, "three"))
        }
        home.configure({"providers": providers})
        one = agent(*([] if flag is None else [f"--model={flag}"]))
        one.prompt(one.new_session(workspace), "hi")
        used, other = (second, first) if flag == "q" else (first, second)
        assert [request.body["model"] for request in used.requests] == [model]
        assert other.requests == []


@pytest.mark.parametrize("profile", ["economy", "balanced", "delivery", "lite", "Quality"])
def test_every_profile_is_taken(home: Home, profile: str) -> None:
    home.use_script(SCRIPT)
    assert starts(home, "--profile", profile)[0] == 0
    assert starts(home, f"--profile={profile}", "--require-provider")[0] == 0


def test_a_script_that_is_gone_is_named(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script("nope.yaml")
    one = agent()
    one.initialize()
    error = one.fail("session/new", {"cwd": str(workspace), "mcpServers": []})
    assert error["code"] == -32603
    assert "nope.yaml" in error["message"]
    assert "\n" not in error["message"]


@pytest.mark.parametrize("place", ["a file", "a file/below", "folder with a folder for the file"])
def test_a_home_that_cannot_be(home: Home, place: str) -> None:
    (home.path / "a file").write_text("")
    (home.path / "folder with a folder for the file" / "config.yaml").mkdir(parents=True)
    path = home.path / place
    said = refuses(home, 2, env={"ACPAGENT_HOME": str(path)})
    assert f"{path / 'config.yaml'}: cannot be read" in said


def test_the_home_that_cannot_be_made(agent: StartAgent, home: Home, workspace: Path) -> None:
    """What the file system refuses is told when it is needed, and the process lives on."""
    home.use_script(SCRIPT)
    one = agent(env={"ACPAGENT_HOME": "/proc/acpagent"}, exit_code=0)
    one.initialize()
    for _ in range(2):
        error = one.fail("session/new", {"cwd": str(workspace), "mcpServers": []})
        assert error["code"] in (-32000, -32603)


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "0<&- 1>&-"])
def test_without_stdin_or_stdout_there_is_nobody_to_talk_to(home: Home, closed: str) -> None:
    command = f'exec "$0" -m acpagent acp {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable], env=home.env, stdin=subprocess.DEVNULL, capture_output=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"[acpagent acp] stdin and stdout must be open")
    assert done.stderr.count(b"\n") == 1


def test_without_stderr_it_works(home: Home) -> None:
    home.use_script(SCRIPT)
    command = 'exec "$0" -m acpagent acp 2>&-'
    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable],
        env=home.env,
        input=GREETING + b'{"jsonrpc":"2.0","id":2,"method":"session/list"}\n',
        capture_output=True,
    )
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
    assert done.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_TRN_14_a_signal_while_it_warms_up(agent: StartAgent, home: Home, number: signal.Signals) -> None:
    home.use_script(SCRIPT)
    one = agent()
    one.initialize()
    one.process.signal(number)
    assert one.wait_exit() == 0
    assert one.stderr() == ""


@pytest.mark.parametrize("sent", [b"", b"\n", GREETING, GREETING.rstrip(), b'{"jsonrpc'])
def test_TRN_12_the_input_ends_at_once(home: Home, sent: bytes) -> None:
    home.use_script(SCRIPT)
    done = subprocess.run(ACPAGENT, input=sent, capture_output=True, timeout=20, env=home.env)
    told = b"[acpagent acp] -32700 the line is not valid JSON\n" if sent[-1:] == b"c" else b""
    assert (done.returncode, done.stderr) == (0, told)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == ([] if not sent.strip() else [None if sent[-1:] == b"c" else 1])


def test_an_unwritable_trace_is_told_at_once(home: Home) -> None:
    home.use_script(SCRIPT)
    assert "ACPAGENT_TRACE" in refuses(home, 2, env={"ACPAGENT_TRACE": "/nowhere/trace"})


def test_the_trace_holds_every_line_and_no_secret(agent: StartAgent, home: Home, workspace: Path) -> None:
    home.use_script(SCRIPT)
    path = home.path / "trace"
    one = agent(env={"ACPAGENT_TRACE": str(path), "ACPAGENT_VALIDATE": "all"})
    one.initialize()
    env = [{"name": "TOKEN", "value": CANARY}]
    headers = [{"name": "Authorization", "value": CANARY}]
    servers = [
        {"name": "s", "command": "/x", "args": [], "env": env},
        {"type": "http", "name": "h", "url": "http://x", "headers": headers},
    ]
    session = one.new_session(workspace, mcpServers=servers)
    assert text_in(one.prompt(session, "do the work", permission="once")[0]).endswith("Done.")
    one.send_raw(b'{"%s\n' % CANARY.encode())
    one.call("session/list")
    one.close()
    text = path.read_text()
    assert CANARY not in text
    entries = [json.loads(line) for line in text.splitlines()]
    assert len([entry for entry in entries if entry.get("to") == "out"]) == len(one.lines)
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_help_goes_to_stdout(home: Home) -> None:
    for flag in ("-h", "--help"):
        done = subprocess.run([*ACPAGENT, flag], env=home.env, capture_output=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0
        assert b"--require-provider" in done.stdout
        assert done.stderr == b""
