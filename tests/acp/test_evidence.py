"""Evidence at the wire: what a turn changed and checked, exactly, whatever did it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from acpagent import Client
from tests.acp.evidence_cases import CASES, FILES, FIX, GIT, NONE, TEST, A, Case, edit, sh
from tests.acp.mcp import plain, settle
from tests.acp.plugging import ABLE, PROBE, plugged
from tests.acp.scripted_editor import ScriptedEditor
from tests.acp.seen import calls, calls_in, says, turn
from tests.acp.served import Served, served
from tests.agent import ACPAGENT, Message, handoff, handoffs, text_in


def prompt_of(case: Case) -> str:
    return f"number {CASES.index(case)} of them"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One agent for all cases; each has a session and a folder of its own."""
    turns = [turn(prompt_of(case), *case.does, says("Well.")) for case in CASES]
    folder = tmp_path_factory.mktemp("evidence")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in GIT.items():
            patch.setenv(name, value)
        with served(folder, {"turns": turns}, tool_approval="yolo") as one:
            yield one


def make(folder: Path, case: Case) -> Path:
    folder.mkdir(parents=True)
    for name, content in {**FILES, **case.has}.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)
    if case.repository:
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
            subprocess.run(["git", *words], cwd=folder, check=True, env={**os.environ, **GIT})
    if case.setup is not None:
        case.setup(folder)
    return folder


def file_in_short(file: Message) -> str:
    name = f"{file['oldPath']} > {file['path']}" if "oldPath" in file else file["path"]
    lines = "binary" if file["binary"] else f"+{file['added']}-{file['removed']}"
    return f"{file['operation']} {name} {lines}"


def check_in_short(check: Message) -> str:
    words = [check["label"], check["status"], check.get("reason", "")]
    return " ".join(word for word in words if word and word != "check_missing")


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_truth_of_a_turn(world: Served, case: Case) -> None:
    number = CASES.index(case)
    folder = make(world.workspace / f"case{number}", case)
    session = world.new(folder)
    updates = world.prompt(session, prompt_of(case))
    found = handoffs(updates)
    for name, data in case.leaves.items():
        assert (folder / name).read_bytes() == data
    if case.status is None:
        assert found == []
        return
    (evidence,) = found
    files, checks = evidence["changedFiles"], evidence["checks"]
    assert sorted(map(file_in_short, files)) == sorted(case.files)
    assert list(map(check_in_short, checks)) == case.checks
    assert evidence["status"] == case.status
    risks = [risk["kind"] for risk in evidence["risks"]]
    assert [risk for risk in risks if risk != "active_diagnostic" or risk in case.risks] == case.risks
    assert evidence["diff"]["fileCount"] == len(files)
    assert evidence["diff"]["added"] == sum(file.get("added", 0) for file in files)
    assert evidence["diff"]["removed"] == sum(file.get("removed", 0) for file in files)
    if case.commands is not None:
        assert len(evidence["commands"]) == case.commands
    ids = {row["id"] for name in ("evidence", "checks", "commands") for row in evidence[name]}
    pointers = [id for row in (*evidence["risks"], *evidence["claims"]) for id in row["evidenceIds"]]
    assert ids.issuperset(pointers)
    assert ids.issuperset(id for file in files for id in file["mutationIds"])


def test_it_is_the_last_thing_said_and_is_replayed(tmp_path: Path) -> None:
    with served(tmp_path, {"turns": [turn("go", FIX, TEST, says("Done."))]}, tool_approval="yolo") as one:
        make_files(one)
        session = one.new()
        updates = one.prompt(session, "go")
        said = [update for update in updates if update["sessionUpdate"] == "agent_message_chunk"]
        assert text_in(updates) == "Done."
        assert said[-1]["content"]["text"] == (
            "\n\n**Evidence**: verified\n- Changed files: 1 (+1 -1): a.txt (+1 -1)\n"
            "- Checks: Tests passed (`make test`)\n"
        )
        assert handoff(said[-1]) is not None
        one.agent.call("session/close", {"sessionId": session})
        since = len(one.agent.messages)
        one.agent.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
        replayed = [u for u in one.agent.updates(session, since) if handoff(u) is not None]
        assert replayed == said[-1:]


def make_files(one: Served) -> None:
    for name, content in FILES.items():
        (one.workspace / name).write_bytes(content.encode() if isinstance(content, str) else content)


def test_phases_are_true_of_a_failure(tmp_path: Path) -> None:
    road = [FIX, sh("exit 3"), edit("a.txt", "nowhere", "x"), says("Done.")]
    with served(tmp_path, {"turns": [turn("go", *road)]}, tool_approval="yolo") as one:
        make_files(one)
        for call, status in zip(calls_in(one.prompt(one.new(), "go")), ("completed", "failed", "failed"), strict=True):
            assert call.end is not None
            phases = [call.first["_meta"]["soba"]["evidence"], call.soba["evidence"], call.end["evidence"]]
            assert [row["phase"] for row in phases] == ["start", "result", "end"]
            assert [row["status"] for row in phases] == ["pending", status, status]
            assert call.end["durationMs"] == call.soba["durationMs"]


def test_through_the_editor(tmp_path: Path) -> None:
    """The editor's text counts, which the disk does not have yet."""
    with served(tmp_path, {"turns": [turn("go", edit("a.txt", "draft", "good"), says("Done."))]}) as one:
        make_files(one)
        editor = ScriptedEditor(one.agent, read=True, write=True)
        editor.buffers[str(one.workspace / "a.txt")] = "1\n2\ndraft\n"
        editor.handlers["fs/write_text_file"] = lambda params: {}
        (evidence,) = handoffs(editor.prompt(one.new(), "go"))
        assert list(map(file_in_short, evidence["changedFiles"])) == [A]
        assert evidence["changedFiles"][0]["source"] == "delegated_editor"
        assert (one.workspace / "a.txt").read_text() == FILES["a.txt"]
        assert [(row["decision"], row["approved"]) for row in evidence["approvals"]] == [("once", True)]
        assert [(row["type"], row["actor"]) for row in evidence["reviewActions"]] == [("accept_file", "user")]


