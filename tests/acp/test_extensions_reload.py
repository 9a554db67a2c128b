"""What a person edits is there with the next reload, all of it or nothing: skills, commands, hooks, servers."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.acp.mcp import SERVERS, children, mcp_tools, notice, says, settle, tools_of
from tests.acp.seen import call_in, calls, turn
from tests.acp.seen import says as replies
from tests.acp.served import Served, served
from tests.agent import Message
from tests.descendants import gone
from tests.extensions.world import skill
from tests.settling import PATIENCE

RELOAD = "_reasonix.io/session/reloadExtensions"
LOCAL = {"help", "permissions", "reload", "mcp", "skill", "project-trust"}
EDITS = 200
SCRIPT: dict[str, Any] = {
    "turns": [
        turn(r"\buse it$", calls("use_skill", name="tidy", arguments="the shed"), replies("Used.")),
        turn(r"\buse nothing$", calls("use_skill", name="nothing"), replies("Used.")),
        turn(r"\bstall$", {"stall": True}),
        turn("", replies("Hello.")),
    ]
}


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, SCRIPT, tool_approval="yolo") as made:
        yield made


def listed(one: Served, session: str) -> set[str]:
    """The commands that were told last, but for those that are always there."""
    told = [update["availableCommands"] for update in one.agent.updates(session) if "availableCommands" in update]
    return {command["name"] for command in told[-1]} - always(one, session)


def always(one: Served, session: str) -> set[str]:
    told = [update["availableCommands"] for update in one.agent.updates(session) if "availableCommands" in update]
    names = {command["name"] for command in told[0]}
    assert names >= LOCAL
    return names


def user_words(one: Served) -> str:
    """All of the person's last message, with what goes before it."""
    return str([message for message in one.read() if message["role"] == "user"][-1]["content"])


@dataclass
class State:
    """What is written: of each name its content, a number that tells its versions apart."""

    skills: dict[str, int] = field(default_factory=dict)
    commands: dict[str, int] = field(default_factory=dict)
    servers: dict[str, int] = field(default_factory=dict)
    hook: int = 0
    agents: int = 0

    @property
    def names(self) -> set[str]:
        return {f"skill:{name}" for name in self.skills} | set(self.commands)

    @property
    def tools(self) -> set[str]:
        return {f"mcp__{name}__v{version}" for name, version in self.servers.items()}

    @property
    def context(self) -> tuple[Any, ...]:
        """What the model is told of once."""
        return self.agents, tuple(sorted(self.skills.items()))


class Person:
    """Edits at random, and breaks every second thing; what is `broken` stays so until it is mended."""

    def __init__(self, one: Served, seed: int) -> None:
        self.one = one
        self.random = random.Random(seed)
        self.home = one.home.path
        self.config = json.loads((self.home / "config.yaml").read_text())
        self.written = State()
        self.broken: dict[str, Callable[[], Path]] = {}
        self.version = 0

    def edit(self) -> Path | None:
        """Change something; the file that is broken now, if it is."""
        if self.broken and self.random.random() < 0.6:
            what = self.random.choice(sorted(self.broken))
            self.broken.pop(what)()
        else:
            what, write = self.random.choice([self.skill, self.command, self.server, self.hook, self.agents])()
            breaks = self.random.random() < 0.5 and what != "agents"
            path = write(breaks)
            if breaks:
                self.broken[what] = lambda: write(False)
            else:
                self.broken.pop(what, None)
            return path if breaks else None
        return None

    def next(self) -> int:
        self.version += 1
        return self.version

    def skill(self) -> tuple[str, Callable[[bool], Path]]:
        name, version = self.random.choice("abc"), self.next()
        path = self.home / "skills" / name / "SKILL.md"

        def write(breaks: bool) -> Path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                "---\nname: x\ndescription: [\n---\n" if breaks else skill(name, f"Skill version {version}.")
            )
            if not breaks:
                self.written.skills[name] = version
            return path

        return self.or_remove(self.written.skills, name, path, write)

    def command(self) -> tuple[str, Callable[[bool], Path]]:
        name, version = self.random.choice(["x", "y", "git:z"]), self.next()
        path = self.home / "commands" / f"{name.replace(':', '/')}.md"

        def write(breaks: bool) -> Path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("---\ndescription: [\n---\nx\n" if breaks else f"Command version {version} $1")
            if not breaks:
                self.written.commands[name] = version
            return path

        return self.or_remove(self.written.commands, name, path, write)

    def or_remove(
        self, where: dict[str, int], name: str, path: Path, write: Callable[[bool], Path]
    ) -> tuple[str, Callable[[bool], Path]]:
        what = str(path)
        if not path.exists() or self.random.random() < 0.7:
            return what, write

        def remove(breaks: bool) -> Path:
            if breaks:
                return write(True)
            path.unlink(missing_ok=True)
            where.pop(name, None)
            return path

        return what, remove

    def server(self) -> tuple[str, Callable[[bool], Path]]:
        name, version = self.random.choice(["one", "two"]), self.next()
        removes = name in self.written.servers and self.random.random() < 0.3
        path = self.home / "config.yaml"

        def write(breaks: bool) -> Path:
            if not breaks:
                self.written.servers.pop(name, None)
                if not removes:
                    self.written.servers[name] = version
            servers = {name: _settings(name, version) for name, version in sorted(self.written.servers.items())}
            text = json.dumps(self.config | {"mcp_servers": servers}, indent=1)
            path.write_text(text.replace('"mcp_servers"', '"mcp_server"') if breaks else text)
            return path

        return str(path), write

    def hook(self) -> tuple[str, Callable[[bool], Path]]:
        path, version = self.home / "hooks.json", self.next()

        def write(breaks: bool) -> Path:
            command = {"type": "command", "command": f"echo hook version {version}"}
            hooks = {"hooks": {"UserPromptSubmit": [{"hooks": [command]}]}}
            path.write_text('{\n"hooks": {"Stop": [' if breaks else json.dumps(hooks))
            if not breaks:
                self.written.hook = version
            return path

        return str(path), write

    def agents(self) -> tuple[str, Callable[[bool], Path]]:
        path, version = self.one.workspace / "AGENTS.md", self.next()

        def write(breaks: bool) -> Path:
            path.write_text(f"Agents version {version}.")
            self.written.agents = version
            return path

        return "agents", write


