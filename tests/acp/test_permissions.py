"""Questions to the person: what they offer, what each answer does, and what is asked at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acp.conftest import Stage
from tests.acp.seen import call_in, calls, calls_in, says, turn
from tests.agent import Agent, Message, text_in, updates_in
from tests.conftest import Home, StartAgent

COUNT = "echo x >> count.txt"
LONG = "".join(f"echo {number}\n" for number in range(1, 100)) + "touch x\n"
EVERYTHING = ("deny", "once", "session", "repo", "full")
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("search and ask", [calls("grep", pattern="^(a+)+b", path="hard.txt"), calls("list_dir"),
                                calls("read_file", path="../outside/secret.txt")], says("Done.")),
        turn("many lines", calls("bash", command=LONG), says("Done.")),
        turn("edit", [*says("I edit."), calls("edit_file", path="file.txt", old="one", new="uno")], says("Done.")),
        turn("edit back", calls("edit_file", path="file.txt", old="uno", new="one"), says("Done.")),
        turn("write other", calls("write_file", path="other.txt", content="other\n"), says("Done.")),
        turn("count", calls("bash", command=COUNT), says("Done.")),
        turn("almost the same", calls("bash", command=COUNT + " "), says("Done.")),
        turn("remove", calls("bash", command="rm -f file.txt"), says("Done.")),
        turn("guess", calls("bash", command="x=echo; $x hello"), says("Done.")),
        turn("three calls", [calls("bash", command=f"echo {n} >> order.txt") for n in "123"], says("Done.")),
        turn("look outside", calls("read_file", path="../outside/secret.txt"), says("Done.")),
        turn("through a link", calls("read_file", path="way-out/secret.txt"), says("Done.")),
        turn("write a link", calls("write_file", path="way-out/new.txt", content="x"), says("Done.")),
        turn("list outside", calls("list_dir", path="../outside"), says("Done.")),
        turn("look home", calls("grep", pattern="x", path="~"), says("Done.")),
        turn("write outside", calls("write_file", path="../outside/new.txt", content="x"), says("Done.")),
        turn("hook", calls("write_file", path=".git/hooks/pre-commit", content="x"), says("Done.")),
        turn("look inside", [calls("read_file", path="file.txt"), calls("list_dir"), calls("grep", pattern="one"),
                             calls("glob", pattern="*"), calls("todo_write", todos=[])], says("Done.")),
    ]
}  # fmt: skip
SCRIPT["turns"].sort(key=lambda one: -len(one["prompt"]))  # the first that fits is played


@pytest.fixture
def here(stage: Stage, tmp_path: Path) -> Path:
    """A workspace of the test's own, and a folder beside it."""
    return make_workspace(tmp_path)


def make_workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "file.txt").write_text("one\n")
    (tmp_path / "outside").mkdir(exist_ok=True)
    (tmp_path / "outside" / "secret.txt").write_text("secret\n")
    return folder


class Desk:
    """A person who answers each question with the next of `answers`, and keeps the questions."""

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.asked: list[Message] = []

    def __call__(self, question: Message) -> str | None:
        self.asked.append(question["params"])
        return self.answers[len(self.asked) - 1]

    @property
    def offered(self) -> list[list[str]]:
        return [[option["optionId"] for option in params["options"]] for params in self.asked]


def ask(agent: Agent, session: str, prompt: str, *answers: str | None, stop: str = "end_turn") -> tuple[Any, Desk]:
    """Prompt; every question must have its answer, and every answer its question. (updates, desk)"""
    desk = Desk(*answers)
    updates, answer = agent.prompt(session, prompt, permission=desk)
    assert answer["result"] == {"stopReason": stop}
    assert len(desk.asked) == len(answers)
    return updates, desk


def counted(folder: Path) -> int:
    path = folder / "count.txt"
    return len(path.read_text()) // 2 if path.exists() else 0


