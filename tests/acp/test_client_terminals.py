"""Commands in the editor's terminal: what is asked for, what is shown, and that every terminal is let go of once."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.conftest import Stage
from tests.acp.scripted_editor import Refused, ScriptedEditor, Silence
from tests.acp.seen import Call, call_in, calls, calls_in, says, turn
from tests.acp.served import served
from tests.agent import Agent, Message, text_in

CONFIG = {"tool_approval": "yolo"}
COMMAND = "echo 'two  words' >&2; touch ran"
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("do: run", calls("bash", command=COMMAND), says("Done.")),
        turn("do: briefly", calls("bash", command=COMMAND, timeout_seconds=1), says("Done.")),
        turn("do: twice", calls("bash", command="echo 1"), calls("bash", command="echo 2"), says("Done.")),
        turn("do: edit and run", [calls("edit_file", path="file.txt", old="two", new="zwei"),
                                  calls("bash", command=COMMAND)], says("Done.")),
        turn("do: search", calls("grep", pattern="x"), calls("list_dir"), says("Done.")),
        turn("do: hi", says("Hello.")),
    ]
}  # fmt: skip
CREATE, WAIT, OUTPUT = "terminal/create", "terminal/wait_for_exit", "terminal/output"
KILL, RELEASE = "terminal/kill", "terminal/release"
METHODS = (CREATE, WAIT, OUTPUT, KILL, RELEASE)


class Screen:
    """An editor with terminals that run nothing: each command ends at once, with exit code 0 and some output.

    `requests` are all of the agent's, whether they were answered or not.
    """

    def __init__(self, agent: Agent, here: Path) -> None:
        self.agent = agent
        self.editor = ScriptedEditor(agent, terminal=True)
        self.editor.handlers |= {
            CREATE: self._create,
            WAIT: lambda params: {"exitCode": 0, "signal": None},
            OUTPUT: lambda params: {"output": "printed\n", "truncated": False, "exitStatus": {"exitCode": 0}},
            KILL: lambda params: {},
            RELEASE: lambda params: {},
        }
        self._created = 0
        self.since = len(agent.transcript.requests)
        self.session = agent.new_session(here)

    def _create(self, params: Message) -> Message:
        self._created += 1
        return {"terminalId": f"{self.session}-{self._created}"}

    def answers(self, **answers: Any) -> None:
        """`create`, `wait`, `output` and so on: what the editor answers to that."""
        self.editor.answers |= {globals()[name.upper()]: answer for name, answer in answers.items()}

    def call(self, prompt: str = "do: run", stop: str = "end_turn") -> Call:
        return call_in(self.editor.prompt(self.session, prompt, stop))

    @property
    def requests(self) -> list[Message]:
        return self.agent.transcript.requests[self.since :]

    @property
    def methods(self) -> list[str]:
        """What was asked of terminals, in order."""
        return [request["method"] for request in self.requests if request["method"] in METHODS]

    def assert_let_go(self, created: list[str]) -> None:
        """Each of these terminals was released once, and not touched afterwards (TERM-02, TERM-03)."""
        about = [(r["method"], r["params"].get("terminalId")) for r in self.requests if r["method"] in METHODS]
        released = Counter(id for method, id in about if method == RELEASE)
        assert released == Counter(created)
        for id in created:
            assert [method for method, other in about if other == id][-1] == RELEASE


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def screen(stage: Stage, here: Path) -> Screen:
    return Screen(stage.agent, here)


def ids(screen: Screen, count: int = 1) -> list[str]:
    return [f"{screen.session}-{number + 1}" for number in range(count)]


# A command that goes well.


def test_TERM_01_without_the_ability_commands_run_here(stage: Stage, here: Path) -> None:
    editor = ScriptedEditor(stage.agent, read=True, write=True)
    since = len(stage.agent.transcript.requests)
    call = call_in(editor.prompt(stage.agent.new_session(here), "do: run"))
    assert (here / "ran").exists()
    assert call.text == "two  words\n[exit 0]"
    assert stage.agent.transcript.requests[since:] == []


def test_TERM_05_TERM_06_TERM_07_what_a_terminal_is_created_with(screen: Screen, here: Path) -> None:
    screen.call()
    (params,) = screen.editor.params(CREATE)
    assert (params["command"], params["args"]) == ("/bin/bash", ["-c", COMMAND])
    assert params["cwd"] == str(here)
    assert params["sessionId"] == screen.session
    assert 0 < params["outputByteLimit"] <= 4 << 20
    assert {variable["name"] for variable in params["env"]} == {"PAGER", "GIT_PAGER", "ACPAGENT_RUN_BY"}
    assert not (here / "ran").exists()


def test_TERM_06_the_directory_is_spelled_as_the_client_spells_it(stage: Stage, here: Path, tmp_path: Path) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(here)
    screen = Screen(stage.agent, alias)
    screen.call()
    assert screen.editor.params(CREATE)[0]["cwd"] == str(alias)


def test_TERM_06_a_key_is_not_sent_and_not_left_for_the_command_to_read(tmp_path: Path, here: Path) -> None:
    with served(tmp_path / "served", SCRIPT, tool_approval="yolo") as made:
        made.agent.close()
        config = {"api": "openai-chat", "base_url": made.server.base_url, "api_key_env": "SOME_KEY"}
        models = {"tiny": {"context_window": 32768, "max_output_tokens": 4096}}
        provider = {**config, "models": models}
        made.home.configure({"default_model": "local/tiny", "providers": {"local": provider}, "tool_approval": "yolo"})
        agent = Agent(cwd=made.home.path, env={**made.home.env, "SOME_KEY": "very-secret-key"})
        screen = Screen(agent, here)
        screen.call()
        env = {variable["name"]: variable["value"] for variable in screen.editor.params(CREATE)[0]["env"]}
        assert env["SOME_KEY"] == ""  # the editor's terminals may inherit it
        agent.close()
        assert not [line for line in agent.lines if b"very-secret-key" in line]


def test_TERM_02_TERM_08_TERM_09_from_create_to_release(screen: Screen, stage: Stage) -> None:
    since = len(stage.agent.messages)
    call = screen.call()
    assert screen.methods == [CREATE, WAIT, OUTPUT, RELEASE]
    screen.assert_let_go(ids(screen))
    assert call.statuses == ["pending", "in_progress", "completed"]
    terminal = {"type": "terminal", "terminalId": ids(screen)[0]}
    shown = [update for update in call.later if terminal in update.get("content", ())]
    assert call.now["status"] == "completed"
    assert shown[0].get("status", "in_progress") == "in_progress"
    sent = stage.agent.messages[since:]
    order = ["shown" if str(terminal) in str(message) else message.get("method") for message in sent]
    assert order.index(CREATE) < order.index("shown") < order.index(WAIT) < order.index(RELEASE)
    assert call.now["content"] == [
        terminal,
        {"type": "content", "content": {"type": "text", "text": "printed\n[exit 0]"}},
    ]


def test_TERM_13_the_result_has_the_same_shape_as_here(stage: Stage, here: Path) -> None:
    screen = Screen(stage.agent, here)
    screen.answers(output={"output": "two  words\n", "truncated": False})
    there = screen.call()
    editor = ScriptedEditor(stage.agent)
    at_home = call_in(editor.prompt(screen.session, "do: run"))
    for call in (there, at_home):
        call.now["rawOutput"].pop("duration_ms")
        del call.soba["durationMs"], call.soba["evidence"]["durationMs"]
    for key in ("title", "kind", "status", "rawInput", "rawOutput", "_meta", "name"):
        assert there.now[key] == at_home.now[key]
    assert there.text == at_home.text == "two  words\n[exit 0]"


def test_TERM_02_two_commands_are_two_terminals(screen: Screen) -> None:
    updates = screen.editor.prompt(screen.session, "do: twice")
    assert [call.status for call in calls_in(updates)] == ["completed"] * 2
    assert screen.methods == [CREATE, WAIT, OUTPUT, RELEASE] * 2
    screen.assert_let_go(ids(screen, 2))


def test_TERM_01_searches_stay_here(screen: Screen) -> None:
    screen.editor.prompt(screen.session, "do: search")
    assert screen.methods == []


def test_PERM_06_a_refused_command_opens_no_terminal(agent: Any, home: Any, here: Path) -> None:
    home.use_script(SCRIPT, tool_approval="ask")
    screen = Screen(agent(), here)
    screen.editor.permission = "deny"
    assert screen.call().status == "failed"
    assert screen.methods == []


def test_TERM_08_a_session_that_is_loaded_shows_words_and_no_dead_terminal(screen: Screen, here: Path) -> None:
    screen.call()
    since = len(screen.agent.messages)
    screen.agent.call("session/load", {"sessionId": screen.session, "cwd": str(here), "mcpServers": []})
    call = call_in(screen.agent.updates(screen.session, since))
    assert [item["type"] for item in call.now["content"]] == ["content"]
    assert call.text == "printed\n[exit 0]"


@pytest.mark.parametrize("read", [True, False], ids=["read", "no read"])
@pytest.mark.parametrize("write", [True, False], ids=["write", "no write"])
@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "no terminal"])
def test_BB_23_each_ability_is_used_iff_it_is_offered(
    stage: Stage, here: Path, read: bool, write: bool, terminal: bool
) -> None:
    (here / "file.txt").write_text("one\ntwo\n")
    screen = Screen(stage.agent, here)
    screen.editor.agent.initialize({"fs": {"readTextFile": read, "writeTextFile": write}, "terminal": terminal})
    edited, ran = calls_in(screen.editor.prompt(screen.session, "do: edit and run"))
    asked = {request["method"] for request in screen.requests}
    assert ("fs/read_text_file" in asked, "fs/write_text_file" in asked, CREATE in asked) == (read, write, terminal)
    assert (edited.status, ran.status) == ("completed", "completed")
    assert (here / "file.txt").read_text() == "one\nzwei\n"
    assert (here / "ran").exists() != terminal
    assert ran.text == ("printed\n[exit 0]" if terminal else "two  words\n[exit 0]")


# What it printed, and how it ended.


def test_CONT_10_colours_and_progress_are_cleaned(screen: Screen) -> None:
    screen.answers(output={"output": "\x1b[31mred\x1b[0m 50%\r100%\x07\r\n\x1b]0;title\x07", "truncated": False})
    assert screen.call().text == "100%\n[exit 0]"


def test_CONT_09_much_output_is_cut_to_head_and_tail(screen: Screen) -> None:
    lines = "".join(f"line {number}\n" for number in range(60_000))
    screen.answers(output={"output": lines, "truncated": False})
    call = screen.call()
    assert len(call.text.encode()) <= 65_536
    assert call.text.startswith("line 0\n")
    assert call.text.endswith("line 59999\n[exit 0]")
    assert "bytes left out" in call.text
    assert call.soba["truncated"] is True


def test_TERM_09_what_the_editor_cut_is_said(screen: Screen) -> None:
    screen.answers(output={"output": "the end\n", "truncated": True})
    call = screen.call()
    assert call.text == "[the terminal kept the last 8 bytes of more]\nthe end\n[exit 0]"
    assert call.soba["truncated"] is True


@pytest.mark.parametrize(
    ("ended", "status", "suffix", "words"),
    [
        ({"exitCode": 3}, "failed", " (exit 3)", "[exit 3]"),
        ({"exitCode": None, "signal": "SIGTERM"}, "failed", " (failed)", "[ended by SIGTERM]"),
        ({"exitCode": 0, "signal": None, "_meta": {}}, "completed", "", "[exit 0]"),
        ({"exitCode": True}, "failed", " (failed)", "[the editor did not say how it ended]"),
        ({}, "failed", " (failed)", "[the editor did not say how it ended]"),
        (None, "failed", " (failed)", "[the editor did not say how it ended]"),
        ("sorry", "failed", " (failed)", "[the editor did not say how it ended]"),
    ],
)
def test_TERM_10_how_it_ended_is_told(screen: Screen, ended: Any, status: str, suffix: str, words: str) -> None:
    screen.answers(wait=ended, output={"output": "printed\n", "truncated": False})
    call = screen.call()
    assert (call.status, call.text) == (status, f"printed\n{words}")
    assert call.now["title"] == f"Run: echo 'two words' >&2; touch ran{suffix}"
    screen.assert_let_go(ids(screen))


def test_TERM_10_an_exit_status_that_comes_with_the_output_counts(screen: Screen) -> None:
    screen.answers(wait=None, output={"output": "", "truncated": False, "exitStatus": {"exitCode": 4}})
    assert screen.call().text == "[exit 4]"


# An editor that will not.


@pytest.mark.parametrize("code", [-32603, -32601, -32002, -32602, -32000, 7])
def test_TERM_12_TERM_13_where_no_terminal_can_be_had_the_command_runs_here_once(
    screen: Screen, here: Path, code: int
) -> None:
    screen.answers(create=Refused(code, "no pty left"))
    call = screen.call()
    assert (here / "ran").exists()
    assert (call.status, call.text) == ("completed", "two  words\n[exit 0]")
    assert screen.methods == [CREATE]


@pytest.mark.parametrize("answer", [None, {}, {"terminalId": ""}, {"terminalId": 5}, "sorry", []])
def test_TERM_12_an_answer_that_names_no_terminal_is_not_followed_by_a_second_run(
    screen: Screen, here: Path, answer: Any
) -> None:
    screen.answers(create=answer)
    call = screen.call()
    assert call.status == "failed"
    assert call.text == "It is not known whether the command was run: the editor named no terminal."
    assert not (here / "ran").exists()
    assert screen.methods == [CREATE]


@pytest.mark.parametrize("answer", [Refused(-32603, "Gone."), Refused(-32601), Refused(-32002)])
def test_TERM_02_a_terminal_that_cannot_be_watched_is_ended_and_released(
    screen: Screen, here: Path, answer: Refused
) -> None:
    screen.answers(wait=answer)
    call = screen.call()
    assert call.status == "failed"
    assert "[the editor lost sight of it: the editor" in call.text
    assert call.now["title"].endswith(" (failed)")
    assert screen.methods == [CREATE, WAIT, KILL, RELEASE]
    screen.assert_let_go(ids(screen))
    assert not (here / "ran").exists()


@pytest.mark.parametrize("answer", [Refused(-32603, "Gone."), None, "text", {"output": 5}])
def test_TERM_02_output_that_cannot_be_had_is_a_failed_call_that_says_so(screen: Screen, answer: Any) -> None:
    screen.answers(output=answer)
    call = screen.call()
    assert call.status == "failed"
    assert call.text.startswith("[exit 0; its output is not known: the editor")
    assert screen.methods == [CREATE, WAIT, OUTPUT, RELEASE]


@pytest.mark.parametrize("answer", [Refused(-32603), Silence(), "sorry", None])
def test_TERM_02_a_release_that_is_refused_or_not_answered_changes_nothing(screen: Screen, answer: Any) -> None:
    screen.answers(release=answer)
    assert screen.call().status == "completed"
    screen.assert_let_go(ids(screen))
    assert text_in(screen.editor.prompt(screen.session, "do: hi")) == "Hello."


# Time.


def test_TERM_11_a_command_that_takes_too_long_is_killed_then_read_then_released(screen: Screen) -> None:
    status = {"exitCode": None, "signal": "SIGKILL"}
    screen.answers(wait=Silence(), output={"output": "begun\n", "truncated": False, "exitStatus": status})
    call = screen.call("do: briefly")
    assert screen.methods == [CREATE, WAIT, KILL, OUTPUT, RELEASE]
    assert (call.status, call.text) == ("failed", "begun\n[timed out after 1 s and was ended]")
    assert call.now["title"].endswith(" (timed out)")
    assert call.soba["timedOut"] is True
    assert call.soba["signalCode"] == "SIGKILL"
    waiting = next(request for request in screen.requests if request["method"] == WAIT)
    withdrawn = [m["params"]["requestId"] for m in screen.agent.messages if m.get("method") == "$/cancel_request"]
    assert waiting["id"] in withdrawn


@pytest.mark.parametrize("answer", [Refused(-32603), Silence()])
def test_TERM_11_it_does_not_matter_whether_the_kill_succeeds(screen: Screen, answer: Any) -> None:
    screen.answers(wait=Silence(), kill=answer)
    call = screen.call("do: briefly")
    assert "timed out" in call.text
    screen.assert_let_go(ids(screen))


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[Callable[..., Agent]]:
    """Agents for which time runs differently: `impatient(CREATE_SECONDS=0.2)`."""
    agents: list[Agent] = []

    def start(**times: float) -> Agent:
        folder = tmp_path / f"impatient{len(agents)}"
        folder.mkdir()
        stage = Stage(folder, SCRIPT, CONFIG)
        stage.agent.close()
        settings = "\n".join(f"client_shell.{name} = {value}" for name, value in times.items())
        code = (
            f"from acpagent.acp.v1 import client_shell\n{settings}\nimport sys\nfrom acpagent.cli.main import main\n"
            "sys.argv[1:] = ['acp']\nsys.exit(main())"
        )
        agents.append(Agent([sys.executable, "-c", code], cwd=stage.home.path, env=stage.home.env))
        return agents[-1]

    yield start
    for agent in agents:
        agent.close()


@pytest.mark.parametrize("late", [None, {"terminalId": "late"}, Refused(-32603)])
def test_TERM_02_an_editor_that_opens_a_terminal_too_late_gets_it_back_at_once(
    impatient: Callable[..., Agent], here: Path, late: Any
) -> None:
    screen = Screen(impatient(CREATE_SECONDS=0.2), here)
    screen.answers(create=Silence())
    call = screen.call()
    assert call.status == "failed"
    assert "not known whether the command was run: the editor opened no terminal within 0.2 s" in call.text
    assert not (here / "ran").exists()
    screen.answers(create=late)
    screen.editor.answer(screen.editor.asked[0])
    assert text_in(screen.editor.prompt(screen.session, "do: hi")) == "Hello."
    screen.assert_let_go(["late"] if isinstance(late, dict) else [])
    assert screen.methods == ([CREATE, KILL, RELEASE] if isinstance(late, dict) else [CREATE])


def test_TERM_02_an_editor_that_never_shows_the_output_is_given_up(impatient: Callable[..., Agent], here: Path) -> None:
    screen = Screen(impatient(OUTPUT_SECONDS=0.2), here)
    screen.answers(output=Silence())
    assert screen.call().text == "[exit 0; its output is not known: the editor did not answer within 0.2 s]"
    screen.assert_let_go(ids(screen))


# Cancelling.


def cancel_at(screen: Screen, method: str, prompt: str = "do: run") -> Message:
    """Run until the editor is asked that, then cancel; the request, unanswered. The prompt ends `cancelled`, and asks
    for nothing more but to clean up (CAN-07)."""
    agent = screen.agent
    id = agent.start_prompt(screen.session, prompt)
    request = screen.editor.serve(id, until=method)
    since = len(agent.messages)
    agent.notify("session/cancel", {"sessionId": screen.session})
    assert agent.response(id, timeout=20)["result"] == {"stopReason": "cancelled"}
    asked = [message["method"] for message in agent.messages[since:] if "id" in message and "method" in message]
    assert set(asked) <= {KILL, RELEASE}
    call = call_in(agent.updates(screen.session))
    assert call.status == "failed"
    return request


def assert_usable(screen: Screen) -> None:
    assert text_in(screen.editor.prompt(screen.session, "do: hi")) == "Hello."


@pytest.mark.parametrize("answer", ["never", "late", "refused", "nothing"])
def test_CAN_21_TERM_02_cancelled_while_the_terminal_is_being_opened(screen: Screen, here: Path, answer: str) -> None:
    request = cancel_at(screen, CREATE)
    if answer == "late":
        screen.agent.reply(request, {"terminalId": "late"})
    elif answer == "refused":
        screen.agent.refuse(request, -32800)
    elif answer == "nothing":
        screen.agent.reply(request, None)
    assert_usable(screen)
    screen.assert_let_go(["late"] if answer == "late" else [])
    assert screen.methods == ([CREATE, KILL, RELEASE] if answer == "late" else [CREATE])
    assert not (here / "ran").exists()


@pytest.mark.parametrize("answer", ["never", "late", "refused"])
def test_CAN_21_cancelled_while_the_command_runs_it_is_killed_and_released(screen: Screen, answer: str) -> None:
    request = cancel_at(screen, WAIT)
    withdrawn = [m["params"] for m in screen.agent.messages if m.get("method") == "$/cancel_request"]
    assert {"requestId": request["id"]} in withdrawn  # CAN-08
    if answer == "late":
        screen.agent.reply(request, {"exitCode": 0})
    elif answer == "refused":
        screen.agent.refuse(request, -32800)
    assert_usable(screen)
    assert screen.methods == [CREATE, WAIT, KILL, RELEASE]
    screen.assert_let_go(ids(screen))
    call = calls_in(screen.agent.updates(screen.session))[0]
    assert call.text == "[cancelled before it ended]"
    assert call.now["title"].endswith(" (aborted)")
    assert {"type": "terminal", "terminalId": ids(screen)[0]} in call.now["content"]


@pytest.mark.parametrize("answer", ["never", "late"])
def test_CAN_21_cancelled_while_the_output_is_fetched(screen: Screen, answer: str) -> None:
    request = cancel_at(screen, OUTPUT)
    if answer == "late":
        screen.agent.reply(request, {"output": "x", "truncated": False})
    assert_usable(screen)
    assert screen.methods == [CREATE, WAIT, OUTPUT, RELEASE]
    screen.assert_let_go(ids(screen))


@pytest.mark.parametrize("method", [CREATE, WAIT, OUTPUT])
@pytest.mark.parametrize("attempt", range(5))
def test_CAN_21_TERM_02_the_answer_and_the_cancel_in_one_write(screen: Screen, method: str, attempt: int) -> None:
    """Whichever the agent reads first, the terminal is let go of once."""
    agent = screen.agent
    for first in ("answer", "cancel"):
        before = len(ids(screen, screen._created))
        id = agent.start_prompt(screen.session, "do: run")
        request = screen.editor.serve(id, until=method)
        result = screen.editor.handlers[method](request["params"])
        lines = [
            {"jsonrpc": "2.0", "id": request["id"], "result": result},
            {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": screen.session}},
        ]
        agent.send(*(lines if first == "answer" else lines[::-1]))
        stop = screen.editor.serve(id)["result"]["stopReason"]
        assert stop == "cancelled"
        assert screen._created == before + 1
    assert_usable(screen)
    screen.assert_let_go(ids(screen, 2))


def test_CAN_21_cancelled_over_and_over_at_any_moment(screen: Screen) -> None:
    agent = screen.agent
    for moment in range(40):
        id = agent.start_prompt(screen.session, "do: twice")
        for _ in range(moment % 10):
            event = agent.next_event(id, list(screen.editor.handlers))
            if "method" not in event:
                break
            screen.editor.answer(event)
        agent.notify("session/cancel", {"sessionId": screen.session})
        screen.editor.serve(id)
    assert_usable(screen)
    screen.assert_let_go(ids(screen, screen._created))


@pytest.mark.parametrize("method", [CREATE, WAIT, OUTPUT])
def test_CAN_01_a_session_closed_while_the_editor_is_asked(screen: Screen, method: str) -> None:
    id = screen.agent.start_prompt(screen.session, "do: run")
    screen.editor.serve(id, until=method)
    screen.agent.call("session/close", {"sessionId": screen.session})
    assert screen.agent.response(id)["result"] == {"stopReason": "cancelled"}
    screen.assert_let_go([] if method == CREATE else ids(screen))


@pytest.mark.parametrize("method", [CREATE, WAIT, OUTPUT])
@pytest.mark.parametrize("end", ["stdin", "kill"])
def test_BB_21_the_editor_goes_while_it_is_asked(agent: Any, home: Any, here: Path, method: str, end: str) -> None:
    home.use_script(SCRIPT, **CONFIG)
    one = agent(exit_code=None if end == "kill" else 0)
    screen = Screen(one, here)
    id = one.start_prompt(screen.session, "do: run")
    screen.editor.serve(id, until=method)
    if end == "kill":
        one.process.signal(9)
        one.wait_exit()
    else:
        one.close_stdin()
        assert one.wait_exit() == 0
        screen.assert_let_go([] if method == CREATE else ids(screen))
    assert not (here / "ran").exists()