def _settings(name: str, version: int) -> Message:
    return {"command": sys.executable, "args": [str(SERVERS / "plain.py"), f"id={name}.{version}", f"tools=v{version}"]}


def test_two_hundred_edits_half_of_them_broken(one: Served) -> None:
    session, person = one.new(), Person(one, 11)
    one.prompt(session, "hello")
    active, told, running = State(), State().context, dict[str, int]()
    outcomes = [0, 0]
    for number in range(EDITS):
        since = len(one.agent.messages)
        broke = person.edit()
        answer = one.agent.response(one.agent.request(RELOAD, {"sessionId": session}))
        outcomes["error" in answer] += 1
        if person.broken:
            error = answer["error"]
            assert error["code"] == -32603
            found = re.search(r"(\S+):(\d+): ", error["message"])
            assert found is not None, error
            assert found[1] in person.broken
            assert broke is None or len(person.broken) > 1 or found[1] == str(broke)
        else:
            assert answer["result"] == {}, answer
            one.agent.expect_update(session, "available_commands_update", since)
            active = deepcopy(person.written)
        one.prompt(session, f"turn {number}")
        words = user_words(one)
        assert (f"Agents version {active.agents}." in words) is (active.context != told and active.agents > 0)
        for version in active.skills.values():
            assert (f"Skill version {version}." in words) is (active.context != told)
        assert re.findall(r"hook version \d+", words) == ([f"hook version {active.hook}"] if active.hook else [])
        told = active.context
        if {name for name in mcp_tools(one.last) if "__v" in name} != active.tools:  # a slow one follows
            settle(one, session, active.tools)
        assert {name for name in mcp_tools(one.last) if "__v" in name} == active.tools
        assert ("use_skill" in tools_of(one.last)) is bool(active.skills)
        assert listed(one, session) == active.names
        running = check_processes(one, active, running)
    assert min(outcomes) > EDITS / 5
    check_what_is_there_works(one, session, active)


def check_processes(one: Served, active: State, before: dict[str, int]) -> dict[str, int]:
    """Servers that have not changed keep their process, and the others end; returns who runs now."""
    wanted = {f"id={name}.{version}" for name, version in active.servers.items()}
    for name, pid in before.items():
        assert name in wanted or gone(pid, PATIENCE)
    found = {line.split()[2]: pid for pid, line in children(one.agent, "plain.py").items()}
    now = {name: pid for name, pid in found.items() if name in wanted}
    assert set(now) == wanted
    assert all(now[name] == pid for name, pid in before.items() if name in wanted)
    return now


def check_what_is_there_works(one: Served, session: str, active: State) -> None:
    for name, version in active.commands.items():
        one.prompt(session, f"/{name} now")
        assert f"Command version {version} now" in user_words(one)
    for name in active.skills:
        one.prompt(session, f"/skill:{name}")
        assert "Do it." in user_words(one)


