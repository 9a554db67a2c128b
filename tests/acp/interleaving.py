"""Scenarios: what several threads of a client ask of one session of a real agent, all at once; played and judged."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.acp.mcp import plain
from tests.acp.prompted_model import PromptedModel
from tests.acp.scenarios import COMMANDS, METHODS, SWITCH, Act, Scenario
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
        config = {"default_model": "local/one", "providers": {"local": provider}, "compaction": {"keep": 0}}
        self._home.configure(config)

    def begin(self) -> None:
        """Shake hands, and have all done once; whatever lives as long as the process is there after that."""
        self.link.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        self.link.call("session/list", {})
        log = self.open(served=True)
        self.say(log, "say:t0x0")
        self.close_session(log)
        threading.Event().wait(0.2)
        self.resting = self.threads()

    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.link.process.pid}/task"))

    def say(self, log: SessionLog, text: str) -> None:
        """Prompt a session that does nothing else, and wait."""
        params = {"sessionId": log.session, "prompt": [{"type": "text", "text": text}]}
        sent = log.begin("prompt")
        self.link.ask("session/prompt", params, lambda response: log.end(sent, response)).result()

    def close_session(self, log: SessionLog) -> None:
        sent = log.begin("close")
        self.link.ask("session/close", {"sessionId": log.session}, lambda response: log.end(sent, response)).result()

    def listed(self, folder: Path) -> list[str]:
        """The ids of a folder's sessions."""
        return [row["sessionId"] for row in self.link.call("session/list", {"cwd": str(folder)})["sessions"]]

    def past(self, session: str, folder: Path) -> list[str]:
        """What was said in a closed session, which is closed again then."""
        log = SessionLog(session)
        with self._lock:
            self._logs[session] = log
        sent = log.begin("load")
        params = {"sessionId": session, "cwd": str(folder), "mcpServers": []}
        self.link.ask("session/load", params, lambda response: log.end(sent, response)).result()
        self.close_session(log)
        return list(log.replayed.values())

    def open(self, folder: Path | None = None, served: bool = False) -> SessionLog:
        log = SessionLog()
        log.reports = served

        def opened(response: Message) -> None:
            log.session = response["result"]["sessionId"]
            with self._lock:
                self._logs[log.session] = log

        params = {"cwd": str(folder or self.workspace), "mcpServers": [plain("s")] if served else []}
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
        self._number = next(self._numbers)
        self.folder = self._make_folder() if scenario.paired else lab.workspace
        self.log = lab.open(self.folder, scenario.served)
        self._other = self._make_other() if scenario.paired else ""
        self._tags = iter(range(1, 1 << 60))
        self._answers = iter(scenario.answers)
        self._over = threading.Event()
        self.held: list[Message] = []

    def _make_folder(self) -> Path:
        folder = self.lab.workspace / f"pair{self._number}"
        folder.mkdir()
        return folder

    def _make_other(self) -> str:
        """The id of another session of the folder, which is closed."""
        other = self.lab.open(self.folder)
        self.lab.say(other, f"say:t{next(self._numbers)}x0")
        self.lab.close_session(other)
        return other.session

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
        if act.kind == "rewind":
            self.lab.model.may_rewind(f"t{self._number}")
        kind = act.kind if act.verb == "prompt" else f"{act.kind} {act.value}".strip()
        sent = self.log.begin(act.verb, kind, tag)
        asked = self.lab.link.ask(METHODS[act.verb], self._params(act, tag), lambda got: self.log.end(sent, got))
        self.log.written(sent, asked.id)
        if closing is not None:
            self._mark(closing)
        return asked

    def _params(self, act: Act, tag: str) -> Message:
        params: Message = {"sessionId": self.log.session}
        if act.verb in ("prompt", "steer"):
            text = self._command(act) if act.kind in COMMANDS else f"{act.kind or 'guidance'}:{tag}"
            params["prompt"] = [{"type": "text", "text": text}]
        elif act.verb in OPENERS:
            servers = [plain(act.value)] if act.value else []
            params |= {"cwd": str(self.folder), "mcpServers": servers}
        elif act.verb in ("configure", "adjust"):
            params |= {"configId": act.kind, "value": act.value}
        elif act.verb == "set_mode":
            params["modeId"] = act.value
        return params

    def _command(self, act: Act) -> str:
        value = act.value
        if act.kind == SWITCH:
            mine = next((id for id in self.lab.listed(self.folder) if id != self._other), self.log.session)
            value = self._other if value == "other" else mine
        return COMMANDS[act.kind].format(value).strip()

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
        if how in ("silence", "cancel"):
            self.held.append(question)
            if how == "cancel":
                self._cancel()
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
            # What a server that came late is joined by refuses an opening meanwhile, and nobody is told how long.
            resumed = self._get("resume", may={"-32600"} if self.scenario.served else set[str]())
            if resumed is not None:
                self._compare(resumed)
        self._get("close", may=may_be_closed)
        opened = self._get("load", may={"-32002"} if self._may_be_lost() else set[str]())
        if opened is not None:
            self._compare(opened)
            if not self._other:
                self._compare_past()
            self._get("reload")
            self._get("set_mode", value="normal")
            self._speak()
            self._get("close")
        if self._other:
            self._compare_pair()

    def _may_be_lost(self) -> bool:
        """Whether it may be that nothing is stored: it was deleted, or nothing was ever said in it."""
        return bool(self._named("delete")) or not any(
            sent.answer in ("end_turn", "-32603") and sent.kind not in COMMANDS for sent in self._named("prompt")
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
        """What was said is said again, in its order, and what was shown is shown again, word for word; but for what was
        rewound."""
        misfits = [self._misfit(cut) for cut in self._cuts()]
        self.check("" in misfits, misfits[0])

    def _misfit(self, cut: int) -> str:
        """What does not fit in the replay, if all up to `cut` was rewound."""
        again, wanted = list(self.log.replayed.values()), self._wanted(cut)
        if _among(wanted, again) != wanted:
            return "prompts were lost, or are in another order"
        words = " ".join((*again, *self.log.live.values()))
        steers = [sent for sent in self._named("steer") if sent.taken and sent.at > cut]
        if lost := [sent.tag for sent in steers if f":{sent.tag}" not in words]:
            return f"guidance was lost: {lost}"
        is_of_model = re.compile(rf"t{self._number}x\d+ ").match
        spoke = any(sent.kind == "lang" for sent in self._named("prompt"))  # what acpagent says is said in it
        for id, text in self.log.live.items():
            compared = id not in self.log.mixed and not id.startswith("notice_") and self.log.shown_at[id] > cut
            shown = self.log.replayed.get(id)
            if compared and text != shown and (shown is None or not spoke or is_of_model(text)):
                return f"{text!r} was replayed as {shown!r}"
        return ""

    def _cuts(self) -> list[int]:
        """When the session was rewound to its beginning, 0 for never: the last time that is known, and those after it
        that may have come to nothing."""
        rewinds = [sent for sent in self._named("prompt") if sent.kind == "rewind"]
        known = max((sent.answered for sent in rewinds if sent.answer == "end_turn"), default=0)
        return [known, *(sent.answered for sent in rewinds if sent.answered > known and sent.answer != "-32600")]

    def _wanted(self, cut: int = 0) -> list[str]:
        """The prompts that must be there, of those that were answered after `cut`, in their order."""
        said = [sent for sent in self._named("prompt") if sent.answer in ("end_turn", "-32603") and sent.answered > cut]
        said = [sent for sent in said if sent.kind not in COMMANDS]
        return [f"{sent.kind}:{sent.tag}" for sent in sorted(said, key=lambda sent: sent.answered)]

    def _compare_pair(self) -> None:
        """Each prompt is in one of the two sessions, once, and in its order there."""
        wanted = self._wanted()
        found = [_among(wanted, self.lab.past(id, self.folder)) for id in self.lab.listed(self.folder)]
        all_found = sorted(text for texts in found for text in texts)
        self.check(all_found == sorted(wanted), f"prompts were lost or doubled: {found}")
        self.check(all(texts == _among(texts, wanted) for texts in found), f"prompts are in another order: {found}")


def _among(wanted: list[str], texts: list[str]) -> list[str]:
    """The texts that are wanted, in their order."""
    return [text for text in texts if text in wanted]
