"""Watching one prompt: its updates, the agent's questions and the person's Ctrl-C, in the order they belong."""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any

from acpagent.cli.show import View
from acpagent.cli.spoken import say
from acpagent.client.faults import AgentFault
from acpagent.client.permission import Option, PermissionRequest
from acpagent.client.questions import QuestionRequest
from acpagent.client.session import Session
from acpagent.client.turn import Turn
from acpagent.client.updates import Update

Decide = Callable[[PermissionRequest], Option | None]
Fill = Callable[[QuestionRequest], dict[str, Any] | None]

# How long a cancel may take before the person is told that it was heard.
_CANCEL_SECONDS = 1.0
# How long a question may take to learn that its turn was cancelled.
_WITHDRAWAL_SECONDS = 2.0


class Question:
    """A question that waits on a thread of the client until the main thread has the answer, which `ask` gives; None
    refuses, or declines. `call_id` is the tool call it is about."""

    __slots__ = ("_answer", "_answered", "ask", "call_id", "withdrawn")

    def __init__(self, call_id: object, withdrawn: threading.Event, ask: Callable[[], Any]) -> None:
        self.call_id = call_id
        self.withdrawn = withdrawn
        self.ask = ask
        self._answer: Any = None
        self._answered = threading.Event()

    def answer(self, answer: Any) -> None:
        self._answer = answer
        self._answered.set()

    def wait(self) -> Any:
        self._answered.wait()
        return self._answer


class _Ended:
    """The last thing of a turn; `fault` is what its updates ended with, if it was no answer."""

    __slots__ = ("fault",)

    def __init__(self, fault: BaseException | None) -> None:
        self.fault = fault


class _Remark:
    """Something to tell the person between updates."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Watch:
    """Shows one prompt after another in `view`; `decide` answers what is to be allowed, and `fill` forms, on the thread
    that calls `run`.

    With `cancels`, the first Ctrl-C cancels the turn and only the next one raises KeyboardInterrupt.

    Everything comes through one queue, `_inbox`. A question is put when the agent asks, which may be before
    the updates ahead of it were taken, so it waits until its tool call has been shown.
    """

    def __init__(self, view: View, decide: Decide, fill: Fill | None = None, cancels: bool = True) -> None:
        self._view = view
        self._decide = decide
        self._fill = fill
        self._cancels = cancels
        self._inbox: queue.SimpleQueue[Update | Question | _Remark | _Ended] = queue.SimpleQueue()
        self._questions: list[Question] = []
        self._deciding = False
        self.response: dict[str, Any] = {}  # of the last prompt that was answered

    def permission(self, request: PermissionRequest) -> Option | None:
        """The callback for `Client.launch`."""
        call_id = request.tool_call.get("toolCallId")
        option: Option | None = self._put(Question(call_id, request.withdrawn, lambda: self._decide(request)))
        return option

    def question(self, request: QuestionRequest) -> dict[str, Any] | None:
        """The callback for forms."""
        fill = self._fill
        if fill is None:
            return None
        answers: dict[str, Any] | None = self._put(
            Question(request.tool_call_id, request.withdrawn, lambda: fill(request))
        )
        return answers

    def _put(self, question: Question) -> Any:
        self._inbox.put(question)
        return question.wait()

    def run(self, session: Session, text: str) -> str:
        """Prompt, and show all that follows; returns the stop reason. Raises what a turn raises."""
        turn = session.prompt(text)
        while session.idle:  # from here on it grows no more: what the opening told, such as files that are broken
            self._inbox.put(session.idle.popleft())
        with self._heeding_interrupts(turn) if self._cancels else nullcontext():
            threading.Thread(target=self._take_updates, args=(turn,), name="acpagent updates", daemon=True).start()
            while not isinstance(item := self._inbox.get(), _Ended):
                if isinstance(item, Question):
                    self._questions.append(item)
                elif isinstance(item, _Remark):
                    self._view.remark(item.text)
                else:
                    self._view.show(item)
                self._ask_what_is_shown(turn)
        for question in self._questions:
            question.answer(None)
        self._questions.clear()
        if item.fault is not None:
            raise item.fault
        stop = turn.wait()
        self.response = turn.response or {}
        return stop

    def _take_updates(self, turn: Turn) -> None:
        fault: BaseException | None = None
        try:
            for update in turn:
                self._inbox.put(update)
        except Exception as error:
            fault = error
        self._inbox.put(_Ended(fault))

    def _ask_what_is_shown(self, turn: Turn) -> None:
        while self._questions:
            call_id = self._questions[0].call_id
            if call_id in turn.tool_calls and call_id not in self._view.calls:
                return  # its call is on the way
            self._ask(self._questions.pop(0), turn)

    def _ask(self, question: Question, turn: Turn) -> None:
        answer = None
        try:
            self._deciding = True
            if not question.withdrawn.is_set() and not turn.cancelled:
                answer = question.ask()
        except KeyboardInterrupt:
            if not self._cancels:
                raise
            # The cancel is on its way and answers the question; a refusal must not be quicker.
            question.withdrawn.wait(_WITHDRAWAL_SECONDS)
        finally:
            self._deciding = False
            question.answer(answer)

    def _cancel(self, turn: Turn) -> None:
        turn.cancel()
        try:
            turn.wait(_CANCEL_SECONDS)
        except TimeoutError:
            self._inbox.put(_Remark(say("show_cancelling")))
        except AgentFault:
            pass  # that is how the turn ended, which `run` raises

    @contextmanager
    def _heeding_interrupts(self, turn: Turn) -> Iterator[None]:
        """Ctrl-C cancels the turn, on a thread of its own: a signal handler can wait for no lock."""
        wanted: queue.SimpleQueue[bool] = queue.SimpleQueue()
        seen: list[int] = []

        def on_interrupt(number: int, frame: FrameType | None) -> None:
            seen.append(number)
            wanted.put(True)
            if len(seen) > 1 or self._deciding:
                raise KeyboardInterrupt

        def heed() -> None:
            if wanted.get():
                self._cancel(turn)

        before = signal.signal(signal.SIGINT, on_interrupt)
        threading.Thread(target=heed, name="acpagent interrupts", daemon=True).start()
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
            wanted.put(False)
