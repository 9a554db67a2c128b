"""The two ends that people meet, behind `End`: the agent's process, and the blocking client."""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from acpagent.client.client import Client
from acpagent.client.faults import AgentFault
from acpagent.wire.pending import id_key
from tests.agent import Agent, updates_in
from tests.conftest import Home
from tests.wire.ends import Lines, Message, request

SCRIPT = {
    "turns": [
        {"prompt": "hold", "replies": [[{"stall": True}]]},
        {
            "prompt": "ask",
            "replies": [[{"call": {"tool": "bash", "args": {"command": "touch made"}}}], [{"text": "Done."}]],
        },
    ]
}
SESSIONS = 4  # how many prompts can be under way at a time
# Whatever the locale, the protocol is UTF-8.
HOSTILE = {"LC_ALL": "C", "LANG": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


class AgentEnd:
    """`acpagent acp`, initialized, with sessions that have nothing to do.

    An unknown session's id is what it repeats; it holds prompts of which the model is silent, and asks for
    permission to run a command. Updates are read over: what they say is in `agent`.
    """

    in_order = True
    bare_method = "session/list"

    def __init__(self, folder: Path) -> None:
        home = Home(folder)
        home.use_script(SCRIPT)
        workspace = folder / "workspace"
        workspace.mkdir()
        self.agent = Agent(cwd=folder, env={**home.env, **HOSTILE})
        self.lines: list[bytes] = []
        self._free = [self.agent.new_session(workspace) for _ in range(SESSIONS)]
        for session in self._free:  # the last that is told of a new one
            self.agent.expect_update(session, "available_commands_update")
        self._busy: dict[Hashable, tuple[Any, str]] = {}  # a prompt's id and its session
        self._status: str | None = None  # of the call that was last heard of
        # As many lines came: what follows belongs to a test.
        self._read = len(self.agent.lines)
        self.closed = False

    def send(self, data: bytes) -> None:
        self.agent.send_raw(data)

    def readline(self, seconds: float = 60.0) -> bytes:
        """Updates included."""
        transcript = self.agent.transcript
        self.agent.wait_until(lambda _: len(transcript.lines) > self._read, "a line", seconds)
        self._read += 1
        self.lines.append(transcript.lines[self._read - 1] + b"\n")
        return self.lines[-1]

    def message(self) -> Message:
        """The next that is no update."""
        while True:
            message: Message = json.loads(self.readline())
            if message.get("method") != "session/update":
                self._note(message)
                return message
            for update in updates_in([message], message["params"]["sessionId"]):
                self._status = update.get("status", self._status)

    def close(self) -> None:
        self.closed = True
        self.agent.close_stdin()

    def finish(self) -> None:
        self.agent.close()

    def settle(self) -> None:
        """Between two tests: nothing is under way and nothing unread."""
        self.release()
        while self._busy:
            self.message()
        self.send(self.repeat("settled", "settled"))
        assert self.repeated(self.message()) == "settled"

    def repeat(self, id: Any, text: str) -> bytes:
        return request(id, "session/close", {"sessionId": text})

    def repeated(self, answer: Message) -> str:
        assert answer["error"]["code"] == -32002
        return str(answer["error"]["data"]["sessionId"])

    def hold(self, id: Any) -> bytes:
        return self._prompt(id, "hold")

    def release(self) -> None:
        for _, session in self._busy.values():
            self.agent.notify("session/cancel", {"sessionId": session})

    def ask(self, id: Any) -> bytes:
        return self._prompt(id, "ask")

    def asked_for(self, question: Message) -> Any:
        session = question["params"]["sessionId"]
        return next(id for id, busy in self._busy.values() if busy == session)

    def yes(self) -> Any:
        return {"outcome": {"outcome": "selected", "optionId": "once"}}

    def took_yes(self, answer: Message) -> bool:
        assert answer["result"] == {"stopReason": "end_turn"}
        return self._status == "completed"

    def _prompt(self, id: Any, text: str) -> bytes:
        session = self._free.pop(0)
        self._busy[id_key(id)] = (id, session)
        return request(id, "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})

    def _note(self, message: Message) -> None:
        key = id_key(message.get("id"))
        if "result" in message and key in self._busy:
            _, session = self._busy.pop(key)
            self._free.append(session)


class ClientEnd(Lines):
    """The blocking client, launched and initialized; its agent's process only passes bytes on."""

    in_order = False  # each request of the agent has a thread of its own
    bare_method = "_test/echo"

    def __init__(self, folder: Path) -> None:
        pipes = [str(folder / name) for name in ("to_client", "to_agent")]
        for pipe in pipes:
            os.mkfifo(pipe)
        handlers = {f"_test/{name[3:]}": getattr(self, name) for name in ("do_echo", "do_hold", "do_ask")}
        self.answers: queue.SimpleQueue[Any] = queue.SimpleQueue()  # to its questions
        self._go = threading.Event()
        self.client: Client
        launching = threading.Thread(target=self._launch, args=(pipes, handlers))
        launching.start()
        write_fd = os.open(pipes[0], os.O_WRONLY)
        super().__init__(os.open(pipes[1], os.O_RDONLY), write_fd)
        greeting = self.message()
        self.send(b'{"jsonrpc":"2.0","id":%d,"result":{"protocolVersion":1}}\n' % greeting["id"])
        launching.join()

    def _launch(self, pipes: list[str], handlers: dict[str, Any]) -> None:
        relay = 'cat "$0" & exec cat > "$1"'
        self.client = Client.launch(["/bin/sh", "-c", relay, *pipes], handlers=handlers, timeout=60)

    def finish(self) -> None:
        self._go.set()
        self.close()
        self.client.close()
        self.close_output()

    def do_echo(self, params: dict[str, Any]) -> Any:
        return params

    def do_hold(self, params: dict[str, Any]) -> Any:
        assert self._go.wait(60)
        return {"held": True}

    def do_ask(self, params: dict[str, Any]) -> Any:
        try:
            answer = self.client.call("_test/question", params, 60)
        except AgentFault as fault:
            return {"fault": fault.code}
        self.answers.put(answer)
        return {"answer": answer}

    def repeat(self, id: Any, text: str) -> bytes:
        return request(id, "_test/echo", {"text": text})

    def repeated(self, answer: Message) -> str:
        return str(answer["result"]["text"])

    def hold(self, id: Any) -> bytes:
        return request(id, "_test/hold")

    def release(self) -> None:
        self._go.set()

    def ask(self, id: Any) -> bytes:
        return request(id, "_test/ask", {"for": id})

    def asked_for(self, question: Message) -> Any:
        return question["params"]["for"]

    def yes(self) -> Any:
        return {"yes": True}

    def took_yes(self, answer: Message) -> bool:
        return answer["result"] == {"answer": {"yes": True}}
