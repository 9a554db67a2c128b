"""What breaks agents in practice, provoked from outside. Each test carries the id of its provocation; tests elsewhere
that carry the same id cover more of it (BB-16: test_model_faults, BB-21: test_end_of_input, BB-23: test_client_files).
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpagent.providers.script import Stall
from tests.acp.editor import READ, WRITE, Editor
from tests.acp.seen import OPENED, call_in, calls, calls_in, diffs, says, turn
from tests.acp.served import Served, served
from tests.agent import ACPAGENT, Agent, Message, text_in, updates_in
from tests.conftest import Home, StartAgent
from tests.descendants import marked, new_mark, survivors
from tests.model_server import Raw, Request

ODD = "日本語 🧪\u2028é\u2029\x85 end"
ENDLESS = {"repeat": {"times": 1_000_000, "text": "word ", "every": 0.001}}
SLEEP = calls("bash", command="touch made; sleep 300 & sleep 300")
EDIT = calls("edit_file", path="file.txt", old="one", new="uno")
PRINTS = r"printf 'raw\n' >&1; printf err >&2; read x; echo [$?]"
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("print badly", calls("bash", command=PRINTS), says("Done.")),
        turn("hold", {"stall": True}),
        turn("talk", ENDLESS),
        turn("sleep", [*says("Good night."), SLEEP, calls("list_dir")], says("Up.")),
        turn("edit", [*says("I edit."), EDIT], says("Done.")),
        turn("too long", [*says("It begins"), {"finish": "length"}]),
        turn("forbidden", [*says("No"), {"finish": "refusal"}]),
        turn("for ever", calls("list_dir"), loop=True),
        turn(".", says("Heard.")),
    ]
}


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("box"), SCRIPT, limits={"turn_requests": 3}) as made:
        made.agent.initialize()
        yield made


@pytest.fixture
def file(one: Served) -> Path:
    """The file that `edit` edits."""
    path = one.workspace / "file.txt"
    path.write_text("one\n")
    return path


def cancel(one: Agent, session: str) -> None:
    one.notify("session/cancel", {"sessionId": session})


def running(one: Agent, session: str, since: int) -> None:
    """Wait until a call of the session runs."""
    one.expect(lambda m: any(u.get("status") == "in_progress" for u in updates_in([m], session)), since=since)


def test_BB_01_not_a_byte_before_the_first_answer(agent: StartAgent, home: Home) -> None:
    loud = {"PYTHONWARNINGS": "default", "PYTHONDEVMODE": "1", "ACPAGENT_LOG": "debug", "TERM": "xterm-256color"}
    silent = agent(env=loud)  # no configuration, no key, an empty home
    # A second of silence is the point here.
    assert not silent.process.ended.wait(1)
    assert silent.lines == []
    silent.initialize()
    silent.close()
    assert silent.lines[0].startswith(b"{")
    assert len(silent.lines) == 1


def test_BB_02_a_command_gets_at_neither_pipe(one: Served) -> None:
    session = one.new()
    prompt = one.agent.start_prompt(session, "print badly")
    lists = [one.agent.request("session/list") for _ in range(10)]
    one.agent.decide(one.agent.expect_request("session/request_permission"), "once")
    lists += [one.agent.request("session/list") for _ in range(10)]
    assert one.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    call = call_in(one.agent.updates(session))
    assert {"raw", "err[1]"} == set(call.text.split()[:2])
    assert all("sessions" in one.agent.response(id)["result"] for id in lists)
    assert not [line for line in one.agent.lines if not line.startswith(b"{")]


IDS: list[Any] = [0, -1, "0", "", 9007199254740993, "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"]


def test_BB_03_every_id_comes_back_as_it_was(one: Served) -> None:
    sessions = [one.new() for _ in IDS]
    before = len(one.server.requests)
    for id, session in zip(IDS, sessions, strict=True):
        params = {"sessionId": session, "prompt": [{"type": "text", "text": "hold"}]}
        one.agent.send({"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params})
    one.server.wait_for_request(before + len(IDS))
    for id, session in reversed(list(zip(IDS, sessions, strict=True))):
        cancel(one.agent, session)
        answer = one.agent.response(id)
        assert (answer["id"], type(answer["id"])) == (id, type(id))
        assert answer["result"] == {"stopReason": "cancelled"}
    assert b'"id":9007199254740993' in b"".join(one.agent.lines).replace(b" ", b"")


def test_BB_04_long_lines_and_broken_ones(one: Served) -> None:
    session = one.new()
    for size in (5 << 20, (64 << 10) + 1):
        resource = {"uri": "file:///nowhere/big.txt", "text": "0123456789abcdef" * (size // 16)}
        one.prompt(session, [{"type": "text", "text": "look"}, {"type": "resource", "resource": resource}])
        assert resource["text"].encode() in one.last.raw
    since = len(one.agent.messages)
    one.agent.send_raw(b"{bad\n")
    broken = one.agent.expect(lambda message: "error" in message, since=since)
    assert (broken["id"], broken["error"]["code"]) == (None, -32700)
    one.prompt(session, "still there?")


def spoken(*deltas: Message, ends: bool = True) -> Raw:
    """A model's answer in chat completions; without an end it falls silent."""
    reason = "tool_calls" if any("tool_calls" in delta for delta in deltas) else "stop"
    pieces: list[Message] = [{"delta": delta, "index": 0} for delta in deltas]
    pieces += [{"delta": {}, "index": 0, "finish_reason": reason}] * ends
    events = [b"data: %b\n\n" % json.dumps({"choices": [piece]}, ensure_ascii=False).encode() for piece in pieces]
    return Raw([*events, b"data: [DONE]\n\n"] if ends else [*events, Stall()])


