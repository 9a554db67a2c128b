"""Tool calls from report to end: status, ids, titles, live output, structured details, and calls that go wrong."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.seen import Call, call_in, calls, calls_in, says, text_of, turn
from tests.acp.served import Served, served
from tests.agent import Agent, Message, text_in, updates_in
from tests.conftest import Home, StartAgent
from tests.model_server import Raw, Request

SLOW = "for i in 1 2 3 4; do echo line $i; cat go; done"  # a line, and another when somebody opens the pipe `go`
BUSY = "i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); sleep 0.002; done"
HARD = {"pattern": "^(a+)+b", "path": "hard.txt"}  # takes its time on a line that has no b
RAW = "not { json"
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("slow command", calls("bash", command=SLOW), says("Done.")),
        turn("busy command", calls("bash", command=BUSY), says("Done.")),
        turn("long output", calls("bash", command=BUSY.replace("sleep 0.002", "true")), says("Done.")),
        turn("cat", calls("bash", command="cat greeting.txt"), says("Done.")),
        turn("exits 3", calls("bash", command="echo out; echo err >&2; exit 3"), says("Done.")),
        turn("killed", calls("bash", command="kill -9 $$"), says("Done.")),
        turn("too slow", calls("bash", command="echo begun; sleep 60", timeout_seconds=1), says("Done.")),
        turn("two lines", calls("bash", command="echo one\necho `date`\n"), says("Done.")),
        turn("read it", calls("read_file", path="greeting.txt", line=2, limit=1), says("Done.")),
        turn("list it", calls("list_dir"), says("Done.")),
        turn("grep it", calls("grep", pattern="o", path="greeting.txt"), says("Done.")),
        turn("glob it", calls("glob", pattern="*.txt"), says("Done.")),
        turn("edit it", calls("edit_file", path="edited.txt", old="one", new="uno"), says("Done.")),
        turn("write it", calls("write_file", path="new/made.txt", content="made\n"), says("Done.")),
        turn("edit twice", [
            calls("edit_file", path="twice.txt", old="one", new="uno"),
            calls("edit_file", path="twice.txt", old="uno two", new="uno due"),
        ], says("Done.")),
        turn("three at once", [calls("grep", **HARD)] * 3, says("Done.")),
        turn("reads around", [calls("read_file", path="greeting.txt"), calls("write_file", path="w.txt", content="w"),
             calls("read_file", path="w.txt"), calls("list_dir")], says("Done.")),
        turn("gone file", calls("read_file", path="no-such-file.txt"), says("Done.")),
        turn("unknown tool", calls("teleport", to="Mars"), says("Done.")),
        turn("odd name", calls("functions.do it!"), says("Done.")),
        turn("nameless", {"call": {"tool": "", "args": {}}}, says("Done.")),
        turn("bad json", {"call": {"tool": "read_file", "args": RAW}}, says("Done.")),
        turn("no object", {"call": {"tool": "read_file", "args": "[1, 2]"}}, says("Done.")),
        turn("missing arguments", calls("read_file"), says("Done.")),
        turn("wrong arguments", calls("read_file", path=["x"], color="red"), says("Done.")),
        turn("no arguments", {"call": {"tool": "list_dir", "args": ""}}, says("Done.")),
        turn("environment", calls("bash", command="env"), says("Done.")),
        turn("hi", says("Hello.")),
    ]
}  # fmt: skip


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("tools"), SCRIPT, tool_approval="yolo") as made:
        (made.workspace / "greeting.txt").write_text("hello\nworld\n")
        (made.workspace / "hard.txt").write_text("a" * 20 + "\n")
        yield made


def the_call(one: Served, prompt: str) -> Call:
    """Prompt in a new session for one call."""
    return call_in(one.prompt(one.new(), prompt))


def result(one: Served) -> str:
    """What the model read of its last call."""
    return str([message for message in one.read() if message["role"] == "tool"][-1]["content"])


def test_TOOL_01_TOOL_03_TOOL_05_a_call_is_reported_before_it_runs(one: Served) -> None:
    session = one.new()
    updates = one.prompt(session, "cat")
    kinds = [update["sessionUpdate"] for update in updates if update["sessionUpdate"].startswith("tool_call")]
    assert kinds[0] == "tool_call"
    assert set(kinds[1:]) == {"tool_call_update"}
    call = call_in(updates)
    assert call.statuses == ["pending", "in_progress", "completed"]
    assert call.first["title"] == "Run: cat greeting.txt"
    assert call.first["kind"] == "execute"
    assert "rawOutput" not in call.first


def test_TOOL_02_ids_are_ours_whatever_the_provider_calls_its_calls(
    agent: Any, home: Home, workspace: Path, serve: Any
) -> None:
    def same_id_always(request: Request) -> Raw:
        made = sum(message["role"] == "tool" for message in request.body["messages"])
        turns = sum(message["role"] == "user" for message in request.body["messages"])
        if made >= 2 * turns:
            return chunks({"content": "Done."}, "stop")
        call = {"function": {"name": "list_dir", "arguments": "{}"}, "id": "call_0", "type": "function"}
        return chunks({"tool_calls": [{"index": 0, **call}, {"index": 1, **call}]}, "tool_calls")

    server = serve(same_id_always)
    client: Agent = agent()
    session = client.new_session(workspace)
    ids = [call.id for _ in range(2) for call in calls_in(client.prompt(session, "go")[0])]
    assert len(ids) == len(set(ids)) == 4
    assert all(ids)
    results = [message for message in server.requests[-1].body["messages"] if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in results] == ["call_0"] * 4


def chunks(delta: Message, reason: str) -> Raw:
    """An answer of the model in one piece."""
    told = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}]  # fmt: skip
    return Raw([b"".join(b"data: %b\n\n" % json.dumps(part).encode() for part in told) + b"data: [DONE]\n\n"])


@pytest.mark.parametrize(
    ("prompt", "kind", "title", "facts"),
    [
        ("read it", "read", "Read greeting.txt lines 2-2 of 2",
         {"path": "greeting.txt", "startLine": 2, "endLine": 2, "readLines": 1, "totalLines": 2, "truncated": False}),
        ("list it", "read", None, {"path": ".", "truncated": False}),
        ("grep it", "search", 'Search "o" in greeting.txt (2 matches)',
         {"path": "greeting.txt", "query": "o", "matchCount": 2, "truncated": False}),
        ("glob it", "search", None, {"path": ".", "query": "*.txt", "truncated": False}),
        ("write it", "edit", "Created new/made.txt", {"path": "new/made.txt", "totalLines": 1}),
        ("cat", "execute", "Run: cat greeting.txt",
         {"command": "cat greeting.txt", "exitCode": 0, "signalCode": None, "timedOut": False, "truncated": False}),
        ("exits 3", "execute", "Run: echo out; echo err >&2; exit 3 (exit 3)",
         {"command": "echo out; echo err >&2; exit 3", "exitCode": 3, "signalCode": None, "timedOut": False,
          "truncated": False}),
        ("killed", "execute", "Run: kill -9 $$ (failed)",
         {"command": "kill -9 $$", "exitCode": None, "signalCode": "SIGKILL", "timedOut": False, "truncated": False}),
        ("too slow", "execute", "Run: echo begun; sleep 60 (timed out)",
         {"command": "echo begun; sleep 60", "exitCode": None, "signalCode": "SIGTERM", "timedOut": True,
          "truncated": False}),
    ],
)  # fmt: skip
def test_meta_says_exactly_what_was_done(
    one: Served, prompt: str, kind: str, title: str | None, facts: Message
) -> None:
    call = the_call(one, prompt)
    tool = call.first["name"]
    assert set(call.now["_meta"]) == {"tool_name", "soba"}
    assert call.now["_meta"]["tool_name"] == tool
    soba = dict(call.soba)
    evidence = soba.pop("evidence")
    took = soba.pop("durationMs")
    counted = {key: soba.pop(key) for key in ("entryCount",) if key in soba}
    if title is None:  # it counts what else is in the workspace
        counted |= {key: soba.pop(key) for key in ("matchCount",) if key in soba}
        assert all(count > 0 for count in counted.values())
        assert counted
    assert title in (None, call.now["title"])
    assert soba == {"toolName": tool, "kind": kind, **facts}
    assert isinstance(took, int)
    assert took >= 0
    told = {key: facts[key] for key in ("command", "path", "query", "exitCode") if key in facts}
    preview = " ".join(call.text.split())
    assert evidence == {
        "source": "tool_lifecycle", "phase": "result", "toolName": tool, "kind": kind, "status": call.status,
        "durationMs": took, "outputPreview": preview, **told,
    }  # fmt: skip
    assert call.first["_meta"]["soba"]["evidence"]["phase"] == "start"
    assert call.first["_meta"]["soba"]["evidence"]["status"] == "pending"
    assert "durationMs" not in call.first["_meta"]["soba"]
    assert call.status == ("completed" if facts.get("exitCode", 0) == 0 and not facts.get("timedOut") else "failed")


def test_meta_preview_is_cut_at_500_letters(one: Served) -> None:
    preview = the_call(one, "long output").soba["evidence"]["outputPreview"]
    assert len(preview) == 500
    assert preview.endswith("...")
    assert preview.startswith("line 0 line 1 ")


def test_TOOL_07_live_output_of_a_slow_command(one: Served) -> None:
    go = one.workspace / "go"
    os.mkfifo(go)
    session = one.new()

    def expect_line(number: int) -> None:
        end = f"line {number}\n"
        one.agent.expect(lambda message: any(text_of(it).endswith(end) for it in updates_in([message], session)), end)

    prompt = one.agent.start_prompt(session, "slow command")
    for number in range(1, 5):
        expect_line(number)
        go.write_text("")
    assert one.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    call = call_in(one.agent.updates(session))
    live = [text_of(update) for update in call.later[1:-1]]
    assert call.later[0]["status"] == "in_progress"
    assert len(live) >= 3
    whole = "line 1\nline 2\nline 3\nline 4\n"
    for before, after in itertools.pairwise(live):
        assert after.startswith(before)  # it replaces what was there, so it holds that too
        assert after != before
    assert all(whole.startswith(text) for text in live)
    assert call.text == whole + "[exit 0]"
    # What did not change is left out, and so stays as it was.
    assert all(set(update) == {"sessionUpdate", "toolCallId", "content"} for update in call.later[1:-1])


def test_TOOL_07_at_most_ten_snapshots_a_second(one: Served) -> None:
    call = the_call(one, "busy command")
    seconds = call.soba["durationMs"] / 1000
    assert 3 <= len(call.later) - 2 <= seconds * 10 + 1


def test_TOOL_09_TOOL_10_locations_are_absolute_and_lines_count_from_one(one: Served) -> None:
    (one.workspace / "edited.txt").write_text("zero\none\n")
    path = str(one.workspace / "greeting.txt")
    assert the_call(one, "read it").now["locations"] == [{"path": path, "line": 2}]
    assert the_call(one, "grep it").now["locations"] == [{"path": path, "line": 1}, {"path": path, "line": 2}]
    edit = the_call(one, "edit it")
    assert edit.first["locations"] == [{"path": str(one.workspace / "edited.txt"), "line": 2}]
    assert the_call(one, "write it").first["locations"] == [{"path": str(one.workspace / "new/made.txt")}]
    (one.workspace / "edited.txt").write_text("one\n")
    assert the_call(one, "edit it").now["locations"][0]["line"] == 1


def test_TOOL_11_raw_input_and_output_are_values_not_texts(one: Served) -> None:
    call = the_call(one, "read it")
    assert call.first["rawInput"] == {"path": "greeting.txt", "line": 2, "limit": 1}
    assert call.now["rawOutput"] == {
        "path": "greeting.txt", "start_line": 2, "end_line": 2, "read_lines": 1, "total_lines": 2, "truncated": False,
    }  # fmt: skip
    for prompt in ("cat", "glob it", "exits 3", "gone file", "unknown tool", "bad json", "write it"):
        now = the_call(one, prompt).now
        assert isinstance(now["rawOutput"], dict)
        assert len(json.dumps(now["rawOutput"])) < 3000


def test_TOOL_11_no_command_sees_the_keys(agent: Any, home: Home, workspace: Path, one: Served) -> None:
    home.use_server(one.server.base_url, tool_approval="yolo")
    config = json.loads((home.path / "config.yaml").read_text())
    config["providers"]["local"]["api_key_env"] = "SOME_KEY"
    home.configure(config)
    client: Agent = agent(env={"SOME_KEY": "sk-very-secret"})
    call = call_in(client.prompt(client.new_session(workspace), "environment")[0])
    assert "HOME=" in call.text
    assert "sk-very-secret" not in b"".join(client.lines).decode()


def test_TOOL_12_the_name_is_in_the_first_report_and_stays(one: Served) -> None:
    for prompt, name in (("cat", "bash"), ("read it", "read_file"), ("unknown tool", "teleport")):
        call = the_call(one, prompt)
        assert call.first["name"] == name
        assert call.now["name"] == name


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("unknown tool", "There is no tool named 'teleport'."),
        ("nameless", "There is no tool named ''."),
        ("bad json", "The arguments are not valid JSON"),
        ("no object", "The arguments must be one JSON object."),
        ("missing arguments", "path is missing: a string; it takes path, line?, limit?."),
        ("wrong arguments", "There is no argument color"),
    ],
)
def test_TOOL_13_a_call_that_cannot_be_fails_and_tells_person_and_model_why(
    one: Served, prompt: str, words: str
) -> None:
    session = one.new()
    updates = one.prompt(session, prompt)
    call = call_in(updates)
    assert call.statuses == ["pending", "failed"]
    assert words in call.text
    assert words in result(one)
    assert call.first["title"]
    assert text_in(updates) == "Done."
    one.prompt(session, "hi")  # what is sent back of it is valid


def test_TOOL_13_no_arguments_at_all_are_an_empty_object(one: Served) -> None:
    assert the_call(one, "no arguments").status == "completed"


def test_TOOL_13_a_file_that_is_not_there(one: Served) -> None:
    call = the_call(one, "gone file")
    assert call.statuses == ["pending", "in_progress", "failed"]
    assert call.text == result(one) == "There is no file no-such-file.txt."


def test_TOOL_13_a_failing_command_shows_its_output(one: Served) -> None:
    call = the_call(one, "exits 3")
    assert call.text.split() == ["out", "err", "[exit", "3]"]
    assert call.status == "failed"
    assert result(one) == call.text


@pytest.mark.parametrize(
    ("prompt", "name"), [("unknown tool", "teleport"), ("nameless", "nameless"), ("odd name", "functions_do_it_")]
)
def test_TOOL_13_a_name_no_server_takes_is_not_sent_back(one: Served, prompt: str, name: str) -> None:
    the_call(one, prompt)
    (called,) = [message for message in one.read() if message["role"] == "assistant"]
    assert called["tool_calls"][0]["function"]["name"] == name


def test_TOOL_13_bad_arguments_are_sent_back_as_valid_json(one: Served) -> None:
    the_call(one, "bad json")
    (called,) = [message for message in one.read() if message["role"] == "assistant"]
    assert json.loads(called["tool_calls"][0]["function"]["arguments"]) == {"unreadable_arguments": RAW}


BROKEN = """
import sys
from acpagent.cli.main import main
from acpagent.toolbox.listing import ListDir
from acpagent.toolbox.read import ReadFile

