"""Somebody who works with the agent: opens sessions, says what is in `turns`, leaves them and comes back."""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path
from typing import Any

from soaking.link import PATIENCE, Link, Message, Wrong
from soaking.turns import NOTE, TURNS, Turn
from tests.acp.editor import Terminal

FINAL = ("completed", "failed")


class Rest:
    """Where people pause between two actions, so that the agent can be looked at while it has nothing to do."""

    def __init__(self, people: int) -> None:
        self._people = people
        self._changed = threading.Condition()
        self._resting = 0
        self._called = False
        self.over = False

    def point(self) -> bool:
        """Pause here if a rest was called; False when it is time to go home."""
        with self._changed:
            if self._called and not self.over:
                self._resting += 1
                self._changed.notify_all()
                self._changed.wait_for(lambda: self.over or not self._called)
                self._resting -= 1
            return not self.over

    def call(self, failed: threading.Event) -> bool:
        """Wait until everybody rests; False if that is not to be."""
        with self._changed:
            self._called = True
            while self._resting < self._people and not failed.is_set():
                self._changed.wait(0.5)
            return not failed.is_set()

    def resume(self) -> None:
        with self._changed:
            self._called = False
            self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self.over = True
            self._changed.notify_all()


class Person:
    """One of several, each with a folder. `take` runs on the link's thread, `work` on a thread of its own; `_changed`
    guards what both touch."""

    def __init__(self, number: int, link: Link, folder: Path, rest: Rest, seed: int) -> None:
        self.turns = 0
        self._link = link
        self._folder = folder
        self._rest = rest
        self._dice = random.Random(seed * 1000 + number)
        self._changed = threading.Condition()
        self._session = ""
        self._said = 0  # prompts that the session must remember
        self._turn: Turn | None = None
        self._loading = False
        self._shown = self._runs = False  # of the turn: something came; a call runs
        self._question: Message | None = None
        self._calls: dict[str, str] = {}
        self._replayed = 0
        self._terminals: dict[str, Terminal] = {}
        self.thread = threading.Thread(target=self._work, name=f"person {number}", daemon=True)

    @property
    def session(self) -> str:
        return self._session

    # -- on the link's thread

    def take(self, message: Message) -> None:
        """An update or a request about the session."""
        params = message["params"]
        if message["method"] == "session/update":
            with self._changed:
                self._update(params["update"])
                self._changed.notify_all()
        elif message["method"] == "session/request_permission":
            self._asked(message)
        else:
            self._serve(message, params)

    def _update(self, update: Message) -> None:
        kind = update["sessionUpdate"]
        if kind.endswith("_chunk") or kind.startswith("tool_call"):
            if self._turn is None and not self._loading:
                raise Wrong("out of turn")
            self._shown = True
        if kind == "user_message_chunk":
            self._replayed += 1
        if kind == "tool_call" or "status" in update:
            self._call(update, kind == "tool_call")

    def _call(self, update: Message, reported: bool) -> None:
        id, status = update["toolCallId"], update["status"]
        before = self._calls.get(id)
        if reported and before is not None and not self._loading:
            raise Wrong("a call reported twice")
        if not reported and (before is None or before in FINAL):
            raise Wrong(f"a call that is {before} becomes {status}")
        self._calls[id] = status
        self._runs = self._runs or status == "in_progress"

    def _asked(self, question: Message) -> None:
        turn = self._turn
        if turn is None:
            raise Wrong("a question out of turn")
        if turn.manner == "cancels the question":
            with self._changed:
                self._question = question
                self._changed.notify_all()
            return
        choice = "deny" if turn.manner == "denies" else self._dice.choice(("once", "once", "session"))
        self._link.reply(question, {"outcome": {"outcome": "selected", "optionId": choice}})

    def _serve(self, request: Message, params: Message) -> None:
        """What an editor does for the agent."""
        method = request["method"]
        if method == "fs/read_text_file":
            try:
                self._link.reply(request, {"content": Path(params["path"]).read_text()})
            except FileNotFoundError:
                self._link.refuse(request, -32002)
        elif method == "fs/write_text_file":
            Path(params["path"]).write_text(params["content"])
            self._link.reply(request, None)
        elif method == "terminal/create":
            id = f"term-{self._dice.getrandbits(64):x}"
            self._terminals[id] = Terminal(params)
            self._link.reply(request, {"terminalId": id})
        else:
            self._serve_terminal(request, method, params["terminalId"])

    def _serve_terminal(self, request: Message, method: str, id: str) -> None:
        terminal = self._terminals[id]
        if method == "terminal/wait_for_exit":
            terminal.when_ended(lambda status: self._link.reply(request, status))
            return
        if method == "terminal/output":
            self._link.reply(request, terminal.output())
            return
        terminal.kill()
        if method == "terminal/release":
            del self._terminals[id]
        self._link.reply(request, {})

    def _answered(self, response: Message) -> None:
        """The prompt's response came."""
        with self._changed:
            self._turn = None
            open_calls = [status for status in self._calls.values() if status not in FINAL]
            self._changed.notify_all()
        if open_calls:
            raise Wrong(f"calls left {open_calls} by a turn")

    def _loaded(self, response: Message) -> None:
        with self._changed:
            self._loading = False

    # -- on the person's own thread

    def _work(self) -> None:
        try:
            while self._rest.point():
                self._live()
        except Exception as fault:  # whatever it is, it is to be told at the end
            if not self._link.closing:
                self._link.wrong(f"{type(fault).__name__}: {fault}")

    def _live(self) -> None:
        """The life of one session."""
        self._begin()
        self._speak(self._dice.randint(3, 10))
        if self._rest.over:
            return
        for _ in range(self._dice.randint(1, 3)):
            if self._dice.random() < 0.7:
                self._link.call("session/close", {"sessionId": self._session})
            self._come_back()
            self._speak(self._dice.randint(1, 5))
            if self._rest.over:
                return
        if self._dice.random() < 0.5:
            self._link.call("session/close", {"sessionId": self._session})
        self._link.call("session/delete", {"sessionId": self._session})

    def _begin(self) -> None:
        (self._folder / "note.txt").write_text(NOTE)
        self._said = 0
        self._calls.clear()
        self._session = self._link.call("session/new", {"cwd": str(self._folder), "mcpServers": []})["sessionId"]

    def _come_back(self) -> None:
        with self._changed:
            self._loading, self._replayed = True, 0
            self._calls.clear()
        method = self._dice.choice(("session/load", "session/load", "session/resume"))
        params = {"sessionId": self._session, "cwd": str(self._folder), "mcpServers": []}
        self._link.ask(method, params, self._loaded).result()
        wanted = self._said if method == "session/load" else 0
        if self._replayed != wanted:
            raise Wrong(f"{method} replayed {self._replayed} prompts of {wanted}")

    def _speak(self, times: int) -> None:
        for _ in range(times):
            if not self._rest.point():
                return
            if self._dice.random() < 0.1:
                self._fumble()
            self._prompt(self._dice.choices(TURNS, [turn.weight for turn in TURNS])[0])

    def _prompt(self, turn: Turn) -> None:
        with self._changed:
            self._turn, self._question = turn, None
            self._shown = self._runs = False
        prompt = [{"type": "text", "text": turn.words}]
        asked = self._link.ask("session/prompt", {"sessionId": self._session, "prompt": prompt}, self._answered)
        if turn.ends == "cancelled":
            self._wait_for_the_moment(turn)
            self._link.notify("session/cancel", {"sessionId": self._session})
        response = asked.response()
        ended = response["result"]["stopReason"] if "result" in response else response["error"]["code"]
        if ended != turn.ends:
            raise Wrong(f"{turn.words!r} ended {response}")
        self._said += 1
        self.turns += 1
        if self._question is not None and self._dice.random() < 0.5:  # a late answer
            self._link.reply(self._question, {"outcome": {"outcome": "selected", "optionId": "once"}})

    def _wait_for_the_moment(self, turn: Turn) -> None:
        def there() -> bool:
            if self._turn is None:
                return True
            if turn.manner == "cancels the question":
                return self._question is not None
            return self._runs if turn.manner == "cancels the call" else self._shown

        with self._changed:
            if not self._changed.wait_for(there, PATIENCE):
                raise Wrong(f"nothing to cancel in {turn.words!r}")

    def _fumble(self) -> None:
        """What must be refused, and changes nothing."""
        asked: list[tuple[str, Message, Any]] = [
            ("session/frobnicate", {}, -32601),
            ("session/prompt", {"sessionId": "nobody", "prompt": [{"type": "text", "text": "hi"}]}, -32002),
            ("session/prompt", {"sessionId": self._session, "prompt": "hi"}, -32602),
            ("session/load", {"sessionId": f"nobody {self.thread.name}", "cwd": os.sep, "mcpServers": []}, -32002),
            ("session/list", {"cursor": "none of yours"}, -32602),
            ("session/list", {"cwd": str(self._folder)}, None),
        ]
        method, params, code = self._dice.choice(asked)
        response = self._link.ask(method, params).response()
        if response.get("error", {}).get("code") != code:
            raise Wrong(f"{method} was answered {response}")
        self._link.notify("session/cancel", {"sessionId": self._session})
