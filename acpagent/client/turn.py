"""One prompt and what comes of it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from acpagent.client.faults import AgentFault
from acpagent.client.updates import MessageChunk, ToolUpdate, Update, text_of
from acpagent.wire.codes import INTERNAL_ERROR

if TYPE_CHECKING:
    from acpagent.client.session import Session
    from acpagent.wire.pending import Answer


class Turn:
    """A prompt on its way: iterate over it for its updates; the loop ends when the agent has answered.

    Updates wait here, without bound, until they are taken: the connection must be read on, whatever the
    program does meanwhile. Each is handed out once; with several threads taking, to one of them. Methods
    may be called from any thread. The state is guarded by the session's condition.

    Every wait raises `TimeoutError` when its time is up or the prompt's (the turn goes on then: cancel it
    or wait again), `AgentFault` when the prompt was answered with an error, `AgentEnded` when the agent
    is gone.
    """

    def __init__(self, session: Session, timeout: float | None) -> None:
        self.session = session
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._changed = session.changed
        self._updates: deque[Update] = deque()
        self._said: list[str] = []
        self._tool_calls: dict[str, dict[str, Any]] = {}
        self._evidence: dict[str, Any] | None = None
        self._answer: Answer | None = None
        self.cancelled = False

    def __iter__(self) -> Iterator[Update]:
        while (update := self.next_update()) is not None:
            yield update

    def next_update(self, timeout: float | None = None) -> Update | None:
        """The next update, waiting up to `timeout` seconds for it; None when the turn is over."""
        with self._changed:
            self._wait(lambda: bool(self._updates) or self.done, timeout)
            if self._updates:
                return self._updates.popleft()
        self._outcome()
        return None

    def wait(self, timeout: float | None = None) -> str:
        """Wait until the agent has answered; the stop reason. Updates not taken yet can be taken still."""
        with self._changed:
            self._wait(lambda: self.done, timeout)
        return self._outcome()

    def cancel(self) -> None:
        """Ask the agent to stop. Returns at once; the turn ends with `cancelled` when the agent has seen it.
        Nothing happens when it is over, or cancelled already."""
        self.session.cancel_turns([self])

    @property
    def done(self) -> bool:
        """The agent has answered, or is gone."""
        return self._answer is not None

    @property
    def stop_reason(self) -> str | None:
        """Why the turn ended; None while it runs and when it ended with an error."""
        return None if self._answer is None else text_of(self._answer.result, "stopReason")

    @property
    def response(self) -> dict[str, Any] | None:
        """The prompt's whole result; None while there is none."""
        result = None if self._answer is None else self._answer.result
        return result if isinstance(result, dict) else None

    @property
    def text(self) -> str:
        """What the agent has said so far, thoughts and evidence left out, whether or not it was iterated over."""
        with self._changed:
            return "".join(self._said)

    @property
    def evidence(self) -> dict[str, Any] | None:
        """What the turn changed and checked, once the agent has handed that over; None from agents that do not."""
        return self._evidence

    @property
    def tool_calls(self) -> dict[str, dict[str, Any]]:
        """The tool calls so far by id, each as it stands: later reports laid over earlier ones."""
        with self._changed:
            return {id: dict(call) for id, call in self._tool_calls.items()}

    # -- for the session

    def take(self, update: Update) -> None:
        """On the reader thread, the condition held."""
        self._updates.append(update)
        if isinstance(update, MessageChunk) and update.role == "assistant":
            evidence = update.evidence
            if evidence is None:
                self._said.append(update.text)
            else:
                self._evidence = evidence
        elif isinstance(update, ToolUpdate):
            changes = {key: value for key, value in update.raw.items() if value is not None}
            changes.pop("sessionUpdate", None)
            self._tool_calls.setdefault(update.id, {}).update(changes)
        self._changed.notify_all()

    def answered(self, answer: Answer) -> None:
        """On the reader thread: the response is here, and no update of this turn can follow."""
        with self._changed:
            self._answer = answer
            self.session.remove(self)
            self._changed.notify_all()

    def _wait(self, ready: Callable[[], bool], timeout: float | None) -> None:
        self.session.connection.check_thread()
        deadlines = [self._deadline] if self._deadline is not None else []
        if timeout is not None:
            deadlines.append(time.monotonic() + timeout)
        left = max(0.0, min(deadlines) - time.monotonic()) if deadlines else None
        if not self._changed.wait_for(ready, left):
            raise TimeoutError("the agent has not answered the prompt in time")

    def _outcome(self) -> str:
        assert self._answer is not None
        self.session.connection.result(self._answer)
        if self.stop_reason is None:
            raise AgentFault(INTERNAL_ERROR, "the agent answered the prompt without a stop reason")
        return self.stop_reason
