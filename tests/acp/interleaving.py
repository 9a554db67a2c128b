"""Scenarios: what several threads of a client ask of one session of a real agent, all at once; played and judged."""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.acp.prompted_model import PromptedModel
from tests.acp.session_log import CLOSERS, OPENERS, Cancel, Sent, SessionLog, cancelled, overlapping, values
from tests.agent import Message
from tests.conftest import Home
from tests.descendants import marked, new_mark, survivors
from tests.model_server import ModelServer
from tools.soaking.link import Asked, Link, environment

DEADLINE = 20.0
# The agent, its threads taking turns as often as Python can make them.
_HASTY = "import runpy, sys; sys.setswitchinterval(1e-6); runpy.run_module('acpagent', run_name='__main__')"
COMMAND = [sys.executable, "-c", _HASTY, "acp"]
STEER, RELOAD = "_reasonix.io/session/steer", "_reasonix.io/session/reloadExtensions"
METHODS = {
    "steer": STEER,
    "reload": RELOAD,
    "set_mode": "session/set_mode",
    "configure": "session/set_config_option",
    "adjust": "session/set_config_option",
    "close": "session/close",
    "delete": "session/delete",
    "load": "session/load",
    "resume": "session/resume",
    "prompt": "session/prompt",
}
PROMPTS = ["say"] * 5 + ["slow"] * 4 + ["read", "edit", "run"] * 2 + ["sleep", "job", "stall", "stall"]
PROMPTS += ["ask", "note", "finish", "refuse", "fail", "help"]
MODES = ["normal", "normal", "plan", "goal", "agent", "auto"]
AXES = {"model": ["local/one", "local/two"], "effort": ["auto", "low", "high"]}
AXES |= {"work_mode": ["economy", "balanced", "delivery"]}
CONTROLS = {"tool_approval": ["ask", "auto", "yolo"], "mode": MODES}
VERBS = (
    ["prompt"] * 8 + ["steer"] * 4 + ["cancel"] * 2 + ["configure"] * 4 + ["adjust"] * 2 + ["set_mode"] * 2
    + ["reload"] * 2 + ["load", "resume"] + ["withdraw"] * 2
)  # fmt: skip
# What a question is answered with: an option's id (or the first option), no option, an error, nothing.
ANSWERS = ["once"] * 5 + ["deny", "deny", "full", "outcome cancelled", "error", "silence", "silence"]


@dataclass(frozen=True)
class Act:
    """One thing that a thread does: `kind` is a kind of prompt or a setting; then it waits for the answer so many
    seconds, or not at all."""

    verb: str
    kind: str = ""
    value: str = ""
    patience: float = 0.0

    def __str__(self) -> str:
        return " ".join(filter(None, (self.verb, self.kind, self.value, self.patience and f"({self.patience:.3f} s)")))


@dataclass(frozen=True)
class Scenario:
    seed: str
    threads: tuple[tuple[Act, ...], ...]
    answers: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"thread {n}: {', '.join(map(str, acts))}" for n, acts in enumerate(self.threads)]
        return "\n".join([f"seed {self.seed}", *lines, f"answers: {', '.join(self.answers)}"])

    def smaller(self) -> Iterator[Scenario]:
        """With one thread or one act less."""
        for n in range(len(self.threads)):
            yield replace(self, threads=self.threads[:n] + self.threads[n + 1 :])
        for n, acts in enumerate(self.threads):
            for k in reversed(range(len(acts))):
                left = acts[:k] + acts[k + 1 :]
                yield replace(self, threads=(*self.threads[:n], left, *self.threads[n + 1 :]))


def scenario(seed: int) -> Scenario:
    dice = random.Random(f"interleaving {seed}")
    threads = [[_act(dice) for _ in range(dice.randint(3, 8))] for _ in range(dice.choice([2, 3, 3, 4]))]
    if dice.random() < 0.35:
        for verb in dice.choices(["close", "close", "close", "delete"], k=dice.choice([1, 1, 2])):
            acts = dice.choice(threads)
            acts.insert(dice.randrange(len(acts) + 1), Act(verb, patience=_patience(dice)))
            if dice.random() < 0.7:
                acts.append(Act(dice.choice(OPENERS), patience=_patience(dice)))
                acts += [_act(dice) for _ in range(dice.randint(0, 4))]
    return Scenario(str(seed), tuple(map(tuple, threads)), tuple(dice.choices(ANSWERS, k=6)))


def _act(dice: random.Random) -> Act:
    verb, kind, value = dice.choice(VERBS), "", ""
    if verb == "prompt":
        kind = dice.choice(PROMPTS)
    elif verb in ("configure", "adjust"):
        choices = AXES if verb == "configure" else CONTROLS
        kind = dice.choice(list(choices))
        value = dice.choice(choices[kind])
    elif verb == "set_mode":
        value = dice.choice(MODES)
    elif verb == "withdraw":
        value = str(dice.randrange(1000))
    return Act(verb, kind, value, _patience(dice))