def test_PERM_01_PERM_02_the_question_and_its_options(stage: Stage, here: Path) -> None:
    session = stage.new(here)
    _, desk = ask(stage.agent, session, "count", "deny")
    (params,) = desk.asked
    assert set(params) == {"sessionId", "toolCall", "options"}
    assert params["sessionId"] == session
    assert params["options"] == [
        {"optionId": "deny", "name": "Reject", "kind": "reject_once"},
        {"optionId": "once", "name": "Allow once", "kind": "allow_once"},
        {"optionId": "session", "name": f"Allow Bash={COUNT} for this session", "kind": "allow_always"},
        {"optionId": "repo", "name": f"Allow Bash={COUNT} in this repository", "kind": "allow_always"},
        {"optionId": "full", "name": "Allow everything in this session (yolo)", "kind": "allow_always"},
    ]
    _, desk = ask(stage.agent, session, "edit", "deny")
    names = {option["optionId"]: option["name"] for option in desk.asked[0]["options"]}
    assert list(names) == list(EVERYTHING)
    assert names["session"] == "Allow Edit for this session"
    assert names["repo"] == "Allow Edit in this repository"


def test_PERM_03_an_allowed_call_runs(stage: Stage, here: Path) -> None:
    updates, _ = ask(stage.agent, stage.new(here), "edit", "once")
    assert call_in(updates).statuses == ["pending", "in_progress", "completed"]
    assert (here / "file.txt").read_text() == "uno\n"


def test_PERM_04_a_refused_call_does_not_run_and_the_turn_goes_on(stage: Stage, here: Path) -> None:
    updates, _ = ask(stage.agent, stage.new(here), "edit", "deny")
    call = call_in(updates)
    assert call.statuses == ["pending", "failed"]
    assert "The person refused this call." in call.text
    assert text_in(updates) == "I edit.Done."
    assert (here / "file.txt").read_text() == "one\n"


def test_PERM_04_the_model_is_told(agent: StartAgent, serve: Any, tmp_path: Path) -> None:
    server = serve(SCRIPT)
    one = agent()
    ask(one, one.new_session(make_workspace(tmp_path)), "edit", "deny")
    assert server.requests[-1].body["messages"][-1]["role"] == "tool"
    assert "The person refused this call." in server.requests[-1].body["messages"][-1]["content"]


def test_PERM_05_a_closed_question_ends_the_turn_cancelled(stage: Stage, here: Path) -> None:
    session = stage.new(here)
    updates, _ = ask(stage.agent, session, "three calls", "once", None, stop="cancelled")
    assert [call.status for call in calls_in(updates)] == ["completed", "failed", "failed"]
    assert (here / "order.txt").read_text() == "1\n"
    ask(stage.agent, session, "edit", "once")


def test_PERM_05_what_runs_beside_has_ended_before_the_question(stage: Stage, here: Path) -> None:
    (here / "hard.txt").write_text("a" * 20 + "\n")
    session, since = stage.new(here), len(stage.agent.messages)
    prompt = stage.agent.start_prompt(session, "search and ask")
    question = stage.agent.expect_request("session/request_permission")
    made = calls_in(updates_in(stage.agent.messages[since:], session))
    assert [call.status for call in made] == ["completed", "completed", "pending"]
    stage.agent.decide(question, None)
    assert stage.agent.response(prompt)["result"] == {"stopReason": "cancelled"}


def test_PERM_01_the_rule_in_an_option_is_one_short_line(stage: Stage, here: Path) -> None:
    _, desk = ask(stage.agent, stage.new(here), "many lines", "session")
    (name,) = [option["name"] for option in desk.asked[0]["options"] if option["optionId"] == "session"]
    assert name.startswith("Allow Bash=echo 1 ⏎ echo 2 ")
    assert name.endswith("… for this session")
    assert len(name) < 150
    assert desk.asked[0]["toolCall"]["rawInput"]["command"] == LONG  # all of it is there


NO_YES: list[Any] = [
    {"result": {"outcome": {"outcome": "selected", "optionId": "zzz"}}},
    {"result": {"outcome": {"outcome": "selected", "optionId": "Edit"}}},
    {"result": {"outcome": {"outcome": "selected", "optionId": "Once"}}},
    {"result": {"outcome": {"outcome": "selected", "optionId": ["once"]}}},
    {"result": {"outcome": {"outcome": "selected", "optionId": None}}},
    {"result": {"outcome": {"outcome": "selected"}}},
    {"result": {"outcome": {"optionId": "once"}}},
    {"result": {"outcome": {"outcome": "allowed", "optionId": "once"}}},
    {"result": {"outcome": {"outcome": ["selected"], "optionId": "once"}}},
    {"result": {"outcome": {}}},
    {"result": {"outcome": "once"}},
    {"result": {"outcome": "selected", "optionId": "once"}},
    {"result": {"outcome": None}},
    {"result": {}},
    {"result": None},
    {"result": "once"},
    {"result": True},
    {"result": [{"outcome": {"outcome": "selected", "optionId": "once"}}]},
    {"error": {"code": -32601, "message": "Method not found"}},
    {"error": {"code": -32603, "message": "broken"}},
    {"error": {"code": 7}},
    {"error": "no"},
    {"result": {"outcome": {"outcome": "selected", "optionId": "once"}}, "error": {"code": 1, "message": "both"}},
]


