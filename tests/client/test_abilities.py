"""What a program can lend an agent: its files and its terminals."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from acpagent import Client
from acpagent.client.files import Files
from acpagent.core.faults import Fault
from tests.descendants import new_mark, survivors
from tests.settling import until

CREATE, WAIT, OUTPUT = "terminal/create", "terminal/wait_for_exit", "terminal/output"
KILL, RELEASE = "terminal/kill", "terminal/release"
THIS: dict[str, Any] = {"terminalId": "$T"}


def told(client: Client, *steps: Any, cwd: str | Path = "/tmp") -> list[Any]:
    """The client's answers to what the agent asks."""
    turn = client.open(cwd).prompt(json.dumps(steps))
    assert turn.wait(60) == "end_turn"
    answers: list[Any] = json.loads(turn.text)
    return answers


def announced(client: Client) -> dict[str, Any]:
    turn = client.open("/tmp").prompt("announced")
    turn.wait(60)
    capabilities: dict[str, Any] = json.loads(turn.text)
    return capabilities


def sh(command: str, **more: Any) -> dict[str, Any]:
    return {"command": "/bin/sh", "args": ["-c", command], **more}


def no_text(path: str) -> Any:
    raise NotImplementedError


# What is announced.


@pytest.mark.parametrize(
    ("options", "capabilities"),
    [
        ({}, {}),
        ({"files": Files(no_text, print)}, {"fs": {"readTextFile": True, "writeTextFile": True}}),
        ({"files": Files(no_text)}, {"fs": {"readTextFile": True, "writeTextFile": False}}),
        ({"files": Files(write=print)}, {"fs": {"readTextFile": False, "writeTextFile": True}}),
        ({"terminals": True}, {"terminal": True}),
        (
            {"terminals": True, "capabilities": {"terminal": False, "_meta": {"x": 1}}},
            {"terminal": True, "_meta": {"x": 1}},
        ),
        (
            {"files": Files(no_text), "capabilities": {"fs": {"_meta": {"y": 2}}}},
            {"fs": {"_meta": {"y": 2}, "readTextFile": True, "writeTextFile": False}},
        ),
    ],
)
def test_INIT_10_what_is_lent_is_announced(launch, options, capabilities) -> None:
    assert announced(launch("runs", **options)) == capabilities


@pytest.mark.parametrize("method", ["fs/read_text_file", "fs/write_text_file", CREATE, OUTPUT, WAIT, KILL, RELEASE])
def test_FS_01_TERM_01_what_is_not_lent_is_an_unknown_method(launch, method) -> None:
    (answer,) = told(launch("runs"), [method, {}])
    assert answer["code"] == -32601


# Files.


def test_files_are_read_and_written_through_the_program(launch) -> None:
    texts = {"/a": "one\r\ntwo\nthree"}
    client = launch("runs", files=Files(texts.__getitem__, texts.__setitem__))
    assert told(
        client,
        ["fs/read_text_file", {"path": "/a"}],
        ["fs/read_text_file", {"path": "/a", "line": 2}],
        ["fs/read_text_file", {"path": "/a", "line": 1, "limit": 1}],
        ["fs/read_text_file", {"path": "/a", "limit": 2, "line": None}],
        ["fs/read_text_file", {"path": "/a", "line": 9}],
        ["fs/read_text_file", {"path": "/a", "limit": 0}],
        ["fs/write_text_file", {"path": "/b", "content": "new"}],
    ) == [
        {"content": "one\r\ntwo\nthree"},
        {"content": "two\nthree"},
        {"content": "one\r\n"},
        {"content": "one\r\ntwo\n"},
        {"content": ""},
        {"content": ""},
        {},
    ]
    assert texts["/b"] == "new"


@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        (FileNotFoundError(2, "No such file"), -32002, "no such file"),
        (PermissionError(13, "Permission denied"), -32603, "Permission denied"),
        (OSError("the buffer is locked"), -32603, "the buffer is locked"),
        (Fault(-32099, "my own code"), -32099, "my own code"),
        (ValueError("secret"), -32603, "the client's handler failed (ValueError)"),
    ],
)
@pytest.mark.parametrize("method", ["fs/read_text_file", "fs/write_text_file"])
def test_FS_06_what_a_callback_raises_is_told(launch, raised, code, message, method) -> None:
    def fails(*_: object) -> str:
        raise raised

    (answer,) = told(launch("runs", files=Files(fails, fails)), [method, {"path": "/a", "content": ""}])
    assert (answer["code"], answer["message"]) == (code, message)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("fs/read_text_file", {"path": "relative"}, -32602),
        ("fs/read_text_file", {}, -32602),
        ("fs/read_text_file", {"path": 5}, -32602),
        ("fs/read_text_file", {"path": "/a", "line": 0}, -32602),
        ("fs/read_text_file", {"path": "/a", "limit": -1}, -32602),
        ("fs/read_text_file", {"path": "/a", "line": True}, -32602),
        ("fs/write_text_file", {"path": "/a"}, -32602),
        ("fs/write_text_file", {"path": "/a", "content": None}, -32602),
        ("fs/read_text_file", {"path": "/a", "sessionId": "nobody"}, -32002),
        ("fs/write_text_file", {"path": "/a", "content": "x", "sessionId": None}, -32002),
    ],
)
def test_params_that_make_no_sense_are_refused_before_the_callback(launch, method, params, code) -> None:
    called: list[object] = []
    client = launch("runs", files=Files(lambda path: called.append(path) or "", lambda *args: called.append(args)))
    (answer,) = told(client, [method, params])
    assert answer["code"] == code
    assert called == []


