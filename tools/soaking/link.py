"""The agent's process and the connection to it. Every line is checked when it comes, and then forgotten."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from acpagent.wire.outgoing import check_message
from acpagent.wire.schema import bundle

Message = dict[str, Any]
PATIENCE = 60.0  # seconds for any answer


class Wrong(Exception):
    """The agent did what it must not."""


class Asked:
    """A request of ours. `then` is called with the response on the reader's thread, before anybody who waits."""

    def __init__(self, method: str, id: int, then: Callable[[Message], None] | None) -> None:
        self.method = method
        self.id = id
        self._then = then
        self._response: Message = {}
        self._answered = threading.Event()

    def answer(self, response: Message) -> None:
        self._response = response
        if self._then is not None:
            self._then(response)
        self._answered.set()

    def wait(self, seconds: float) -> bool:
        """Whether it is answered within so many seconds."""
        return self._answered.wait(seconds)

    def response(self) -> Message:
        """Waits for it. Raises `Wrong`."""
        if not self._answered.wait(PATIENCE):
            raise Wrong(f"no answer to {self.method} in {PATIENCE:g} s")
        return self._response

    def result(self) -> Any:
        response = self.response()
        if "error" in response:
            raise Wrong(f"{self.method} was refused: {response['error']}")
        return response["result"]


class Link:
    """One thread reads stdout. `take` gets the agent's requests and notifications on it, and must not wait.

    `faults` are what was wrong so far, at most a few; `lines` is how many came. Its lock is a leaf. Once it is
    `closing`, nothing is sent.
    """

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], cwd: str, take: Callable[[Message], None]
    ) -> None:
        self.closing = False
        self.faults: list[str] = []
        self.failed = threading.Event()
        self.lines = 0
        self._take = take
        self._lock = threading.Lock()
        self._last_id = 0
        self._asked: dict[int, Asked] = {}
        self._stderr: list[str] = []
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=dict(env), cwd=cwd, stdin=pipe, stdout=pipe, stderr=pipe)
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._read, self._read_stderr)]
        for thread in self._threads:
            thread.start()

    def ask(self, method: str, params: Message, then: Callable[[Message], None] | None = None) -> Asked:
        with self._lock:
            self._last_id += 1
            asked = self._asked[self._last_id] = Asked(method, self._last_id, then)
        self.send({"id": asked.id, "method": method, "params": params})
        return asked

    def call(self, method: str, params: Message) -> Any:
        return self.ask(method, params).result()

    def notify(self, method: str, params: Message) -> None:
        self.send({"method": method, "params": params})

    def reply(self, request: Message, result: Any) -> None:
        self.send({"id": request["id"], "result": result})

    def refuse(self, request: Message, code: int) -> None:
        self.send({"id": request["id"], "error": {"code": code, "message": "no"}})

    def send(self, message: Message) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        assert self.process.stdin is not None
        with self._lock:
            if not self.closing:
                self.process.stdin.write(line)
                self.process.stdin.flush()

    def wrong(self, text: str) -> None:
        """Note what is wrong; the run ends soon."""
        if len(self.faults) < 20:
            self.faults.append(text[:1000])
        self.failed.set()

    def close(self) -> None:
        """Close its stdin; it must end by itself."""
        assert self.process.stdin is not None
        with self._lock:
            self.closing = True
            self.process.stdin.close()
        try:
            code = self.process.wait(10)
            if code:
                self.wrong(f"exit code {code}")
        except subprocess.TimeoutExpired:
            self.wrong("still running 10 s after the end of its input")
            self.process.kill()
            self.process.wait()
        for thread in self._threads:
            thread.join(PATIENCE)
        odd = [line for line in self._stderr if not line.startswith("[acpagent acp] ")]
        if odd:
            self.wrong("on stderr: " + "".join(odd))

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stdout:
            for line in stdout:
                self.lines += 1
                try:
                    self._receive(line)
                except Exception as fault:  # whatever it is, it is to be told at the end
                    self.wrong(f"{type(fault).__name__}: {fault}: {line[:300]!r}")
        for asked in list(self._asked.values()):
            asked.answer({"error": "the agent has ended"})

    def _receive(self, line: bytes) -> None:
        if not line.endswith(b"\n"):
            raise Wrong("an unfinished line")
        message = json.loads(line)
        asked = None
        if "method" not in message and message.get("id") is not None:
            with self._lock:
                asked = self._asked.pop(message["id"], None)
            if asked is None:
                raise Wrong("an answer to nothing")
        problems = check_message(bundle(), "agent", message, asked.method if asked else None)
        if problems:
            raise Wrong(f"breaks the schema: {problems[0]}")
        if asked is not None:
            asked.answer(message)
        elif "method" in message:
            self._take(message)

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stderr:
            for line in stderr:
                if len(self._stderr) < 1000:
                    self._stderr.append(line.decode("utf-8", "replace"))


def environment(home: str, mark: Mapping[str, str]) -> dict[str, str]:
    """Ours, without what would change how the agent runs, and with a home of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ACPAGENT_")}
    return {**kept, "HOME": home, "ACPAGENT_HOME": home, **mark}
