"""Questions to the client: whoever asked gets the answer, or whoever cleans up after them, and never both."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from acpagent.acp.v1.asking import Asking, Unanswered
from acpagent.core.scope import Cancelled, Scope
from acpagent.wire.driver import Driver
from acpagent.wire.pending import Answer


class Deaf:
    """A receiver to whom nothing is said."""

    def on_request(self, request: Any) -> None: ...
    def on_notification(self, notification: Any) -> None: ...
    def on_end(self, reason: str) -> None: ...


class Line:
    """A real driver, and the other end of its connection."""

    def __init__(self) -> None:
        ours, self._theirs = socket.socketpair()
        self._input = self._theirs.makefile("r", encoding="utf-8")
        descriptor = ours.detach()
        self.heard = threading.Event()
        self.driver = Driver(descriptor, os.dup(descriptor), Deaf(), name="test", trace=self._note)
        self.driver.start()
        self.asking = Asking("s1", self.driver)

    def _note(self, direction: str, line: bytes) -> None:
        if direction == "in":
            self.heard.set()

    def read(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._input.readline())
        return message

    def send(self, **message: Any) -> None:
        self._theirs.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def close(self) -> None:
        self._input.close()
        self._theirs.close()
        assert self.driver.ended.wait(60)
        self.driver.finish(0)


@contextmanager
def connected() -> Iterator[Line]:
    line = Line()
    try:
        yield line
    finally:
        line.close()


class Question:
    """A request on a thread of its own. `came` is what it returned or raised, `late` what came afterwards."""

    def __init__(self, line: Line, timeout: float | None = None) -> None:
        self.scope = Scope()
        self.late: list[Answer] = []
        self.came: Answer | BaseException | None = None
        self._late = threading.Event()
        self._thread = threading.Thread(target=self._ask, args=(line, timeout))
        self._thread.start()

    def _ask(self, line: Line, timeout: float | None) -> None:
        try:
            self.came = line.asking.ask("terminal/create", {"command": "x"}, self.scope, timeout, self._take)
        except (Cancelled, Unanswered) as ended:
            self.came = ended

    def _take(self, answer: Answer) -> None:
        self.late.append(answer)
        self._late.set()

    def join(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()

    def wait_late(self) -> None:
        assert self._late.wait(60), "the answer reached nobody"


def test_TERM_02_an_answer_that_meets_a_cancel_reaches_one_of_the_two_always() -> None:
    with connected() as line:
        for _ in range(300):
            question = Question(line)
            while "id" not in (request := line.read()):
                assert request["method"] == "$/cancel_request"
            line.heard.clear()
            with question.scope.lock:  # so that the answer is read, and the cancel comes before anybody could see it
                line.send(id=request["id"], result={"terminalId": "t"})
                assert line.heard.wait(60)
                question.scope.cancel()
            question.join()
            if isinstance(question.came, Cancelled):
                question.wait_late()
            assert isinstance(question.came, Answer) + len(question.late) == 1


@pytest.mark.parametrize("error", [False, True])
def test_CAN_08_a_cancelled_question_is_withdrawn_and_its_late_answer_handed_on(error: bool) -> None:
    with connected() as line:
        question = Question(line)
        request = line.read()
        assert request["params"] == {"sessionId": "s1", "command": "x"}
        question.scope.cancel()
        question.join()
        assert isinstance(question.came, Cancelled)
        assert line.read()["params"] == {"requestId": request["id"]}
        what = {"error": {"code": -32800, "message": "cancelled"}} if error else {"result": {"terminalId": "t"}}
        line.send(id=request["id"], **what)
        question.wait_late()
        assert (question.late[0].error is not None) == error


def test_CAN_07_no_question_leaves_once_cancelled() -> None:
    with connected() as line:
        scope = Scope()
        scope.cancel()
        with pytest.raises(Cancelled):
            line.asking.ask("terminal/create", {}, scope)
        line.asking.tell("terminal/kill", {"terminalId": "t"})  # cleaning up still may
        assert line.read()["method"] == "terminal/kill"


def test_an_unanswered_question_is_withdrawn() -> None:
    with connected() as line:
        question = Question(line, timeout=0.05)
        request = line.read()
        question.join()
        assert isinstance(question.came, Unanswered)
        assert line.read()["method"] == "$/cancel_request"
        line.send(id=request["id"], result={"terminalId": "t"})
        question.wait_late()


def test_a_lost_connection_is_an_answer() -> None:
    with connected() as line:
        question = Question(line)
        line.read()
        line.driver.stop_reading()
        question.join()
        assert isinstance(question.came, Answer)
        assert question.came.lost
        assert question.late == []