@pytest.mark.parametrize("reply", NO_YES)
def test_PERM_06_PERM_14_what_is_no_offered_yes_is_a_no(stage: Stage, here: Path, reply: Message) -> None:
    session, since = stage.new(here), len(stage.agent.messages)
    prompt = stage.agent.start_prompt(session, "edit")
    question = stage.agent.expect_request("session/request_permission")
    stage.agent.send({"jsonrpc": "2.0", "id": question["id"]} | reply)
    assert stage.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    call = call_in(updates_in(stage.agent.messages[since:], session))
    assert call.statuses == ["pending", "failed"]
    assert "It was not run." in call.text
    assert (here / "file.txt").read_text() == "one\n"


def test_PERM_06_an_answer_that_names_no_question_changes_nothing(stage: Stage, here: Path) -> None:
    session = stage.new(here)
    prompt = stage.agent.start_prompt(session, "edit")
    question = stage.agent.expect_request("session/request_permission")
    yes = {"outcome": {"outcome": "selected", "optionId": "once"}}
    for wrong in (str(question["id"]), question["id"] + 1000, None):
        stage.agent.send({"jsonrpc": "2.0", "id": wrong, "result": yes})
    stage.agent.send({"jsonrpc": "2.0", "id": question["id"]})  # neither result nor error
    stage.agent.call("session/list")
    assert (here / "file.txt").read_text() == "one\n"
    stage.agent.decide(question, "once")
    assert stage.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    stage.agent.decide(question, "deny")  # a second answer is late
    assert (here / "file.txt").read_text() == "uno\n"


def test_PERM_07_a_command_allowed_for_the_session_is_that_command_alone(stage: Stage, here: Path) -> None:
    session = stage.new(here)
    ask(stage.agent, session, "count", "session")
    ask(stage.agent, session, "count")
    assert counted(here) == 2
    ask(stage.agent, session, "almost the same", "deny")
    ask(stage.agent, session, "remove", "deny")
    ask(stage.agent, session, "edit", "deny")
    ask(stage.agent, stage.new(here), "count", "deny")  # another session
    assert counted(here) == 2


def test_PERM_07_edits_allowed_for_the_session_are_edits_inside_the_roots(stage: Stage, here: Path) -> None:
    session = stage.new(here)
    ask(stage.agent, session, "edit", "session")
    ask(stage.agent, session, "edit back")
    ask(stage.agent, session, "write other")
    ask(stage.agent, session, "write outside", "deny")
    ask(stage.agent, session, "hook", "deny")
    ask(stage.agent, session, "count", "deny")
    ask(stage.agent, stage.new(here), "edit", "deny")


def test_PERM_07_once_is_once_and_a_no_is_not_remembered(stage: Stage, here: Path) -> None:
    session = stage.new(here)
    for answer in ("once", "deny", "once"):
        ask(stage.agent, session, "count", answer)
    assert counted(here) == 2


def test_PERM_07_full_makes_the_session_yolo_says_so_and_survives_a_load(stage: Stage, here: Path) -> None:
    session = stage.new(here)
    updates, _ = ask(stage.agent, session, "three calls", "full")
    assert (here / "order.txt").read_text() == "1\n2\n3\n"
    line = "[warning] Full access: from now on this session runs tools without asking.\n\n"
    assert text_in(updates) == line + "Done."
    assert updates.index(next(u for u in updates if u.get("content", {}) == {"type": "text", "text": line})) < (
        updates.index(next(u for u in updates if u.get("status") == "in_progress"))
    )
    ask(stage.agent, session, "edit")
    ask(stage.agent, stage.new(here), "count", "deny")
    stage.agent.call("session/close", {"sessionId": session})
    second = stage.start()
    try:
        second.initialize()
        second.call("session/load", {"sessionId": session, "cwd": str(here), "mcpServers": []})
        assert line in text_in(second.updates(session))
        ask(second, session, "count")
        ask(second, session, "look outside")
    finally:
        second.close()
    assert counted(here) == 1


