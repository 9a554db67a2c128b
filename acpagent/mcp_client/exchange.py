"""One request to a server, seen from the thread that waits for it."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextvars import ContextVar
from typing import Any, TypeVar

from acpagent.core.catalogue import Phrase
from acpagent.core.forms import Answer, Form
from acpagent.core.process import Sink
from acpagent.core.scope import Scope
from acpagent.mcp_client import loop
from acpagent.mcp_client.faults import ServerFault

T = TypeVar("T")
WAITING_LINES = 1000  # of progress, that nobody has taken; more are dropped

# The exchange that a task on the loop belongs to: what a server asks while it works on one is asked there.
current: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


class Exchange:
    """Made and run by one thread, which alone touches what it was given: `live` gets progress, `question` asks the
    person and may take as long as they do, which does not count as the server's time.

    What comes from the loop's thread goes through a queue, so that that thread waits for nobody.
    """

    def __init__(
        self, scope: Scope, live: Sink | None = None, question: Callable[[Form], Answer] | None = None
    ) -> None:
        self._scope = scope
        self._live = live
        self._question = question
        self._inbox: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        # The loop's:
        self._timer: asyncio.Timeout | None = None
        self._asked: set[asyncio.Future[Answer]] = set()
        self._over = False

    @property
    def can_ask(self) -> bool:
        return self._question is not None

    def run(self, work: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
        """Have the loop do `work`, for so many seconds at most, and wait. Raises `ServerFault`, and `Cancelled` as soon
        as the scope is; the work is cancelled then, too."""
        self._scope.check()
        future = loop.submit(lambda: self._limited(work, seconds))
        future.add_done_callback(lambda _: self._inbox.put(None))
        try:
            forget = self._scope.add_closer(lambda: _cancel(future))
        except BaseException:
            future.cancel()
            raise
        try:
            while (news := self._inbox.get()) is not None:
                news()
        except BaseException:
            future.cancel()
            raise
        finally:
            forget()
        self._scope.check()
        return self._result(future)

    def progress(self, line: str) -> None:
        """On the loop: something to show meanwhile."""
        live = self._live
        if live is not None and self._inbox.qsize() < WAITING_LINES:
            data = f"{line}\n".encode("utf-8", "replace")
            self._inbox.put(lambda: live.write(data))

    async def ask(self, form: Form) -> Answer:
        """On the loop: ask the person. The clock of the exchange stands still meanwhile."""
        question, here = self._question, asyncio.get_running_loop()
        if question is None or self._over:
            return Answer("nobody", reason="nobody can be asked")
        answered: asyncio.Future[Answer] = here.create_future()
        self._asked.add(answered)

        def put() -> None:
            answer = question(form)
            here.call_soon_threadsafe(_settle, answered, answer)

        timer, left = self._timer, 0.0
        if timer is not None and (at := timer.when()) is not None:
            left = at - here.time()
            timer.reschedule(None)
        self._inbox.put(put)
        try:
            return await answered
        finally:
            self._asked.discard(answered)
            if timer is not None and left and not timer.expired():
                timer.reschedule(here.time() + left)

    async def _limited(self, work: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
        current.set(self)
        try:
            async with asyncio.timeout(seconds) as self._timer:
                return await work()
        except TimeoutError:
            raise ServerFault(Phrase("server_no_answer", seconds=f"{seconds:g}")) from None
        finally:
            self._timer, self._over = None, True
            for answered in tuple(self._asked):  # the server may go on asking for a call that is over
                _settle(answered, Answer("cancel"))

    def _result(self, future: Future[T]) -> T:
        try:
            return future.result()
        except CancelledError:
            raise ServerFault(Phrase("server_closed")) from None


def _cancel(future: Future[Any]) -> None:
    future.cancel()


def _settle(answered: asyncio.Future[Answer], answer: Answer) -> None:
    if not answered.done():
        answered.set_result(answer)