def _patience(dice: random.Random) -> float:
    return dice.choice([0.0, 0.0, dice.uniform(0.0, 0.02), 0.1, 0.2])


class Lab:
    """One agent, its model, and the sessions that are being looked at."""

    def __init__(self, folder: Path) -> None:
        self.model = PromptedModel()
        self.server = ModelServer(self.model, keep=False)
        self.workspace = folder / "workspace"
        self.workspace.mkdir(parents=True)
        self._home = Home(folder / "home")
        self._home.path.mkdir()
        self._configure()
        self.mark = new_mark()
        self._lock = threading.Lock()
        self._logs: dict[str, SessionLog] = {}
        env = environment(str(self._home.path), self.mark)
        self.link = Link(COMMAND, env, str(self._home.path), self._take)
        self.resting = 0

    def _configure(self) -> None:
        one = {"context_window": 1_000_000, "efforts": ["low", "high"]}
        provider = {"api": "openai-chat", "base_url": self.server.base_url, "models": {"one": one, "two": one}}
        self._home.configure({"default_model": "local/one", "providers": {"local": provider}})

    def begin(self) -> None:
        """Shake hands, and have all done once; whatever lives as long as the process is there after that."""
        self.link.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        self.link.call("session/list", {})
        log = self.open()
        params = {"sessionId": log.session, "prompt": [{"type": "text", "text": "say:t0x0"}]}
        sent = log.begin("prompt")
        self.link.ask("session/prompt", params, lambda response: log.end(sent, response)).result()
        closing = log.begin("close")
        self.link.ask("session/close", {"sessionId": log.session}, lambda response: log.end(closing, response)).result()
        threading.Event().wait(0.2)
        self.resting = self.threads()

    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.link.process.pid}/task"))

    def open(self) -> SessionLog:
        log = SessionLog()

        def opened(response: Message) -> None:
            log.session = response["result"]["sessionId"]
            with self._lock:
                self._logs[log.session] = log

        params = {"cwd": str(self.workspace), "mcpServers": []}
        self.link.ask("session/new", params, opened).result()
        return log

    def rest(self) -> None:
        """Nothing of sessions that are closed may be left: no thread, no child. What has just ended gets a moment."""
        for _ in range(100):
            threads, processes = self.threads(), marked(self.mark)
            if threads <= self.resting and len(processes) == 1:
                return
            threading.Event().wait(0.05)
        raise AssertionError(f"{threads} threads where {self.resting} were; processes: {processes}")

    def close(self) -> None:
        self.link.close()
        self.server.close()
        left = survivors(self.mark, 2.0)
        assert not left, f"left behind: {left}"
        assert not self.link.faults, "\n".join(self.link.faults)
        assert not self.model.faults, "\n".join(self.model.faults[:3])

    def abandon(self) -> None:
        """End all, whatever state it is in."""
        self.link.process.kill()
        self.link.close()
        self.server.close()

    def _take(self, message: Message) -> None:
        if message["method"] == "$/cancel_request":
            return
        with self._lock:
            log = self._logs[message["params"]["sessionId"]]
        log.take(message)


