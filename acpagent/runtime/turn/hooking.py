"""The hooks of one prompt: when they are asked, what they are told, and what their answers mean for the turn."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from acpagent.core.events import Notice
from acpagent.core.faults import Fault
from acpagent.core.scope import Cancelled, Scope, run_closers
from acpagent.core.toolcalls import ToolCall, ToolResult
from acpagent.extensions import hookrun
from acpagent.extensions.happening import Happening
from acpagent.extensions.hookanswers import NOTHING, Answer
from acpagent.extensions.hookrun import Place
from acpagent.extensions.hooks import NO_HOOKS, HookSet
from acpagent.runtime.turn.stop import End

# How often in one prompt hooks can send the model on.
MOST_STOPS = 3
_MARK = "hook-context"


@dataclass(slots=True)
class HookMemory:
    """What hooks need to know from one prompt of a session to the next. `source`: how the session came to be here;
    `begun`: its start was told to hooks; `unsaid`: what they said then, until the model has read it."""

    source: str = "startup"
    begun: bool = False
    unsaid: str = ""


@dataclass(frozen=True, slots=True)
class Entered:
    """How a prompt came through: `context` goes to the model with it; `refusal`: why it must not go there at all;
    `cancelled` while hooks ran."""

    context: str = ""
    refusal: str | None = None
    cancelled: bool = False


@dataclass(slots=True)
class TurnHooks:
    """Made for each turn. Runs on the session worker, but for `after_call` and `notify`; hooks end with the scope.

    `_aside` is the scope of those that nobody waits for, and `_lock`, a leaf, guards what they had to say."""

    hooks: HookSet = NO_HOOKS
    session_id: str = ""
    place: Place = field(default_factory=lambda: Place("/"))
    turn: int = 0
    scope: Scope = field(default_factory=Scope)
    tell: Callable[[Notice], None] = lambda notice: None
    memory: HookMemory = field(default_factory=HookMemory)
    _stops: int = 0
    _said: list[Notice] = field(default_factory=list)
    _aside: Scope = field(default_factory=Scope)
    _beside: list[threading.Thread] = field(default_factory=list)
    _unheard: list[Notice] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, prompt: str) -> Entered:
        """A prompt is about to be heard; the first one begins the session."""
        memory = self.memory
        try:
            if not memory.begun:
                memory.unsaid = labelled("SessionStart", self._ask("SessionStart", source=memory.source).context)
                memory.begun = True
            answer = self.admit(prompt)
        except Cancelled:
            return Entered(cancelled=True)
        return Entered("\n\n".join(part for part in (memory.unsaid, answer.context) if part), answer.refusal)

    def admit(self, words: str) -> Answer:
        """Words of the person are about to be heard. Raises `Cancelled`."""
        answer = self._ask("UserPromptSubmit", prompt=words)
        return replace(answer, context=labelled("UserPromptSubmit", answer.context))

    def before_call(self, call: ToolCall) -> Answer:
        """A call may run, and is about to. Raises `Cancelled`."""
        answer = self._ask("PreToolUse", call_id=call.id, tool=call.name, args=call.raw_input)
        return replace(answer, context=labelled("PreToolUse", answer.context))

    def before_question(self, call: ToolCall) -> str | None:
        """The person is about to be asked about a call: why it is refused without. Raises `Cancelled`."""
        return self._ask("PermissionRequest", call_id=call.id, tool=call.name, args=call.raw_input).refusal

    def after_call(self, call: ToolCall, result: ToolResult) -> str:
        """A call has run: what its result is followed by. On its helper thread, so that the person is told later, by
        `tell_unheard`. Raises `Cancelled`."""
        event = "PostToolUseFailure" if result.failed else "PostToolUse"
        told = {"call_id": call.id, "tool": call.name, "args": call.raw_input}
        answer = self._fire(event, self.scope, result=result.text, failed=result.failed, **told)
        self._keep(answer)
        return labelled(event, answer.context)

    def after(self, text: str) -> str | None:
        """The model stopped, and nobody else had anything to say: a follow-up. Raises `Cancelled`."""
        answer = self._ask("Stop", text=text, again=self._stops > 0)
        if answer.refusal is None:
            return None
        self._stops += 1
        if self._stops > MOST_STOPS:
            self.tell(Notice("warning", "hook_gives_up", {"times": MOST_STOPS, "reason": answer.refusal}))
            return None
        self.tell(Notice("info", "hook_goes_on", {"reason": answer.refusal}))
        return labelled("Stop", f"A hook of the person does not let you stop yet: {answer.refusal}")

    def before_compaction(self, source: str, instructions: str) -> str | None:
        """The conversation is about to be summarised, `manual` or `auto`: why it must not be. Raises `Cancelled`."""
        return self._ask("PreCompact", source=source, message=instructions or None).refusal

    def close(self, end: End, fault: Fault | None) -> None:
        """The turn is over. Whoever waits for its failure is told of everything but a cancel and the model's own
        stop; and nothing of the hooks is left."""
        if fault is not None or end not in ("finished", "cancelled"):
            source, message = ("error", fault.message) if fault is not None else (end, None)
            try:
                self._ask("StopFailure", source=source, message=message)
            except Cancelled:
                pass
        run_closers(self._aside.cancel())
        for thread in self._beside:
            thread.join()
        self.tell_unheard()

    def notify(self, source: str, message: str) -> None:
        """The person is waited for. Nobody waits for these hooks: they run beside the question, to the turn's end at
        most."""
        if self.hooks.waiting_for("Notification", source):
            forget = self.scope.add_closer(self._stop_aside)
            thread = threading.Thread(
                target=self._notify, args=(source, message, forget), name="acpagent-hook", daemon=True
            )
            try:
                thread.start()
            except RuntimeError:  # none can be started: the question matters more
                forget()
            else:
                self._beside.append(thread)

    def tell_unheard(self) -> None:
        """Tell the person what hooks on other threads had to say."""
        with self._lock:
            unheard, self._unheard = self._unheard, []
        self._tell(unheard)

    def _notify(self, source: str, message: str, forget: Callable[[], None]) -> None:
        """Body of a thread beside a question."""
        try:
            self._keep(self._fire("Notification", self._aside, source=source, message=message))
        except Cancelled:
            pass
        finally:
            forget()

    def _stop_aside(self) -> None:
        run_closers(self._aside.cancel())

    def _ask(self, event: str, **told: Any) -> Answer:
        answer = self._fire(event, self.scope, **told)
        self._tell(answer.notices)
        return answer

    def _fire(self, event: str, scope: Scope, **told: Any) -> Answer:
        if not any(hook.event == event for hook in self.hooks.hooks):
            return NOTHING
        what = Happening(event, self.session_id, self.place.cwd, self.turn, **told)
        return hookrun.fire(self.hooks, what, self.place, scope)

    def _keep(self, answer: Answer) -> None:
        with self._lock:
            self._unheard += answer.notices

    def _tell(self, notices: Any) -> None:
        """Once in a turn: a hook that fails does so at each call."""
        for notice in notices:
            if notice not in self._said:
                self._said.append(notice)
                self.tell(notice)


def labelled(event: str, text: str) -> str:
    """What hooks say, in a block that it cannot end by itself."""
    if not text:
        return ""
    inner = text.replace(f"</{_MARK}", f"<\\/{_MARK}")
    return f'<{_MARK} event="{event}">\n{inner}\n</{_MARK}>'