def test_a_read_that_gives_no_text_is_an_error(launch) -> None:
    (answer,) = told(launch("runs", files=Files(lambda path: None)), ["fs/read_text_file", {"path": "/a"}])
    assert answer["code"] == -32603


def test_own_handlers_win(launch) -> None:
    client = launch(
        "runs", files=Files(no_text), terminals=True,
        handlers={"fs/read_text_file": lambda params: {"content": "mine"}, KILL: lambda params: {"_meta": {}}},
    )  # fmt: skip
    answers = told(client, ["fs/read_text_file", {"path": "/a"}], [KILL, {"terminalId": "x"}])
    assert answers == [{"content": "mine"}, {"_meta": {}}]


# Terminals.


def test_TERM_09_a_command_from_create_to_release(launch, tmp_path: Path) -> None:
    client = launch("runs", terminals=True)
    command = sh('pwd; echo "$GREETING"; echo err >&2; exit 3', cwd=str(tmp_path))
    command["env"] = [{"name": "GREETING", "value": "hello there"}]
    steps = [[method, THIS] for method in (WAIT, OUTPUT, RELEASE, OUTPUT, WAIT, KILL)]
    created, ended, printed, released, *after = told(client, [CREATE, command], *steps)
    assert ended == {"exitCode": 3, "signal": None}
    assert printed == {"output": f"{tmp_path}\nhello there\nerr\n", "truncated": False, "exitStatus": ended}
    assert released == {}
    assert [answer["code"] for answer in after] == [-32002] * 3
    shown = client.terminal(created["terminalId"])
    assert shown is not None
    assert (shown.text, shown.exit_status) == (printed["output"], ended)
    assert client.terminal("other") is None


def test_TERM_06_without_a_directory_it_is_the_sessions(launch, tmp_path: Path) -> None:
    client = launch("runs", terminals=True)
    assert told(client, [CREATE, sh("pwd")], [WAIT, THIS], [OUTPUT, THIS], cwd=tmp_path)[2]["output"] == f"{tmp_path}\n"


@pytest.mark.parametrize("args", [None, []])
def test_TERM_05_a_whole_shell_line_as_the_command_runs_in_a_shell(launch, args) -> None:
    client = launch("runs", terminals=True)
    params = {"command": "echo a | tr a b; exit 4", "args": args}
    answers = told(client, [CREATE, params], [WAIT, THIS], [OUTPUT, THIS])
    assert (answers[1]["exitCode"], answers[2]["output"]) == (4, "b\n")


def test_TERM_05_arguments_are_no_shell_words(launch) -> None:
    client = launch("runs", terminals=True)
    answers = told(client, [CREATE, {"command": "echo", "args": ["$HOME; a  b"]}], [WAIT, THIS], [OUTPUT, THIS])
    assert answers[2]["output"] == "$HOME; a  b\n"


def test_TERM_04_after_a_kill_output_and_exit_can_still_be_had(launch) -> None:
    client = launch("runs", terminals=True)
    steps = [[method, THIS] for method in (KILL, WAIT, OUTPUT)]
    answers = told(client, [CREATE, sh("echo begun; sleep 300 & sleep 300")], *steps)
    assert answers[1:3] == [{}, {"exitCode": None, "signal": "SIGKILL"}]
    assert answers[3]["exitStatus"] == answers[2]


def test_TERM_02_a_release_ends_a_command_that_still_runs_and_whoever_waits_for_it(launch) -> None:
    client = launch("runs", terminals=True)
    answers = told(client, [CREATE, sh("sleep 300")], [WAIT, THIS, "along"], [RELEASE, THIS])
    assert answers[1:] == [{"exitCode": None, "signal": "SIGKILL"}, {}]


@pytest.mark.parametrize(
    ("limit", "printed", "kept"),
    [(10, "0123456789", "0123456789"), (4, "0123456789", "6789"), (5, "aéééé", "éé"), (0, "x", ""), (1, "é", "")],
)
def test_TERM_07_the_last_of_the_output_is_kept_from_a_whole_character_on(launch, limit, printed, kept) -> None:
    client = launch("runs", terminals=True)
    command = {"command": "printf", "args": ["%s", printed], "outputByteLimit": limit}
    answer = told(client, [CREATE, command], [WAIT, THIS], [OUTPUT, THIS])[2]
    assert (answer["output"], answer["truncated"]) == (kept, len(printed.encode()) > limit)


