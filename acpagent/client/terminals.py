"""Commands that an agent runs through the program: real processes, whose output the program can show while it comes."""

from __future__ import annotations

import os
import shutil
import threading
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acpagent.client.updates import dicts_of, text_of
from acpagent.core.faults import Fault
from acpagent.core.process import Group
from acpagent.wire.codes import INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND

if TYPE_CHECKING:
    from acpagent.client.session import Session

OUTPUT_BYTES = 1 << 20  # kept where the agent sets no limit
KEPT = 20  # terminals that can still be shown after the agent let go of them
_END_SECONDS = 3.0

FindSession = Callable[[str], "Session | None"]


class Terminal:
    """One command. `text`, `exit_status` (`exitCode` and `signal`, None while it runs) and `ended` are for any thread,
    also after the agent let go of it.

    Has the two threads of its process group and one that waits for the end. Owns `_lock`, a leaf, over the output.
    """

    def __init__(self, argv: Sequence[str], cwd: str, env: Mapping[str, str], limit: int) -> None:
        """Start the command. Raises OSError."""
        self.id = f"term_{uuid.uuid4().hex[:16]}"
        self.command = tuple(argv)
        self.ended = threading.Event()
        self.exit_status: dict[str, Any] | None = None
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: deque[bytes] = deque()
        self._size = 0
        self._cut = False
        self._group = Group(self)
        self._group.start(argv, cwd, env)
        threading.Thread(target=self._watch, name=f"acpagent client: {self.id}", daemon=True).start()

    @property
    def text(self) -> str:
        """What it printed so far; the last of it where that is more than was to be kept."""
        return self.output()[0]

    def output(self) -> tuple[str, bool]:
        """The same, and whether something before it was dropped."""
        with self._lock:
            data, cut = b"".join(self._kept), self._cut
        if not cut:
            return data.decode("utf-8", "replace"), False
        data = data[max(len(data) - self._limit, 0) :]
        start = next((at for at, byte in enumerate(data[:3]) if byte & 0xC0 != 0x80), len(data[:3]))
        return data[start:].decode("utf-8", "replace"), True  # not from the middle of a character

    def kill(self) -> None:
        """End the command with all its children. Never blocks."""
        self._group.kill()

    def write(self, data: bytes) -> None:
        """Take output; for the process group."""
        with self._lock:
            self._kept.append(data)
            self._size += len(data)
            self._cut = self._cut or self._size > self._limit
            while self._kept and self._size - len(self._kept[0]) >= self._limit:
                self._size -= len(self._kept.popleft())

    def _watch(self) -> None:
        self._group.wait()
        result = self._group.finish()
        self.exit_status = {"exitCode": result.exit_code, "signal": result.signal}
        self.ended.set()


