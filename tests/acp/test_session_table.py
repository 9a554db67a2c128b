"""Every cell of the session machine's table, over the wire.

`SITUATIONS` says how one gets into a state, `TABLE` what comes of an event there: at once, and once everything that
was held is let go of. What holds work open is real: a model that waits before it answers, a model whose script is read
from a pipe, a store that another process has locked. Only a live session that is just being opened again cannot be held
from outside; `tests/runtime/test_session_machine.py` has those cells too.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpagent.acp.v1.initialize import RELOAD_METHOD, STEER_METHOD
from tests.acp.held import PATIENCE, HeldFile, locked_store, script
from tests.agent import Agent, Message
from tests.conftest import Home
from tests.model_server import ModelServer, Raw, Request

# What can be chosen instead of what a new session has, and the option it is a value of.
CHOICES = {"slow/three": "model", "economy": "work_mode", "auto": "tool_approval"}

# Steps: the events of `Case`; and `working` (the turn's model was asked), `building` (a rebuild waits for the pipe),
# `lock` (nothing can be stored any more), `slow` (the session uses the model that can be held).
SITUATIONS = {
    "idle": "",
    "turn": "prompt p1 hold; working",
    "turn, axis waits": "prompt p1 hold; working; set slow c1",
    "turn, cancelled": "prompt p1 hold; working; lock; cancel",
    "turn, cancelled, prompt waits": "prompt p1 hold; working; lock; cancel; prompt p2 hi",
    "turn, sealed": "prompt p0 hi; lock; prompt p1 /help; said",
    "opening": "stored; load l1; building",
    "opening, prompt waits": "stored; load l1; building; prompt p1 hi",
    "rebuild for axis": "set slow c1; building",
    "rebuild for axis, prompt waits": "set slow c1; building; prompt p1 hi",
    "rebuild for axis, withdrawn": "set slow c1; building; withdraw c1",
    "rebuild for reload": "slow; reload r1; building",
    "response held": "prompt p1 hold; working; set slow c1; answer; building",
    "response held, prompt waits": "prompt p1 hold; working; set slow c1; answer; building; prompt p2 hi",
    "turn, reload waits": "prompt p1 hold; working; reload r1",
    "turn, cancelled, reload waits": "prompt p1 hold; working; reload r1; lock; cancel",
    "rebuild for axis, reload waits": "set slow c1; building; reload r1",
    "response held, reload waits": "prompt p1 hold; working; set slow c1; answer; building; reload r1",
    "closing, turn runs": "prompt p1 hold; working; lock; close x1",
    "closing, rebuild runs": "set slow c1; building; close x1",
    "closed": "prompt p0 hi; close x0",
}
GONE = -32002
LAST = "says acpagent reads"
RUNS = "..."  # at once it begins, and how far it comes is chance

# event, situation, what comes of it at once, and what in the end.
TABLE: list[tuple[str, str, str, str]] = [
    # prompt
    ("prompt p9 hi", "idle", RUNS, "says Hi; p9: end_turn"),
    ("prompt p9 hi", "turn", "p9: -32600", "says Held; p1: end_turn"),
    ("prompt p9 hi", "turn, cancelled", "", "p1: cancelled; says Hi; p9: end_turn"),
    ("prompt p9 hi", "turn, cancelled, prompt waits", "p9: -32600", "p1: cancelled; says Hi; p2: end_turn"),
    ("prompt p9 hi", "turn, sealed", "p9: -32600", "p1: end_turn"),
    ("prompt p9 hi", "opening", "", "replays hi; says Hi; options slow; l1: slow; commands; says Slow; p9: end_turn"),
    (
        "prompt p9 hi",
        "opening, prompt waits",
        "p9: -32600",
        "replays hi; says Hi; options slow; l1: slow; commands; says Slow; p1: end_turn",
    ),
    ("prompt p9 hi", "rebuild for axis", "", "options slow; c1: slow; commands; says Slow; p9: end_turn"),
    (
        "prompt p9 hi",
        "rebuild for axis, prompt waits",
        "p9: -32600",
        "options slow; c1: slow; commands; says Slow; p1: end_turn",
    ),
    ("prompt p9 hi", "rebuild for axis, withdrawn", "", "says Hi; p9: end_turn"),
    ("prompt p9 hi", "rebuild for reload", "", "r1: done; commands; says Slow; p9: end_turn"),
    ("prompt p9 hi", "response held", "", "options slow; p1: end_turn; commands; says Slow; p9: end_turn"),
    (
        "prompt p9 hi",
        "response held, prompt waits",
        "p9: -32600",
        "options slow; p1: end_turn; commands; says Slow; p2: end_turn",
    ),
    ("prompt p9 hi", "turn, reload waits", "p9: -32600", "says Held; p1: end_turn; commands"),
    ("prompt p9 hi", "turn, cancelled, reload waits", "", "p1: cancelled; commands; says Hi; p9: end_turn"),
    (
        "prompt p9 hi",
        "rebuild for axis, reload waits",
        "",
        "options slow; c1: slow; commands; commands; says Slow; p9: end_turn",
    ),
    (
        "prompt p9 hi",
        "response held, reload waits",
        "",
        "options slow; p1: end_turn; commands; commands; says Slow; p9: end_turn",
    ),
    ("prompt p9 hi", "closing, turn runs", "p9: -32002", "p1: cancelled; x1: done"),
    ("prompt p9 hi", "closing, rebuild runs", "p9: -32002", "x1: done"),
    ("prompt p9 hi", "closed", "p9: -32002", ""),
    # steer
    ("steer s9", "idle", "s9: -32600", ""),
    ("steer s9", "turn", "s9: done", "says Held; says Hi; p1: end_turn"),
    ("steer s9", "turn, cancelled", "s9: -32600", "p1: cancelled"),
    ("steer s9", "turn, sealed", "s9: -32600", "p1: end_turn"),
    ("steer s9", "opening", "s9: -32600", "replays hi; says Hi; options slow; l1: slow; commands"),
    ("steer s9", "rebuild for axis", "s9: -32600", "options slow; c1: slow; commands"),
    ("steer s9", "rebuild for reload", "s9: -32600", "r1: done; commands"),
    ("steer s9", "response held", "s9: -32600", "options slow; p1: end_turn; commands"),
    ("steer s9", "turn, reload waits", "s9: done", "says Held; says Hi; p1: end_turn; commands"),
    ("steer s9", "turn, cancelled, reload waits", "s9: -32600", "p1: cancelled; commands"),
    ("steer s9", "rebuild for axis, reload waits", "s9: -32600", "options slow; c1: slow; commands; commands"),
    ("steer s9", "response held, reload waits", "s9: -32600", "options slow; p1: end_turn; commands; commands"),
    ("steer s9", "closing, turn runs", "s9: -32602", "p1: cancelled; x1: done"),
    ("steer s9", "closing, rebuild runs", "s9: -32602", "x1: done"),
    ("steer s9", "closed", "s9: -32602", ""),
    # cancel
    ("cancel", "idle", "", ""),
    ("cancel", "turn", RUNS, "p1: cancelled"),
    ("cancel", "turn, axis waits", RUNS, "p1: cancelled; options slow; commands"),
    ("cancel", "turn, cancelled", "", "p1: cancelled"),
    ("cancel", "turn, cancelled, prompt waits", "p2: cancelled", "p1: cancelled"),
    ("cancel", "turn, sealed", "", "p1: cancelled"),
    ("cancel", "opening", "", "replays hi; says Hi; options slow; l1: slow; commands"),
    ("cancel", "opening, prompt waits", "p1: cancelled", "replays hi; says Hi; options slow; l1: slow; commands"),
    ("cancel", "rebuild for axis", "", "options slow; c1: slow; commands"),
    ("cancel", "rebuild for axis, prompt waits", "p1: cancelled", "options slow; c1: slow; commands"),
    ("cancel", "rebuild for reload", "", "r1: done; commands"),
    ("cancel", "response held", "p1: cancelled", "options slow; commands"),
    ("cancel", "response held, prompt waits", "p1: cancelled; p2: cancelled", "options slow; commands"),
    ("cancel", "turn, reload waits", RUNS, "p1: cancelled; commands"),
    ("cancel", "turn, cancelled, reload waits", "", "p1: cancelled; commands"),
    ("cancel", "rebuild for axis, reload waits", "", "options slow; c1: slow; commands; commands"),
    ("cancel", "response held, reload waits", "p1: cancelled", "options slow; commands; commands"),
    ("cancel", "closing, turn runs", "", "p1: cancelled; x1: done"),
    ("cancel", "closing, rebuild runs", "", "x1: done"),
    ("cancel", "closed", "", ""),
    # configure: an axis
    ("set economy c9", "idle", RUNS, "options economy; c9: economy; commands"),
    ("set economy c9", "turn", "options economy; c9: economy", "says Held; options economy; p1: end_turn; commands"),
    (
        "set economy c9",
        "turn, axis waits",
        "options slow+economy; c9: slow+economy",
        "says Held; options slow+economy; p1: end_turn; commands",
    ),
    ("set economy c9", "turn, cancelled", "options economy; c9: economy", "p1: cancelled; options economy; commands"),
    ("set economy c9", "turn, sealed", "options economy; c9: economy", "options economy; p1: end_turn; commands"),
    ("set economy c9", "opening", "c9: -32002", "replays hi; says Hi; options slow; l1: slow; commands"),
    (
        "set economy c9",
        "rebuild for axis",
        "options slow+economy; c9: slow+economy",
        "options slow+economy; c1: slow+economy; commands; options slow+economy; commands",
    ),
    ("set economy c9", "rebuild for axis, withdrawn", "options economy; c9: economy", "options economy; commands"),
    (
        "set economy c9",
        "rebuild for reload",
        "options slow+economy; c9: slow+economy",
        "r1: done; commands; options slow+economy; commands",
    ),
    (
        "set economy c9",
        "response held",
        "options slow+economy; c9: slow+economy",
        "options slow+economy; p1: end_turn; commands; options slow+economy; commands",
    ),
    (
        "set economy c9",
        "turn, reload waits",
        "options economy; c9: economy",
        "says Held; options economy; p1: end_turn; commands",
    ),
    (
        "set economy c9",
        "turn, cancelled, reload waits",
        "options economy; c9: economy",
        "p1: cancelled; options economy; commands",
    ),
    (
        "set economy c9",
        "rebuild for axis, reload waits",
        "options slow+economy; c9: slow+economy",
        "options slow+economy; c1: slow+economy; commands; options slow+economy; commands",
    ),
    (
        "set economy c9",
        "response held, reload waits",
        "options slow+economy; c9: slow+economy",
        "options slow+economy; p1: end_turn; commands; options slow+economy; commands",
    ),
    ("set economy c9", "closing, turn runs", "c9: -32002", "p1: cancelled; x1: done"),
    ("set economy c9", "closing, rebuild runs", "c9: -32002", "x1: done"),
    ("set economy c9", "closed", "c9: -32002", ""),
    # adjust: a control that needs no rebuild
    ("set auto m9", "idle", "options auto; m9: auto", ""),
    ("set auto m9", "turn", "options auto; m9: auto", "says Held; p1: end_turn"),
    ("set auto m9", "opening", "m9: -32002", "replays hi; says Hi; options slow; l1: slow; commands"),
    (
        "set auto m9",
        "rebuild for axis",
        "options slow+auto; m9: slow+auto",
        "options slow+auto; c1: slow+auto; commands",
    ),
    ("set auto m9", "rebuild for reload", "options slow+auto; m9: slow+auto", "r1: done; commands"),
    ("set auto m9", "response held", "options slow+auto; m9: slow+auto", "options slow+auto; p1: end_turn; commands"),
    ("set auto m9", "turn, reload waits", "options auto; m9: auto", "says Held; p1: end_turn; commands"),
    (
        "set auto m9",
        "rebuild for axis, reload waits",
        "options slow+auto; m9: slow+auto",
        "options slow+auto; c1: slow+auto; commands; commands",
    ),
    (
        "set auto m9",
        "response held, reload waits",
        "options slow+auto; m9: slow+auto",
        "options slow+auto; p1: end_turn; commands; commands",
    ),
    ("set auto m9", "closing, turn runs", "m9: -32002", "p1: cancelled; x1: done"),
    ("set auto m9", "closing, rebuild runs", "m9: -32002", "x1: done"),
    ("set auto m9", "closed", "m9: -32002", ""),
    # reload
    ("reload r9", "idle", RUNS, "r9: done; commands"),
    ("reload r9", "turn", "r9: queued", "says Held; p1: end_turn; commands"),
    ("reload r9", "turn, axis waits", "r9: queued", "says Held; options slow; p1: end_turn; commands"),
    ("reload r9", "turn, cancelled", "r9: queued", "p1: cancelled; commands"),
    ("reload r9", "turn, sealed", "r9: queued", "p1: end_turn; commands"),
    ("reload r9", "opening", "r9: -32602", "replays hi; says Hi; options slow; l1: slow; commands"),
    ("reload r9", "rebuild for axis", "r9: queued", "options slow; c1: slow; commands; commands"),
    ("reload r9", "rebuild for axis, withdrawn", "r9: queued", "commands"),
    ("reload r9", "rebuild for reload", "r9: queued", "r1: done; commands; commands"),
    ("reload r9", "response held", "r9: queued", "options slow; p1: end_turn; commands; commands"),
    ("reload r9", "turn, reload waits", "r9: queued", "says Held; p1: end_turn; commands"),
    ("reload r9", "turn, cancelled, reload waits", "r9: queued", "p1: cancelled; commands"),
    ("reload r9", "rebuild for axis, reload waits", "r9: queued", "options slow; c1: slow; commands; commands"),
    ("reload r9", "response held, reload waits", "r9: queued", "options slow; p1: end_turn; commands; commands"),
    ("reload r9", "closing, turn runs", "r9: -32602", "p1: cancelled; x1: done"),
    ("reload r9", "closing, rebuild runs", "r9: -32602", "x1: done"),
    ("reload r9", "closed", "r9: -32602", ""),
    # load, resume
    ("load l9", "idle", RUNS, "options -; l9: -; commands"),
    ("load l9", "turn", "l9: -32600", "says Held; p1: end_turn"),
    ("load l9", "turn, cancelled", "l9: -32600", "p1: cancelled"),
    ("load l9", "turn, sealed", "l9: -32600", "p1: end_turn"),
    ("load l9", "opening", "l9: -32600", "replays hi; says Hi; options slow; l1: slow; commands"),
    ("load l9", "rebuild for axis", "l9: -32600", "options slow; c1: slow; commands"),
    ("load l9", "rebuild for reload", "l9: -32600", "r1: done; commands"),
    ("load l9", "response held", "l9: -32600", "options slow; p1: end_turn; commands"),
    ("load l9", "turn, reload waits", "l9: -32600", "says Held; p1: end_turn; commands"),
    ("load l9", "turn, cancelled, reload waits", "l9: -32600", "p1: cancelled; commands"),
    ("load l9", "rebuild for axis, reload waits", "l9: -32600", "options slow; c1: slow; commands; commands"),
    ("load l9", "response held, reload waits", "l9: -32600", "options slow; p1: end_turn; commands; commands"),
    ("load l9", "closing, turn runs", "l9: -32600", "p1: cancelled; x1: done"),
    ("load l9", "closing, rebuild runs", "l9: -32600", "x1: done"),
    ("load l9", "closed", RUNS, "replays hi; says Hi; options -; l9: -; commands"),
    ("resume l9", "idle", RUNS, "l9: -; commands"),
    ("resume l9", "turn", "l9: -32600", "says Held; p1: end_turn"),
    ("resume l9", "rebuild for axis", "l9: -32600", "options slow; c1: slow; commands"),
    ("resume l9", "closing, rebuild runs", "l9: -32600", "x1: done"),
    ("resume l9", "closed", RUNS, "l9: -; commands"),
    # close, delete
    ("close x9", "idle", RUNS, "x9: done"),
    ("close x9", "turn", RUNS, "p1: cancelled; x9: done"),
    ("close x9", "turn, axis waits", RUNS, "p1: cancelled; x9: done"),
    ("close x9", "turn, cancelled", "", "p1: cancelled; x9: done"),
    ("close x9", "turn, cancelled, prompt waits", "p2: cancelled", "p1: cancelled; x9: done"),
    ("close x9", "turn, sealed", "", "p1: cancelled; x9: done"),
    ("close x9", "opening", "l1: -32800", "x9: done"),
    ("close x9", "opening, prompt waits", "l1: -32800; p1: cancelled", "x9: done"),
    ("close x9", "rebuild for axis", "c1: -32800", "x9: done"),
    ("close x9", "rebuild for axis, prompt waits", "c1: -32800; p1: cancelled", "x9: done"),
    ("close x9", "rebuild for reload", "r1: -32800", "x9: done"),
    ("close x9", "response held", "p1: cancelled", "x9: done"),
    ("close x9", "response held, prompt waits", "p1: cancelled; p2: cancelled", "x9: done"),
    ("close x9", "turn, reload waits", RUNS, "p1: cancelled; x9: done"),
    ("close x9", "turn, cancelled, reload waits", "", "p1: cancelled; x9: done"),
    ("close x9", "rebuild for axis, reload waits", "c1: -32800", "x9: done"),
    ("close x9", "response held, reload waits", "p1: cancelled", "x9: done"),
    ("close x9", "closing, turn runs", "", "p1: cancelled; x1: done; x9: done"),
    ("close x9", "closing, rebuild runs", "", "x1: done; x9: done"),
    ("close x9", "closed", "x9: -32002", ""),
    ("delete d9", "idle", RUNS, "d9: done"),
    ("delete d9", "turn", RUNS, "p1: cancelled; d9: done"),
    ("delete d9", "opening", "l1: -32800", "d9: done"),
    ("delete d9", "response held", "p1: cancelled", "d9: done"),
    ("delete d9", "closing, rebuild runs", "", "x1: done; d9: done"),
    ("delete d9", "closed", RUNS, "d9: done"),
    # $/cancel_request
    ("withdraw p1", "turn", RUNS, "p1: cancelled"),
    ("withdraw p1", "turn, cancelled, prompt waits", "", "p1: cancelled; says Hi; p2: end_turn"),
    ("withdraw p1", "response held", "p1: cancelled", "options slow; commands"),
    ("withdraw p1", "turn, reload waits", RUNS, "p1: cancelled; commands"),
    ("withdraw p1", "opening, prompt waits", "p1: cancelled", "replays hi; says Hi; options slow; l1: slow; commands"),
    ("withdraw p1", "closing, turn runs", "", "p1: cancelled; x1: done"),
    ("withdraw p2", "turn, cancelled, prompt waits", "p2: cancelled", "p1: cancelled"),
    ("withdraw p2", "response held, prompt waits", "p2: cancelled", "options slow; p1: end_turn; commands"),
    ("withdraw c1", "turn, axis waits", "", "says Held; options slow; p1: end_turn; commands"),
    ("withdraw c1", "rebuild for axis", "c1: -32800; options -", ""),
    ("withdraw c1", "rebuild for axis, reload waits", "c1: -32800; options -", "commands"),
    ("withdraw c1", "response held", "", "options slow; p1: end_turn; commands"),
    ("withdraw r1", "rebuild for reload", "r1: -32800", ""),
    ("withdraw r1", "turn, reload waits", "", "says Held; p1: end_turn; commands"),
    ("withdraw l1", "opening", "l1: -32800", ""),
    ("withdraw l1", "opening, prompt waits", "l1: -32800; p1: cancelled", ""),
    ("withdraw x1", "closing, turn runs", "", "p1: cancelled; x1: done"),
]


class World:
    """One agent with a model that waits for a word, and one that is slow to be made."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder / "home")
        self.home.path.mkdir()
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.slow = HeldFile(self.home.path / "three.yaml", script("Slow."))
        self.asked = threading.Event()  # the model was asked to hold
        self.go_on = threading.Event()
        self.server = ModelServer(self._answer)
        fast = {"api": "openai-chat", "base_url": self.server.base_url, "models": {"one": {}}}
        slow = {"api": "scripted", "script": str(self.slow.path), "models": {"three": {}}}
        self.home.configure({"providers": {"fast": fast, "slow": slow}})
        self.agent = Agent(cwd=self.home.path, env=self.home.env)

    def close(self) -> None:
        self.go_on.set()
        self.agent.close()
        self.server.close()

    def _answer(self, request: Request) -> Raw:
        held = request.messages[-1]["content"].endswith("hold")
        return Raw(self._pieces(held))

    def _pieces(self, held: bool) -> Iterator[bytes]:
        if held:
            self.asked.set()
            assert self.go_on.wait(PATIENCE)
        chunk = {"choices": [{"index": 0, "delta": {"content": "Held." if held else "Hi."}, "finish_reason": "stop"}]}
        yield b"data: %b\n\ndata: [DONE]\n\n" % json.dumps(chunk).encode()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("world"))
    try:
        yield made
    finally:
        made.close()


