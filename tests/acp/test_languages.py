"""Sessions in Russian and Chinese, in which acpagent says much of what it can say: nothing of it is left in English."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.acp.mcp import plain
from tests.acp.seen import calls, turn
from tests.acp.seen import says as replies
from tests.acp.served import Served, served
from tests.agent import Message
from tests.core.test_catalogue import PROSE

STEER = "_reasonix.io/session/steer"
# What the model says, and what is in files and output: none of it is acpagent's own.
MODEL = "ModelWord"
FORM = {"header": "A", "question": "1 + 1?", "options": [{"label": "A1"}, {"label": "B2"}, {"label": "C3"}]}
SCRIPT: Message = {
    "turns": [
        turn("#write", calls("write_file", path="a.txt", content="1\n"), replies(MODEL)),
        turn("#edit", calls("edit_file", path="a.txt", old="1", new="2"), replies(MODEL)),
        turn("#look", calls("read_file", path="a.txt"), calls("list_dir"), calls("grep", pattern="2"), replies(MODEL)),
        turn("#find", calls("glob", pattern="*.txt"), calls("read_file", path="gone.txt"), replies(MODEL)),
        turn("#run", calls("bash", command="echo 1"), calls("bash", command="touch b.txt; exit 3"), replies(MODEL)),
        turn("#job", calls("bash", command="sleep 30", background=True), replies(MODEL)),
        turn("#peek", calls("job_output", job_id="job_1"), calls("job_kill", job_id="job_1"), replies(MODEL)),
        turn("#move", calls("move_file", source="a.txt", target="c.txt"), replies(MODEL)),
        turn("#delete", calls("delete_file", path="c.txt"), replies(MODEL)),
        turn("#forbidden", calls("bash", command="rm -rf /tmp/nothing-here"), replies(MODEL)),
        turn("#todo", calls("todo_write", todos=[{"content": MODEL, "status": "pending"}]), replies(MODEL)),
        turn("#remember", calls("remember", text=MODEL, kind="decision"), replies(MODEL)),
        turn("#ask", calls("ask", questions=[FORM, {**FORM, "multiSelect": True}]), replies(MODEL)),
        turn("#tests", calls("bash", command="python3 -m unittest"), replies(MODEL)),
        turn("#key", {"error": {"status": 401}}),
        turn("#credit", {"error": {"status": 402}}),
        turn("#wrong", {"error": {"status": 400}}),
        turn("#retry", {"error": {"status": 503, "times": 1}}, replies(MODEL)),
        turn("", replies(MODEL)),
    ]
}
# Names, addresses and quotations.
CODE = re.compile(r"\w+(?:[._]\w+)+|```.*?```|`[^`]*`|https?://\S+|<[^<>\n]*>|\"[^\"]*\"|/[\w./-]+", re.DOTALL)


class Reader:
    """Everything that a person reads of what an agent sent, each with where it stood."""

    def __init__(self) -> None:
        self.read: list[tuple[str, str]] = []
        self._hosts: set[str] = set()

    def take(self, messages: Iterable[Message]) -> None:
        for message in messages:
            if message.get("method") == "session/update":
                self._update(message["params"]["update"])
            elif message.get("method") == "session/request_permission":
                self._asked(message["params"])
            elif message.get("method") == "elicitation/create":
                self._form(message["params"])
            elif "error" in message:
                self._see("error", message["error"]["message"])
            elif isinstance(message.get("result"), dict):
                self._result(message["result"])

    def english(self) -> list[tuple[str, str]]:
        """What has words that only English sentences have."""
        return [one for one in self.read if PROSE & set(re.findall(r"[a-z]+", CODE.sub(" ", one[1])))]

    def _see(self, where: str, text: str | None) -> None:
        if text and (where, text) not in self.read and MODEL not in text:
            self.read.append((where, text))

    def _update(self, update: Message) -> None:
        kind = update["sessionUpdate"]
        if kind == "agent_message_chunk":
            self._see("message", update["content"].get("text"))
        elif kind in ("tool_call", "tool_call_update"):
            self._see("title", update.get("title"))
            if update.get("kind") == "switch_mode":
                self._hosts.add(update["toolCallId"])
            if update["toolCallId"] in self._hosts:
                self._content(update.get("content") or ())
        elif kind == "available_commands_update":
            for command in update["availableCommands"]:
                self._see("command", command["description"])
                self._see("hint", (command.get("input") or {}).get("hint"))
        elif kind == "config_option_update":
            self._options(update["configOptions"])

    def _content(self, content: Iterable[Message]) -> None:
        for item in content:
            self._see("content", item.get("content", {}).get("text"))

    def _asked(self, params: Message) -> None:
        self._see("asked", params["toolCall"].get("title"))
        self._content(params["toolCall"].get("content") or ())
        for option in params["options"]:
            self._see("option", option["name"])

    def _form(self, params: Message) -> None:
        self._see("form", params["message"])
        for field in params["requestedSchema"]["properties"].values():
            self._see("field", field["title"])
            self._see("field", field.get("description"))

    def _options(self, options: Iterable[Message]) -> None:
        for option in options:
            self._see("control", option["name"])
            for value in option["options"]:
                self._see("value", value["name"])
                self._see("value", value.get("description"))

    def _result(self, result: Message) -> None:
        for method in result.get("authMethods", ()):
            self._see("sign in", method["name"])
            self._see("sign in", method.get("description"))
        self._options(result.get("configOptions", ()))
        for mode in (result.get("modes") or {}).get("availableModes", ()):
            self._see("mode", mode["name"])
            self._see("mode", mode.get("description"))


COMMANDS = (
    *(
        "/help",
        "/help mcp",
        "/session",
        "/sessions",
        "/budget",
        "/compact",
        "/rewind",
        "/permissions",
        "/mcp",
        "/skill",
    ),
    *(
        "/project-trust",
        "/reload",
        "/lang",
        "/reasoning",
        "/config",
        "/plan",
        "/memory list",
        f"/capsule create {MODEL}",
    ),
    *("/capsule list", "/auto-compact", "/mcp secret list", "/mcp start nobody", "/mcp dance", "/skill list --invalid"),
    *("/skill show nothing", "/skill new own", "/sessions close nobody", "/sessions resume 0000", "/budget tokens 5x"),
    *(
        "/budget tokens 900k",
        "/rewind 99",
        "/memory show 1",
        "/clear",
        "/model",
        "/hlep",
        "/session 'open",
        "/config x",
    ),
    *("/permissions auto", "/permissions ask", "/reload"),
)


def project(folder: Path) -> None:
    """A project that brings much, and much of it broken."""
    files = {
        ".acpagent/hooks.json": json.dumps({"hooks": {"PreTolUse": [{"command": "true"}], "Stop": [{"timeout": -1}]}}),
        ".acpagent/skills/broken/SKILL.md": "no head\n",
        ".acpagent/skills/odd/SKILL.md": "---\nname: Odd One\ndescription: Odd\nmetadata: 3\n---\n\nDo.\n",
        ".acpagent/commands/deploy.md": "---\ndescription: \n---\n",
        ".mcp.json": json.dumps({"mcpServers": {"nocommand": {}, "dead": {"command": "./not-there"}}}),
        "test_it.py": "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        self.fail('no')\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture(params=["ru", "zh"])
def spoken(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Served]]:
    rules = {"deny": ["Bash(rm -rf:*)"]}
    settings: Message = {"language": request.param, "permissions": rules, "limits": {"session_tokens": 10_000_000}}
    servers = {"gone": {"command": "/not/there"}}
    with served(tmp_path, SCRIPT, {"efforts": ["low", "high"]}, mcp_servers=servers, **settings) as made:
        project(made.workspace)
        made.agent.initialize()
        yield request.param, made


def test_a_session_has_no_english_in_it(spoken: tuple[str, Served]) -> None:
    language, one = spoken
    session = one.new(mcpServers=[plain("own"), {"name": "lost", "command": "/nope", "args": [], "env": []}])
    for prompt, choice in (
        ("#write", "once"), ("#edit", "session"), ("#look", "once"), ("#find", "once"), ("#run", "deny"),
        ("#run", "once"), ("#job", "once"), ("#peek", "once"), ("#move", "once"), ("#delete", "once"),
        ("#forbidden", "once"), ("#todo", "once"), ("#remember", "once"), ("#tests", "once"), ("hello", "once"),
        ("#retry", "once"), ("#credit", "once"), ("#wrong", "once"), ("#key", "once"),
    ):  # fmt: skip
        one.agent.prompt(session, prompt, permission=choice)
    one.agent.prompt(session, "#ask", permission=lambda request: request["params"]["options"][0]["optionId"])
    for command in COMMANDS:
        one.agent.prompt(session, command, permission="once")
    _trust(one, session)
    one.agent.fail(STEER, {"sessionId": session, "prompt": [{"type": "text", "text": "now"}]})
    _plan_and_goal(one, session)
    one.agent.fail("session/load", {"sessionId": "no-such-id", "cwd": str(one.workspace), "mcpServers": []})
    one.agent.fail("session/new", {"cwd": str(one.workspace / "nowhere"), "mcpServers": []})
    one.agent.call("session/close", {"sessionId": session})
    one.agent.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
    _broken_settings(one, session)
    reader = Reader()
    reader.take(one.agent.messages)
    _show(language, reader)
    assert reader.english() == []


def _trust(one: Served, session: str) -> None:
    updates, _ = one.agent.prompt(session, "/project-trust approve")
    shown = "".join(update["content"]["text"] for update in updates if update["sessionUpdate"] == "agent_message_chunk")
    found = re.search(r"/project-trust approve (\w+)", shown)
    assert found, shown
    one.agent.prompt(session, f"/project-trust approve {found[1]}")
    one.agent.prompt(session, "hello")
    one.agent.prompt(session, "/project-trust revoke")


def _plan_and_goal(one: Served, session: str) -> None:
    for mode in ("plan", "goal"):
        one.agent.call("session/set_mode", {"sessionId": session, "modeId": mode})
        one.agent.prompt(session, "#run", permission="deny")
        one.agent.prompt(session, "hello", permission="once")
        one.agent.call("session/set_mode", {"sessionId": session, "modeId": "normal"})


def _broken_settings(one: Served, session: str) -> None:
    path = one.home.path / "config.yaml"
    right = path.read_text()
    for wrong in (
        "limits: 3\n",
        "language: xx\n",
        "colour: red\n",
        "limits:\n\tx: 1\n",
        "permissions:\n  deny: ['(']\n",
    ):
        path.write_text(wrong)
        one.agent.prompt(session, "/reload")
        one.agent.fail("session/new", {"cwd": str(one.workspace), "mcpServers": []})
    path.write_text(right)


def _show(language: str, reader: Reader) -> None:
    """For whoever wants to read it: `pytest -rP`, or what a failure prints."""
    for where, text in reader.read:
        sys.stdout.write(f"[{language} {where}] {text.strip()}\n")
