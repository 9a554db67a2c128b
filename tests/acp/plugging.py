"""An agent whose person has plugins, put there by `acpagent plugin install`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.acp.mcp import notices
from tests.acp.seen import calls, says, turn
from tests.acp.served import Served
from tests.agent import Agent, Message, updates_in
from tests.cli.terminals import call
from tests.extensions.sidecars import EXAMPLE
from tests.model_server import ModelServer
from tests.settling import await_files

RELOAD = "_reasonix.io/session/reloadExtensions"
SUBMIT = "_reasonix.io/session/submitSurface"
SUPPORTED = {"reasonix.io": {"extensionSurface": {"supported": True}}}
PROBE = Path(__file__).with_name("probe_plugin.py")
ABLE: Message = {
    "intercepts": ["input.receive", "tool.before", "tool.after", "permission.decision"],
    "events": ["session.start", "session.end", "turn.start", "turn.end", "tool.start", "tool.end"],
    "ui": True,
    "actions": [{"id": "act", "label": "Act", "description": "Do something", "hint": "what"}],
    "tools": [
        {"name": "look", "description": "Looks.", "readOnly": True},
        {"name": "change", "description": "Changes.", "parameters": {"type": "object"}},
    ],
}
SCRIPT: Message = {
    "turns": [
        turn("#write", calls("write_file", path="a.txt", content="first"), says("Wrote.")),
        turn("#read", calls("read_file", path="README.md"), says("Read.")),
        turn("#run", calls("bash", command="echo ran >> ran.txt"), says("Ran.")),
        turn("#show", calls("bash", command="echo shown"), says("Showed.")),
        turn("#change", calls("plugin__probe__change", what="all"), says("Changed.")),
        turn("#look", calls("plugin__probe__look"), says("Looked.")),
        turn("#count", calls("plugin__tally__count"), says("Counted.")),
        turn("", says("Hello.")),
    ]
}


class Plugged:
    """`one` is the agent with its model. `surfaces`: its client shows by itself what plugins publish."""

    def __init__(self, folder: Path, one: Served, surfaces: bool, capabilities: Message) -> None:
        self.one = one
        self.home = one.home
        self.agent: Agent = one.agent
        self._folder = folder
        (one.workspace / "README.md").write_text("Read me.\n")
        more: Message = {"_meta": SUPPORTED} if surfaces else {}
        self.agent.initialize(capabilities, **more)

    # -- what is installed

    def plugin(self, *words: str) -> str:
        """`acpagent plugin`, which must work; what it says."""
        done = call(["plugin", *words], self.home.env, self.home.path)
        assert done.returncode == 0, done
        return done.stdout

    def install(self, package: str | Path, *words: str) -> None:
        self.plugin("install", str(package), "--yes", *words)

    def example(self) -> None:
        self.install(EXAMPLE)

    def probe(self, name: str = "probe", able: Message = ABLE, **runtime: Any) -> Path:
        """Install a plugin that does as `rule` says; its folder."""
        package = self.package(name)
        shutil.copy(PROBE, package / "program.py")
        started = {"command": "python3", "args": ["program.py", name], "capabilities": able, **runtime}
        self.manifest(package, name, runtime=started)
        self.rule(name)
        self.install(package)
        return self.home.path / "plugins" / name

    def package(self, name: str) -> Path:
        folder = self._folder / "packages" / name
        folder.mkdir(parents=True)
        return folder

    def manifest(self, package: Path, name: str, **more: Any) -> None:
        about = {"api": 1, "name": name, "version": "1.0.0", "description": "A probe"}
        (package / "acpagent-plugin.json").write_text(json.dumps({**about, **more}))

    def rule(self, name: str = "probe", **answers: Any) -> None:
        """What the program does from here on: for a method or event the answer to all, or rules as it takes them.
        Dots and slashes in names are underscores."""
        made = {key.replace("__", "/").replace("_", "."): _rules(value) for key, value in answers.items()}
        path = self.home.path / f"{name}.json"
        path.with_suffix(".new").write_text(json.dumps({"answers": made}))
        path.with_suffix(".new").replace(path)

    # -- what the program was told

    def told(self, method: str = "", name: str = "probe") -> list[Message]:
        """What it read so far, of one method or all."""
        path = self.home.path / f"{name}.log"
        *lines, _ = path.read_text().split("\n") if path.exists() else [""]  # the last one is not whole yet
        return [one for one in map(json.loads, lines) if method in ("", one.get("method"))]

    def await_told(self, fits: Callable[[Message], Any], name: str = "probe", number: int = 1) -> Message:
        """Wait until it read that, for the time of that number."""

        def read() -> list[Message]:
            return [one for one in self.told(name=name) if fits(one)][number - 1 :]

        found: list[Message] = await_files(self.home.path, read, f"{name} to be told")
        return found[0]

    def await_ready(self, name: str = "probe") -> None:
        """Wait until it was greeted, so that what it is asked next has all the time that it may take."""
        self.await_told(lambda one: one.get("method") == "initialized", name)

    def asked(self, event: str, name: str = "probe") -> list[Message]:
        """The payloads of the intercepts or events of a kind, in order."""
        return [one["params"]["payload"] for one in self.told(name=name) if one.get("params", {}).get("event") == event]

    def pids(self, name: str = "probe") -> list[int]:
        """The programs that were started, in order."""
        return [one["pid"] for one in self.told("environment", name)]

    # -- sessions

    def new(self) -> str:
        return self.one.new()

    def reload(self, session: str) -> Message:
        """The answer."""
        return self.agent.response(self.agent.request(RELOAD, {"sessionId": session}))

    def results(self) -> list[str]:
        """What the model read of its calls."""
        return [message["content"] for message in self.one.read() if message["role"] == "tool"]

    def written(self, name: str) -> str | None:
        path = self.one.workspace / name
        return path.read_text() if path.exists() else None

    def commands(self, session: str) -> dict[str, Message]:
        """Those listed last."""
        listed = [one for one in self.agent.updates(session) if one["sessionUpdate"] == "available_commands_update"]
        return {command["name"]: command for command in listed[-1]["availableCommands"]}

    def await_command(self, session: str, name: str, there: bool = True) -> Message | None:
        """Wait until it is listed, or is not."""
        self.agent.wait_until(
            lambda messages: (
                any(one["sessionUpdate"] == "available_commands_update" for one in updates_in(messages, session))
                and (name in self.commands(session)) == there
            ),
            f"the command {name}",
        )
        return self.commands(session).get(name)

    def surface(self, session: str, kind: str, since: int = 0) -> Message:
        """Wait for what was shown of a kind, structured."""

        def shown(messages: list[Message]) -> Message | None:
            found = [one for one in surfaces_in(updates_in(messages[since:], session)) if one["kind"] == kind]
            return found[0] if found else None

        found: Message = self.agent.wait_until(shown, f"a surface {kind}")
        return found

    def text(self, session: str, part: str, since: int = 0) -> Message:
        """Wait for a message with this in it; the update."""

        def said(messages: list[Message]) -> Message | None:
            updates = updates_in(messages[since:], session)
            chunks = [one for one in updates if one["sessionUpdate"] == "agent_message_chunk"]
            return next((one for one in chunks if part in one["content"].get("text", "")), None)

        found: Message = self.agent.wait_until(said, f"to be told {part}")
        return found

    def notices(self, session: str) -> list[str]:
        return notices(self.agent.messages, session)


def _rules(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [["", value]]


def surfaces_in(updates: list[Message]) -> list[Message]:
    return [
        update["_meta"]["reasonix.io"]["extensionSurface"]
        for update in updates
        if update["sessionUpdate"] == "_reasonix.io/extension_surface"
    ]


@contextmanager
def plugged(
    folder: Path, surfaces: bool = False, capabilities: Message | None = None, model: Any = None, **config: Any
) -> Iterator[Plugged]:
    """Until the end of the block, after which everything is gone and all that was written was right."""
    with ModelServer(SCRIPT) as server:
        one = Served(folder, server, model or {}, config)
        try:
            yield Plugged(folder, one, surfaces, capabilities or {})
        finally:
            one.agent.close()


def publish(surface: str, kind: str, **payload: Any) -> Message:
    return {"method": "host/ui/publish", "params": {"surfaceId": surface, "kind": kind, "payload": payload}}


def request_form(id: Any, surface: str, **payload: Any) -> Message:
    return {"id": id, "method": "host/ui/request", "params": {"surfaceId": surface, "payload": payload}}
