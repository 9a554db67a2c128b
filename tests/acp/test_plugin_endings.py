"""Sessions that end, change or begin while their plugins are at something."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from tests.acp.mcp import notice as await_notice
from tests.acp.mcp import set_option
from tests.acp.plugging import SUBMIT, Plugged, plugged, publish, request_form
from tests.agent import Message, text_in
from tests.descendants import gone
from tests.settling import PATIENCE

FORMS: Message = {"elicitation": {"form": {}}}
SURE: Message = {"title": "Go on?", "fields": [{"key": "sure", "label": "Sure?", "kind": "confirm"}]}
BUSY = ["action", "form", "tool", "prompt"]


def busy(it: Plugged, session: str, what: str) -> int:
    """A prompt that waits for the plugin in one way or another; its id."""
    ask = [["", {"message": "Asked."}, [request_form("f", "sure", **SURE)]]]
    slow = {"ui__action": "ignore"} if what == "action" else {"ui__action": ask}
    it.rule(**slow, tool__call="ignore", input_receive=[["wait", "ignore"]])
    prompts = {"action": "/probe:act", "form": "/probe:act", "tool": "#look", "prompt": "wait"}
    id = it.agent.start_prompt(session, prompts[what])
    methods = {"action": "ui/action", "form": "ui/action", "tool": "tool/call", "prompt": "intercept"}
    it.await_told(lambda one: one.get("method") == methods[what])
    if what == "form":
        it.agent.expect_request("elicitation/create")
    return id


@pytest.mark.parametrize("what", BUSY)
def test_a_session_that_is_closed_meanwhile(tmp_path: Path, what: str) -> None:
    with plugged(tmp_path, capabilities=FORMS) as it:
        it.probe(timeout=60)
        session = it.new()
        id = busy(it, session, what)
        assert it.agent.call("session/close", {"sessionId": session}) == {}
        assert it.agent.response(id)["result"] == {"stopReason": "cancelled"}
        assert gone(it.pids()[0], 10)


@pytest.mark.parametrize("what", BUSY)
@pytest.mark.parametrize("end", ["eof", "SIGTERM"])
def test_an_agent_that_ends_meanwhile(tmp_path: Path, what: str, end: str) -> None:
    with plugged(tmp_path, capabilities=FORMS) as it:
        it.probe(timeout=60)
        session = it.new()
        busy(it, session, what)
        if end == "eof":
            it.agent.close_stdin()
        else:
            os.kill(it.agent.process.pid, signal.SIGTERM)
            it.agent.exit_code = None
        it.agent.wait_exit()
        assert gone(it.pids()[0], 10)


@pytest.mark.parametrize("what", BUSY)
def test_a_reload_waits_for_what_runs(tmp_path: Path, what: str) -> None:
    with plugged(tmp_path, capabilities=FORMS) as it:
        it.probe(timeout=60)
        session = it.new()
        id = busy(it, session, what)
        assert it.reload(session)["result"] == {"queued": True}
        it.agent.notify("session/cancel", {"sessionId": session})
        assert it.agent.response(id)["result"] == {"stopReason": "cancelled"}
        it.rule()
        it.await_told(lambda one: one.get("method") == "initialize", number=2)
        it.one.prompt(session, "#look")
        assert it.results()[-1] == "Called."
        assert gone(it.pids()[0], PATIENCE)


def test_guidance_for_an_action_is_kept_and_shown(tmp_path: Path) -> None:
    with plugged(tmp_path, capabilities=FORMS) as it:
        it.probe()
        it.rule(ui__action=[["", {"message": "Asked."}, [request_form("f", "sure", **SURE)]]])
        session = it.new()
        id = it.agent.start_prompt(session, "/probe:act")
        asked = it.agent.expect_request("elicitation/create")
        params = {"sessionId": session, "prompt": [{"type": "text", "text": "be quick"}]}
        assert it.agent.call("_reasonix.io/session/steer", params) == {}
        it.agent.reply(asked, {"action": "accept", "content": {"sure": True}})
        it.agent.response(id)
        assert "be quick" in text_in(it.agent.updates(session))


def test_a_change_of_options_leaves_programs_and_forms_alone(tmp_path: Path) -> None:
    with plugged(tmp_path, surfaces=True, model={"efforts": ["low", "high"]}) as it:
        it.probe()
        it.rule(ui__action=[["", {}, [publish("s", "form", **SURE)]]])
        session = it.new()
        assert text_in(it.one.prompt(session, "/probe:act")) == "Act: done."
        form = it.surface(session, "form")
        set_option(it.agent, session, "effort", "low")
        set_option(it.agent, session, "work_mode", "delivery")
        set_option(it.agent, session, "mode", "plan")
        assert it.agent.call(SUBMIT, {
            "sessionId": session, "formInstanceId": form["formInstanceId"], "values": {"sure": True}
        }) == {}  # fmt: skip
        handed_in = it.await_told(lambda one: one.get("method") == "ui/submit")
        assert handed_in["params"] == {"surfaceId": "s", "values": {"sure": True}}
        assert len(it.pids()) == 1


def test_a_session_that_is_loaded_has_a_program_again(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.probe()
        session = it.new()
        it.one.prompt(session, "#look")
        it.agent.call("session/close", {"sessionId": session})
        for method in ("session/load", "session/resume", "session/load"):
            it.agent.call(method, {"sessionId": session, "cwd": str(it.one.workspace), "mcpServers": []})
            it.one.prompt(session, "#look")
            assert it.results()[-1] == "Called."
        greetings = [one["params"]["session"] for one in it.told("initialize")]
        assert [one["id"] for one in greetings] == [session] * 2  # the live session keeps its program
        assert {one["cwd"] for one in greetings} == {str(it.one.workspace)}


def test_a_broken_plugin_keeps_no_session_from_opening(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        folder = it.probe()
        it.example()
        (folder / "acpagent-plugin.json").write_text('{\n"api": 1\n"name"}')
        session = it.new()
        it.one.prompt(session, "#count")
        assert it.results() == ["1 calls so far"]
        assert await_notice(it.agent, session, re.escape(f"{folder}/acpagent-plugin.json:3: is not valid JSON"))
        it.one.prompt(session, "hello")
        assert len(it.notices(session)) == 1


def test_what_lies_in_a_project_is_no_plugin(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        folder = it.probe()
        for place in (".acpagent/plugins/probe", "plugins/probe", ".claude/plugins/probe"):
            shutil.copytree(folder, it.one.workspace / place)
        it.plugin("remove", "probe", "--yes")
        session = it.new()
        it.one.prompt(session, "hello")
        assert (it.pids(), "probe:act" in it.commands(session)) == ([], False)


def test_a_key_that_a_reload_brings_is_a_secret_too(tmp_path: Path) -> None:
    with plugged(tmp_path) as it:
        it.probe()
        it.agent.close()
        env = {**it.home.env, "LATE_KEY": "sk-late"}
        it.one.agent = it.agent = type(it.agent)(cwd=it.home.path, env=env)
        session = it.new()
        it.one.prompt(session, "hello")
        path = it.home.path / "config.yaml"
        config = json.loads(path.read_text())
        local = config["providers"]["local"]
        config["providers"]["late"] = {**local, "api_key_env": "LATE_KEY"}
        path.write_text(json.dumps(config))
        assert it.reload(session)["result"] == {}
        it.await_told(lambda one: one.get("method") == "initialize", number=2)
        before, after = (one["params"].get("LATE_KEY") for one in it.told("environment"))
        assert (before, after) == ("sk-late", None)
