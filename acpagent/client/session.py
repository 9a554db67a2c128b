"""A conversation with an agent."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from acpagent.client.controls import Controls, extension, setting
from acpagent.client.faults import AgentFault
from acpagent.client.turn import Turn
from acpagent.client.updates import (
    CommandsUpdate,
    InfoUpdate,
    ModeUpdate,
    OptionsUpdate,
    PlanUpdate,
    Update,
    UsageUpdate,
    text_of,
)
from acpagent.wire.codes import METHOD_NOT_FOUND

if TYPE_CHECKING:
    from acpagent.client.connection import Connection
    from acpagent.wire.pending import Answer

Prompt = str | Sequence[str | dict[str, Any]]

_IDLE_LIMIT = 1000


class SessionInfo:
    """A stored session as the agent lists it."""

    __slots__ = ("raw",)

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw

    @property
    def id(self) -> str:
        return text_of(self.raw, "sessionId") or ""

    @property
    def cwd(self) -> str:
        return text_of(self.raw, "cwd") or ""

    @property
    def title(self) -> str | None:
        return text_of(self.raw, "title")

    @property
    def updated_at(self) -> str | None:
        """ISO 8601."""
        return text_of(self.raw, "updatedAt")

    def __repr__(self) -> str:
        return f"SessionInfo({self.raw!r})"


class Session:
    """One conversation; made by `Client.open`, `load` and `resume`.

    `details` is the whole answer that opened it, `replayed` what `load` told of its past. `commands`,
    `title`, `plan`, `usage` and `controls` are the latest reported. Updates that belong to no prompt go to `idle` (the
    last 1,000 of them) and to `on_update` if that is set; it runs on the thread that reads from the agent,
    so it must be quick and cannot wait for the agent.

    Methods may be called from any thread. Owns the re-entrant lock under `changed`, which guards its
    turns' state too and under which only the driver's queue may be taken.
    """

    def __init__(self, connection: Connection, id: str, cwd: str) -> None:
        self.connection = connection
        self.id = id
        self.cwd = cwd
        self.details: dict[str, Any] = {}
        self.replayed: list[Update] = []
        self.idle: deque[Update] = deque(maxlen=_IDLE_LIMIT)
        self.on_update: Callable[[Update], object] | None = None
        self.commands: list[dict[str, Any]] = []
        self.title: str | None = None
        self.plan: list[dict[str, Any]] = []
        self.usage: UsageUpdate | None = None
        self.controls = Controls()
        self.changed = threading.Condition(threading.RLock())
        self._turns: list[Turn] = []  # not answered yet, oldest first
        self._replaying = False

    def prompt(self, content: Prompt, timeout: float | None = None) -> Turn:
        """Send a prompt, text or content blocks (a string among them is a text block), and return at once.

        `timeout` in seconds bounds all waiting on the turn. A second prompt while one runs is sent too: some
        agents queue it, most refuse it; updates go to the older one.
        """
        turn = Turn(self, timeout)
        params = {"sessionId": self.id, "prompt": _blocks(content)}
        with self.changed:
            # Before it is sent: its updates may be here before `call` returns.
            self._turns.append(turn)
            try:
                self.connection.driver.call("session/prompt", params, turn.answered)
            except BaseException:
                self.remove(turn)
                raise
        return turn

    def cancel(self) -> None:
        """Cancel whatever runs in this session; see `Turn.cancel`."""
        self.cancel_turns(self._turns)

    def set_mode(self, mode: str, timeout: float | None = 60.0) -> None:
        """Choose one of `controls.modes` by its id; also while a prompt runs. Raises `AgentFault`, `TimeoutError`."""
        params = {"sessionId": self.id, "modeId": mode}
        self.connection.call("session/set_mode", params, timeout, lambda answer: self._took_mode(mode, answer))

    def set_option(self, option: str, value: str | bool, timeout: float | None = 60.0) -> list[dict[str, Any]]:
        """Set one of `controls.options` by its id, and return all of them as they are then; also while a prompt runs.
        Raises `AgentFault`, `TimeoutError`."""
        params = setting(self.id, option, value)
        self.connection.call("session/set_config_option", params, timeout, self._read_controls)
        return self.controls.options

    def steer(self, content: Prompt, timeout: float | None = 60.0) -> None:
        """Give guidance to the prompt that runs, which goes on; the agent takes it in before its next step.

        Raises `AgentFault`: -32600 when no prompt could take it (it was not queued), -32601 for an agent that does
        not offer this.
        """
        self._call_extension("sessionSteer", {"prompt": _blocks(content)}, timeout)

    def reload(self, timeout: float | None = 60.0) -> bool:
        """Let the agent read its configuration and extensions anew. True: it does so once what runs has ended.

        Raises `AgentFault`: -32603 when that failed and everything stays as it was, -32601 for an agent that does not
        offer this.
        """
        answer = self._call_extension("sessionReloadExtensions", {}, timeout)
        return isinstance(answer, dict) and answer.get("queued") is True

    def close(self, timeout: float | None = 60.0) -> None:
        """Cancel what runs and let the agent free the session; it stays stored. Agents that do not offer
        this just get the cancel. Raises `AgentFault`, `TimeoutError`."""
        self.cancel()
        if self.connection.offers("session/close"):
            self.connection.call("session/close", {"sessionId": self.id}, timeout)
        self.connection.forget(self)

    def _call_extension(self, name: str, params: dict[str, Any], timeout: float | None) -> Any:
        method = extension(self.connection.capabilities, name)
        if method is None:
            raise AgentFault(METHOD_NOT_FOUND, f"this agent does not offer {name}")
        return self.connection.call(method, {"sessionId": self.id, **params}, timeout)

    def _took_mode(self, mode: str, answer: Answer) -> None:
        """The answer says it, unless an agent tells for itself which mode another name of it means."""
        with self.changed:
            if (
                answer.error is None
                and not answer.lost
                and mode in [offered.get("id") for offered in self.controls.modes]
            ):
                self.controls.mode = mode

    def _read_controls(self, answer: Answer) -> None:
        if isinstance(answer.result, dict):
            with self.changed:
                self.controls.read(answer.result)

    # -- for the connection, its callbacks and the turns

    @property
    def cancelling(self) -> bool:
        """The prompt that runs was cancelled and is not answered yet."""
        with self.changed:
            return bool(self._turns) and self._turns[0].cancelled

    def cancel_turns(self, turns: Sequence[Turn]) -> None:
        with self.changed:
            fresh = [turn for turn in turns if turn in self._turns and not turn.cancelled]
            for turn in fresh:
                turn.cancelled = True
            if fresh:
                # In the section that saw the turn running: sent later it could hit the next prompt (CAN-09).
                self.connection.driver.notify("session/cancel", {"sessionId": self.id})
        if fresh:
            self.connection.callbacks.withdraw_all(self.id)

    def opened(self, details: dict[str, Any]) -> None:
        """The answer that opened it is here."""
        with self.changed:
            self.details = details
            self.controls.read(details)

    def remove(self, turn: Turn) -> None:
        with self.changed:
            if turn in self._turns:
                self._turns.remove(turn)

    def replay(self, on: bool) -> None:
        """What arrives now is the past (or, no longer is)."""
        with self.changed:
            self._replaying = on
            if on:
                self.replayed = []

    def receive(self, update: Update) -> None:
        """On the reader thread: an update of this session."""
        with self.changed:
            self._note(update)
            if self._turns:
                self._turns[0].take(update)
                return
            if self._replaying:
                self.replayed.append(update)
                return
            self.idle.append(update)
            listener = self.on_update
        if listener is not None:
            listener(update)

    def _note(self, update: Update) -> None:
        if isinstance(update, CommandsUpdate):
            self.commands = update.commands
        elif isinstance(update, PlanUpdate):
            self.plan = update.entries
        elif isinstance(update, UsageUpdate):
            self.usage = update
        elif isinstance(update, ModeUpdate):
            self.controls.mode = update.mode
        elif isinstance(update, OptionsUpdate):
            self.controls.read(update.raw)
        elif isinstance(update, InfoUpdate) and "title" in update.raw:
            self.title = update.title


def _blocks(content: Prompt) -> list[dict[str, Any]]:
    items = [content] if isinstance(content, str) else content
    return [{"type": "text", "text": item} if isinstance(item, str) else item for item in items]
