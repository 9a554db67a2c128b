"""A raw ACP client for tests: writes lines to a real agent process, keeps every line it writes, and checks
all of them at the end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from acpagent.client.process import Process
from acpagent.wire.pending import id_key
from tests.descendants import new_mark, survivors
from tests.settling import PATIENCE
from tests.transcript import Transcript

ACPAGENT = [sys.executable, "-m", "acpagent", "acp"]
Message = dict[str, Any]
Permission = Callable[[Message], str | None]


class Agent:
    """One agent process. A thread reads its stdout into the transcript; everything else is the test's.

    Waiting methods raise AssertionError, with what was said so far, when `deadline` seconds pass.
    """

    def __init__(
        self,
        command: Sequence[str] = ACPAGENT,
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        deadline: float = PATIENCE,
    ) -> None:
        self.deadline = deadline
        self.exit_code: int | None = 0  # what `close` expects; None: anything
        self.grace = 5.0  # seconds that descendants may outlive it
        self.transcript = Transcript()
        self._mark = new_mark()
        environment = {**(os.environ if env is None else env), **self._mark}
        self.process = Process(command, cwd=None if cwd is None else os.fspath(cwd), env=environment)
        self._changed = threading.Condition()
        self._sending = threading.Lock()  # whole messages, whichever thread sends them
        self._may_read = threading.Event()
        self._may_read.set()
        self._last_id = 0
        self._taken: set[int] = set()  # which of the agent's requests a test has got
        self._initialized = False
        self._closed = False
        self.ended = False  # stdout is at its end
        self._reader = threading.Thread(target=self._read, name="test agent reader", daemon=True)
        self._reader.start()

    # -- sending

    def send_raw(self, data: bytes) -> None:
        """Write bytes as they are."""
        with self._sending:
            with self._changed:
                self.transcript.sent(data)
            view = memoryview(data)
            while view:
                view = view[os.write(self.process.write_fd, view) :]

    def send(self, *messages: Message) -> None:
        """Write messages, all in one go."""
        self.send_raw(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def request(self, method: str, params: Any = None) -> int:
        """Send a request; its id."""
        message = self.make_request(method, params)
        self.send(message)
        return int(message["id"])

    def make_request(self, method: str, params: Any = None) -> Message:
        """A request with a fresh id, not sent."""
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method}
        return message if params is None else message | {"params": params}

    def notify(self, method: str, params: Any = None) -> None:
        message = {"jsonrpc": "2.0", "method": method}
        self.send(message if params is None else message | {"params": params})

    def reply(self, request: Message, result: Any) -> None:
        """Answer a request of the agent."""
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def refuse(self, request: Message, code: int, message: str = "no") -> None:
        error = {"code": code, "message": message}
        self.send({"jsonrpc": "2.0", "id": request["id"], "error": error})

    def decide(self, request: Message, option_id: str | None) -> None:
        """Answer a permission request; None closes it unanswered."""
        chosen = {"outcome": "selected", "optionId": option_id}
        self.reply(request, {"outcome": {"outcome": "cancelled"} if option_id is None else chosen})

    # -- receiving

    @property
    def lines(self) -> list[bytes]:
        """Every line the agent wrote, in order."""
        with self._changed:
            return list(self.transcript.lines)

    @property
    def messages(self) -> list[Message]:
        """Every line that is a JSON object, in order."""
        with self._changed:
            return list(self.transcript.messages)

    @property
    def notifications(self) -> list[Message]:
        return [message for message in self.messages if "method" in message and "id" not in message]

    @property
    def known_sessions(self) -> set[str]:
        """Those that an answer named so far."""
        results = [result for message in self.messages if isinstance(result := message.get("result"), dict)]
        return {result["sessionId"] for result in results if "sessionId" in result}

    def updates(self, session_id: str, since: int = 0) -> list[Message]:
        """The session's updates so far, those among `messages[since:]`."""
        return updates_in(self.messages[since:], session_id)

    def wait_until(self, ready: Callable[[list[Message]], Any], what: str = "it", timeout: float = 0) -> Any:
        """Wait until `ready(messages)` gives something true, and return that. It is called again whenever a
        line came in, and when stdout ended."""
        deadline = time.monotonic() + (timeout or self.deadline)
        with self._changed:
            while not (found := ready(self.transcript.messages)):
                left = deadline - time.monotonic()
                assert left > 0, f"waited in vain for {what}\n{self._story()}"
                assert not self.ended, f"the agent ended before {what}\n{self._story()}"
                self._changed.wait(left)
        return found

    def expect(self, fits: Callable[[Message], Any], what: str = "a message", since: int = 0) -> Message:
        """Wait for the first message of `messages[since:]` that fits."""
        found: Message = self.wait_until(lambda messages: next(filter(fits, messages[since:]), None), what)
        return found

    def expect_update(self, session_id: str, kind: str, since: int = 0) -> Message:
        """Wait for an update of that kind; the update itself."""

        def fits(message: Message) -> bool:
            return any(update["sessionUpdate"] == kind for update in updates_in([message], session_id))

        update: Message = self.expect(fits, f"the update {kind}", since)["params"]["update"]
        return update

    def expect_request(self, method: str, timeout: float = 0) -> Message:
        """Wait for the agent's next request of that method; each is given once."""
        found: Message = self.wait_until(lambda _: self._untaken(method), f"the request {method}", timeout)
        return found

    def next_event(self, id: int, methods: Sequence[str], timeout: float = 0) -> Message:
        """Wait for the agent's next request of one of these methods, or else for the response to a request of ours."""

        def either(_: list[Message]) -> Message | None:
            return self._untaken(*methods) or self._answer(id)

        found: Message = self.wait_until(either, f"the response to request {id}", timeout)
        return found

    def _untaken(self, *methods: str) -> Message | None:
        for index, message in enumerate(self.transcript.requests):
            if message["method"] in methods and index not in self._taken:
                self._taken.add(index)
                return message
        return None

    def response(self, id: Any, timeout: float = 0) -> Message:
        """Wait for the response to a request of ours. The first, when there are several."""
        found: Message = self.wait_until(lambda _: self._answer(id), f"response {id!r}", timeout)
        return found

    def _answer(self, id: Any) -> Message | None:
        index = self.transcript.responses.get(id_key(id))
        return None if index is None else self.transcript.messages[index]

    def call(self, method: str, params: Any = None, timeout: float = 0) -> Any:
        """Send a request and return its result."""
        answer = self.response(self.request(method, params), timeout)
        assert "result" in answer, f"{method} was refused: {answer['error']}"
        return answer["result"]

    def fail(self, method: str, params: Any = None, timeout: float = 0) -> Message:
        """Send a request that must be refused; the error."""
        answer = self.response(self.request(method, params), timeout)
        assert "error" in answer, f"{method} was not refused: {answer['result']}"
        error: Message = answer["error"]
        return error

    @contextlib.contextmanager
    def not_reading(self) -> Iterator[None]:
        """Take nothing from the agent's stdout meanwhile (one read may be under way)."""
        self._may_read.clear()
        try:
            yield
        finally:
            self._may_read.set()

    # -- the usual course

    def initialize(self, capabilities: Message | None = None, version: int = 1, **params: Any) -> Message:
        """Shake hands, as an editor that can do nothing unless `capabilities` says so."""
        info = {"name": "test", "version": "0"}
        greeting = {"protocolVersion": version, "clientInfo": info, "clientCapabilities": capabilities or {}}
        result: Message = self.call("initialize", greeting | params)
        self._initialized = True
        return result

    def new_session(self, cwd: str | os.PathLike[str], **params: Any) -> str:
        """Open a session (and shake hands first, if that is not done); its id."""
        if not self._initialized:
            self.initialize()
        result = self.call("session/new", {"cwd": os.fspath(cwd), "mcpServers": []} | params)
        session_id: str = result["sessionId"]
        return session_id

    def start_prompt(self, session_id: str, content: str | list[Message]) -> int:
        """Send a prompt; its id."""
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        return self.request("session/prompt", {"sessionId": session_id, "prompt": blocks})

    def prompt(
        self,
        session_id: str,
        content: str | list[Message],
        permission: str | Permission | None = None,
        timeout: float = 0,
    ) -> tuple[list[Message], Message]:
        """Prompt and wait for the response: (the updates before it, the response).

        `permission`, an option id or a function from request to option id, answers what is asked meanwhile;
        without it a question is a failure.
        """
        since = len(self.messages)
        id = self.start_prompt(session_id, content)
        while "method" in (message := self.next_event(id, ["session/request_permission"], timeout)):
            assert permission is not None, f"asked: {message}"
            self.decide(message, permission(message) if callable(permission) else permission)
        end = self.transcript.responses[id_key(id)]
        return updates_in(self.messages[since:end], session_id), message

    # -- the end

    def close_stdin(self) -> None:
        if self.process.write_fd >= 0:
            os.close(self.process.write_fd)
            self.process.write_fd = -1

    def wait_exit(self, seconds: float = 30.0) -> int:
        """Wait for the end of the process; its exit code."""
        assert self.process.ended.wait(seconds), f"still running after {seconds} s\n{self._story()}"
        self._reader.join(seconds)
        code = self.process.exit_code
        assert code is not None
        return code

    def stderr(self) -> str:
        """The last of its stderr; whole, when the process has ended."""
        return self.process.stderr_tail(10.0 if self.process.ended.is_set() else 0.0)

    def close(self) -> None:
        """End it by closing its stdin. It must be gone in 30 s, much for a busy machine, with the expected exit code
        and nobody left behind, and every line it ever wrote must be right."""
        if self._closed:
            return
        self._closed = True
        self._may_read.set()
        try:
            self.close_stdin()
            code = self.wait_exit()
            assert self.exit_code in (None, code), f"exit code {code}\n{self._story()}"
            left = survivors(self._mark, self.grace)
            assert not left, f"left behind: {left}"
        finally:
            self.process.stop(0)
        self.transcript.check()

    def _story(self) -> str:
        return f"{self.transcript.story()}\nstderr: {self.process.stderr_tail(0.2)}"

    def _read(self) -> None:
        fd = self.process.read_fd
        try:
            while self._may_read.wait() and (data := os.read(fd, 65536)):
                with self._changed:
                    self.transcript.received(data)
                    self._changed.notify_all()
        finally:
            os.close(fd)
            killed = self.process.ended.wait(5.0) and self.process.exit_code == -signal.SIGKILL
            with self._changed:
                self.transcript.ended(killed)
                self.ended = True
                self._changed.notify_all()


def updates_in(messages: list[Message], session_id: str) -> list[Message]:
    """The updates of one session among messages."""
    updates = [message["params"] for message in messages if message.get("method") == "session/update"]
    return [params["update"] for params in updates if params["sessionId"] == session_id]


def handoff(update: Message) -> Message | None:
    """The evidence that an update hands over, if it is one that does."""
    found: Message = update.get("_meta", {}).get("soba", {}).get("evidence", {})
    return found if found.get("source") == "assistant_handoff" else None


def handoffs(updates: list[Message]) -> list[Message]:
    """All evidence that some updates hand over."""
    return [found for update in updates if (found := handoff(update)) is not None]


def text_in(updates: list[Message], kind: str = "agent_message_chunk") -> str:
    """The text of the chunks of that kind, joined, without the evidence that is handed over at a turn's end."""
    chunks = [update for update in updates if update["sessionUpdate"] == kind and handoff(update) is None]
    return "".join(chunk["content"].get("text", "") for chunk in chunks)