def test_PERM_08_PERM_11_PERM_12_the_call_is_pending_while_its_question_is_open(stage: Stage, here: Path) -> None:
    session, since = stage.new(here), len(stage.agent.messages)
    prompt = stage.agent.start_prompt(session, "count")
    question = stage.agent.expect_request("session/request_permission")
    before = stage.agent.messages[since:]
    call = call_in(updates_in(before, session))
    assert call.statuses == ["pending"]
    asked = question["params"]["toolCall"]
    assert asked == {key: value for key, value in call.first.items() if key != "sessionUpdate"}
    assert asked["title"] == f"Run: {COUNT}"
    assert asked["kind"] == "execute"
    stage.agent.decide(question, "once")
    assert stage.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    call = call_in(updates_in(stage.agent.messages[since:], session))
    assert call.statuses == ["pending", "in_progress", "completed"]


def test_PERM_09_a_question_stays_open_and_the_agent_awake(stage: Stage, here: Path) -> None:
    session = stage.new(here)
    prompt = stage.agent.start_prompt(session, "count")
    question = stage.agent.expect_request("session/request_permission")
    for _ in range(3):  # meanwhile whole turns of another session come and go
        ask(stage.agent, stage.new(here), "look inside")
    stage.agent.call("session/list")
    assert (int, prompt) not in stage.agent.transcript.responses
    assert counted(here) == 0
    stage.agent.decide(question, "once")
    assert stage.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    assert counted(here) == 1


def test_PERM_10_questions_of_two_sessions_may_be_answered_in_any_order(stage: Stage, here: Path) -> None:
    sessions = [stage.new(here), stage.new(here)]
    prompts, questions = [], []
    for session in sessions:
        prompts.append(stage.agent.start_prompt(session, "count"))
        questions.append(stage.agent.expect_request("session/request_permission"))
    for number in (1, 0):
        stage.agent.decide(questions[number], "once")
        assert stage.agent.response(prompts[number])["result"] == {"stopReason": "end_turn"}
    assert counted(here) == 2


def test_PERM_10_one_session_asks_one_question_at_a_time(stage: Stage, here: Path) -> None:
    session = stage.new(here)
    prompt = stage.agent.start_prompt(session, "three calls")
    for number in "123":
        question = stage.agent.expect_request("session/request_permission")
        assert question["params"]["toolCall"]["rawInput"]["command"] == f"echo {number} >> order.txt"
        stage.agent.call("session/list")
        assert stage.agent.transcript.requests[-1] is question
        stage.agent.decide(question, "once")
    assert stage.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    assert (here / "order.txt").read_text() == "1\n2\n3\n"


def test_PERM_13_ask_asks_before_all_that_is_not_reading_inside(stage: Stage, here: Path) -> None:
    session = stage.new(here)
    updates, _ = ask(stage.agent, session, "look inside")
    assert [call.status for call in calls_in(updates)] == ["completed"] * 5
    for prompt in ("edit", "write other", "count", "remove", "look outside", "list outside", "look home", "hook"):
        updates, _ = ask(stage.agent, session, prompt, "deny")
        assert call_in(updates).status == "failed"
    assert (here / "file.txt").read_text() == "one\n"


def test_PERM_13_reading_outside_the_roots_offers_what_fits(stage: Stage, here: Path) -> None:
    session = stage.new(here)
    updates, desk = ask(stage.agent, session, "look outside", "once")
    assert desk.offered == [["deny", "once"]]
    assert call_in(updates).text.endswith("1\tsecret")
    outside = here.parent / "outside"
    _, desk = ask(stage.agent, session, "list outside", "session")
    assert desk.offered == [["deny", "once", "session"]]
    assert desk.asked[0]["options"][2]["name"] == f"Allow Read({outside}) for this session"
    ask(stage.agent, session, "list outside")
    ask(stage.agent, session, "look outside")  # the directory stands for what is in it
    ask(stage.agent, session, "write outside", "deny")


def test_PERM_13_a_symbolic_link_does_not_lead_out_unasked(stage: Stage, here: Path) -> None:
    (here / "way-out").symlink_to(here.parent / "outside")
    session = stage.new(here)
    ask(stage.agent, session, "edit", "session")  # edits inside the roots
    for prompt in ("through a link", "write a link"):
        updates, desk = ask(stage.agent, session, prompt, "deny")
        assert desk.offered == [["deny", "once"]]
        assert str(here.parent / "outside") in call_in(updates).now["title"]
    assert not (here.parent / "outside/new.txt").exists()


