"""Plugins at the wire: what they show and ask, what they add, and how their programs come and go."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acp.mcp import children, settle
from tests.acp.mcp import notice as await_notice
from tests.acp.plugging import (
    SUBMIT,
    SUPPORTED,
    Plugged,
    plugged,
    publish,
    request_form,
    surfaces_in,
)
from tests.acp.seen import call_in, calls_in
from tests.agent import Message, text_in, updates_in
from tests.descendants import gone
from tests.settling import PATIENCE

FORMS: Message = {"elicitation": {"form": {}}}
SURE = {"title": "Go on?", "fields": [{"key": "sure", "label": "Sure?", "kind": "confirm"}]}
NOTE = publish("n", "notification", title="Ready", body="All is there.", severity="warn")


def choose(it: Plugged, *options: str | None) -> list[Message]:
    """Answer as many permission requests; they."""
    asked = []
    for option in options:
        asked.append(it.agent.expect_request("session/request_permission"))
        it.agent.decide(asked[-1], option)
    return asked


# -- what they show


def test_a_client_that_asked_for_it_gets_all_structured_and_nothing_twice(tmp_path: Path) -> None:
    with plugged(tmp_path, surfaces=True, capabilities=FORMS, tool_approval="yolo") as it:
        it.example()
        it.probe()
        it.rule(turn_start=[["", {}, [NOTE]]])
        session = it.new()
        it.one.prompt(session, "#show")
        assert it.surface(session, "status")["status"]["label"] == "Calls"
        told = it.surface(session, "notification")
        assert told["notification"] == {"title": "Ready", "body": "All is there.", "severity": "warn"}
        about = (told["pluginId"], told["surfaceId"], told["sessionId"], told["generation"])
        assert about == ("probe", "n", session, 1)
        updates = it.one.prompt(session, "/tally:setup")
        assert text_in(updates) == "Fill in the form."
        form = it.surface(session, "form")
        assert [field["kind"] for field in form["form"]["fields"]] == ["confirm", "input", "select", "multiselect"]
        assert it.agent.call(SUBMIT, submission(session, form, on=True, word="sudo")) == {}
        card = it.surface(session, "card")["card"]
        assert {"key": "word", "value": "sudo"} in card["fields"]
        assert card["actions"] == [{"actionId": "setup", "label": "Change"}]
        everything = text_in(it.agent.updates(session))
        assert not [word for word in ("Ready", "Calls", "Kept away", "Which word") if word in everything]
        assert it.agent.transcript.requests == []
        blocked = call_in(it.one.prompt(session, "#show"))
        assert blocked.status == "completed"  # `sudo` is in none of its words, and `rm` is not the word any more


def submission(session: str, form: Message, **values: Any) -> Message:
    return {"sessionId": session, "formInstanceId": form["formInstanceId"], "values": values}


def test_all_others_get_text_and_one_form(tmp_path: Path) -> None:
    with plugged(tmp_path, capabilities=FORMS) as it:
        it.example()
        it.probe()
        it.rule(turn_start=[["", {}, [NOTE]]])
        session = it.new()
        it.text(session, "[tally] Calls: 0")
        id = it.agent.start_prompt(session, "/tally:setup")
        it.text(session, "[warning] [probe] Ready\n\nAll is there.")
        asked = it.agent.expect_request("elicitation/create")
        assert asked["params"]["message"].startswith("tally: Calls to keep away")
        it.agent.reply(asked, {"action": "accept", "content": {"on": True, "word": "shown", "tools": ["bash"]}})
        assert it.agent.response(id)["result"] == {"stopReason": "end_turn"}
        it.text(session, "- word: shown")
        failed = call_in(it.one.prompt(session, "#show"))
        assert failed.text == "the plugin tally blocked it: a call must not hold 'shown'"
        assert surfaces_in(it.agent.updates(session)) == []
        assert len(it.agent.transcript.requests) == 1


def test_without_forms_each_field_is_a_permission_request(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.example()
        session = it.new()
        id = it.agent.start_prompt(session, "/tally:setup")
        asked = choose(it, "q1:yes", "q2:kind", "q3:bash", "done")
        assert [one["params"]["toolCall"]["title"] for one in asked[:2]] == ["Keep calls away?", "How to say it?"]
        assert it.agent.response(id)["result"] == {"stopReason": "end_turn"}
        it.text(session, "- tone: kind")
        call = call_in(it.agent.updates(session))
        assert (call.status, call.text) == ("completed", "Answered.")


@pytest.mark.parametrize("capabilities", [{}, FORMS], ids=["choices", "form"])
def test_to_close_a_form_is_an_answer_and_ends_no_turn(tmp_path: Path, capabilities: Message) -> None:
    with plugged(tmp_path, capabilities=capabilities) as it:
        it.probe()
        it.rule(tool__call=[["look", {"text": "Looked around."}, [request_form("f", "sure", **SURE)]]])
        session = it.new()
        id = it.agent.start_prompt(session, "#look")
        if capabilities:
            it.agent.reply(it.agent.expect_request("elicitation/create"), {"action": "cancel"})
        else:
            choose(it, None)
        assert it.agent.response(id)["result"] == {"stopReason": "end_turn"}
        answer = it.await_told(lambda one: one.get("id") == "f")
        assert answer["result"] == {"cancelled": True, "values": {}}
        assert it.results() == ["Looked around."]


def test_a_form_is_answered_with_what_was_chosen(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.probe()
        it.rule(ui__action=[["", {"message": "Asked."}, [request_form("f", "sure", **SURE)]]])
        session = it.new()
        id = it.agent.start_prompt(session, "/probe:act")
        choose(it, "q1:no")
        it.agent.response(id)
        answer = it.await_told(lambda one: one.get("id") == "f")
        assert answer["result"] == {"cancelled": False, "values": {"sure": False}}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"formInstanceId": "form-1-7"}, "params.formInstanceId: names no form that waits"),
        ({"values": {"on": "yes"}}, "params.values: on has the wrong type"),
        ({"values": {"on": True, "tone": "rude"}}, "params.values: tone is none of the choices"),
        ({"values": {"on": True, "colour": "red"}}, "params.values: the answer has fields that were not asked for"),
        ({"values": {}}, "params.values: on was left out"),
        ({"values": {"on": True, "word": "x" * 9_000_000}}, "params.values: what it would have to be told is too"),
        ({"values": None}, "params.values: must be an object"),
        ({"formInstanceId": None}, "params.formInstanceId: "),
        ({"sessionId": "nix"}, "params.sessionId: names no open session"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_a_form_that_is_handed_in_wrong(open_form: tuple[Plugged, Message], change: Message, problem: str) -> None:
    it, form = open_form
    error = it.agent.fail(SUBMIT, {**submission(form["sessionId"], form, on=True), **change})
    assert (error["code"], error["message"].startswith(problem)) == (-32602, True), error


@pytest.fixture(scope="module")
def open_form(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with plugged(tmp_path_factory.mktemp("form"), surfaces=True) as it:
        it.example()
        session = it.new()
        it.one.prompt(session, "/tally:setup")
        yield it, it.surface(session, "form")


def test_each_showing_of_a_form_counts_once(tmp_path: Path) -> None:
    with plugged(tmp_path, surfaces=True) as it:
        it.example()
        session = it.new()
        it.one.prompt(session, "/tally:setup")
        first = it.surface(session, "form")
        since = len(it.agent.messages)
        it.one.prompt(session, "/tally:setup")
        second = it.surface(session, "form", since)
        assert it.agent.fail(SUBMIT, submission(session, first, on=True))["code"] == -32602
        assert it.agent.call(SUBMIT, submission(session, second, on=True)) == {}
        assert it.agent.fail(SUBMIT, submission(session, second, on=True))["code"] == -32602
        since = len(it.agent.messages)
        it.one.prompt(session, "/tally:setup")
        third = it.surface(session, "form", since)
        assert "result" in it.reload(session)
        assert it.agent.fail(SUBMIT, submission(session, third, on=True))["code"] == -32602


def test_a_second_greeting_changes_how_things_are_shown(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.example()
        session = it.new()
        it.text(session, "[tally] Calls: 0")
        it.agent.initialize(_meta=SUPPORTED)
        it.one.prompt(session, "/tally:setup rm")
        assert it.surface(session, "card")["card"]["title"] == "Kept away"


# -- what they add


def test_an_action_is_a_command_that_the_model_never_hears_of(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.example()
        session = it.new()
        listed = it.await_command(session, "tally:setup")
        assert listed is not None
        assert (listed["description"], listed["input"]) == ("Choose what calls are kept away", {"hint": "a word"})
        assert "Calls with 'curl -x' are kept away." in text_in(it.one.prompt(session, "/tally:setup  curl -x "))
        assert it.one.server.requests == []
        it.one.prompt(session, "hello")
        assert "setup" not in json.dumps(it.one.read())
        it.agent.call("session/close", {"sessionId": session})
        since = len(it.agent.messages)
        it.agent.call("session/load", {"sessionId": session, "cwd": str(it.one.workspace), "mcpServers": []})
        shown = it.agent.updates(session, since)
        assert "/tally:setup  curl -x" in text_in(shown, "user_message_chunk")
        assert "Calls with 'curl -x' are kept away." in text_in(shown)
        it.one.prompt(session, "hello")
        assert "setup" not in json.dumps(it.one.read())


def test_an_action_that_is_cancelled(tmp_path: Path) -> None:
    with plugged(tmp_path, capabilities=FORMS) as it:
        it.probe()
        it.rule(ui__action=[["", {"message": "Asked."}, [request_form("f", "sure", **SURE)]]])
        session = it.new()
        id = it.agent.start_prompt(session, "/probe:act")
        asked = it.agent.expect_request("elicitation/create")
        it.agent.notify("session/cancel", {"sessionId": session})
        assert it.agent.response(id)["result"] == {"stopReason": "cancelled"}
        it.agent.expect(lambda one: one.get("method") == "$/cancel_request", "the form to be taken back")
        it.agent.reply(asked, {"action": "cancel"})
        assert it.await_told(lambda one: one.get("id") == "f")["result"]["cancelled"] is True
        it.one.prompt(session, "hello")
        assert "probe:act" not in json.dumps(it.one.read())
        assert "Act: cancelled." in text_in(it.agent.updates(session))


def test_an_action_that_fails(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.probe()
        it.rule(ui__action="crash")
        session = it.new()
        said = text_in(it.one.prompt(session, "/probe:act"))
        assert "The plugin could not do that: it ended with exit code 3" in said
        await_notice(it.agent, session, "probe is not running")  # by its keeper, while the turn goes on
        assert "The plugin could not do that" in text_in(it.one.prompt(session, "/probe:act"))
        it.agent.call("session/close", {"sessionId": session})  # after which nothing more is said
        assert len([one for one in it.notices(session) if "probe is not running" in one]) == 1
        assert it.one.server.requests == []


def test_a_tool_that_only_reads_runs_unasked(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.example()
        session = it.new()
        updates, answer = it.agent.prompt(session, "#count")
        assert answer["result"] == {"stopReason": "end_turn"}
        call = call_in(updates)
        assert (call.first["title"], call.first["name"], call.status) == (
            "tally: count", "plugin__tally__count", "completed",
        )  # fmt: skip
        assert it.results() == ["1 calls so far"]
        assert "plugin__tally__count" in {tool["function"]["name"] for tool in it.one.last.body["tools"]}


@pytest.mark.parametrize("option", ["once", "deny"])
def test_a_tool_that_changes_things_is_asked_about(tmp_path: Path, option: str) -> None:
    with plugged(tmp_path) as it:
        it.probe()
        session = it.new()
        updates, _ = it.agent.prompt(session, "#change", permission=option)
        (asked,) = it.agent.transcript.requests
        assert '"what": "all"' in json.dumps(asked["params"]["toolCall"]["content"]).replace('\\"', '"')
        assert call_in(updates).status == ("completed" if option == "once" else "failed")
        assert len(it.told("tool/call")) == (option == "once")
        if option == "once":
            params = it.told("tool/call")[0]["params"]
            assert (params["name"], params["arguments"]) == ("change", {"what": "all"})


def test_a_tool_that_changes_things_is_refused_while_a_plan_is_made(tmp_path: Path) -> None:
    with plugged(tmp_path, tool_approval="yolo") as it:
        it.probe()
        session = it.new()
        it.agent.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
        for prompt, status in (("#change", "failed"), ("#look", "completed")):
            updates, _ = it.agent.prompt(session, prompt, permission="deny")
            assert calls_in(updates)[0].status == status
        assert [one["params"]["name"] for one in it.told("tool/call")] == ["look"]


@pytest.mark.parametrize(("action", "called"), [("allow", 1), ("deny", 0)])
def test_a_rule_names_a_tool_of_a_plugin(tmp_path: Path, action: str, called: int) -> None:
    approval = "ask" if action == "allow" else "yolo"
    rules = {action: ["plugin__probe__change"]}
    with plugged(tmp_path, tool_approval=approval, permissions=rules) as it:
        it.probe()
        updates, _ = it.agent.prompt(it.new(), "#change")
        assert len(it.told("tool/call")) == called
        assert call_in(updates).status == ("completed" if called else "failed")


def test_what_a_package_contributes_works(tmp_path: Path) -> None:
    with plugged(tmp_path, tool_approval="yolo") as it:
        package = it.package("kit")
        it.manifest(package, "kit", contributes={
            "skills": ["skills"], "commands": ["commands"], "prompts": ["prompts"], "hooks": ["hooks.json"],
            "mcpServers": ["servers.json"],
        })  # fmt: skip
        write(package / "skills" / "tidy" / "SKILL.md", "---\nname: tidy\ndescription: Tidies\n---\nPut all away.\n")
        write(package / "commands" / "git" / "mend.md", "---\ndescription: Mends\n---\nMend $1 now.\n")
        write(package / "prompts" / "ask.md", "Ask about $ARGUMENTS.\n")
        write(package / "hooks.json", json.dumps({"hooks": {"PreToolUse": [{"command": "echo hooked >> hooked.txt"}]}}))
        server = Path(__file__).parents[1] / "mcp_client" / "plain.py"
        write(package / "servers.json", json.dumps({"mcpServers": {"plain": {
            "command": sys.executable, "args": [str(server)],
        }}}))  # fmt: skip
        it.install(package)
        session = it.new()
        for name in ("kit:git:mend", "kit:ask"):
            it.await_command(session, name)
        (skill,) = [name for name in it.commands(session) if name.startswith("skill:")]
        for prompt, heard in (
            ("/kit:git:mend fences", "Mend fences now."),
            ("/kit:ask the weather", "Ask about the weather."),
            (f"/{skill}", "Put all away."),
        ):
            it.one.prompt(session, prompt)
            assert heard in it.one.read()[-1]["content"]
        it.one.prompt(session, "#show")
        assert (it.written("hooked.txt") or (it.home.path / "plugins/kit/hooked.txt").read_text()) == "hooked\n"
        settle(it.one, session, {"mcp__plain__pid"})


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# -- how their programs come and go


def test_each_session_has_a_program_of_its_own_that_sees_no_secret(tmp_path: Path) -> None:
    with plugged(tmp_path, provider={"api_key_env": "TINY_KEY"}) as it:
        it.probe()
        it.agent.close()
        env = {**it.home.env, "TINY_KEY": "sk-tiny", "HARMLESS": "yes"}
        it.one.agent = it.agent = type(it.agent)(cwd=it.home.path, env=env)
        sessions = [it.new() for _ in range(3)]
        for session in sessions:
            it.one.prompt(session, "hello")
        greetings = it.told("initialize")
        assert len(set(it.pids())) == 3
        assert {one["params"]["session"]["id"] for one in greetings} == set(sessions)
        seen = it.told("environment")[0]["params"]
        assert seen["HARMLESS"] == "yes"
        assert "sk-tiny" not in seen.values()
        it.agent.call("session/close", {"sessionId": sessions[0]})
        pids = {one["params"]["session"]["id"]: one["pid"] for one in greetings}
        assert gone(pids[sessions[0]], PATIENCE)
        assert not gone(pids[sessions[1]], 0)
        it.agent.call("session/close", {"sessionId": sessions[1]})


@pytest.mark.parametrize("end", ["close", "eof", "SIGTERM"])
def test_a_program_that_does_not_end_is_ended(tmp_path: Path, end: str) -> None:
    with plugged(tmp_path) as it:
        it.probe()
        it.rule(shutdown="stay")
        session = it.new()
        it.one.prompt(session, "hello")
        (pid,) = it.pids()
        if end == "close":
            it.agent.call("session/close", {"sessionId": session})
            assert gone(pid, 10)
            return
        if end == "eof":
            it.agent.close_stdin()
        else:
            os.kill(it.agent.process.pid, signal.SIGTERM)
            it.agent.exit_code = None
        it.agent.wait_exit()
        assert gone(pid, 10)


def test_a_program_that_is_killed_with_the_agent(tmp_path: Path) -> None:
    """Its stdin ends, which it reads."""
    with plugged(tmp_path) as it:
        it.probe()
        it.one.prompt(it.new(), "hello")
        (pid,) = it.pids()
        os.kill(it.agent.process.pid, signal.SIGKILL)
        it.agent.exit_code = None
        it.agent.wait_exit()
        assert gone(pid, PATIENCE)


def test_a_reload_starts_programs_anew(tmp_path: Path) -> None:
    with plugged(tmp_path, surfaces=True) as it:
        it.probe()
        it.rule(turn_start=[["", {}, [NOTE]]])
        session = it.new()
        it.one.prompt(session, "hello")
        assert it.reload(session)["result"] == {}
        since = len(it.agent.messages)
        it.one.prompt(session, "hello")
        assert it.surface(session, "notification", since)["generation"] == 2
        old, new = it.pids()
        assert gone(old, PATIENCE)
        assert not gone(new, 0)
        assert [one["params"]["session"]["generation"] for one in it.told("initialize")] == [1, 2]
        assert it.asked("session.start") == [{"generation": 1}, {"generation": 2}]


def test_a_crash_is_told_once_and_mended_by_a_reload(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.probe()
        it.rule(turn_start="crash")
        session = it.new()
        it.one.prompt(session, "hello")
        await_notice(it.agent, session, "probe is not running: it ended with exit code 3")
        for _ in range(2):
            it.one.prompt(session, "#show")
        assert len(it.notices(session)) == 1, it.notices(session)
        it.rule()
        assert it.reload(session)["result"] == {}
        assert it.results()[-1]
        it.one.prompt(session, "#look")
        assert it.results()[-1] == "Called."


def test_a_program_that_never_gets_going(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        folder = it.probe()
        (folder / "program.py").write_text("raise SystemExit('out of paper')\n")
        session = it.new()
        assert "Hello." in text_in(it.one.prompt(session, "hello"))
        await_notice(it.agent, session, "probe is not running: it ended with exit code 1")
        it.one.prompt(session, "#look")
        assert "could not do it" in it.results()[-1]
        assert len(it.notices(session)) == 1


def test_a_broken_manifest_fails_the_reload_whole(tmp_path: Path) -> None:
    with plugged(tmp_path, surfaces=True) as it:
        folder = it.probe()
        session = it.new()
        it.one.prompt(session, "hello")
        path = folder / "acpagent-plugin.json"
        right = path.read_text()
        path.write_text(json.dumps(json.loads(right) | {"colour": "red"}, indent=1))
        line = path.read_text().splitlines().index(' "colour": "red"') + 1
        error = it.reload(session)["error"]
        assert f"{path}:{line}: colour: is not a known key; remove it" in error["message"]
        assert "probe:act" in it.commands(session)
        it.one.prompt(session, "#look")
        assert it.results()[-1] == "Called."
        assert len(it.pids()) == 1
        path.write_text(right)
        assert it.reload(session)["result"] == {}
        it.await_told(lambda one: one["method"] == "initialize", number=2)


def test_what_is_installed_counts_from_the_next_reload_on(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        session = it.new()
        it.one.prompt(session, "hello")
        for words, there in (("install", True), ("disable", False), ("enable", True), ("remove", False)):
            if words == "install":
                it.probe()
            else:
                it.plugin(words, "probe", *(["--yes"] if words == "remove" else []))
            assert it.reload(session)["result"] == {}
            it.await_command(session, "probe:act", there)
            it.one.prompt(session, "hello")
            offered = {tool["function"]["name"] for tool in it.one.last.body["tools"]}
            assert ("plugin__probe__look" in offered) == there
            assert len(children(it.agent, "program.py")) == there


def test_events_come_in_order(tmp_path: Path) -> None:
    with plugged(tmp_path, tool_approval="yolo") as it:
        it.probe()
        session = it.new()
        it.one.prompt(session, "#show")
        it.one.prompt(session, "/probe:act")
        it.agent.call("session/close", {"sessionId": session})
        events = [one["params"] for one in it.told("event")]
        assert [one["event"] for one in events] == [
            *("session.start", "turn.start", "tool.start", "tool.end", "turn.end"),
            *("turn.start", "turn.end", "session.end"),
        ]
        numbers = [one["params"]["seq"] for one in it.told() if "seq" in one.get("params", {})]
        assert numbers == sorted(set(numbers))
        start, end = events[2]["payload"], events[3]["payload"]
        assert (start["tool"], start["callId"]) == ("bash", end["callId"])
        assert (end["failed"], "shown" in end["text"]) == (False, True)
        assert events[4]["payload"]["stop"] == "end_turn"


def test_what_is_not_declared_is_not_told(tmp_path: Path) -> None:
    with plugged(tmp_path, tool_approval="yolo") as it:
        it.probe(able={"ui": False, "events": ["turn.end"]})
        it.rule(turn_end=[["", {}, [NOTE]]])
        session = it.new()
        it.one.prompt(session, "#show")
        it.await_told(lambda one: one.get("method") == "event")
        it.agent.call("session/close", {"sessionId": session})
        assert [one["params"]["event"] for one in it.told() if "event" in one.get("params", {})] == ["turn.end"]
        assert "Ready" not in text_in(updates_in(it.agent.messages, session))