class Case:
    """One session in one situation. Events are texts; the last word but what is prompted names the request."""

    def __init__(self, world: World, held: contextlib.ExitStack) -> None:
        self.world, self.agent, self.held = world, world.agent, held
        world.asked.clear()
        world.go_on.clear()
        self.session = self.agent.new_session(world.workspace)
        self.names: dict[str, int] = {}
        self.begun = self.since = 0  # where the last request began, and what is looked at

    def do(self, step: str) -> None:
        verb, *words = step.split()
        getattr(self, f"do_{verb}")(*words)

    # Events.

    def do_prompt(self, name: str, words: str) -> None:
        self._ask(name, "session/prompt", prompt=[{"type": "text", "text": words}])
        if name == "p0":
            self.answered("p0")

    def do_steer(self, name: str) -> None:
        self._ask(name, STEER_METHOD, prompt=[{"type": "text", "text": "hint"}])

    def do_cancel(self) -> None:
        self.agent.notify("session/cancel", {"sessionId": self.session})

    def do_set(self, what: str, name: str) -> None:
        value = "slow/three" if what == "slow" else what
        self._ask(name, "session/set_config_option", configId=CHOICES[value], value=value)

    def do_reload(self, name: str) -> None:
        self._ask(name, RELOAD_METHOD)

    def do_load(self, name: str) -> None:
        self._ask(name, "session/load", cwd=str(self.world.workspace), mcpServers=[])

    def do_resume(self, name: str) -> None:
        self._ask(name, "session/resume", cwd=str(self.world.workspace))

    def do_withdraw(self, name: str) -> None:
        self.agent.notify("$/cancel_request", {"requestId": self.names[name]})

    def do_close(self, name: str) -> None:
        self._ask(name, "session/close")
        if name == "x0":
            self.answered("x0")

    def do_delete(self, name: str) -> None:
        self._ask(name, "session/delete")

    # The rest of the world.

    def do_working(self) -> None:
        assert self.world.asked.wait(PATIENCE)

    def do_answer(self) -> None:
        self.settle()
        self.world.go_on.set()

    def do_said(self) -> None:
        self.agent.expect_update(self.session, "agent_message_chunk", self.begun)

    def do_lock(self) -> None:
        self.held.enter_context(locked_store(self.world.home.path))

    def do_building(self) -> None:
        self.world.slow.wait()

    def do_slow(self) -> None:
        self.world.slow.let_go()
        self.do_set("slow", "c0")
        self.answered("c0")
        self.world.slow.hold()

    def do_stored(self) -> None:
        """Closed, and the model that it is opened with next time can be held."""
        self.do_prompt("p0", "hi")
        self.do_slow()
        self.do_close("x0")

    def let_go(self) -> None:
        """Of all that is held; until every request is answered and nothing more is done."""
        self.held.close()
        self.world.go_on.set()
        self.world.slow.let_go()
        for name in list(self.names):
            self.answered(name)
        if self.settle() != GONE:
            self.do_prompt("last", "/help")
            self.answered("last")

    # What comes of it.

    def mark(self) -> None:
        """What came until now is of no interest."""
        self.settle()
        self.since = len(self.agent.messages)

    def settle(self) -> int:
        """Until all is here that the session said by now: a request that it refuses under its lock; the code."""
        params = {"sessionId": self.session, "configId": "model", "value": "-"}
        return int(self.agent.fail("session/set_config_option", params)["code"])

    def answered(self, name: str) -> Message:
        return self.agent.response(self.names[name])

    def seen(self) -> str:
        """What came since the mark, in short."""
        told = [self._spell(message) for message in self.agent.messages[self.since :]]
        whole = "; ".join(text for text in told if text)
        return whole.split(LAST)[0].removesuffix("; ")

    def _ask(self, name: str, method: str, **params: Any) -> None:
        self.begun = len(self.agent.messages)
        self.names[name] = self.agent.request(method, {"sessionId": self.session, **params})

    def _spell(self, message: Message) -> str:
        if "method" not in message:
            name = next((name for name, id in self.names.items() if id == message["id"]), "")
            return name and f"{name}: {_outcome(message)}"
        if message["params"].get("sessionId") != self.session:
            return ""
        update = message["params"]["update"]
        return _UPDATES.get(update["sessionUpdate"], lambda _: "")(update)