def words(message: Message) -> str:
    """The last line of a message to the model."""
    content = message["content"]
    return str(content if isinstance(content, str) else content[-1]["text"]).split("\n\n")[-1]


def echo(request: Request) -> Raw:
    return spoken({"content": words([m for m in request.body["messages"] if m["role"] == "user"][-1])})


def test_BB_06_utf_8_in_an_ascii_world(agent: StartAgent, serve: Any, workspace: Path) -> None:
    serve(echo)
    one = agent(env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "cp1252"})
    session = one.new_session(workspace)
    request = one.make_request("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": ODD}]})
    raw = json.dumps(request, ensure_ascii=False).encode() + b"\n"
    cut = raw.index("🧪".encode()) + 2
    one.send_raw(raw[:cut])
    one.send_raw(raw[cut:])
    assert one.response(request["id"])["result"] == {"stopReason": "end_turn"}
    assert text_in(one.updates(session)) == ODD
    since = len(one.messages)
    one.call("session/load", {"sessionId": session, "cwd": str(workspace), "mcpServers": []})
    assert text_in(one.updates(session, since), "user_message_chunk") == ODD
    assert len(one.lines) == len(one.messages)


def test_BB_08_a_cancel_for_nothing_does_not_stick(one: Served) -> None:
    session = one.new()
    cancel(one.agent, session)
    assert text_in(one.prompt(session, "hello")) == "Heard."
    cancel(one.agent, session)
    cancel(one.agent, session)
    assert text_in(one.prompt(session, "hello")) == "Heard."


def test_BB_09_a_cancelled_command_is_gone_with_its_children(one: Served) -> None:
    session, since = one.new(), len(one.agent.messages)
    prompt = one.agent.start_prompt(session, "sleep")
    one.agent.decide(one.agent.expect_request("session/request_permission"), "once")
    running(one.agent, session, since)
    cancel(one.agent, session)
    assert one.agent.response(prompt, timeout=20)["result"] == {"stopReason": "cancelled"}
    assert not [line for line in marked(one.agent._mark).values() if "sleep" in line]
    made = calls_in(updates_in(one.agent.messages[since : one.agent.transcript.responses[(int, prompt)]], session))
    assert {call.status for call in made} == {"failed"}  # the second, if it was reported yet, too
    one.prompt(session, "hello")
    called = [call["id"] for message in one.read() for call in message.get("tool_calls", ())]
    assert len(called) == 2
    assert [message["tool_call_id"] for message in one.read() if message["role"] == "tool"] == called