BROKEN = {
    "skills/a/SKILL.md": ("---\nname: a\ndescription: [\n---\n", 3),
    "commands/a.md": ("---\ndescription: [\n---\nx\n", 2),
    "hooks.json": ('{\n"hooks": {"Stop": [', 2),
    "settings.json": ('{\n "hooks": 5}', 2),
    "config.yaml": ("default_model: local/tiny\nmcp_servers:\n  a: {command: 5}\n", 3),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_changes_nothing_and_is_told_with_its_line(one: Served, name: str) -> None:
    (one.home.path / "commands").mkdir()
    (one.home.path / "commands" / "good.md").write_text("Good $ARGUMENTS")
    session = one.new()
    one.prompt(session, "hello")
    text, line = BROKEN[name]
    path = one.home.path / name
    before = path.read_text() if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    (one.home.path / "commands" / "new.md").write_text("New")
    error = one.agent.fail(RELOAD, {"sessionId": session})
    assert (error["code"], f"{path}:{line}: " in error["message"]) == (-32603, True), error
    assert listed(one, session) == set()  # of those that came since
    one.prompt(session, "/good now")
    assert one.heard() == "Good now"
    since, asked = len(one.agent.messages), len(one.server.requests)
    id = one.agent.start_prompt(session, "stall")
    one.server.wait_for_request(asked + 1)
    assert one.agent.call(RELOAD, {"sessionId": session}) == {"queued": True}
    one.agent.notify("session/cancel", {"sessionId": session})
    assert one.agent.response(id)["result"] == {"stopReason": "cancelled"}
    assert f"{path}:{line}: " in notice(one.agent, session, "reload failed", since)
    if before is None:
        path.unlink()
    else:
        path.write_text(before)
    one.agent.call(RELOAD, {"sessionId": session})
    one.prompt(session, "hello")  # behind whatever is still told of the reloads
    assert listed(one, session) == {"new"}


def test_a_session_opens_beside_what_is_broken_and_the_person_is_told(one: Served) -> None:
    for name, (text, _) in BROKEN.items():
        if name != "config.yaml":
            (one.home.path / name).parent.mkdir(parents=True, exist_ok=True)
            (one.home.path / name).write_text(text)
    session = one.new()
    for name, (_, line) in BROKEN.items():
        if name != "config.yaml":
            assert notice(one.agent, session, re.escape(f"{one.home.path / name}:{line}: "))
    one.prompt(session, "hello")


def test_skills_and_commands_with_arguments(one: Served) -> None:
    home = one.home.path
    for name, text in {
        "skills/tidy/SKILL.md": skill("tidy", "Tidies up.", "Tidy $ARGUMENTS well.", argument_hint="[place]"),
        "skills/secret/SKILL.md": skill("secret", "Not for the model.", disable_model_invocation="true"),
        "commands/git/commit.md": "---\nargument-hint: '[ticket]'\n---\nCommit $1, not $2: $ARGUMENTS",
    }.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    (one.workspace / "AGENTS.md").write_text("Be brief.")
    session = one.new()
    one.prompt(session, "hello")
    assert "Be brief." in user_words(one)
    assert "Tidies up." in user_words(one)
    assert "Not for the model." not in str(one.last.body)
    system, *_ = one.last.body["messages"]
    assert "Be brief." not in str(system)
    assert "Tidies up." not in str(one.last.body["tools"])
    one.prompt(session, "/skill:tidy the shed")
    assert "Tidy the shed well." in user_words(one)
    assert "Be brief." not in user_words(one)
    one.prompt(session, "/git:commit 'A 1' b")
    assert one.heard() == "Commit A 1, not b: 'A 1' b"
    call = call_in(one.prompt(session, "use it"))
    assert (call.status, "Tidy the shed well." in call.text) == ("completed", True)
    assert call_in(one.prompt(session, "use nothing")).status == "failed"
    one.prompt(session, "/skill:secret")
    assert "Do it." in user_words(one)
    assert says(one, session, "/skill:nothing").startswith("There is no skill `nothing`. There are: `")
    assert "/skill:nothing" not in one.heard()  # it is nothing for the model
    assert "/skill:tidy" in says(one, session, "/help")


def test_what_was_told_is_told_again_only_when_it_changed(one: Served) -> None:
    path = one.workspace / "AGENTS.md"
    path.write_text("Be brief.")
    session = one.new()
    seen = []
    for text in ("Be brief.", "Be brief.", "Be kind.", "Be kind.", "Be brief."):
        path.write_text(text)
        one.agent.call(RELOAD, {"sessionId": session})
        one.prompt(session, "hello")
        seen.append(text in user_words(one))
    assert seen == [True, False, True, False, True]
    one.agent.call("session/close", {"sessionId": session})
    one.agent.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
    one.prompt(session, "hello")
    assert "Be " not in user_words(one)
