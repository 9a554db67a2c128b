"""What SOBA's own tests expect of a turn, by their numbers, over the wire and in two sessions at once. Where the
protocol or our own rules decide otherwise, our value is expected, and said why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.editor import PERMISSION
from tests.acp.pairs import NAMES, Pair
from tests.acp.seen import Call, call_in, calls, calls_in, says, turn
from tests.acp.served import Served, served
from tests.agent import Message, handoffs, text_in

FIX = calls("edit_file", path="a.txt", old="bad", new="good")
TEST = calls("bash", command="make test")
WAYS = [{"id": "left", "label": "Left", "description": "the old road"}, {"id": "right", "label": "Right"}]
ASK = calls("ask_user", question="Which way?", options=WAYS, allowOther=True)
STEPS = [{"content": "Look", "status": "completed"}, {"content": "Mend", "status": "in_progress"}]
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("in pieces", [{"text": "One "}, {"wait": 0.4}, {"text": "two "}, {"wait": 0.1}, {"text": "three."}]),
        turn("think", [{"thought": "Hm, "}, {"text": "Yes."}]),
        turn("make a list", calls("todo_write", todos=STEPS), says("Listed.")),
        turn("mend and check", [{"text": "I mend it. "}, FIX], TEST, says("Mended.")),
        turn("mend it", FIX, says("Mended.")),
        turn("read it", calls("read_file", path="name.txt"), says("Read.")),
        turn("write it", calls("write_file", path="made.txt", content="made\n"), says("Written.")),
        turn("look for it", calls("grep", pattern="am", path="name.txt"), says("Found.")),
        turn("list it", calls("list_dir"), says("Listed.")),
        turn("exit 3", calls("bash", command="cat name.txt; exit 3"), says("It failed.")),
        turn("run it", calls("bash", command="cat name.txt"), says("Ran.")),
        turn("touch it", calls("bash", command="touch touched"), says("Touched.")),
        turn("ask me", ASK, says("Good.")),
        turn("fail", [{"error": {"status": 400, "message": "no such thing"}}]),
        turn("stay", [{"text": "Begun."}, {"wait": 30}]),
        turn(".", says("Heard.")),
    ]
}
MODEL = {"vision": True, "context_window": 65_536}
FORM: Message = {"elicitation": {"form": {}}}
FILES = {"fs": {"readTextFile": True, "writeTextFile": True}}
MakePair = Callable[..., Pair]


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("turns"), SCRIPT, MODEL, compaction={"keep": 0.01}) as made:
        yield made


@pytest.fixture
def pair(one: Served, tmp_path: Path) -> MakePair:
    return lambda abilities=None, **editor: Pair(one, tmp_path, abilities, **editor)


def chunks(updates: list[Message], kind: str = "agent_message_chunk") -> list[Message]:
    return [update for update in updates if update["sessionUpdate"] == kind]


def soba(call: Call) -> Message:
    meta: Message = call.now["_meta"]["soba"]
    return meta


def test_SOBA_14_a_message_with_its_id_and_then_the_end(pair: MakePair) -> None:
    ids = []
    for updates in pair().at_once("hello"):
        assert text_in(updates) == "Heard."
        (id,) = {chunk["messageId"] for chunk in chunks(updates)}
        ids.append(id)
    assert ids[0] != ids[1]


def test_SOBA_15_pieces_come_one_by_one_and_before_the_end(pair: MakePair) -> None:
    two = pair()
    told = two.at_once("in pieces")
    for updates in told:
        assert [chunk["content"]["text"] for chunk in chunks(updates)] == ["One ", "two ", "three."]
    ends = [place for place, message in enumerate(two.agent.messages) if "stopReason" in message.get("result", {})][-2:]
    begun = [two.agent.messages.index(each) for each in two.agent.messages if "One " in str(each)][-2:]
    assert max(begun) < min(ends)  # neither waited for the other


def test_SOBA_16_nothing_is_said_twice_and_the_evidence_comes_once_at_the_end(pair: MakePair) -> None:
    for updates in pair().at_once("mend and check"):
        assert text_in(updates) == "I mend it. Mended."
        (evidence,) = handoffs(updates)
        assert (evidence["source"], evidence["status"]) == ("assistant_handoff", "verified")
        assert evidence == chunks(updates)[-1]["_meta"]["soba"]["evidence"]
        assert "Evidence" in chunks(updates)[-1]["content"]["text"]  # the person reads it, too


def test_SOBA_17_thoughts_and_plans(pair: MakePair) -> None:
    two = pair()
    for updates in two.at_once("think"):
        assert text_in(updates, "agent_thought_chunk") == "Hm, "
        assert text_in(updates) == "Yes."
        assert chunks(updates)[0]["messageId"] != chunks(updates, "agent_thought_chunk")[0]["messageId"]
    for updates in two.at_once("make a list"):
        (plan,) = chunks(updates, "plan")
        assert plan["entries"] == [{**step, "priority": "medium"} for step in STEPS]


def test_SOBA_18_a_summary_is_a_thought_when_it_begins_and_a_line_when_it_is_there(pair: MakePair) -> None:
    two = pair()
    for words in ("tell me " * 300, "and more " * 300):
        two.at_once(words)
    for updates in two.at_once("/compact"):
        (begun,) = chunks(updates, "agent_thought_chunk")
        ended = chunks(updates)[0]
        facts = [update["_meta"]["soba"]["compaction"] for update in (begun, ended)]
        assert [one["status"] for one in facts] == ["in_progress", "completed"]
        (id,) = {one["operationId"] for one in facts}
        assert facts[1]["checkpointId"] == id
        assert id in ended["content"]["text"]
        assert ended["content"]["text"].count("\n") == 2  # a line
        assert "compaction" not in str(chunks(updates, "compaction_update"))


def test_SOBA_19_a_failure_is_an_error_and_a_cancel_no_failure(pair: MakePair) -> None:
    """SOBA shows what a provider failed with and ends the turn as if it were done. The protocol has errors for that,
    and a silent end would hide it (TURN-10)."""
    two = pair()
    for updates, answer in two.answers("fail"):
        assert answer["error"]["code"] == -32603
        assert "no such thing" in answer["error"]["message"]
        assert text_in(updates) == ""
    since = len(two.agent.messages)
    prompts = two.start("stay")
    for session in two.sessions:
        two.agent.expect_update(session, "agent_message_chunk", since)
        two.agent.notify("session/cancel", {"sessionId": session})
    assert [two.agent.response(id)["result"] for id in prompts] == [{"stopReason": "cancelled"}] * 2


def test_SOBA_20_every_kind_of_block_reaches_the_model_and_the_command_field_is_a_command(pair: MakePair) -> None:
    two = pair()

    def blocks(index: int) -> list[Message]:
        return [
            {"type": "text", "text": f"words of {NAMES[index]}"},
            {"type": "resource", "resource": {"uri": f"file:///{NAMES[index]}.py", "text": f"code of {NAMES[index]}"}},
            {"type": "resource_link", "uri": (two.folders[index] / "name.txt").as_uri(), "name": "name.txt"},
            {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="},
        ]

    two.at_once(blocks)
    for index, name in enumerate(NAMES):
        heard = str(two.heard(index)["messages"])
        for part in (f"words of {name}", f"code of {name}", f"file:///{name}.py", f"I am {name}", "iVBORw0KGgo="):
            assert part in heard
        assert NAMES[1 - index] not in heard.replace(str(two.folders[0].parent), "")
    asked = len(two.one.server.requests)
    since = len(two.agent.messages)
    answers = two.both("session/prompt", {"prompt": [], "command": {"name": "sessions", "args": ["resume", "a b"]}})
    assert [answer["result"] for answer in answers] == [{"stopReason": "end_turn"}] * 2
    for session in two.sessions:
        assert "begins with `a b`" in text_in(two.agent.updates(session, since))
    assert len(two.one.server.requests) == asked


@pytest.mark.parametrize(
    ("words", "given", "kind", "title", "facts"),
    [
        ("read it", {"path": "name.txt"}, "read", "Read name.txt", {"path": "name.txt"}),
        ("look for it", {"pattern": "am", "path": "name.txt"}, "search", 'Search "am" in name.txt (1 match)',
         {"query": "am", "matchCount": 1}),
        ("list it", {}, "read", "List", {"path": "."}),
        ("run it", {"command": "cat name.txt"}, "execute", "Run: cat name.txt",
         {"command": "cat name.txt", "exitCode": 0}),
    ],
)  # fmt: skip
def test_SOBA_21_calls_and_usage_are_told_in_full(
    pair: MakePair, words: str, given: Message, kind: str, title: str, facts: Message
) -> None:
    two = pair()
    for index, updates in enumerate(two.at_once(words)):
        call = call_in(updates)
        assert (call.first["status"], call.status) == ("pending", "completed")
        assert (call.now["kind"], call.now["rawInput"]) == (kind, given)
        assert call.now["title"].startswith(title)
        places = call.now.get("locations", [])
        assert all(Path(place["path"]).is_relative_to(two.folders[index]) for place in places)
        assert any("line" in place for place in places) is (words in ("read it", "look for it"))
        assert call.now["_meta"]["tool_name"] == soba(call)["toolName"]
        assert soba(call)["kind"] == kind
        assert facts.items() <= soba(call).items()
        phases = [call.first["_meta"]["soba"]["evidence"], soba(call)["evidence"], (call.end or {})["evidence"]]
        assert [(one["phase"], one["status"]) for one in phases] == [
            ("start", "pending"), ("result", "completed"), ("end", "completed"),
        ]  # fmt: skip
        assert {one["source"] for one in phases} == {"tool_lifecycle"}
        if words != "list it":
            assert NAMES[index] in soba(call)["evidence"]["outputPreview"]
        usage = chunks(updates, "usage_update")[-1]
        assert 0 < usage["used"] < usage["size"] == MODEL["context_window"]


def test_SOBA_22_a_failed_command_stays_failed(pair: MakePair) -> None:
    for index, updates in enumerate(pair().at_once("exit 3")):
        call = call_in(updates)
        assert call.status == "failed"
        assert call.now["title"].endswith("(exit 3)")
        assert (soba(call)["exitCode"], soba(call)["timedOut"], soba(call)["truncated"]) == (3, False, False)
        assert f"I am {NAMES[index]}" in soba(call)["evidence"]["outputPreview"]
        assert call.end is not None  # and it had no status
        assert call.end["durationMs"] >= 0
        assert call.end["evidence"]["status"] == "failed"


def test_SOBA_23_an_edit_shows_the_change_first_and_then_words(pair: MakePair) -> None:
    two = pair()
    for index, updates in enumerate(two.at_once("mend it")):
        first, *rest = call_in(updates).now["content"]
        assert first == {
            "type": "diff", "path": str(two.folders[index] / "a.txt"),
            "oldText": "one\nbad\nthree\n", "newText": "one\ngood\nthree\n",
        }  # fmt: skip
        assert rest
        assert {item["type"] for item in rest} == {"content"}


def test_SOBA_24_the_evidence_has_all_parts_as_data(pair: MakePair) -> None:
    """SOBA reads them off a text again; ours are the ledger's own, and the text is made of them."""
    two = pair()
    for updates in two.at_once("mend and check"):
        (evidence,) = handoffs(updates)
        (file,) = evidence["changedFiles"]
        assert (file["path"], file["operation"], file["added"], file["removed"]) == ("a.txt", "modified", 1, 1)
        assert (evidence["diff"]["fileCount"], evidence["diff"]["added"], evidence["diff"]["removed"]) == (1, 1, 1)
        (check,) = evidence["checks"]
        assert (check["label"], check["status"]) == ("Tests", "passed")
        assert [one["decision"] for one in evidence["approvals"]] == ["once", "once"]
        assert evidence["risks"] == []
        assert isinstance(evidence["reviewActions"], list)
    for updates in two.at_once("mend it"):  # there is nothing left to mend
        assert call_in(updates).status == "failed"