LATE: list[Any] = [
    None,
    {"result": {"outcome": {"outcome": "cancelled"}}},
    {"result": {"outcome": {"outcome": "selected", "optionId": "once"}}},
    {"error": {"code": -32800, "message": "cancelled"}},
]


@pytest.mark.parametrize("late", LATE)
def test_BB_10_a_cancel_does_not_wait_for_the_answer_to_a_question(one: Served, file: Path, late: Any) -> None:
    session, since = one.new(), len(one.agent.messages)
    prompt = one.agent.start_prompt(session, "edit")
    question = one.agent.expect_request("session/request_permission")
    cancel(one.agent, session)
    assert one.agent.response(prompt, timeout=20)["result"] == {"stopReason": "cancelled"}
    withdrawn = one.agent.expect(lambda message: message.get("method") == "$/cancel_request", since=since)
    assert withdrawn["params"] == {"requestId": question["id"]}
    if late is not None:
        one.agent.send({"jsonrpc": "2.0", "id": question["id"]} | late)
    assert text_in(one.prompt(session, "hello")) == "Heard."
    assert file.read_text() == "one\n"


@pytest.mark.parametrize("method", ["session/new", "session/load", "session/resume"])
def test_BB_13_the_response_comes_before_the_commands_and_a_new_sessions_name(one: Served, method: str) -> None:
    known = one.new()
    one.prompt(known, "hello")
    one.agent.call("session/close", {"sessionId": known})
    params = {"cwd": str(one.workspace), "mcpServers": []} | ({} if method == "session/new" else {"sessionId": known})
    since = len(one.agent.messages)
    id = one.agent.request(method, params)
    session = one.agent.response(id)["result"].get("sessionId", known)
    at = one.agent.transcript.responses[(int, id)]
    before = updates_in(one.agent.messages[since:at], session)
    assert "available_commands_update" not in [update["sessionUpdate"] for update in before]
    assert text_in(before) == ("Heard." if method == "session/load" else "")
    if method == "session/new":
        assert session not in json.dumps(one.agent.messages[since:at])
    one.agent.expect_update(session, "available_commands_update", at)


def test_BB_14_the_question_follows_its_call_and_shows_the_change(one: Served, file: Path) -> None:
    session, since = one.new(), len(one.agent.messages)
    prompt = one.agent.start_prompt(session, "edit")
    question = one.agent.expect_request("session/request_permission")
    asked, at = question["params"], one.agent.messages.index(question)
    call = call_in(updates_in(one.agent.messages[since:at], session))
    assert call.statuses == ["pending"]
    assert asked["toolCall"]["toolCallId"] == call.id
    (diff,) = diffs(asked["toolCall"])
    assert (diff["path"], diff["oldText"], diff["newText"]) == (str(file), "one\n", "uno\n")
    kinds = [option["kind"].split("_")[0] for option in asked["options"]]
    assert {"allow", "reject"} <= set(kinds)
    one.agent.call("session/list")
    assert call_in(one.agent.updates(session, since)).statuses == ["pending"]
    one.agent.decide(question, "once")
    assert one.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    assert call_in(one.agent.updates(session, since)).statuses == ["pending", "in_progress", "completed"]
    assert file.read_text() == "uno\n"


NO_YES: list[Any] = [
    {"result": {"outcome": {"outcome": "selected", "optionId": "allow"}}},
    {"result": {}},
    {"result": None},
    {"error": {"code": -32601, "message": "Method not found"}},
    {"error": {"code": -32603, "message": "Internal error"}},
]


