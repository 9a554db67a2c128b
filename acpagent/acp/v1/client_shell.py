"""Commands in a terminal of the client: created, watched, killed if need be, and released exactly once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acpagent.acp.v1.asking import Asking, Unanswered
from acpagent.acp.v1.client_files import refusal
from acpagent.core.host import InDoubt
from acpagent.core.scope import Cancelled, Scope
from acpagent.wire.pending import Answer

if TYPE_CHECKING:
    import threading

# Before it opens a terminal, an editor may ask the person.
CREATE_SECONDS = 120.0
OUTPUT_SECONDS = 30.0


class ClientShell:
    """Starts commands in the client's terminals."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    def start(self, argv: Sequence[str], cwd: str, env: Mapping[str, str], limit: int, scope: Scope) -> ClientTerminal:
        """Create a terminal. `limit` bounds the output kept, in bytes (TERM-07). Raises OSError where the client
        would not, `InDoubt`, `Cancelled`; a terminal that is created too late is ended at once (TERM-02)."""
        params = {
            "command": argv[0],
            "args": list(argv[1:]),
            "cwd": cwd,
            "env": [{"name": name, "value": value} for name, value in env.items()],
            "outputByteLimit": limit,
        }
        try:
            answer = self._asking.ask(
                "terminal/create", params, scope, CREATE_SECONDS, lambda late: self._end_late(late, scope)
            )
        except Unanswered:
            raise InDoubt(f"the editor opened no terminal within {CREATE_SECONDS:g} s") from None
        if answer.lost:
            raise Cancelled
        if answer.error is not None:
            raise refusal(answer.error)
        terminal_id = _terminal_id(answer)
        if terminal_id is None:
            raise InDoubt("the editor named no terminal")
        return ClientTerminal(terminal_id, self._asking, scope.lock)

    def _end_late(self, answer: Answer, scope: Scope) -> None:
        terminal_id = _terminal_id(answer)
        if terminal_id is not None:
            terminal = ClientTerminal(terminal_id, self._asking, scope.lock)
            terminal.kill()
            terminal.release()


class ClientTerminal:
    """One terminal. `kill` and `release` may be called from any thread and after a cancel; nothing is sent about a
    terminal once it is released (TERM-03): `lock`, the session's, guards that."""

    def __init__(self, terminal_id: str, asking: Asking, lock: threading.RLock) -> None:
        self.id = terminal_id
        self._asking = asking
        self._lock = lock
        self._released = False

    def wait(self, scope: Scope, timeout: float) -> tuple[int | None, str | None] | None:
        """(exit code, signal) once the command has ended; None after `timeout` seconds. Raises OSError, `Cancelled`."""
        try:
            answer = self._ask("terminal/wait_for_exit", scope, timeout)
        except Unanswered:
            return None
        return _status(answer.result)

    def output(self, scope: Scope) -> tuple[str, bool, tuple[int | None, str | None] | None]:
        """What it printed, whether the client cut it, and how it ended if it has. Raises OSError, `Cancelled`."""
        try:
            result = self._ask("terminal/output", scope, OUTPUT_SECONDS).result
        except Unanswered:
            raise OSError(f"the editor did not answer within {OUTPUT_SECONDS:g} s") from None
        text = result.get("output") if isinstance(result, dict) else None
        if not isinstance(text, str):
            raise OSError("the editor's answer has no output")
        ended = result.get("exitStatus")
        return text, result.get("truncated") is True, _status(ended) if isinstance(ended, dict) else None

    def kill(self) -> None:
        """End the command; the terminal stays until it is released (TERM-04)."""
        with self._lock:
            if not self._released:
                self._asking.tell("terminal/kill", {"terminalId": self.id})

    def release(self) -> None:
        """Let the terminal go; calling again does nothing."""
        with self._lock:
            released, self._released = self._released, True
            if not released:
                self._asking.tell("terminal/release", {"terminalId": self.id})

    def _ask(self, method: str, scope: Scope, timeout: float) -> Answer:
        answer = self._asking.ask(method, {"terminalId": self.id}, scope, timeout)
        if answer.lost:
            raise Cancelled
        if answer.error is not None:
            raise refusal(answer.error)
        return answer


def _terminal_id(answer: Answer) -> str | None:
    found = answer.result.get("terminalId") if isinstance(answer.result, dict) else None
    return found if isinstance(found, str) and found else None


def _status(value: Any) -> tuple[int | None, str | None]:
    """Exit code and signal; a malformed status is neither."""
    fields = value if isinstance(value, dict) else {}
    code, signal = fields.get("exitCode"), fields.get("signal")
    return (code if type(code) is int else None, signal if isinstance(signal, str) else None)
