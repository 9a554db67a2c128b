"""Reloading what a session runs with: at once, or after what runs; all of it, or nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.held import HeldFile, script
from tests.acp.seen import call_in, calls, says, turn
from tests.agent import Agent, Message, text_in, updates_in
from tests.conftest import Home
from tests.model_server import ModelServer

RELOAD = "_reasonix.io/session/reloadExtensions"
END = b"]}"
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("stall$", {"stall": True}),
        turn("edit$", calls("write_file", path="new.txt", content="x"), says("Edited.")),
        turn("print$", calls("bash", command="printf %5000s x"), says("Printed.")),
        turn("greet$", says("Hello.")),
    ]
}
BROKEN = "default_model: local/tiny\nproviders:\n  local: {api: openai-chat\n"
WRONG = "providers:\n  local:\n    api: telepathy\n"


class Desk:
    """An agent, its home, and a model that answers; `config` is what is in config.yaml now."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder / "home")
        self.home.path.mkdir()
        self.cwd = folder / "workspace"
        self.cwd.mkdir()
        self.server = ModelServer(SCRIPT)
        self.held = HeldFile(self.home.path / "held.yaml", script("Held."))
        url = self.server.base_url
        local = {"api": "openai-chat", "base_url": url, "models": {"tiny": {"efforts": ["low"]}, "big": {}}}
        slow = {"api": "scripted", "script": str(self.held.path), "models": {"held": {}}}
        self.config: Message = {"default_model": "local/tiny", "providers": {"local": local, "slow": slow}}
        self.configure()
        self.agent = Agent(cwd=self.home.path, env=self.home.env)
        self.session = self.agent.new_session(self.cwd)
        self.agent.prompt(self.session, "greet")

    def close(self) -> None:
        self.agent.close()
        self.server.close()

    def configure(self, text: str | None = None, **more: Any) -> None:
        """Write config.yaml: this text, or what was in it with `more`."""
        self.config |= more
        (self.home.path / "config.yaml").write_text(json.dumps(self.config) if text is None else text)

    def reload(self) -> tuple[list[str], Message]:
        """Idle: (what was told before the answer, the answer)."""
        since = len(self.agent.messages)
        return self.told(self.agent.request(RELOAD, {"sessionId": self.session}), since)

    def told(self, id: int, since: int) -> tuple[list[str], Message]:
        """What the session told until the answer, but for texts of the model and the commands, which come behind the
        answer before; and the answer."""
        answer = self.agent.response(id)
        updates = updates_in(self.agent.messages[since : self.agent.transcript.responses[int, id]], self.session)
        return [text for update in updates if (text := _spelled(update)) not in ("", "commands")], answer

    def queue(self, prompt: str = "stall") -> tuple[int, int]:
        """A turn that runs: (the prompt's id, where it begins)."""
        since, asked = len(self.agent.messages), len(self.server.requests)
        id = self.agent.start_prompt(self.session, prompt)
        self.server.wait_for_request(asked + 1)
        return id, since

    def end(self, prompt: int) -> None:
        self.agent.notify("session/cancel", {"sessionId": self.session})
        assert self.agent.response(prompt)["result"] == {"stopReason": "cancelled"}

    def set(self, option: str, value: str) -> Message:
        params = {"sessionId": self.session, "configId": option, "value": value}
        return self.agent.response(self.agent.request("session/set_config_option", params))

    def says(self, text: str = "greet") -> str:
        updates, answer = self.agent.prompt(self.session, text)
        assert answer["result"] == {"stopReason": "end_turn"}
        return text_in(updates)

    def values(self) -> Message:
        opened = self.agent.call("session/resume", {"sessionId": self.session, "cwd": str(self.cwd)})
        return {option["id"]: option["currentValue"] for option in opened["configOptions"]}

    def models(self) -> list[str]:
        opened = self.agent.call("session/resume", {"sessionId": self.session, "cwd": str(self.cwd)})
        (model,) = [option for option in opened["configOptions"] if option["id"] == "model"]
        return [choice["value"] for choice in model["options"]]