@pytest.mark.parametrize("answer", NO_YES)
def test_BB_15_what_is_no_yes_is_a_no(one: Served, file: Path, answer: Message) -> None:
    session, since = one.new(), len(one.agent.messages)
    prompt = one.agent.start_prompt(session, "edit")
    question = one.agent.expect_request("session/request_permission")
    one.agent.send({"jsonrpc": "2.0", "id": question["id"]} | answer)
    assert one.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    updates = one.agent.updates(session, since)
    assert call_in(updates).statuses == ["pending", "failed"]
    assert text_in(updates) == "I edit.Done."
    assert file.read_text() == "one\n"


@pytest.mark.parametrize(
    ("text", "stop"), [("too long", "max_tokens"), ("forbidden", "refusal"), ("for ever", "max_turn_requests")]
)
def test_BB_17_each_end_has_its_reason(one: Served, text: str, stop: str) -> None:
    session = one.new()
    one.prompt(session, text, stop=stop)
    assert text_in(one.prompt(session, "hello")) == "Heard."


def remembers(request: Request) -> Raw:
    """A model that writes a file when it is told to, begins to tell a story, and is asked what it wrote."""
    messages = request.body["messages"]
    last, asked = messages[-1], words([m for m in messages if m["role"] == "user"][-1])
    if asked == "write it" and last["role"] == "user":
        function = {"name": "write_file", "arguments": '{"path": "file.txt", "content": "forty-two\\n"}'}
        return spoken({"content": "I write."}, {"tool_calls": [{"index": 0, "id": "c", "type": "function",
                                                                  "function": function}]})  # fmt: skip
    if asked == "tell a story":
        return spoken({"content": "Once upon a time "}, ends=False)
    if asked == "what did you write?":
        written = [call["function"]["arguments"] for m in messages for call in m.get("tool_calls", ())]
        return spoken({"content": json.loads(written[0])["content"] if written else "Nothing."})
    return spoken({"content": "Done."})


def test_BB_18_what_was_done_is_there_after_kill_9(agent: StartAgent, serve: Any, workspace: Path) -> None:
    serve(remembers)
    killed = agent(exit_code=None)
    session = killed.new_session(workspace)
    killed.prompt(session, "write it", permission="once")
    killed.start_prompt(session, "tell a story")
    killed.expect(lambda message: "upon" in text_in(updates_in([message], session)))
    killed.process.signal(9)
    killed.wait_exit()
    place = {"sessionId": session, "cwd": str(workspace), "mcpServers": []}
    one = agent()
    one.initialize()
    id = one.request("session/load", place)
    assert set(one.response(id)["result"]) == OPENED
    end = one.transcript.responses[(int, id)]
    replayed = updates_in(one.messages[:end], session)
    kinds = [update["sessionUpdate"] for update in replayed]
    told = [kind for kind in kinds if kind == "tool_call" or kind.endswith("_chunk")]
    said = "agent_message_chunk"
    assert told[:6] == ["user_message_chunk", said, "tool_call", said, said, "user_message_chunk"]
    assert text_in(replayed, "user_message_chunk") == "write ittell a story"
    assert text_in(replayed).startswith("I write.Done.")
    call = call_in(replayed)
    assert call.status == "completed"
    assert (call.diff["oldText"], call.diff["newText"]) == (None, "forty-two\n")
    one.call("session/list")
    late = [update["sessionUpdate"] for update in updates_in(one.messages[end:], session)]
    assert not [kind for kind in late if kind.endswith("_chunk") or kind.startswith("tool_call")]
    assert text_in(one.prompt(session, "what did you write?")[0]) == "forty-two\n"
    one.call("session/close", {"sessionId": session})
    since = len(one.messages)
    one.call("session/resume", place)
    one.call("session/list")
    assert not [u for u in one.updates(session, since) if "chunk" in u["sessionUpdate"] or "toolCallId" in u]
    assert text_in(one.prompt(session, "what did you write?")[0]) == "forty-two\n"