def _outcome(message: Message) -> str:
    if "error" in message:
        return str(message["error"]["code"])
    result = message["result"]
    if "configOptions" in result:
        return _options(result)
    return str(result.get("stopReason") or ("queued" if result.get("queued") else "done"))


def _options(listed: Message) -> str:
    """The values that are not those of a new session."""
    values = [option["currentValue"] for option in listed["configOptions"]]
    return "+".join(value.removesuffix("/three") for value in values if value in CHOICES) or "-"


def _words(update: Message) -> str:
    first = str(update["content"]["text"]).split(".")[0].split(":")[0]
    return f"says {first}"


_UPDATES = {
    "config_option_update": lambda update: f"options {_options(update)}",
    "current_mode_update": lambda update: f"mode {update['currentModeId']}",
    "available_commands_update": lambda _: "commands",
    "agent_message_chunk": _words,
    "user_message_chunk": lambda update: f"replays {update['content']['text']}",
}


@pytest.mark.parametrize(("event", "situation", "now", "then"), TABLE)
def test_a_cell_of_the_table(world: World, event: str, situation: str, now: str, then: str) -> None:
    with contextlib.ExitStack() as held:
        case = Case(world, held)
        steps = SITUATIONS[situation].split("; ") if SITUATIONS[situation] else []
        world.slow.hold()
        for step in steps:
            case.do(step)
        case.mark()
        case.do(event)
        for name in re.findall(r"(\w9):", now):
            case.answered(name)
        case.settle()
        if now != RUNS:
            assert case.seen() == now
            case.mark()
        case.let_go()
        assert case.seen() == then
