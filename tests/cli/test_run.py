"""`acpagent run`: what is shown, who is asked, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpagent import Client
from acpagent.cli.lines import JsonView
from acpagent.cli.watch import Watch
from acpagent.client.updates import Update
from tests.cli.terminals import ACPAGENT, CTRL_C, CTRL_D, Terminal, call
from tests.conftest import Home
from tests.descendants import gone
from tests.model_server import ModelServer, Raw, Request

GREETER = "src/greeter.py"
EDIT = {"call": {"tool": "edit_file", "args": {"path": GREETER, "old": "hello", "new": "good day"}}}


def script(*replies: list[Any]) -> dict[str, Any]:
    return {"turns": [{"replies": list(replies)}]}


EDITS = script([{"text": "I will edit."}, EDIT], [{"text": "That is all."}])


def edited(workspace: Path) -> bool:
    return "good day" in (workspace / GREETER).read_text()


def test_off_a_terminal_nothing_is_allowed(home: Home, workspace: Path) -> None:
    home.use_script(EDITS)
    done = call(["run", "Be polite"], home.env, workspace)
    assert done.returncode == 0
    assert not edited(workspace)
    assert "? Edit src/greeter.py: refused" in done.stdout
    assert '+    return "good day, " + name' in done.stdout
    assert "That is all." in done.stdout
    assert "tool_approval" in done.stderr
    assert str(home.path / "config.yaml") in done.stderr


def test_approval_comes_from_the_configuration(home: Home, workspace: Path) -> None:
    home.use_script(EDITS, tool_approval="auto")
    done = call(["run", "Be polite"], home.env, workspace)
    assert (done.returncode, done.stderr) == (0, "")
    assert edited(workspace)
    assert "✓ Edited src/greeter.py" in done.stdout


def test_prompt_from_stdin_and_another_folder(home: Home, workspace: Path, tmp_path: Path) -> None:
    home.use_script({"turns": [{"prompt": "list\nthem", "replies": [[{"text": "ok"}]]}]})
    done = call(["run", "-", "--cwd", str(workspace)], home.env, tmp_path, typed="list\nthem")
    assert (done.returncode, done.stdout) == (0, "ok\n")


@pytest.mark.parametrize(
    ("steps", "code", "said"),
    [
        ([{"text": "half"}, {"finish": "length"}], 3, "limit on tokens"),
        ([{"finish": "refusal"}], 3, "refused"),
        ([{"call": {"tool": "list_dir", "args": {}}}], 3, "model calls"),
        ([{"error": {"status": 400, "message": "no such model"}}], 1, "no such model"),
        ([{"error": {"status": 401, "message": "who are you"}}], 2, "key"),
    ],
    ids=["length", "refusal", "limit", "error", "key"],
)
def test_how_it_ends(steps: list[Any], code: int, said: str, home: Home, workspace: Path) -> None:
    turn = {"replies": [steps], "loop": True}
    home.use_script({"turns": [turn]}, limits={"turn_requests": 2})
    done = call(["run", "go"], home.env, workspace)
    assert done.returncode == code
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_no_model(home: Home, workspace: Path) -> None:
    done = call(["run", "go"], home.env, workspace)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("acpagent: no model is configured")


def test_malformed_configuration(home: Home, workspace: Path) -> None:
    (home.path / "config.yaml").write_text("tool_aproval: ask\n")
    done = call(["run", "go"], home.env, workspace)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"acpagent: {home.path}/config.yaml:1: tool_aproval: {done.stderr.partition('aproval: ')[2]}"
    assert "did you mean tool_approval?" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "nobody", "go"], "no model 'nobody' is configured"),
        (["--cwd", "nowhere", "go"], "nowhere: no such folder"),
        ([" "], "the prompt is empty"),
    ],
)
def test_what_cannot_be(words: list[str], said: str, home: Home, workspace: Path) -> None:
    home.use_script("hello.yaml")
    done = call(["run", *words], home.env, workspace)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_modules_in_the_folder_are_not_imported(home: Home, workspace: Path) -> None:
    home.use_script("hello.yaml")
    for name in ("json", "requests", "acpagent"):
        (workspace / f"{name}.py").write_text("raise SystemExit('imported')")
    done = call(["run", "Hi"], home.env, workspace)
    assert (done.returncode, done.stderr) == (0, "")


def test_nobody_reads(home: Home, workspace: Path) -> None:
    home.use_script(script([{"repeat": {"times": 20_000, "text": "line\n"}}]))
    command = ["sh", "-c", '"$@" | head -n 1', "sh", *ACPAGENT, "run", "go"]
    piped = subprocess.run(
        command, env=home.env, cwd=workspace, capture_output=True, text=True, timeout=60, check=False
    )
    assert (piped.stdout, piped.stderr) == ("line\n", "")


class TestPerson:
    """Asked on the terminal."""

    def test_allows(self, home: Home, workspace: Path) -> None:
        home.use_script(EDITS)
        with Terminal(["run", "Be polite"], home.env, workspace) as terminal:
            terminal.wait_for("2  Allow once")
            terminal.wait_for("[1]: ")
            terminal.type("2\n")
            code, shown = terminal.end()
        assert code == 0
        assert edited(workspace)
        assert "→ Allow once" in shown

    @pytest.mark.parametrize("keys", ["\n", "9\n", "yes\n", CTRL_D], ids=["enter", "no such", "word", "end"])
    def test_refuses(self, keys: str, home: Home, workspace: Path) -> None:
        home.use_script(EDITS)
        with Terminal(["run", "Be polite"], home.env, workspace) as terminal:
            terminal.wait_for("[1]: ")
            terminal.type(keys)
            code, shown = terminal.end()
        assert code == 0
        assert not edited(workspace)
        assert "→ Reject" in shown
        assert "That is all." in shown

    def test_is_told_what_the_title_does_not_say(self, home: Home, workspace: Path) -> None:
        delete = {"call": {"tool": "delete_file", "args": {"path": "src", "recursive": True}}}
        home.use_script(script([delete], [{"text": "Done."}]))
        with Terminal(["run", "Tidy up"], home.env, workspace) as terminal:
            terminal.wait_for("Deletes src:")
            terminal.wait_for("[1]: ")
            terminal.type("\n")
            code, _ = terminal.end()
        assert code == 0
        assert (workspace / "src").is_dir()

    def test_what_was_typed_before_answers_nothing(self, home: Home, workspace: Path) -> None:
        typed = threading.Event()

        def model(request: Request) -> Raw:
            return Raw(pieces() if request.messages[-1]["role"] == "user" else [delta({"content": "Done."}), DONE])

        def pieces() -> Iterator[bytes]:
            yield delta({"content": "Wait.\n"})
            assert typed.wait(60)
            function = {"name": "edit_file", "arguments": json.dumps(EDIT["call"]["args"])}
            yield delta({"tool_calls": [{"index": 0, "id": "call_1", "function": function}]}) + DONE

        with ModelServer(model) as server:
            home.use_server(server.base_url)
            with Terminal(["run", "Be polite"], home.env, workspace) as terminal:
                terminal.wait_for("Wait.")
                terminal.type("2\n")
                typed.set()
                terminal.wait_for("[1]: ")
                terminal.type("\n")
                code, _ = terminal.end()
        assert code == 0
        assert not edited(workspace)

    def test_cancels_a_question(self, home: Home, workspace: Path) -> None:
        home.use_script(EDITS)
        with Terminal(["run", "Be polite"], home.env, workspace) as terminal:
            terminal.wait_for("[1]: ")
            terminal.type(CTRL_C)
            code, shown = terminal.end()
        assert code == 130
        assert not edited(workspace)
        assert "Cancelled." in shown
        assert "That is all." not in shown

    def test_cancels_a_command(self, home: Home, workspace: Path) -> None:
        sleeps = {"call": {"tool": "bash", "args": {"command": "echo started; sleep 100"}}}
        home.use_script(script([sleeps], [{"text": "Slept."}]), tool_approval="yolo")
        with Terminal(["run", "Sleep"], home.env, workspace) as terminal:
            terminal.wait_for("  started")  # as live output, behind the title
            terminal.type(CTRL_C)
            code, shown = terminal.end()
        assert code == 130
        assert "(aborted)" in shown
        assert "Traceback" not in shown

    def test_ends_at_the_second_interrupt(self, home: Home, workspace: Path) -> None:
        home.use_script(script([{"text": "Ready.\n"}, "stall"]))
        with Terminal(["run", "Hang"], home.env, workspace) as terminal:
            terminal.wait_for("Ready.")
            agent = _child_of(terminal.process.pid)
            os.kill(agent, signal.SIGSTOP)
            terminal.type(CTRL_C)
            terminal.wait_for("again")
            terminal.type(CTRL_C)
            code, shown = terminal.end()
        assert code == 130
        assert "Traceback" not in shown
        assert gone(agent, 20)


DONE = b"data: [DONE]\n\n"


def delta(delta: dict[str, Any]) -> bytes:
    """A piece of a model's answer, which may be its last."""
    return b"data: %b\n\n" % json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}).encode()


def _child_of(pid: int) -> int:
    """The one child of a process."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    if not listed.exists():
        pytest.skip("needs Linux to find the agent")
    (child,) = listed.read_text().split()
    return int(child)


def test_what_an_opening_tells_is_shown_however_late_the_prompt_comes(home: Home, workspace: Path) -> None:
    home.use_script(script([{"text": "Done."}]))
    (home.path / "skills" / "Bad Name").mkdir(parents=True)
    (home.path / "skills" / "Bad Name" / "SKILL.md").write_text("---\ndescription: x\n---\nText.\n")
    shown: list[Update] = []
    view = JsonView(str(workspace))
    view.show = shown.append  # type: ignore[method-assign]
    with Client.launch([*ACPAGENT, "acp"], env=home.env) as client:
        session = client.open(workspace)
        warned = threading.Event()
        session.on_update = lambda update: warned.set() if "Bad Name" in str(update.raw) else None
        if not any("Bad Name" in str(update.raw) for update in list(session.idle)):
            assert warned.wait(60)
        assert Watch(view, lambda request: None).run(session, "hello") == "end_turn"
    assert [one for one in shown if "Bad Name" in str(one.raw)]
    assert any("Done." in str(one.raw) for one in shown)