def _spelled(update: Message) -> str:
    kind = update["sessionUpdate"]
    if kind == "config_option_update":
        return "options " + next(o["currentValue"] for o in update["configOptions"] if o["id"] == "model")
    if kind == "available_commands_update":
        return "commands"
    text = update["content"]["text"] if kind == "agent_message_chunk" else ""
    return str(text.strip()) if text.startswith("[") else ""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    try:
        yield made
    finally:
        made.close()


def test_an_idle_session_reloads_at_once_and_tells_its_commands_after_the_answer(desk: Desk) -> None:
    meta = desk.agent.initialize()["agentCapabilities"]["_meta"]["reasonix.io"]
    assert meta["sessionReloadExtensions"] == {"method": RELOAD}
    since = len(desk.agent.messages)
    before, answer = desk.reload()
    assert (before, answer["result"]) == ([], {})
    end = desk.agent.transcript.responses[int, answer["id"]]
    desk.agent.expect_update(desk.session, "available_commands_update", end)
    assert updates_in(desk.agent.messages[since:end], desk.session) == []


def test_what_changed_nothing_leaves_the_bytes_of_the_next_request_alone(desk: Desk) -> None:
    assert desk.reload()[1]["result"] == {}
    desk.configure(language="en")  # another file, but nothing else
    assert desk.reload()[1]["result"] == {}
    desk.says()
    first, second = desk.server.requests
    assert second.raw.startswith(first.raw.removesuffix(END))


def test_during_a_turn_one_is_queued_however_often_it_is_asked_for(desk: Desk) -> None:
    prompt, since = desk.queue()
    for _ in range(3):
        assert desk.agent.call(RELOAD, {"sessionId": desk.session}) == {"queued": True}
    assert desk.told(desk.agent.request(RELOAD, {"sessionId": desk.session}), since)[0] == []
    desk.configure(providers=desk.config["providers"] | {"more": desk.config["providers"]["local"]})
    desk.end(prompt)
    desk.says()
    commands = [update for update in desk.agent.updates(desk.session, since) if "availableCommands" in update]
    assert len(commands) == 1
    assert "more/tiny" in desk.models()


def test_a_queued_one_is_done_before_its_prompt_is_answered(desk: Desk) -> None:
    """So that the next prompt, sent right behind the answer, runs with what is new."""
    prompt, since = desk.queue("edit")
    question = desk.agent.expect_request("session/request_permission")
    assert desk.agent.call(RELOAD, {"sessionId": desk.session}) == {"queued": True}  # while a question is open
    desk.configure(BROKEN)
    desk.agent.decide(question, "once")
    told, answer = desk.told(prompt, since)
    assert answer["result"] == {"stopReason": "end_turn"}
    (notice,) = [text for text in told if text.startswith("[warning]")]
    assert notice.startswith("[warning] The reload failed and the old runtime stays: ")
    assert "config.yaml:3" in notice
    assert desk.says() == "Hello."


@pytest.mark.parametrize(("text", "line", "what"), [(BROKEN, 3, ""), (WRONG, 3, "telepathy")])
def test_a_broken_file_changes_nothing_and_is_told_with_its_line(desk: Desk, text: str, line: int, what: str) -> None:
    desk.configure(text)
    before, answer = desk.reload()
    assert before == []
    assert answer["error"]["code"] == -32603
    assert f"{desk.home.path / 'config.yaml'}:{line}: " in answer["error"]["message"]
    assert desk.says() == "Hello."
    assert desk.set("model", "local/big")["result"]
    assert desk.says() == "Hello."
    desk.configure()
    assert desk.reload()[1]["result"] == {}
    assert desk.server.requests[-1].body["model"] == "big"