class Terminals:
    """The terminals of one connection. Owns `_lock`, a leaf, over its table."""

    def __init__(self, find_session: FindSession) -> None:
        self._find_session = find_session
        self._lock = threading.Lock()
        self._closed = False
        self._open: dict[str, tuple[str, Terminal]] = {}
        self._released: OrderedDict[str, Terminal] = OrderedDict()

    def handlers(self) -> Mapping[str, Callable[[dict[str, Any]], Any]]:
        """What answers the agent on threads of their own."""
        return {
            "terminal/create": self._create,
            "terminal/output": self._output,
            "terminal/wait_for_exit": self._wait,
        }

    def quick_handlers(self) -> Mapping[str, Callable[[dict[str, Any]], Any]]:
        """What answers at once, in the order in which it was asked: a kill comes before its release."""
        return {"terminal/kill": self._kill, "terminal/release": self._release}

    def find(self, id: str) -> Terminal | None:
        """A terminal by its id, or one of those that were let go of last."""
        with self._lock:
            return self._open[id][1] if id in self._open else self._released.get(id)

    def take_back(self, created: Any) -> None:
        """An agent did not want the answer to its `create`: nobody else would let go of the terminal."""
        id = text_of(created, "terminalId")
        if id is not None:
            self._let_go(lambda other, _: other == id)

    def end_session(self, session_id: str) -> None:
        self._let_go(lambda _, session: session == session_id)

    def end_all(self) -> None:
        """End all, and every one that is about to start. Never blocks."""
        with self._lock:
            self._closed = True
        self._let_go(lambda id, session: True)

    def wait(self, seconds: float = _END_SECONDS) -> None:
        """After `end_all`: wait until nothing of the commands is left."""
        with self._lock:
            terminals = list(self._released.values())
        deadline = time.monotonic() + seconds
        for terminal in terminals:
            terminal.ended.wait(max(0.0, deadline - time.monotonic()))

    def _let_go(self, fits: Callable[[str, str], bool]) -> list[Terminal]:
        with self._lock:
            ids = [id for id, (session, _) in self._open.items() if fits(id, session)]
            terminals = [self._open.pop(id)[1] for id in ids]
            for terminal in terminals:
                self._released[terminal.id] = terminal
            while len(self._released) > KEPT:
                self._released.popitem(last=False)
        for terminal in terminals:
            terminal.kill()
        return terminals

    # What the agent asks.

    def _create(self, params: dict[str, Any]) -> dict[str, Any]:
        session = self._session(params)
        command, args = text_of(params, "command"), params.get("args") or []
        if not command or not isinstance(args, list) or not all(isinstance(argument, str) for argument in args):
            raise Fault(INVALID_PARAMS, "params: command must be a string, args strings")
        limit = params.get("outputByteLimit")
        limit = limit if type(limit) is int and limit >= 0 else OUTPUT_BYTES
        env = os.environ | {name: value for name, value in map(_variable, dicts_of(params, "env")) if name}
        try:
            terminal = Terminal(_argv(command, args, env), text_of(params, "cwd") or session.cwd, env, limit)
        except (OSError, ValueError) as error:
            raise Fault(INTERNAL_ERROR, f"the command cannot be started: {error}") from None
        with self._lock:
            closed = self._closed
            if not closed:
                self._open[terminal.id] = (session.id, terminal)
        if closed:
            terminal.kill()
        return {"terminalId": terminal.id}

    def _output(self, params: dict[str, Any]) -> dict[str, Any]:
        terminal = self._terminal(params)
        status = terminal.exit_status  # first: then all that it printed is in the text
        text, cut = terminal.output()
        answer: dict[str, Any] = {"output": text, "truncated": cut}
        return answer if status is None else {**answer, "exitStatus": status}

    def _wait(self, params: dict[str, Any]) -> dict[str, Any]:
        terminal = self._terminal(params)
        terminal.ended.wait()
        return terminal.exit_status or {}

    def _kill(self, params: dict[str, Any]) -> dict[str, Any]:
        self._terminal(params).kill()
        return {}

    def _release(self, params: dict[str, Any]) -> dict[str, Any]:
        id = self._terminal(params).id
        self._let_go(lambda other, _: other == id)
        return {}

    def _session(self, params: dict[str, Any]) -> Session:
        session = self._find_session(text_of(params, "sessionId") or "")
        if session is None:
            raise Fault(NOT_FOUND, "unknown session")
        return session

    def _terminal(self, params: dict[str, Any]) -> Terminal:
        session_id, id = text_of(params, "sessionId"), text_of(params, "terminalId")
        with self._lock:
            owner, terminal = self._open.get(id or "", (None, None))
        if terminal is None or owner != session_id:
            raise Fault(NOT_FOUND, "unknown terminal")
        return terminal


def _variable(entry: dict[str, Any]) -> tuple[str, str]:
    return text_of(entry, "name") or "", text_of(entry, "value") or ""


def _argv(command: str, args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Some agents send a whole shell line as the command."""
    if args or shutil.which(command, path=env.get("PATH")):
        return [command, *args]
    return ["/bin/sh", "-c", command]