def test_SOBA_25_a_client_that_offers_nothing_is_asked_and_its_choice_counts(pair: MakePair) -> None:
    """Options and their order are SOBA's. Its older form of the answer, `{decision: "repo"}`, is none of the
    protocol's: only an offered option that was selected is a yes (PERM-06)."""
    two = pair(permission="repo")
    for updates in two.at_once("mend it"):
        assert call_in(updates).status == "completed"
    asked = [request["params"] for request in two.editor.asked]
    assert sorted(params["sessionId"] for params in asked) == sorted(two.sessions)
    for params in asked:
        assert [one["optionId"] for one in params["options"]] == ["deny", "once", "session", "repo", "full"]
        call = params["toolCall"]
        assert (call["status"], call["kind"]) == ("pending", "edit")
        assert call["rawInput"]["path"] == "a.txt"
        assert call["content"][0]["type"] == "diff"
    two.editor.handlers[PERMISSION] = lambda request, params: {"decision": "repo"}
    for index, updates in enumerate(two.at_once("touch it")):
        assert call_in(updates).status == "failed"
        assert not (two.folders[index] / "touched").exists()


@pytest.mark.parametrize("forms", [True, False])
def test_SOBA_26_SOBA_35_questions_are_a_form_where_the_client_shows_forms(pair: MakePair, forms: bool) -> None:
    two = pair(FORM if forms else {})
    choices = iter(["left", "right"])
    two.editor.handlers["elicitation/create"] = lambda request, params: {
        "action": "accept",
        "content": {"choice": next(choices), "other": "dropped"},  # with a choice that was offered
    }
    told = two.at_once("ask me")
    tools = [{tool["function"]["name"] for tool in two.heard(index)["tools"]} for index in (0, 1)]
    if not forms:  # a form is never imitated, and ask_user not on the list
        assert "ask_user" not in tools[0] | tools[1]
        assert [call_in(updates).status for updates in told] == ["failed", "failed"]
        assert two.editor.methods == []
        return
    assert all("ask_user" in names for names in tools)
    assert two.editor.methods == ["elicitation/create"] * 2
    for request in two.editor.asked:
        assert request["params"]["mode"] == "form"
        choice = request["params"]["requestedSchema"]["properties"]["choice"]
        assert [one["const"] for one in choice["oneOf"]] == ["left", "right", "other"]
    assert sorted(request["params"]["sessionId"] for request in two.editor.asked) == sorted(two.sessions)
    answered = [str(two.heard(index)["messages"][-1]["content"]) for index in (0, 1)]
    assert sorted("(left)" in text for text in answered) == [False, True]
    assert "dropped" not in "".join(answered)
    assert [text_in(updates) for updates in told] == ["Good."] * 2  # in the same turn