def test_a_model_that_cannot_be_made_changes_nothing(desk: Desk) -> None:
    assert desk.set("model", "slow/held")["result"]
    desk.held.let_go("turns: [")
    before, answer = desk.reload()
    assert (before, answer["error"]["code"]) == ([], -32603)
    assert "held.yaml:1" in answer["error"]["message"]
    assert desk.says() == "Held."


def test_a_session_that_is_not_open(desk: Desk) -> None:
    assert desk.agent.fail(RELOAD, {"sessionId": "nope"})["code"] == -32602
    assert desk.agent.fail(RELOAD, {})["code"] == -32602
    desk.agent.call("session/close", {"sessionId": desk.session})
    assert desk.agent.fail(RELOAD, {"sessionId": desk.session})["code"] == -32602


# With a change of settings in the same turn.


def test_the_change_lands_though_the_reload_does_not(desk: Desk) -> None:
    prompt, since = desk.queue()
    assert desk.set("model", "local/big")["result"]
    assert desk.agent.call(RELOAD, {"sessionId": desk.session}) == {"queued": True}
    desk.configure(BROKEN)
    desk.end(prompt)
    assert desk.says().endswith("Hello.")
    told = [_spelled(update) for update in desk.agent.updates(desk.session, since)]
    (notice,) = [text for text in told if "reload" in text]
    assert f"{desk.home.path / 'config.yaml'}:3: " in notice
    assert told.index(notice) < len(told) - 1 - told[::-1].index("options local/big") < told.index("commands")
    assert desk.server.requests[-1].body["model"] == "big"


def test_the_reload_lands_though_the_change_does_not(desk: Desk) -> None:
    prompt, since = desk.queue()
    desk.held.let_go("turns: [")
    assert desk.set("model", "slow/held")["result"]
    assert desk.agent.call(RELOAD, {"sessionId": desk.session}) == {"queued": True}
    desk.configure(providers=desk.config["providers"] | {"more": desk.config["providers"]["local"]})
    desk.end(prompt)
    assert desk.says().endswith("Hello.")
    told = [_spelled(update) for update in desk.agent.updates(desk.session, since)]
    (notice,) = [text for text in told if text.startswith("[warning]")]
    assert notice.startswith("[warning] The change of settings failed and the old ones stay: ")
    assert "held.yaml:1" in notice
    assert [text for text in told if text.startswith("options")] == ["options slow/held", "options local/tiny"]
    assert "more/tiny" in desk.models()
    assert desk.server.requests[-1].body["model"] == "tiny"


def test_both_fail_and_both_are_told(desk: Desk) -> None:
    prompt, since = desk.queue("edit")
    question = desk.agent.expect_request("session/request_permission")
    desk.held.let_go("turns: [")
    desk.set("model", "slow/held")
    desk.agent.call(RELOAD, {"sessionId": desk.session})
    desk.configure(BROKEN)
    desk.agent.decide(question, "once")
    told, answer = desk.told(prompt, since)
    assert answer["result"] == {"stopReason": "end_turn"}  # after both
    notices = [text for text in told if text.startswith("[warning]")]
    assert ["held.yaml:1" in notices[0], "config.yaml:3" in notices[1]] == [True, True]
    assert told[-1] == "options local/tiny"
    assert desk.says() == "Hello."


# What it brings.


def test_a_new_model_can_be_chosen_and_an_old_one_not_any_more(desk: Desk) -> None:
    local = desk.config["providers"]["local"]
    desk.configure(providers={"local": local | {"models": {"tiny": {}, "huge": {}}}})
    assert desk.set("model", "local/huge")["error"]["code"] == -32602
    assert desk.reload()[1]["result"] == {}
    assert desk.models() == ["local/tiny", "local/huge"]
    assert desk.set("model", "local/big")["error"]["code"] == -32602
    assert desk.set("model", "local/huge")["result"]
    assert desk.says() == "Hello."
    assert desk.server.requests[-1].body["model"] == "huge"