def test_PERM_13_a_yes_speaks_of_what_was_asked_alone(stage: Stage, here: Path) -> None:
    session = stage.new(here)
    prompt = [{"type": "text", "text": "count"}]
    id = stage.agent.request("session/prompt", {"sessionId": session, "prompt": prompt})
    question = stage.agent.expect_request("session/request_permission")
    (here / "count.txt").symlink_to(here.parent / "outside/secret.txt")
    stage.agent.decide(question, "once")
    assert stage.agent.response(id)["result"]["stopReason"] == "end_turn"
    assert (here.parent / "outside/secret.txt").read_text() == "secret\n"
    (here / "count.txt").unlink()
    ask(stage.agent, session, "count", "once")
    assert counted(here) == 1


def test_PERM_13_an_additional_directory_is_inside(stage: Stage, here: Path) -> None:
    session = stage.new(here, additionalDirectories=[str(here.parent / "outside")])
    ask(stage.agent, session, "look outside")
    ask(stage.agent, session, "write outside", "deny")


@pytest.fixture
def configured(agent: StartAgent, home: Home, tmp_path: Path) -> Any:
    """`configured(**config)`: an agent with these settings, a session and its workspace."""

    def start(**config: Any) -> tuple[Agent, str, Path]:
        home.use_script(SCRIPT, **config)
        one, folder = agent(), make_workspace(tmp_path)
        return one, one.new_session(folder), folder

    return start


def test_PERM_13_auto_from_the_configuration_allows_edits_inside_the_roots_alone(configured: Any) -> None:
    one, session, folder = configured(tool_approval="auto")
    for prompt in ("edit", "write other", "count"):
        ask(one, session, prompt)
    for prompt in ("look outside", "write outside", "hook"):
        ask(one, session, prompt, "deny")
    assert (folder / "file.txt").read_text() == "uno\n"
    assert counted(folder) == 1


def test_PERM_13_yolo_from_the_configuration_asks_only_what_a_person_decides(configured: Any) -> None:
    one, session, folder = configured(tool_approval="yolo")
    for prompt in ("edit", "count", "look outside", "write outside", "remove"):
        updates, _ = ask(one, session, prompt)
        assert call_in(updates).status == "completed"
    assert not (folder / "file.txt").exists()
    _, desk = ask(one, session, "hook", "once")
    assert desk.offered == [["deny", "once"]]
    ask(one, session, "hook", "deny")  # a yes to it is never remembered


def test_PERM_13_deny_rules_win_over_yolo_and_over_every_yes(configured: Any) -> None:
    rules = {"deny": ["Bash(rm:*)", "Edit(file.txt)", "Read(secret.txt)"], "allow": ["Edit", "Read"]}
    one, session, folder = configured(tool_approval="yolo", permissions=rules)
    for prompt, rule in (("remove", "Bash(rm:*)"), ("edit", "Edit(file.txt)"), ("look outside", "Read(secret.txt)")):
        call = call_in(ask(one, session, prompt)[0])
        assert call.statuses == ["pending", "failed"]
        assert f"the rule {rule} forbids it" in call.text
    ask(one, session, "write other")
    ask(one, session, "count")
    # What it is that runs does not show, so that it may be what the rule forbids: asked even under yolo.
    _, desk = ask(one, session, "guess", "once")
    assert desk.offered == [["deny", "once", "session", "repo"]]
    assert counted(folder) == 1
    assert (folder / "file.txt").read_text() == "one\n"


def test_PERM_13_ask_and_allow_rules(configured: Any) -> None:
    one, session, _ = configured(permissions={"allow": ["Edit(*.txt)"], "ask": ["Edit(other.txt)", "Read(file.txt)"]})
    ask(one, session, "edit")
    ask(one, session, "write other", "deny")
    ask(one, session, "look inside", "deny")  # the first of its calls
    ask(one, session, "write outside", "deny")


def test_PERM_13_a_client_without_permissions_is_a_no(stage: Stage, here: Path) -> None:
    session = stage.new(here)
    prompt = stage.agent.start_prompt(session, "three calls")
    for _ in range(3):
        stage.agent.refuse(stage.agent.expect_request("session/request_permission"), -32601, "Method not found")
    assert stage.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    assert not (here / "order.txt").exists()
