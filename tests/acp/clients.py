"""The clients that people use, as they were seen to behave: what each offers in `initialize`, what it does before the
first prompt, and how it answers. Of the one whose source is closed only what its users reported is known."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from tests.acp.editor import PERMISSION, READ, TERMINAL, WRITE, Editor, Refusal
from tests.agent import ACPAGENT, Agent, Message, updates_in
from tests.conftest import Home

FILES = {"fs": {"readTextFile": True, "writeTextFile": True}}


class Client(Editor):
    """What most have in common."""

    hello: ClassVar[Message] = {}  # the params of `initialize`
    connection: ClassVar[type[Agent]] = Agent
    permission: Any = "once"

    def __init__(self, home: Home) -> None:
        agent = self.connection(ACPAGENT, cwd=home.path, env=self.environment(home))
        capabilities = self.hello["clientCapabilities"]
        files = capabilities.get("fs", {})
        super().__init__(
            agent,
            reads=files.get("readTextFile", False),
            writes=files.get("writeTextFile", False),
            terminals=capabilities.get("terminal", False),
        )

    def environment(self, home: Home) -> dict[str, str]:
        return home.env

    @property
    def offered(self) -> set[str]:
        """What the agent may ask of it."""
        return set(self.handlers)

    def connect(self) -> None:
        """All that comes before the first session."""
        self.greeting = self.agent.call("initialize", self.hello)
        assert self.greeting["protocolVersion"] == 1

    def new(self, cwd: Path) -> str:
        """Open a session; its id."""
        opened = self.agent.call("session/new", self.place(cwd))
        assert "models" not in opened  # clients that read it call `session/set_model`, and give up when that fails
        assert opened.get("configOptions") != []  # hides the modes
        return str(opened["sessionId"])

    def place(self, cwd: Path) -> Message:
        return {"cwd": str(cwd), "mcpServers": []}

    def content(self, words: str, cwd: Path) -> list[Message]:
        """A prompt as this client composes it."""
        return [{"type": "text", "text": words}]

    def load(self, session: str, cwd: Path) -> list[Message]:
        """Open a stored session; the updates before the response."""
        since = len(self.agent.messages)
        id = self.agent.request("session/load", self.place(cwd) | {"sessionId": session})
        assert "result" in self.serve(id)
        return updates_in(self.agent.messages[since : self.agent.transcript.responses[(int, id)]], session)

    def leave(self) -> None:
        """How it lets the agent go."""
        self.agent.close()


@contextmanager
def using(client: Callable[[Home], Client], home: Home) -> Iterator[Client]:
    """One run of a client, connected."""
    made = client(home)
    try:
        made.connect()
        yield made
        made.leave()
    finally:
        made.agent.close()
    assert not made.open, f"terminals not released: {made.open}"


class Zed(Client):
    hello: ClassVar[Message] = {
        "protocolVersion": 1,
        "clientCapabilities": {
            **FILES,
            "terminal": True,
            "auth": {"terminal": True},
            "session": {"configOptions": {"boolean": {}}},
            "elicitation": {"form": {}, "url": {}},
            "_meta": {"terminal_output": True, "terminal-auth": True},
        },
        "clientInfo": {"name": "zed", "title": "Zed", "version": "0.220.0"},
    }

    def new(self, cwd: Path) -> str:
        """At once it sets what the person had set before, whether or not the agent has that."""
        session = super().new(cwd)
        saved: list[tuple[str, Message]] = [
            ("session/set_mode", {"modeId": "yesterday"}),
            ("session/set_config_option", {"configId": "model", "value": "yesterday"}),
            ("session/set_config_option", {"configId": "fast", "type": "boolean", "value": True}),
        ]
        requests = [self.agent.make_request(method, {"sessionId": session} | what) for method, what in saved]
        self.agent.send(*requests)
        self.refusals = [self.agent.response(request["id"])["error"] for request in requests]
        return session

    def content(self, words: str, cwd: Path) -> list[Message]:
        link = {"type": "resource_link", "uri": f"file://{cwd}/note.txt#L1:2", "name": "note.txt (1:2)"}
        thread = {"type": "resource_link", "uri": "zed:///agent/thread/5?name=x", "name": "x"}
        text = {"uri": f"file://{cwd}/more.txt?symbol=x#L10:20", "text": "more", "mimeType": None}
        return [{"type": "text", "text": words}, link, thread, {"type": "resource", "resource": text}]


class JetBrains(Client):
    """Its offer is not published; this is what its SDK can say."""

    hello: ClassVar[Message] = {
        "protocolVersion": 1,
        "clientCapabilities": {"fs": {**FILES["fs"], "_meta": None}, "terminal": True, "_meta": None},
        "clientInfo": {"name": "JetBrains.AI", "version": "2026.2", "title": None, "_meta": None},
        "_meta": None,
    }

    def place(self, cwd: Path) -> Message:
        """With the server of the IDE itself."""
        server = {"name": "idea", "command": "/nonexistent/java", "args": ["-jar", "x.jar"], "env": []}
        return super().place(cwd) | {"mcpServers": [server], "_meta": None}


class CodeCompanion(Client):
    hello: ClassVar[Message] = {
        "protocolVersion": 1,
        "clientCapabilities": FILES,
        "clientInfo": {"name": "CodeCompanion.nvim", "version": "1.0.0"},
    }

    def connect(self) -> None:
        """Signs in with the first method there is, and gives up if that fails."""
        super().connect()
        assert self.agent.call("authenticate", {"methodId": self.greeting["authMethods"][0]["id"]}) == {}

    def load(self, session: str, cwd: Path) -> list[Message]:
        """Chosen from a list of those of this folder."""
        listed = self.agent.call("session/list", {"cwd": str(cwd)})["sessions"]
        assert session in [entry["sessionId"] for entry in listed]
        return super().load(session, cwd)

    def read(self, request: Message, params: Message) -> Any:
        """A file that is not there is an empty one."""
        try:
            return super().read(request, params)
        except Refusal:
            return {"content": ""}

    def write(self, request: Message, params: Message) -> None:
        super().write(request, params)

    def decide(self, request: Message, params: Message) -> Any:
        """The change is shown from the question alone."""
        if params["toolCall"]["kind"] == "edit":
            assert [item for item in params["toolCall"]["content"] if item["type"] == "diff"]
        return super().decide(request, params)


class SpacedAgent(Agent):
    """Every message is followed by an empty line."""

    def send(self, *messages: Message) -> None:
        self.send_raw(b"".join(json.dumps(message).encode() + b"\n\n" for message in messages))


class Avante(Client):
    connection = SpacedAgent
    hello: ClassVar[Message] = {"protocolVersion": 1, "clientCapabilities": FILES}  # and never who it is

    def environment(self, home: Home) -> dict[str, str]:
        """PATH, and what the person listed."""
        return {"PATH": home.env["PATH"], "ACPAGENT_HOME": home.env["ACPAGENT_HOME"]}

    def decide(self, request: Message, params: Message) -> Any:
        """Who closes the question has selected nothing."""
        chosen = self.permission(request) if callable(self.permission) else self.permission
        return {"outcome": {"outcome": "selected"} | ({} if chosen is None else {"optionId": chosen})}

    def write(self, request: Message, params: Message) -> str | None:
        """What went wrong is a result, too."""
        try:
            super().write(request, params)
        except OSError as error:
            return f"Failed to write: {error.strerror}"
        return None


class Agentic(Client):
    """With who it is in the wrong place."""

    hello: ClassVar[Message] = {
        "protocolVersion": 1,
        "clientCapabilities": {
            **FILES,
            "terminal": False,
            "clientInfo": {"name": "Agentic.nvim", "version": "0.0.1"},
        },
    }

    def connect(self) -> None:
        """Signs in as it was told to, and goes on whatever the answer is."""
        super().connect()
        self.sign_in = self.agent.response(self.agent.request("authenticate", {"methodId": "from-the-readme"}))


class AgentShell(Client):
    """acp.el and agent-shell; files may be switched off (`AgentShellWithoutFiles`)."""

    hello: ClassVar[Message] = {
        "protocolVersion": 1,
        "clientCapabilities": {**FILES, "elicitation": {"form": {}}},
        "clientInfo": {"name": "agent-shell", "title": "Emacs Agent Shell", "version": "0.79.1"},
    }

    def connect(self) -> None:
        super().connect()
        method = self.greeting["authMethods"][0]
        self.agent.call("authenticate", {"methodId": method["id"], "authMethod": method})

    def place(self, cwd: Path) -> Message:
        return super().place(cwd) | {"_meta": {"systemPrompt": {"append": "Be brief."}}}

    def decide(self, request: Message, params: Message) -> Any:
        """A call that goes on before the answer takes its question off the screen."""
        told = updates_in(self.agent.messages, params["sessionId"])
        (id,) = {params["toolCall"]["toolCallId"]}
        assert [update["status"] for update in told if update.get("toolCallId") == id] == ["pending"]
        return super().decide(request, params)


class AgentShellWithoutFiles(AgentShell):
    """Of an older version, which does not say who it is."""

    hello: ClassVar[Message] = {
        "protocolVersion": 1,
        "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}},
    }


class Toad(Client):
    """Hands params to functions as keywords: one too many is an error."""

    hello: ClassVar[Message] = {
        "protocolVersion": 1,
        "clientCapabilities": {**FILES, "terminal": True},
        "clientInfo": {"name": "toad", "title": "Toad", "version": "0.6.20"},
    }

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        named: dict[str, Callable[..., Any]] = {
            READ: self.read_text_file,
            WRITE: self.write_text_file,
            PERMISSION: self.request_permission,
            "terminal/create": self.terminal_create,
            "terminal/kill": self.terminal_kill,
        } | dict.fromkeys(("terminal/output", "terminal/wait_for_exit", "terminal/release"), self.terminal_other)
        self.handlers = {
            method: lambda request, params, call=call: call(request, **params) for method, call in named.items()
        }

    def request_permission(
        self, request: Message, sessionId: str, options: list[Message], toolCall: Message, _meta: Any = None
    ) -> Any:
        return self.decide(request, request["params"])

    def read_text_file(
        self, request: Message, sessionId: str, path: str, line: int | None = None, limit: int | None = None
    ) -> Any:
        """What cannot be read is empty."""
        try:
            return self.read(request, request["params"])
        except Refusal:
            return {"content": ""}

    def write_text_file(self, request: Message, sessionId: str, path: str, content: str) -> None:
        self.write(request, request["params"])

    def terminal_create(
        self,
        request: Message,
        command: str,
        _meta: Any = None,
        args: list[str] | None = None,
        cwd: str | None = None,
        env: list[Message] | None = None,
        outputByteLimit: int | None = None,
        sessionId: str | None = None,
    ) -> Any:
        return self.terminal(request, request["params"])

    def terminal_kill(self, request: Message, **params: Any) -> Any:
        """Looks for `sessionID`, so it never works."""
        raise Refusal(-32603, "missing 1 required positional argument: 'sessionID'")

    def terminal_other(self, request: Message, sessionId: str, terminalId: str, _meta: Any = None) -> Any:
        return self.terminal(request, request["params"])


class Acpx(Client):
    hello: ClassVar[Message] = {
        "protocolVersion": 1,
        "clientCapabilities": {**FILES, "terminal": True},
        "clientInfo": {"name": "acpx", "version": "0.1.0"},
    }

    def leave(self) -> None:
        """Closes stdin and waits."""
        self.agent.close_stdin()
        assert self.agent.wait_exit() == 0


class VSCodeAcp(Client):
    hello: ClassVar[Message] = {
        "protocolVersion": 1,
        "clientInfo": {"name": "vscode-acp-client", "version": "0.1.3"},
        "clientCapabilities": {**FILES, "terminal": True},
    }

    def decide(self, request: Message, params: Message) -> Any:
        """Titles are shown as they come."""
        title = params["toolCall"]["title"]
        assert "\n" not in title
        assert len(title) < 200
        return super().decide(request, params)


class Marimo(Client):
    """In a browser, behind a bridge; it waits for nothing."""

    hello: ClassVar[Message] = {"protocolVersion": 1, "clientCapabilities": FILES}

    def connect(self) -> None:
        """Everything in one write: the greeting, the session it remembers, a stop for the last tab, a new one."""
        self.forgotten = self.agent.make_request("session/load", self.place(Path("/")) | {"sessionId": "remembered"})
        greeting = self.agent.make_request("initialize", self.hello)
        stop = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "remembered"}}
        self.agent.send(greeting, self.forgotten, stop)
        self.greeted = greeting["id"]
        self.greeting = self.agent.response(greeting["id"])["result"]

    def new(self, cwd: Path) -> str:
        """With a prompt right behind it, for the session it remembers."""
        opening = self.agent.make_request("session/new", self.place(cwd))
        params = {"sessionId": "remembered", "prompt": self.content("hello", cwd)}
        self.early = self.agent.make_request("session/prompt", params)
        self.agent.send(opening, self.early)
        session = str(self.agent.response(opening["id"])["result"]["sessionId"])
        self.agent.notify("session/cancel", {"sessionId": session})
        self.set_model = self.agent.fail("session/set_model", {"sessionId": session, "modelId": "best"})
        return session

    def place(self, cwd: Path) -> Message:
        return super().place(cwd) | {"_meta": {"model": "best"}}

    def content(self, words: str, cwd: Path) -> list[Message]:
        link = {"type": "resource_link", "uri": "notebook.py", "mimeType": "text/x-python", "name": "notebook.py"}
        rules = {"uri": "marimo_rules.md", "mimeType": "text/markdown", "text": "You are in a notebook."}
        return [{"type": "text", "text": words}, link, {"type": "resource", "resource": rules}]


class Obsidian(Client):
    hello: ClassVar[Message] = {
        "protocolVersion": 1,
        "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": True},
        "clientInfo": {"name": "obsidian-agent-client", "title": "Agent Client", "version": "0.9.0"},
    }

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self.before_login: Callable[[], None] = lambda: None  # what the person does then

    def turn(self, session: str, content: str | list[Message], timeout: float = 0) -> tuple[list[Message], Message]:
        """Where a prompt needs a login and there is one way in, it takes that and sends the same prompt again."""
        updates, response = super().turn(session, content, timeout)
        methods = self.greeting["authMethods"]
        if response.get("error", {}).get("code") != -32000 or len(methods) != 1:
            return updates, response
        self.before_login()
        if "error" in self.agent.response(self.agent.request("authenticate", {"methodId": methods[0]["id"]})):
            return updates, response
        return super().turn(session, content, timeout)


CLIENTS = (
    Zed,
    JetBrains,
    CodeCompanion,
    Avante,
    Agentic,
    AgentShell,
    AgentShellWithoutFiles,
    Toad,
    Acpx,
    VSCodeAcp,
    Marimo,
    Obsidian,
)
TERMINAL_COURSE = [method for method in TERMINAL if method != "terminal/kill"]