def test_the_model_in_use_is_gone_and_the_usual_one_takes_over(desk: Desk) -> None:
    desk.set("model", "local/big")
    desk.set("work_mode", "economy")
    local = desk.config["providers"]["local"]
    desk.configure(providers={"local": local | {"models": {"tiny": {}}}})
    assert desk.says() == "Hello."  # until somebody reloads
    told, answer = desk.reload()
    assert answer["result"] == {}
    gone = "[warning] The model local/big of this session is no longer configured; local/tiny is used instead."
    assert told == [gone, "options local/tiny"]
    assert desk.says() == "Hello."
    assert desk.server.requests[-1].body["model"] == "tiny"
    assert len(desk.server.requests[-1].messages) == 5  # nothing is forgotten
    values = desk.values()
    assert (values["model"], values["work_mode"]) == ("local/tiny", "economy")
    assert desk.models() == ["local/tiny"]


def test_the_model_in_use_is_gone_with_a_change_in_the_same_turn(desk: Desk) -> None:
    desk.set("model", "local/big")
    prompt, _ = desk.queue()
    desk.set("work_mode", "economy")
    desk.agent.call(RELOAD, {"sessionId": desk.session})
    local = desk.config["providers"]["local"]
    desk.configure(providers={"local": local | {"models": {"tiny": {}}}})
    desk.end(prompt)
    desk.says()
    values = desk.values()
    assert (values["model"], values["work_mode"]) == ("local/tiny", "economy")


def test_no_model_is_left_and_the_old_one_works_on(desk: Desk) -> None:
    desk.configure("language: en\n")
    answer = desk.reload()[1]
    assert answer["error"]["code"] == -32603
    assert "acpagent setup" in answer["error"]["message"]
    assert desk.says() == "Hello."


def test_changed_limits_hold_from_the_next_turn_on(desk: Desk) -> None:
    long = text_of(desk)
    desk.configure(limits={"output_bytes": 1024})
    assert text_of(desk) == long
    desk.reload()
    assert 500 < len(text_of(desk)) < 2000 < len(long)
    desk.configure(limits={"turn_requests": 1})
    desk.reload()
    answer = desk.agent.prompt(desk.session, "print", permission="once")[1]
    assert answer["result"] == {"stopReason": "max_turn_requests"}


def test_what_another_session_begins_with_is_not_forced_on_this_one(desk: Desk) -> None:
    desk.configure(limits={"turn_requests": 1}, permissions={"deny": ["Bash"]})
    other = desk.agent.new_session(desk.cwd)
    updates, answer = desk.agent.prompt(desk.session, "print", permission="once")
    assert (call_in(updates).status, answer["result"]) == ("completed", {"stopReason": "end_turn"})
    updates, answer = desk.agent.prompt(other, "print")
    assert (call_in(updates).status, answer["result"]) == ("failed", {"stopReason": "max_turn_requests"})


def text_of(desk: Desk) -> str:
    """What the model reads of a command that writes 5000 letters."""
    desk.agent.prompt(desk.session, "print", permission="once")
    (result,) = [message for message in desk.server.requests[-1].messages if message["role"] == "tool"][-1:]
    return str(result["content"])


def test_changed_permissions_hold_and_what_was_granted_stays(desk: Desk) -> None:
    updates, _ = desk.agent.prompt(desk.session, "edit", permission="session")
    assert call_in(updates).status == "completed"
    desk.reload()
    assert call_in(desk.agent.prompt(desk.session, "edit")[0]).status == "completed"  # granted for the session
    desk.configure(permissions={"deny": ["Edit"]})
    assert call_in(desk.agent.prompt(desk.session, "edit")[0]).status == "completed"
    desk.reload()
    assert call_in(desk.agent.prompt(desk.session, "edit")[0]).status == "failed"
    desk.configure(permissions={"deny": ["Edit(", "Edit"]})
    assert desk.reload()[1]["error"]["code"] == -32603
    assert call_in(desk.agent.prompt(desk.session, "edit")[0]).status == "failed"
