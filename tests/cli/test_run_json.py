"""`acpagent run --json`: lines for programs, and exit codes that say the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminals import ACPAGENT, Terminal, call
from tests.conftest import Home

EDIT = {"call": {"tool": "edit_file", "args": {"path": "src/greeter.py", "old": "hello", "new": "good day"}}}


def script(*replies: list[Any]) -> dict[str, Any]:
    return {"turns": [{"replies": list(replies)}]}


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_updates_and_the_outcome(home: Home, workspace: Path) -> None:
    home.use_script(script([{"text": "Grüße \u2028."}, EDIT], [{"text": "Done."}]), tool_approval="auto")
    done = call(["run", "--json", "Be polite"], home.env, workspace)
    assert (done.returncode, done.stderr) == (0, "")
    *updates, last = lines(done.stdout)
    assert all("sessionUpdate" in update for update in updates)
    assert {"agent_message_chunk", "tool_call", "tool_call_update"} <= {update["sessionUpdate"] for update in updates}
    said = [update["content"]["text"] for update in updates if update["sessionUpdate"] == "agent_message_chunk"]
    assert "".join(said).startswith("Grüße \u2028.Done.\n\n**Evidence**: unverified\n")
    assert last["stopReason"] == "end_turn"
    shown = call(["sessions", "show", last["sessionId"]], home.env, workspace)
    assert "Be polite" in shown.stdout


def test_prompt_from_stdin(home: Home, workspace: Path) -> None:
    home.use_script({"turns": [{"prompt": "two\nlines", "replies": [[{"text": "ok"}]]}]})
    done = call(["run", "--json", "-"], home.env, workspace, typed="two\nlines")
    assert done.returncode == 0
    assert lines(done.stdout)[-1]["stopReason"] == "end_turn"


@pytest.mark.parametrize(
    ("steps", "code", "stop"),
    [
        ([{"text": "half"}, {"finish": "length"}], 3, "max_tokens"),
        ([{"finish": "refusal"}], 3, "refusal"),
        ([{"call": {"tool": "list_dir", "args": {}}}], 3, "max_turn_requests"),
    ],
)
def test_how_it_stops(steps: list[Any], code: int, stop: str, home: Home, workspace: Path) -> None:
    home.use_script({"turns": [{"replies": [steps], "loop": True}]}, limits={"turn_requests": 2})
    done = call(["run", "--json", "go"], home.env, workspace)
    assert done.returncode == code
    assert lines(done.stdout)[-1]["stopReason"] == stop


@pytest.mark.parametrize(("status", "code", "number"), [(400, 1, -32603), (401, 2, -32000)])
def test_how_it_fails(status: int, code: int, number: int, home: Home, workspace: Path) -> None:
    home.use_script(script([{"error": {"status": status, "message": "no"}}]))
    done = call(["run", "--json", "go"], home.env, workspace)
    assert done.returncode == code
    error = lines(done.stdout)[-1]["error"]
    assert error["code"] == number
    assert error["message"] in done.stderr


def test_what_fails_before_there_is_a_session(home: Home, workspace: Path) -> None:
    done = call(["run", "--json", "go"], home.env, workspace)
    assert done.returncode == 2
    (line,) = lines(done.stdout)
    assert line["error"]["code"] == -32000
    assert "`acpagent setup`" in done.stderr
    (home.path / "config.yaml").write_text(": [")
    done = call(["run", "--json", "go"], home.env, workspace)
    assert done.returncode == 2
    assert "error" in lines(done.stdout)[-1]


def test_nobody_is_asked(home: Home, workspace: Path) -> None:
    home.use_script(script([EDIT], [{"text": "Done."}]))
    done = call(["run", "--json", "go"], home.env, workspace)
    assert done.returncode == 0
    assert lines(done.stdout)
    assert "good day" not in (workspace / "src/greeter.py").read_text()
    assert "tool_approval" in done.stderr


def test_a_person_is_asked_beside_the_lines(home: Home, workspace: Path, tmp_path: Path) -> None:
    home.use_script(script([EDIT], [{"text": "Done."}]))
    with Terminal(["run", "--json", "go"], home.env, workspace) as terminal:
        terminal.wait_for("2  Allow once")
        terminal.wait_for("[1]: ")
        terminal.type("2\n")
        code, shown = terminal.end()
    assert code == 0
    assert '"stopReason": "end_turn"' in shown
    assert "good day" in (workspace / "src/greeter.py").read_text()


def test_an_interrupt(home: Home, workspace: Path) -> None:
    home.use_script(script([{"text": "Ready.\n"}, "stall"]))
    process = subprocess.Popen(
        [*ACPAGENT, "run", "--json", "go"], env=home.env, cwd=workspace, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stdout
    assert any("Ready." in line for line in process.stdout)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert lines(out)[-1]["stopReason"] == "cancelled"