@pytest.mark.parametrize("what", ["idle", "talk", "sleep", "edit"])
def test_BB_21_a_client_that_closes_both_pipes(home: Home, workspace: Path, what: str) -> None:
    """In the middle of anything. What happens when only one of them is closed: test_end_of_input, test_transport."""
    home.use_script(SCRIPT)
    (workspace / "file.txt").write_text("one\n")
    mark = new_mark()
    pipe = subprocess.PIPE
    with subprocess.Popen(ACPAGENT, env=home.env | mark, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin and process.stdout and process.stderr  # noqa: PT018
        lines = map(json.loads, process.stdout)

        def send(**message: Any) -> None:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            process.stdin.flush()

        def until(text: str) -> Any:
            return next(line for line in lines if text in json.dumps(line))

        send(id=1, method="initialize", params={"protocolVersion": 1})
        send(id=2, method="session/new", params={"cwd": str(workspace), "mcpServers": []})
        session = until("sessionId")["result"]["sessionId"]
        blocks = [{"type": "text", "text": what}]
        if what != "idle":
            send(id=3, method="session/prompt", params={"sessionId": session, "prompt": blocks})
        if what == "talk":
            until("agent_message_chunk")
        elif what != "idle":
            question = until("request_permission")
        if what == "sleep":
            send(id=question["id"], result={"outcome": {"outcome": "selected", "optionId": "once"}})
            until("in_progress")
        process.stdout.close()
        process.stdin.close()
        assert process.wait(20) == 0
        assert process.stderr.read() == b""
    assert not survivors(mark, 5)


ABILITIES = [(reads, writes, terminals) for reads in (0, 1) for writes in (0, 1) for terminals in (0, 1)]
MATRIX: dict[str, Any] = {
    "turns": [
        turn("work", calls("read_file", path="file.txt"), EDIT, calls("write_file", path="new.txt", content="new\n"),
             calls("bash", command="cat file.txt"), says("Done.")),
        turn(".", EDIT, says("Done.")),
    ]
}  # fmt: skip


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("matrix"), MATRIX) as made:
        yield made


@pytest.mark.parametrize(("reads", "writes", "terminals"), ABILITIES)
def test_BB_23_what_is_offered_is_used_and_nothing_else(two: Served, reads: int, writes: int, terminals: int) -> None:
    file, new = (two.workspace / name for name in ("file.txt", "new.txt"))
    file.write_bytes(b"one\r\ntwo\r\n")
    new.unlink(missing_ok=True)
    two.agent.initialize(
        {"fs": {"readTextFile": bool(reads), "writeTextFile": bool(writes)}, "terminal": bool(terminals)}
    )
    editor = Editor(two.agent, reads=bool(reads), writes=bool(writes), terminals=bool(terminals))
    unsaved = "one\r\ntwo, unsaved\r\n"
    if reads:
        editor.buffers[str(file)] = unsaved
    updates, answer = editor.turn(two.new(), "work")
    assert answer["result"] == {"stopReason": "end_turn"}
    used = [method in editor.methods for method in (READ, WRITE, "terminal/create")]
    assert used == [bool(reads), bool(writes), bool(terminals)]
    read, edit, create, cat = calls_in(updates)
    assert ("unsaved" in read.text) == bool(reads)
    assert create.diff["oldText"] is None
    assert new.read_bytes() == b"new\n"
    if reads and not writes:  # the person would lose either text
        assert edit.status == "failed"
        assert editor.buffers[str(file)] == unsaved
        assert file.read_bytes() == b"one\r\ntwo\r\n"
    else:
        assert edit.status == "completed"
        assert file.read_bytes() == (unsaved if reads else "one\r\ntwo\r\n").replace("one", "uno").encode()
        assert edit.diff["oldText"] == (unsaved if reads else "one\r\ntwo\r\n")
    assert cat.status == "completed"
    assert not editor.open