def test_our_own_client_has_it_apart_from_what_was_said(tmp_path: Path) -> None:
    with served(tmp_path, {"turns": [turn("go", FIX, TEST, says("Done."))]}, tool_approval="yolo") as one:
        make_files(one)
        with Client.launch(ACPAGENT, env=one.home.env) as client:
            done = client.open(one.workspace).prompt("go")
            assert (done.wait(60), done.text) == ("end_turn", "Done.")
            assert done.evidence is not None
            assert done.evidence["status"] == "verified"


def test_by_a_server(tmp_path: Path) -> None:
    path = tmp_path / "workspace" / "m.txt"
    writes = calls("mcp__w__write", path=str(path), text="x\ny\n")
    turns = [turn("go", writes, says("Done.")), turn("hello", says("Hello."), loop=True)]
    with served(tmp_path, {"turns": turns}, tool_approval="yolo") as one:
        make_files(one)
        session = one.new(mcpServers=[plain("w", "tools=write")])
        settle(one, session, ["mcp__w__write"])
        (evidence,) = handoffs(one.prompt(session, "go"))
        assert list(map(file_in_short, evidence["changedFiles"])) == ["created m.txt +2-0"]
        assert evidence["changedFiles"][0]["source"] == "mcp"
        assert list(map(check_in_short, evidence["checks"])) == [NONE]


def test_by_a_plugin(tmp_path: Path) -> None:
    path = tmp_path / "workspace" / "p.txt"
    writes = f'    if message["method"] == "tool/call":\n        open({str(path)!r}, "w").write("x\\ny\\n")\n'
    head = '    """The answer, and what is sent before it."""\n'
    with plugged(tmp_path, tool_approval="yolo") as it:
        package = it.package("probe")
        (package / "program.py").write_text(PROBE.read_text().replace(head, head + writes))
        started = {"command": "python3", "args": ["program.py", "probe"], "capabilities": ABLE}
        it.manifest(package, "probe", runtime=started)
        it.rule("probe")
        it.install(package)
        (evidence,) = handoffs(it.one.prompt(it.new(), "#change"))
        assert list(map(file_in_short, evidence["changedFiles"])) == ["created p.txt +2-0"]
        assert evidence["status"] == "unverified"


def test_what_the_person_refused(tmp_path: Path) -> None:
    with served(tmp_path, {"turns": [turn("go", FIX, TEST, says("Done."))]}) as one:
        make_files(one)
        (evidence,) = handoffs(one.prompt(one.new(), "go", permission=_once_for))
        assert evidence["changedFiles"] == []
        rows = {row["toolName"]: (row["decision"], row["approved"]) for row in evidence["approvals"]}
        assert rows == {"edit_file": ("deny", False), "bash": ("once", True)}
        assert [row["type"] for row in evidence["reviewActions"]] == ["reject_file"]


def _once_for(request: Message) -> str:
    return "deny" if request["params"]["toolCall"]["kind"] == "edit" else "once"


def test_a_turn_that_is_cancelled_tells_what_it_did(tmp_path: Path) -> None:
    road = [sh("echo x > s.txt; echo be''gun; sleep 60"), says("Done.")]
    with served(tmp_path, {"turns": [turn("go", *road)]}, tool_approval="yolo") as one:
        make_files(one)
        session = one.new()
        since = len(one.agent.messages)
        id = one.agent.start_prompt(session, "go")
        one.agent.expect(lambda message: "begun" in str(message.get("params")), "its output", since)
        one.agent.notify("session/cancel", {"sessionId": session})
        assert one.agent.response(id)["result"] == {"stopReason": "cancelled"}
        (evidence,) = handoffs(one.agent.updates(session, since))
        assert list(map(file_in_short, evidence["changedFiles"])) == ["created s.txt +1-0"]
        assert evidence["status"] == "unverified"


def test_signing_off_is_tied_to_what_shows_it(tmp_path: Path) -> None:
    plan = calls("todo_write", todos=[{"content": "It", "status": "completed"}])
    sign = calls("complete_step", step="It", result="It is good.", evidence=["`make test`: 1 passed"])
    road = [plan, FIX, calls("read_file", path="a.txt"), TEST, sign, says("Done.")]
    with served(tmp_path, {"turns": [turn("go", *road)]}, tool_approval="yolo", profile="delivery") as one:
        make_files(one)
        (evidence,) = handoffs(one.prompt(one.new(), "go"))
        (claim,) = evidence["claims"]
        assert claim["claim"] == "It: It is good."
        assert claim["status"] == "supported"
        assert evidence["status"] == "verified"


def test_receipts_go_with_their_session(tmp_path: Path) -> None:
    """Deleted by the editor, be it live or not, or by a command of another session."""
    with served(tmp_path, {"turns": [turn("go", TEST, says("Done."))]}, tool_approval="yolo") as one:
        make_files(one)
        sessions = [one.new() for _ in range(4)]
        for session in sessions:
            one.prompt(session, "go")
        folders = [one.home.path / "proofs" / session for session in sessions]
        assert [len(list(folder.iterdir())) for folder in folders] == [1, 1, 1, 1]
        live, closed, commanded, left = sessions
        one.agent.call("session/close", {"sessionId": closed})
        for session in (live, closed):
            one.agent.call("session/delete", {"sessionId": session})
        one.prompt(left, f"/sessions delete {commanded}")
        assert [folder.exists() for folder in folders] == [False, False, False, True]