def test_TERM_07_endless_output_takes_no_more_room_than_was_asked_for(launch) -> None:
    client = launch("runs", terminals=True)
    command = sh("yes | head -c 20000000; echo end", outputByteLimit=1000)
    answer = told(client, [CREATE, command], [WAIT, THIS], [OUTPUT, THIS])[2]
    assert len(answer["output"]) == 1000
    assert answer["output"].endswith("y\nend\n")
    assert answer["truncated"] is True


@pytest.mark.parametrize(
    ("params", "code"),
    [
        (sh("true", cwd="/no/such/folder"), -32603),
        ({"command": "/no/such/program", "args": ["x"]}, -32603),
        ({"command": "a\0b", "args": ["x"]}, -32603),
        ({}, -32602),
        ({"command": ""}, -32602),
        ({"command": "echo", "args": [5]}, -32602),
        ({"command": "echo", "args": "words"}, -32602),
        (sh("true", sessionId="nobody"), -32002),
    ],
)
def test_TERM_12_what_cannot_be_started_is_an_error(launch, params, code) -> None:
    (answer,) = told(launch("runs", terminals=True), [CREATE, params])
    assert answer["code"] == code


def test_a_terminal_belongs_to_its_session(launch) -> None:
    client = launch("runs", terminals=True)
    created = told(client, [CREATE, sh("sleep 300")])[0]
    answers = told(client, [OUTPUT, created], [WAIT, created], [KILL, created], [RELEASE, created])
    assert [answer["code"] for answer in answers] == [-32002] * 4


def test_output_can_be_shown_while_it_comes(launch, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    client = launch("runs", terminals=True)
    created = told(client, [CREATE, sh("echo first; read x < go; echo second", cwd=str(tmp_path))])[0]
    terminal = client.terminal(created["terminalId"])
    assert terminal is not None
    (tmp_path / "go").write_text("x\n")
    assert terminal.ended.wait(60)
    assert terminal.text == "first\nsecond\n"
    assert terminal.command == ("/bin/sh", "-c", "echo first; read x < go; echo second")


@pytest.mark.parametrize("how", ["close the session", "close the client", "the agent dies"])
def test_BB_21_no_command_outlives_whom_it_was_for(launch, how) -> None:
    mark = new_mark()
    client = launch("runs", terminals=True)
    command = sh("sleep 300 & sleep 300")
    command["env"] = [{"name": name, "value": value} for name, value in mark.items()]
    session = client.open("/tmp")
    turn = session.prompt(json.dumps([[CREATE, command]]))
    terminal_id = json.loads(turn.text if turn.wait(60) else "")[0]["terminalId"]
    if how == "close the session":
        session.close()
    elif how == "close the client":
        client.close()
    else:
        os.kill(client.pid, 9)
    terminal = client.terminal(terminal_id)
    assert terminal is not None
    assert terminal.ended.wait(60)
    assert not survivors(mark, 20.0)


def test_TERM_02_a_terminal_whose_create_was_taken_back_is_ended(launch) -> None:
    """Whichever is first, answer or withdrawal, nothing is left running that nobody knows of."""
    mark = new_mark()
    client = launch("runs", terminals=True)
    command = sh("sleep 300")
    command["env"] = [{"name": name, "value": value} for name, value in mark.items()]
    for _ in range(10):
        (answer,) = told(client, [CREATE, command, "withdraw"])
        if "terminalId" in answer:  # answered before it was taken back: the agent knows of it
            terminal = client.terminal(answer["terminalId"])
            assert terminal is not None
            terminal.kill()
        else:
            assert answer["code"] == -32800
    assert not survivors(mark, 20.0)


def test_a_cancelled_wait_is_answered_at_once(launch) -> None:
    client = launch("runs", terminals=True)
    answers = told(client, [CREATE, sh("sleep 300")], [WAIT, THIS, "withdraw"], [RELEASE, THIS])
    assert answers[1]["code"] == -32800
    assert answers[2] == {}


def test_many_terminals_at_once(launch) -> None:
    client = launch("runs", terminals=True)
    before = threading.active_count()
    steps: list[Any] = []
    for number in range(20):
        steps += [[CREATE, sh(f"echo {number}")], [WAIT, THIS], [OUTPUT, THIS], [RELEASE, THIS]]
    answers = told(client, *steps)
    assert [answer["output"] for answer in answers[2::4]] == [f"{number}\n" for number in range(20)]
    until(lambda: threading.active_count() <= before + 1, "the end of the terminals' threads")
