"""A long session of acpagent's with everything in it that must not touch the beginning of a request."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.acp.seen import Call, calls, calls_in, says, turn
from tests.agent import Agent, Message
from tests.conftest import Home
from tests.model_server import ModelServer

from .conversations import Meter
from .proxy import Proxy

TODO = [{"content": "Do it", "status": "in_progress"}]
GUIDANCE = ("in capitals", "in small letters")
SLEEP = calls("bash", command="echo begun; touch d.txt; sleep 60")
QUESTION = {"header": "Colour", "question": "Which?", "options": [{"label": "red"}, {"label": "blue"}]}
TURNS: list[Message] = [
    turn("look around", [{"thought": "Where?"}, *says("I look."), calls("grep", pattern="x"), calls("list_dir")],
         [calls("read_file", path="a.txt"), calls("todo_write", todos=TODO)], says("Seen.")),
    turn("change it", calls("edit_file", path="a.txt", old="x", new="ü\u2028\"\\"),
         [*says("Edited."), calls("bash", command="cat a.txt; exit 3")], says("It failed.")),
    turn("talk nonsense", calls("nothing"), {"call": {"tool": "read_file", "args": "{ no json"}},
         calls("read_file", path="not-there"), says("Odd.")),
    turn("not allowed", calls("write_file", path="b.txt", content="b"), says("A pity.")),
    turn("too busy", [{"error": {"status": 503, "message": "busy", "retry_after": 0, "times": 1}}, *says("Late.")]),
    turn("stop the command", [*says("It runs."), SLEEP], says("Never.")),
    turn("stop the talk", [*says("Well, "), {"stall": True}]),
    turn("stop short", [*says("Once upon a ti"), {"finish": "length"}]),
    turn("in the background", calls("bash", command="echo begun", background=True), says("It goes on.")),
    turn("do it over", [*says("Well."), calls("write_file", path="c.txt", content="c")],
         [*says("Now "), calls("bash", command="rm -f b.txt")], says("Done.")),
    turn("write it", calls("write_file", path="b.txt", content="b"), says("Written.")),
    turn("plan it", [*says("No plan yet. "), calls("write_file", path="p.txt", content="p")],
         says("The plan: write p.txt."), calls("write_file", path="p.txt", content="p"), says("Carried out.")),
    turn("ask me", calls("ask", questions=[QUESTION, QUESTION]), says("So be it.")),
    turn("reach it\\Z", [*says("A look. "), calls("list_dir")], says("The brief."),
         [calls("write_file", path="g.txt", content="g"), calls("todo_write", todos=TODO)], says("Half."),
         calls("update_goal", status="complete", note="done"), says("Not yet."),
         [calls("todo_write", todos=[]), calls("update_goal", status="complete", note="done")], says("Reached.")),
    turn("once more", calls("read_file", path="a.txt"), says("The same.")),
]  # fmt: skip


def play(scratch: Path, meter: Meter, api: str) -> dict[str, Any]:
    """Play it through a proxy of that meter; what happened in it: how many calls ended how, and the stop reasons.

    Raises AssertionError where it did not go as written.
    """
    with ModelServer({"turns": TURNS}) as server, Proxy(server.base_url, meter) as proxy:
        rehearsal = Rehearsal(scratch, proxy.base_url, api)
        try:
            rehearsal.play()
        finally:
            rehearsal.agent.close()
        last = server.requests[-1].raw
        assert all(words.encode() in last for words in GUIDANCE), "guidance was lost"
    stops = collections.Counter(rehearsal.stops)
    ends = collections.Counter(call.status for call in rehearsal.calls)
    return {"stops": dict(stops), "calls": dict(ends)}


def _decide(answer: str, question: Message) -> str:
    """That answer, or the first one where it is none of the options."""
    offered = [str(option["optionId"]) for option in question["params"]["options"]]
    return answer if answer in offered else offered[0]


class Rehearsal:
    """One session of one agent, then of another. `calls` and `stops` are what came of its turns."""

    def __init__(self, scratch: Path, base_url: str, api: str) -> None:
        self._home = Home(scratch / "home")
        self._home.path.mkdir()
        self._home.use_server(base_url, dialect=api)
        self._workspace = scratch / "workspace"
        self._workspace.mkdir()
        (self._workspace / "a.txt").write_text("x\n")
        self.calls: list[Call] = []
        self.stops: list[str] = []
        self.agent = self._start()
        self._session = self.agent.new_session(self._workspace)

    def play(self) -> None:
        for act in (self._work, self._stop, self._steer, self._control, self._pursue, self._come_back):
            act()
            self._prompt("/help")

    def _work(self) -> None:
        link = {"type": "resource_link", "uri": f"file://{self._workspace}/a.txt", "name": "a.txt"}
        self._prompt("look around", link)
        self._prompt("change it")
        self._prompt("talk nonsense")
        self._prompt("not allowed", answer="deny")
        self._prompt("too busy")
        self._prompt("in the background")
        self._prompt("stop short", stop="max_tokens")

    def _stop(self) -> None:
        self._meanwhile("stop the command", self._cancel, kind="tool_call_update", asked=1, stop="cancelled")
        self._meanwhile("stop the talk", self._cancel, kind="agent_message_chunk", stop="cancelled")

    def _steer(self) -> None:
        self._meanwhile("do it over", lambda: self._guide(GUIDANCE[0]), kind="tool_call")
        self._meanwhile("do it over", lambda: self._guide(GUIDANCE[1]), kind="agent_message_chunk", asked=1)

    def _control(self) -> None:
        for mode in ("plan", "goal", "normal"):
            self._call("session/set_mode", modeId=mode)
        for approval in ("yolo", "auto", "ask"):
            self._call("session/set_config_option", configId="tool_approval", value=approval)
            self._prompt("write it", asks=approval == "ask")
        assert self._call("_reasonix.io/session/reloadExtensions") == {}
        self._prompt("once more")
        self._meanwhile("do it over", self._reload_later, kind="tool_call")
        self._prompt("once more")

    def _pursue(self) -> None:
        """A plan refused, one approved, questions, a goal reached."""
        for answer in ("deny", "once"):
            self._call("session/set_mode", modeId="plan")
            self._prompt("plan it", answer=answer)
        self._prompt("ask me")
        self._call("session/set_config_option", configId="mode", value="goal")
        self._prompt("reach it")

    def _come_back(self) -> None:
        """In this process and in another."""
        self._call("session/close")
        self._load()
        self._prompt("once more")
        self._call("session/close")
        self.agent.close()
        self.agent = self._start()
        self._load()
        self._prompt("once more")

    # How it is done.

    def _start(self) -> Agent:
        agent = Agent(cwd=self._home.path, env=self._home.env)
        agent.initialize()
        return agent

    def _call(self, method: str, **params: Any) -> Any:
        return self.agent.call(method, {"sessionId": self._session, **params})

    def _load(self) -> None:
        self._call("session/load", cwd=str(self._workspace), mcpServers=[])

    def _guide(self, text: str) -> None:
        self._call("_reasonix.io/session/steer", prompt=[{"type": "text", "text": text}])

    def _reload_later(self) -> None:
        """With changes of mode and approval meanwhile."""
        assert self._call("_reasonix.io/session/reloadExtensions") == {"queued": True}
        for mode in ("plan", "normal"):
            self._call("session/set_mode", modeId=mode)
        for approval in ("auto", "ask"):
            self._call("session/set_config_option", configId="tool_approval", value=approval)

    def _prompt(
        self, text: str, *more: Message, answer: str = "once", asks: bool = True, stop: str = "end_turn"
    ) -> None:
        blocks = [{"type": "text", "text": text}, *more]
        say = functools.partial(_decide, answer) if asks else None
        updates, response = self.agent.prompt(self._session, blocks, permission=say)
        self._note(updates, response, stop)

    def _cancel(self) -> None:
        self.agent.notify("session/cancel", {"sessionId": self._session})

    def _meanwhile(self, text: str, act: Callable[[], None], kind: str, asked: int = 0, stop: str = "end_turn") -> None:
        """Prompt, answer so many questions, and act at the first update of that kind after them."""
        since = len(self.agent.messages)
        id = self.agent.start_prompt(self._session, text)
        for _ in range(asked):
            self.agent.decide(self.agent.expect_request("session/request_permission"), "once")
        self.agent.expect_update(self._session, kind, since)
        act()
        while "method" in (message := self.agent.next_event(id, ["session/request_permission"])):
            self.agent.decide(message, "once")
        self._note(self.agent.updates(self._session, since), message, stop)

    def _note(self, updates: list[Message], response: Message, stop: str) -> None:
        assert response.get("result") == {"stopReason": stop}, response
        self.calls += calls_in(updates)
        self.stops.append(stop)
