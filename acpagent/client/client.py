"""A blocking client for any agent that speaks the Agent Client Protocol over stdio.

with Client.launch(["acpagent", "acp"]) as client:
    session = client.open("/path/of/the/project")
    for update in session.prompt("What is this project about?"):
        print(update)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from acpagent.client.callbacks import Handler, Permission, Question
from acpagent.client.connection import Connection, missing
from acpagent.client.faults import AgentFault
from acpagent.client.files import Files
from acpagent.client.process import STOP_SECONDS
from acpagent.client.session import Session, SessionInfo
from acpagent.client.terminals import Terminal
from acpagent.client.updates import dicts_of, text_of
from acpagent.version import __version__
from acpagent.wire.codes import INTERNAL_ERROR
from acpagent.wire.pending import Answer

Path = str | os.PathLike[str]

# Generous: agents may start servers before they answer. Prompts have no limit of their own.
_TIMEOUT = 60.0
_VERSION = 1


class Client:
    """A running agent and the conversations with it. There is no event loop: methods block, and may be
    called from any thread.

    Timeouts are in seconds, None waits for ever. Waiting methods raise `TimeoutError` when the time is up,
    `AgentFault` when the agent answers with an error, and `AgentEnded`, a kind of `AgentFault`, when it is
    gone.
    """

    def __init__(self, connection: Connection) -> None:
        """For `launch`."""
        self._connection = connection
        self.info: dict[str, Any] = {}

    @classmethod
    def launch(
        cls,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        permission: Permission | None = None,
        question: Question | None = None,
        files: Files | None = None,
        terminals: bool = False,
        client_info: Mapping[str, Any] | None = None,
        capabilities: Mapping[str, Any] | None = None,
        handlers: Mapping[str, Handler] | None = None,
        on_stderr: Callable[[str], object] | None = None,
        timeout: float | None = _TIMEOUT,
    ) -> Self:
        """Start an agent, in a process group of its own, and introduce ourselves.

        `cwd` and `env` are the process's, as for `subprocess`. `permission` is asked, on a thread of its own
        for each request, whether the agent may do something, and returns one of `request.options` or its id;
        without it, when it raises and when it returns anything else, the answer is no. `question` is asked in
        the same way what the agent wants to know, and returns what was filled in, by the names of
        `request.fields`, or None to decline; without it the agent is not offered to ask by forms. With `files`
        the agent reads and writes through the program; with `terminals` it runs its commands as processes of
        the program (`terminal` finds them), whatever it says in them. `capabilities` are further client
        capabilities to announce, and `handlers` the functions, params to result, that answer what the agent
        may ask because of them. `on_stderr` gets what the agent writes to stderr, piece by piece, on a thread
        of its own.

        Raises `OSError` when the command cannot be started; otherwise as the class says.
        """
        connection = Connection(
            command,
            cwd=None if cwd is None else os.fspath(cwd),
            env=env,
            on_stderr=on_stderr,
            permission=permission,
            question=question,
            handlers=handlers or {},
            files=files,
            terminals=terminals,
        )
        client = cls(connection)
        try:
            client._initialize(client_info, _announced(capabilities, question, files, terminals), timeout)
        except BaseException:
            connection.close(0.0)
            raise
        return client

    def _initialize(
        self,
        client_info: Mapping[str, Any] | None,
        capabilities: Mapping[str, Any],
        timeout: float | None,
    ) -> None:
        info = client_info or {"name": "acpagent", "title": "acpagent client", "version": __version__}
        params = {
            "protocolVersion": _VERSION,
            "clientInfo": dict(info),
            "clientCapabilities": dict(capabilities),
        }
        answer = self._connection.call("initialize", params, timeout)
        self.info = answer if isinstance(answer, dict) else {}
        version = self.info.get("protocolVersion")
        if version != _VERSION:
            raise AgentFault(INTERNAL_ERROR, f"the agent speaks protocol version {version}, not {_VERSION}")
        self._connection.capabilities = self._dict("agentCapabilities")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- the agent

    @property
    def agent(self) -> dict[str, Any]:
        """What the agent says it is: `name`, `version`, `title`; empty if it says nothing."""
        return self._dict("agentInfo")

    @property
    def capabilities(self) -> dict[str, Any]:
        return self._connection.capabilities

    @property
    def auth_methods(self) -> list[dict[str, Any]]:
        return dicts_of(self.info, "authMethods")

    @property
    def pid(self) -> int:
        return self._connection.process.pid

    @property
    def exit_code(self) -> int | None:
        """None while the agent runs; negative for the signal that ended it."""
        return self._connection.process.exit_code

    @property
    def stderr(self) -> str:
        """The last of what the agent wrote to stderr."""
        return self._connection.process.stderr_tail()

    def authenticate(self, method_id: str, timeout: float | None = _TIMEOUT) -> None:
        """Authenticate by one of `auth_methods`."""
        self._connection.call("authenticate", {"methodId": method_id}, timeout)

    def logout(self, timeout: float | None = _TIMEOUT) -> None:
        self._connection.require("logout")
        self._connection.call("logout", {}, timeout)

    def call(self, method: str, params: Mapping[str, Any] | None = None, timeout: float | None = _TIMEOUT) -> Any:
        """Send any request, an agent's own among them, and return its result ({} for null)."""
        return self._connection.call(method, None if params is None else dict(params), timeout)

    def terminal(self, terminal_id: str) -> Terminal | None:
        """The terminal of that id, which tool calls show as content. The last 20 that the agent let go of are kept."""
        terminals = self._connection.terminals
        return None if terminals is None else terminals.find(terminal_id)

    def close(self, seconds: float = STOP_SECONDS) -> None:
        """End the agent: its stdin is closed; after `seconds` it gets SIGTERM, then SIGKILL, with its whole
        process group. Turns that run fail with `AgentEnded` unless it answers them first."""
        self._connection.close(seconds)

    # -- sessions

    def open(
        self,
        cwd: Path,
        mcp_servers: Sequence[Mapping[str, Any]] = (),
        additional_directories: Sequence[Path] = (),
        timeout: float | None = _TIMEOUT,
    ) -> Session:
        """Begin a conversation in a folder. `mcp_servers` are in the protocol's own form."""
        params = _place(cwd, mcp_servers, additional_directories)
        opened: list[Session] = []

        def register(answer: Answer) -> None:
            # On the reader thread, or updates right behind the answer would find no session.
            id = text_of(answer.result, "sessionId")
            if id is not None:
                session = Session(self._connection, id, params["cwd"])
                session.opened(answer.result)
                self._connection.add(session)
                opened.append(session)

        self._connection.call("session/new", params, timeout, register)
        if not opened:
            raise missing("session/new", "sessionId")
        return opened[0]

    def load(
        self,
        session_id: str,
        cwd: Path,
        mcp_servers: Sequence[Mapping[str, Any]] = (),
        additional_directories: Sequence[Path] = (),
        timeout: float | None = _TIMEOUT,
    ) -> Session:
        """Go on with a stored conversation; what happened in it is told again, in `Session.replayed`."""
        place = _place(cwd, mcp_servers, additional_directories)
        return self._reopen("session/load", session_id, place, timeout)

    def resume(
        self,
        session_id: str,
        cwd: Path,
        mcp_servers: Sequence[Mapping[str, Any]] = (),
        additional_directories: Sequence[Path] = (),
        timeout: float | None = _TIMEOUT,
    ) -> Session:
        """Go on with a stored conversation without hearing of its past."""
        place = _place(cwd, mcp_servers, additional_directories)
        return self._reopen("session/resume", session_id, place, timeout)

    def sessions(self, cwd: Path | None = None, timeout: float | None = _TIMEOUT) -> Iterator[SessionInfo]:
        """The stored conversations, of one folder or of all, fetched page by page while iterating;
        `timeout` is for each page."""
        self._connection.require("session/list")
        return self._pages({} if cwd is None else {"cwd": os.path.abspath(cwd)}, timeout)

    def delete(self, session_id: str, timeout: float | None = _TIMEOUT) -> None:
        """Delete a stored conversation. One that is not there is no error for agents that keep to the
        protocol."""
        self._connection.require("session/delete")
        self._connection.call("session/delete", {"sessionId": session_id}, timeout)
        session = self._connection.find(session_id)
        if session is not None:
            self._connection.forget(session)

    def _reopen(self, method: str, id: str, place: dict[str, Any], timeout: float | None) -> Session:
        self._connection.require(method)
        known = self._connection.find(id)
        session = known or Session(self._connection, id, place["cwd"])

        def opened(answer: Answer) -> None:
            session.replay(False)
            if answer.error is None and not answer.lost:
                session.opened(answer.result if isinstance(answer.result, dict) else {})

        session.replay(True)
        self._connection.add(session)  # what is replayed comes before the answer
        try:
            self._connection.call(method, {"sessionId": id, **place}, timeout, opened)
        except BaseException:
            session.replay(False)
            if known is None:
                self._connection.forget(session)
            raise
        return session

    def _pages(self, params: dict[str, Any], timeout: float | None) -> Iterator[SessionInfo]:
        seen: set[str] = set()
        while True:
            page = self._connection.call("session/list", params, timeout)
            yield from map(SessionInfo, dicts_of(page, "sessions"))
            cursor = text_of(page, "nextCursor")
            if cursor is None:
                return
            if cursor in seen:
                raise AgentFault(INTERNAL_ERROR, "the agent's list of sessions goes round in circles")
            seen.add(cursor)
            params = {**params, "cursor": cursor}

    def _dict(self, key: str) -> dict[str, Any]:
        found = self.info.get(key)
        return found if isinstance(found, dict) else {}


def _announced(
    capabilities: Mapping[str, Any] | None, question: Question | None, files: Files | None, terminals: bool
) -> dict[str, Any]:
    announced = dict(capabilities or {})
    if question is not None:
        announced["elicitation"] = {**(announced.get("elicitation") or {}), "form": {}}
    if files is not None:
        announced["fs"] = {**(announced.get("fs") or {}), **files.capabilities()}
    if terminals:
        announced["terminal"] = True
    return announced


def _place(cwd: Path, mcp_servers: Sequence[Mapping[str, Any]], additional: Sequence[Path]) -> dict[str, Any]:
    place: dict[str, Any] = {
        "cwd": os.path.abspath(cwd),
        "mcpServers": [dict(server) for server in mcp_servers],
    }
    if additional:
        place["additionalDirectories"] = [os.path.abspath(folder) for folder in additional]
    return place
