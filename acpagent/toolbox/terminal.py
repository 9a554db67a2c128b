"""A command in a terminal of the person's editor: watched to its end, and told as if it had run here."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from acpagent.core import bounds, process
from acpagent.core.bounds import Excerpt
from acpagent.core.host import Exit, HostTerminal, InDoubt
from acpagent.core.live import LiveOutput
from acpagent.core.process import Result
from acpagent.core.scope import Cancelled
from acpagent.core.toolcalls import TerminalRef, ToolContext, ToolRefusal

OUTPUT_BYTES = 1 << 20  # what the editor keeps, so that of a long output the beginning can be told as well
SIGNAL_CHARACTERS = 40
# In a terminal, unlike here, a pager would wait for a person.
_ENVIRONMENT = {"PAGER": "cat", "GIT_PAGER": "cat"}
_UNKNOWN: Exit = (None, None)
_MARK_BYTES = 80


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a command. `result` is None where it was cancelled; `problem` says what is not known of it, and
    makes it a failure."""

    result: Result | None
    output: Excerpt
    truncated: bool
    terminal: TerminalRef | None = None
    problem: str = ""

    @property
    def ending_known(self) -> bool:
        """Whether there is more to say of its end than that it came."""
        result = self.result
        return result is None or result.timed_out or (result.exit_code, result.signal) != _UNKNOWN


def run(argv: Sequence[str], seconds: float, output_bytes: int, ctx: ToolContext) -> Ran | None:
    """Run a command in the editor; None where that opens no terminal, so that nothing was run (TERM-13). Every terminal
    that is opened is released before this returns (TERM-02). Raises `ToolRefusal`, `Cancelled`."""
    assert ctx.shell is not None
    ctx.scope.check()
    try:
        terminal = ctx.shell.start(argv, ctx.roots.cwd, _environment(ctx), OUTPUT_BYTES, ctx.scope)
    except InDoubt as doubt:  # it may run by now: another run would be one too many
        raise ToolRefusal(f"It is not known whether the command was run: {doubt}.") from None
    except OSError:
        return None
    watch = _Watch(terminal, seconds, output_bytes, ctx)
    try:
        return watch.to_the_end()
    finally:
        if not watch.ended:
            terminal.kill()  # CAN-21
        terminal.release()


class _Watch:
    """Watches one terminal. `ended`: nothing of the command is left to be killed, or it was killed already."""

    def __init__(self, terminal: HostTerminal, seconds: float, output_bytes: int, ctx: ToolContext) -> None:
        self.ended = False
        self._terminal = terminal
        self._seconds = seconds
        self._output_bytes = output_bytes
        self._ctx = ctx
        self._started = time.monotonic()

    def to_the_end(self) -> Ran:
        try:
            self._ctx.show((TerminalRef(self._terminal.id),))  # before the release (TERM-08)
            found = self._terminal.wait(self._ctx.scope, self._seconds)
        except Cancelled:
            return self._told(None)
        except OSError as error:
            return self._told(self._result(_UNKNOWN), problem=f"the editor lost sight of it: {_words(error)}")
        if found is None:
            self._terminal.kill()  # TERM-11
        self.ended = True
        return self._with_output(found)

    def _with_output(self, found: Exit | None) -> Ran:
        try:
            text, cut, status = self._terminal.output(self._ctx.scope)
        except Cancelled:
            return self._told(None)
        except OSError as error:
            return self._told(self._result(found), problem=f"its output is not known: {_words(error)}")
        ran = self._told(self._result(found, status), text, cut)
        return ran if ran.ending_known else replace(ran, problem="the editor did not say how it ended")

    def _result(self, found: Exit | None, status: Exit | None = None) -> Result:
        """`found` None means that its time was up."""
        code, signal = status if status is not None and found in (None, _UNKNOWN) else found or _UNKNOWN
        signal = bounds.one_line(signal, SIGNAL_CHARACTERS) if signal else None
        return Result(code, signal, found is None, time.monotonic() - self._started)

    def _told(self, result: Result | None, text: str = "", cut: bool = False, problem: str = "") -> Ran:
        data = text.encode("utf-8", "replace")
        output = LiveOutput(limit=self._ctx.live.limit)
        output.write(data)
        excerpt = output.excerpt(max(self._output_bytes - _MARK_BYTES, 0) if cut else self._output_bytes)
        if cut:
            mark = f"[the terminal kept the last {len(data)} bytes of more]"
            excerpt = Excerpt(f"{mark}\n{excerpt.text}", excerpt.left_out)
        return Ran(result, excerpt, cut or excerpt.left_out > 0, TerminalRef(self._terminal.id), problem)


def _environment(ctx: ToolContext) -> dict[str, str]:
    """Added to what the editor gives its terminals, which may well have our secrets, too."""
    hidden = {name: "" for name in sorted(ctx.hidden_env) if name in os.environ}
    return {**_ENVIRONMENT, process.MARK: str(os.getpid()), **hidden}


def _words(error: OSError) -> str:
    return error.strerror or str(error)