def test_SOBA_27_an_answer_that_comes_at_once_finds_its_question(pair: MakePair) -> None:
    two = pair()
    for updates in two.at_once("mend and check"):  # the editor answers from the thread that reads
        assert [call.status for call in calls_in(updates)] == ["completed", "completed"]
    ids = [request["id"] for request in two.editor.asked]
    assert len(set(ids)) == len(ids) == 4


@pytest.mark.parametrize("way", ["session/cancel", "$/cancel_request"])
def test_SOBA_29_SOBA_30_SOBA_41_one_of_two_prompts_is_cancelled(pair: MakePair, way: str) -> None:
    two = pair()
    since = len(two.agent.messages)
    prompts = two.start(lambda index: ["stay", "in pieces"][index])
    for session in two.sessions:
        two.agent.expect_update(session, "agent_message_chunk", since)
    params = {"sessionId": two.sessions[0]} if way == "session/cancel" else {"requestId": prompts[0]}
    two.agent.notify(way, params)
    assert two.agent.response(prompts[0])["result"] == {"stopReason": "cancelled"}
    assert two.agent.response(prompts[1])["result"] == {"stopReason": "end_turn"}
    assert text_in(two.agent.updates(two.sessions[1], since)) == "One two three."


def test_SOBA_31_a_cancel_takes_the_question_back(pair: MakePair) -> None:
    two = pair()
    before = len(two.agent.transcript.requests)
    prompts = two.start("mend it")
    requests = two.agent.transcript.requests
    two.agent.wait_until(lambda _: len(requests) == before + 2, "both questions")
    asked = {request["params"]["sessionId"]: request for request in requests[before:]}
    stderr = two.agent.stderr()
    two.agent.notify("session/cancel", {"sessionId": two.sessions[0]})
    assert two.agent.response(prompts[0])["result"] == {"stopReason": "cancelled"}
    taken_back = [one["params"]["requestId"] for one in two.agent.notifications if one["method"] == "$/cancel_request"]
    assert asked[two.sessions[0]]["id"] in taken_back
    assert asked[two.sessions[1]]["id"] not in taken_back
    two.agent.refuse(asked[two.sessions[0]], -32800, "cancelled")
    two.agent.decide(asked[two.sessions[1]], "once")
    assert two.agent.response(prompts[1])["result"] == {"stopReason": "end_turn"}
    assert [(folder / "a.txt").read_text() for folder in two.folders] == ["one\nbad\nthree\n", "one\ngood\nthree\n"]
    assert two.agent.stderr() == stderr