class Play:
    """One scenario in one session."""

    _numbers = iter(range(1, 1 << 60))

    def __init__(self, lab: Lab, scenario: Scenario) -> None:
        self.lab, self.scenario = lab, scenario
        self.log = lab.open()
        self._number = next(self._numbers)
        self._tags = iter(range(1, 1 << 60))
        self._answers = iter(scenario.answers)
        self._over = threading.Event()
        self.held: list[Message] = []

    def run(self) -> None:
        """Raises AssertionError."""
        threads = [threading.Thread(target=self._act_all, args=(acts,), daemon=True) for acts in self.scenario.threads]
        person = threading.Thread(target=self._answer_all, daemon=True)
        for thread in (*threads, person):
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
            assert not thread.is_alive(), str(self)
        self._cancel()
        left = self.log.wait(DEADLINE)
        self.check(not left, f"unanswered: {[sent.name for sent in left]}")
        self._judge()
        self._answers = iter(())
        for question in self.held:
            self.lab.link.reply(question, {"outcome": {"outcome": "selected", "optionId": "once"}})  # too late
        self._epilogue()
        self._over.set()
        with self.log.changed:
            self.log.changed.notify_all()
        person.join(DEADLINE)
        self.check(not self.log.problems, "")

    def check(self, right: bool, text: str) -> None:
        if self.log.problems or not right:
            raise AssertionError(f"{'; '.join(self.log.problems) or text}\n{self}")

    def __str__(self) -> str:
        faults = self.lab.link.faults + self.lab.model.faults
        return "\n".join([str(self.scenario), *self.log.story, *faults])

    # What threads do.

    def _act_all(self, acts: tuple[Act, ...]) -> None:
        try:
            for act in acts:
                self._act(act)
        except BaseException as error:
            self.log.problem(f"a thread broke: {error!r}")

    def _act(self, act: Act) -> None:
        if act.verb == "cancel":
            self._cancel()
        elif act.verb == "withdraw":
            self._withdraw(int(act.value))
        else:
            asked = self.ask(act)
            if act.patience:
                asked.wait(act.patience)

    def ask(self, act: Act) -> Asked:
        tag = f"t{self._number}x{next(self._tags)}" if act.verb in ("prompt", "steer") else ""
        closing = self.log.cancel(act.verb) if act.verb in CLOSERS else None
        sent = self.log.begin(act.verb, f"{act.kind} {act.value}".strip(), tag)
        asked = self.lab.link.ask(METHODS[act.verb], self._params(act, tag), lambda got: self.log.end(sent, got))
        self.log.written(sent, asked.id)
        if closing is not None:
            self._mark(closing)
        return asked

    def _params(self, act: Act, tag: str) -> Message:
        params: Message = {"sessionId": self.log.session}
        if act.verb in ("prompt", "steer"):
            text = "/help" if act.kind == "help" else f"{act.kind or 'guidance'}:{tag}"
            params["prompt"] = [{"type": "text", "text": text}]
        elif act.verb in OPENERS:
            params |= {"cwd": str(self.lab.workspace), "mcpServers": []}
        elif act.verb in ("configure", "adjust"):
            params |= {"configId": act.kind, "value": act.value}
        elif act.verb == "set_mode":
            params["modeId"] = act.value
        return params

    def _cancel(self) -> None:
        cancel = self.log.cancel()
        self.lab.link.notify("session/cancel", {"sessionId": self.log.session})
        self._mark(cancel)

    def _withdraw(self, choice: int) -> None:
        with self.log.changed:
            asked = [sent for sent in self.log.unanswered() if sent.request_id is not None]
        if asked:
            sent = asked[choice % len(asked)]
            sent.withdrawn = True
            cancel = self.log.cancel(f"$/cancel_request of {sent.name} {sent.tag}", of=sent)
            self.lab.link.notify("$/cancel_request", {"requestId": sent.request_id})
            self._mark(cancel)

    def _mark(self, cancel: Cancel) -> None:
        """Ask what is refused as soon as it is read, behind a cancel."""
        self.lab.link.ask("session/frobnicate", {}, lambda _: self.log.read(cancel))

    def _answer_all(self) -> None:
        """The person, who answers questions for as long as it lasts."""
        log = self.log
        while True:
            with log.changed:
                log.changed.wait_for(lambda: bool(log.questions) or self._over.is_set())
                if not log.questions:
                    return
                question = log.questions.pop(0)
            self._answer(question, next(self._answers, "once"))

    def _answer(self, question: Message, how: str) -> None:
        link, offered = self.lab.link, [option["optionId"] for option in question["params"]["options"]]
        if how == "silence":
            self.held.append(question)
            return
        if how == "outcome cancelled":
            self.log.cancel(how)
            link.reply(question, {"outcome": {"outcome": "cancelled"}})
        elif how == "error":
            self.log.note("> error")
            link.refuse(question, -32603)
        else:
            chosen = how if how in offered else offered[0]
            self.log.note(f"> {chosen}")
            link.reply(question, {"outcome": {"outcome": "selected", "optionId": chosen}})

    # What must come of it.

    def _judge(self) -> None:
        for sent in self.log.sent:
            self.check(sent.answer in self._may_be(sent), f"{sent.name} {sent.tag} was answered {sent.answer}")
        for cancel in self.log.cancels:
            late = [sent for sent in self._named("prompt") if cancel.of in (None, sent) and cancelled(sent, cancel)]
            wrong = [sent.tag for sent in late if sent.answer != "cancelled"]
            self.check(not wrong, f"the cancel of {cancel.at} had been read when {wrong} were answered")

    def _may_be(self, sent: Sent) -> set[str]:
        """What it can rightly be answered with, going by what was asked before its answer came."""
        judges: dict[str, Callable[[Sent], set[str]]] = {"prompt": self._prompt_may, "steer": self._steer_may}
        judges |= {"reload": self._reload_may} | dict.fromkeys(OPENERS, self._opener_may)
        judges |= dict.fromkeys(CLOSERS, self._closer_may)
        return judges.get(sent.name, self._setter_may)(sent)

    def _prompt_may(self, sent: Sent) -> set[str]:
        own = {"refuse": "refusal", "fail": "-32603", "stall": ""}.get(sent.kind, "end_turn")
        may = {own} | self._gone(sent, "-32002")
        if any(cancel.at < sent.answered for cancel in self.log.cancels) or self._closed_before(sent):
            may.add("cancelled")
        if overlapping(sent, self._named("prompt")):
            may.add("-32600")
        return may

    def _steer_may(self, sent: Sent) -> set[str]:
        return (
            {"-32600"} | ({"done"} if overlapping(sent, self._named("prompt")) else set()) | self._gone(sent, "-32602")
        )

    def _setter_may(self, sent: Sent) -> set[str]:
        return {"done"} | self._gone(sent, "-32002") | self._withdrawn(sent)

    def _reload_may(self, sent: Sent) -> set[str]:
        return {"done", "queued"} | self._gone(sent, "-32602") | self._withdrawn(sent)

    def _opener_may(self, sent: Sent) -> set[str]:
        """A session without a prompt is not stored, so that nothing is left of it once it is closed."""
        return {"done", "-32600"} | self._gone(sent, "-32002") | self._withdrawn(sent)

    def _closer_may(self, sent: Sent) -> set[str]:
        if sent.name == "delete":
            return (
                {"done"} | ({"-32600"} if overlapping(sent, self._named(*OPENERS)) else set()) | self._withdrawn(sent)
            )
        return {"done"} | self._gone(sent, "-32002")

    def _gone(self, sent: Sent, code: str) -> set[str]:
        return {code} if self._closed_before(sent) else set()

    def _closed_before(self, sent: Sent) -> bool:
        """Whether something that closes was asked before the answer came: a withdrawn opening does as well."""
        return any(other.at < sent.answered and other is not sent for other in self._closing())

    def _closing(self) -> list[Sent]:
        return [sent for sent in self.log.sent if sent.name in CLOSERS or (sent.name in OPENERS and sent.withdrawn)]

    def _withdrawn(self, sent: Sent) -> set[str]:
        return {"-32800"} if sent.withdrawn or self._closed_before(sent) else set()

    def _named(self, *names: str) -> list[Sent]:
        return [sent for sent in self.log.sent if sent.name in names]

    # What must still work.

    def _epilogue(self) -> None:
        """The session is idle or closed; used, closed and loaded it is what it was."""
        self.log.calm = True
        may_be_closed = {"-32002"} if self._closing() else set[str]()
        if self._get("set_mode", value="normal", may=may_be_closed) is not None:
            self._speak()
            self._compare(self._get("resume"))
        self._get("close", may=may_be_closed)
        opened = self._get("load", may={"-32002"} if self._may_be_lost() else set[str]())
        if opened is not None:
            self._compare(opened)
            self._compare_past()
            self._get("reload")
            self._get("set_mode", value="normal")
            self._speak()
            self._get("close")

    def _may_be_lost(self) -> bool:
        """Whether it may be that nothing is stored: it was deleted, or nothing was ever said in it."""
        return bool(self._named("delete")) or not any(
            sent.answer in ("end_turn", "-32603") and sent.kind != "help" for sent in self._named("prompt")
        )

    def _get(self, verb: str, value: str = "", may: set[str] | frozenset[str] = frozenset()) -> Any:
        response = self.ask(Act(verb, value=value)).response()
        answer = self.log.sent[-1].answer
        self.check("result" in response or answer in may, f"at last {verb} was answered {answer}")
        return response.get("result")

    def _speak(self) -> None:
        response = self.ask(Act("prompt", "say")).response()
        sent = self.log.sent[-1]
        self.check(response.get("result") == {"stopReason": "end_turn"}, f"the last prompt was answered {sent.answer}")
        self.check(any(f"{sent.tag} one" in text for text in self.log.live.values()), "and nothing was said")

    def _compare(self, opened: Message) -> None:
        """The controls as an opening tells them are those of the last update."""
        told = values(opened)
        self.check(told["mode"] == opened["modes"]["currentModeId"], "modes and options differ")
        self.check(self.log.options in ({}, told), f"{self.log.options} became {told}")

    def _compare_past(self) -> None:
        """What was said is said again, in its order, and what was shown is shown again, word for word."""
        again = list(self.log.replayed.values())
        said = [sent for sent in self._named("prompt") if sent.answer in ("end_turn", "-32603") and sent.kind != "help"]
        wanted = [f"{sent.kind}:{sent.tag}" for sent in sorted(said, key=lambda sent: sent.answered)]
        self.check([text for text in again if text in wanted] == wanted, "prompts were lost, or are in another order")
        words = " ".join((*again, *self.log.live.values()))
        lost = [sent.tag for sent in self._named("steer") if sent.taken and f":{sent.tag}" not in words]
        self.check(not lost, f"guidance was lost: {lost}")
        for id, text in self.log.live.items():
            if id not in self.log.mixed and not id.startswith("notice_"):
                again = self.log.replayed.get(id)
                self.check(again == text, f"{text!r} was replayed as {again!r}")