def broken(*_):
    raise RuntimeError("a screw is loose")

ReadFile.prepare = broken
ListDir.apply = broken
sys.exit(main(["acp"]))
"""


@pytest.mark.parametrize(("prompt", "statuses"), [("read it", ["pending"]), ("list it", ["pending", "in_progress"])])
def test_TOOL_13_a_tool_that_breaks_fails_its_call_and_not_the_turn(
    agent: Any, home: Home, workspace: Path, prompt: str, statuses: list[str]
) -> None:
    home.use_script(SCRIPT)
    client: Agent = agent(command=[sys.executable, "-c", BROKEN])
    updates, answer = client.prompt(client.new_session(workspace), prompt)
    assert answer["result"] == {"stopReason": "end_turn"}
    call = call_in(updates)
    assert call.statuses == [*statuses, "failed"]
    assert "broke: RuntimeError: a screw is loose" in call.text
    assert text_in(updates) == "Done."


def test_TOOL_14_calls_that_read_run_side_by_side(one: Served) -> None:
    session = one.new()
    updates = one.prompt(session, "three at once")
    made = calls_in(updates)
    order = [(made_index(made, update), update["status"]) for update in updates if "status" in update]
    started = [order.index((number, "in_progress")) for number in range(3)]
    ended = [order.index((number, "completed")) for number in range(3)]
    assert max(started) < min(ended)
    assert [call["role"] for call in one.read()[-3:]] == ["tool"] * 3  # the results in the order of the calls
    made_ids = [call["id"] for call in one.read()[-4]["tool_calls"]]
    assert [message["tool_call_id"] for message in one.read()[-3:]] == made_ids


def made_index(made: list[Call], update: Message) -> int:
    return [call.id for call in made].index(update["toolCallId"])


def test_TOOL_14_what_writes_keeps_its_place_among_what_reads(one: Served) -> None:
    made = calls_in(one.prompt(one.new(), "reads around"))
    assert [call.status for call in made] == ["completed"] * 4
    assert "1\tw" in made[2].text


def test_TOOL_14_two_edits_of_one_file_in_one_reply_both_stand(one: Served) -> None:
    path = one.workspace / "twice.txt"
    path.write_text("one two three\n")
    first, second = calls_in(one.prompt(one.new(), "edit twice"))
    assert path.read_text() == "uno due three\n"
    assert (first.diff["oldText"], first.diff["newText"]) == ("one two three\n", "uno two three\n")
    assert (second.diff["oldText"], second.diff["newText"]) == ("uno two three\n", "uno due three\n")


def test_TOOL_15_a_title_is_one_short_line(one: Served) -> None:
    call = the_call(one, "two lines")
    assert call.now["title"] == "Run: echo one ⏎ echo `date`"
    assert call.soba["command"] == "echo one\necho `date`\n"


def test_TOOL_04_TOOL_06_TOOL_08_every_call_of_these_tests_was_announced_and_ended(one: Served) -> None:
    sessions = {m["params"]["sessionId"] for m in one.agent.messages if m.get("method") == "session/update"}
    for session in sessions:
        for call in calls_in(updates_in(one.agent.messages, session)):
            assert call.status in ("completed", "failed")
            assert {item["type"] for item in call.now["content"]} <= {"content", "diff"}
            assert all(Path(place["path"]).is_absolute() for place in call.now["locations"])
            assert all(place.get("line", 1) >= 1 for place in call.now["locations"])
            assert call.now["title"].splitlines() == [call.now["title"]]


def test_TOOL_03_a_call_that_cannot_be_prepared_has_its_tools_kind(
    agent: StartAgent, home: Home, workspace: Path
) -> None:
    missing = {"call": {"tool": "edit_file", "args": {"path": "README.md", "old": "no such words", "new": "x"}}}
    home.use_script({"turns": [{"replies": [[missing], [{"text": "Done."}]]}]})
    one = agent()
    updates, _ = one.prompt(one.new_session(workspace), "go")
    call = call_in(updates)
    assert (call.first["kind"], call.status) == ("edit", "failed")