def test_SOBA_36_SOBA_39_what_is_not_offered_is_done_here(pair: MakePair) -> None:
    """SOBA's own client methods (`fs/list_directory` and its like) are in no protocol and are not used."""
    two = pair({"_meta": {"soba": {"fs": {"listDirectory": True, "inspectTextFile": True, "searchFiles": True}}}})
    for words in ("read it", "list it", "look for it"):
        for updates in two.at_once(words):
            assert call_in(updates).status == "completed"
    assert two.editor.methods == []


def test_SOBA_37_SOBA_40_files_are_read_and_written_by_the_editor(pair: MakePair) -> None:
    two = pair(FILES, reads=True, writes=True)
    for index, folder in enumerate(two.folders):
        two.editor.buffers[str(folder / "name.txt")] = f"unsaved {NAMES[index]}\n"
    for index, updates in enumerate(two.at_once("read it")):
        assert f"unsaved {NAMES[index]}" in call_in(updates).text
    two.at_once("write it")
    assert [(folder / "made.txt").read_text() for folder in two.folders] == ["made\n"] * 2
    writes = [one["params"] for one in two.editor.asked if one["method"] == "fs/write_text_file"]
    places = {(params["sessionId"], params["path"]) for params in writes}
    assert places == {
        (session, str(folder / "made.txt")) for session, folder in zip(two.sessions, two.folders, strict=True)
    }
    assert all(one["params"]["sessionId"] in two.sessions for one in two.editor.asked)  # none is without a session


def test_SOBA_38_SOBA_40_commands_run_in_the_editors_terminal(pair: MakePair) -> None:
    """SOBA puts two outputs behind one another. What a terminal has printed is whole each time, so the last counts."""
    two = pair({"terminal": True}, terminals=True)
    for index, updates in enumerate(two.at_once("run it")):
        call = call_in(updates)
        assert call.status == "completed"
        assert soba(call)["exitCode"] == 0
        assert soba(call)["evidence"]["outputPreview"].count(f"I am {NAMES[index]}") == 1
        assert any(item["type"] == "terminal" for later in call.later for item in later.get("content", ()))
        mine = [one for one in two.editor.asked if one["params"]["sessionId"] == two.sessions[index]]
        methods = [one["method"] for one in mine if one["method"].startswith("terminal/")]
        assert (methods[0], methods[-1]) == ("terminal/create", "terminal/release")
        assert "terminal/wait_for_exit" in methods
        assert "terminal/output" in methods
        assert methods.count("terminal/release") == 1
    assert two.editor.open == {}
