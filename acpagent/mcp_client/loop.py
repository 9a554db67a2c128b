"""The one event loop there is: the MCP package needs it, everybody else talks to it from threads of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from acpagent.core import diagnostics

T = TypeVar("T")
NAME = "acpagent-mcp"

# Owner: this module. The loop, once there is one; `_lock`, a leaf, guards that there is only one.
_loop: asyncio.AbstractEventLoop | None = None
_lock = threading.Lock()


def submit(work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
    """Run a coroutine on the loop's thread, which is started by the first. Cancelling the future cancels it there,
    without waiting. Raises RuntimeError where no thread can be started."""
    return asyncio.run_coroutine_threadsafe(work(), _running())


def call_soon(work: Callable[[], object]) -> None:
    """Have the loop's thread call something that does not block. From any thread."""
    _running().call_soon_threadsafe(work)


async def in_thread(work: Callable[[], T]) -> T:
    """On the loop: wait for what blocks and never raises, on a thread that ends with it. A pool of threads would stay,
    and keep the process. Raises RuntimeError where no thread can be started."""
    here = asyncio.get_running_loop()
    done: asyncio.Future[T] = here.create_future()

    def settle(result: T) -> None:
        if not done.done():  # nobody may wait for it any more
            done.set_result(result)

    def run() -> None:
        result = work()
        here.call_soon_threadsafe(settle, result)

    threading.Thread(target=run, name=f"{NAME}-wait", daemon=True).start()
    return await done


def _running() -> asyncio.AbstractEventLoop:
    global _loop
    with _lock:
        if _loop is None:
            made = asyncio.new_event_loop()
            made.set_exception_handler(_report)
            # A daemon: nothing on this loop may keep the process from ending.
            threading.Thread(target=made.run_forever, name=NAME, daemon=True).start()
            _loop = made
        return _loop


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What nobody waited for. The loop's own report would quote it."""
    error = context.get("exception")
    if isinstance(error, BaseException):
        diagnostics.report(NAME, "the event loop", error)
