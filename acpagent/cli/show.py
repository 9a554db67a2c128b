"""A turn on a terminal: streamed text, a line for each tool call, diffs, the plan, questions."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol

from acpagent.cli.diff import unified
from acpagent.cli.openlines import OpenLines
from acpagent.cli.spoken import say
from acpagent.cli.terminal import Terminal, columns, fitted
from acpagent.client.permission import Option, PermissionRequest
from acpagent.client.questions import QuestionRequest
from acpagent.client.updates import MessageChunk, PlanUpdate, ToolUpdate, Update, dicts_of
from acpagent.core.bounds import clean, one_line, visible

DIFF_LINES = 60
OUTPUT_LINES = 16

_FINAL = ("completed", "failed")
_SIGNS = {
    "pending": ("·", "dim"),
    "in_progress": ("…", "cyan"),
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
}
_DIFF_STYLES = {"@": "cyan", "-": "red", "+": "green", " ": "dim"}
_BOXES = {"pending": ("[ ]", None), "in_progress": ("[>]", "bold"), "completed": ("[x]", "dim")}
_LINE_SECONDS = 0.2
_BLOCK_SECONDS = 0.5

# How a turn can end, where that is not simply its end; `stop_NAME` says it.
_STOPS = frozenset({"cancelled", "max_tokens", "max_turn_requests", "refusal"})


class Call:
    """A tool call as far as it was reported."""

    __slots__ = ("content", "diffs_shown", "id", "kind", "raw_output", "status", "title")

    def __init__(self, id: str) -> None:
        self.id = id
        self.title = say("show_tool_call")
        self.kind = "other"
        self.status = "pending"
        self.content: list[dict[str, Any]] = []
        self.raw_output: dict[str, Any] = {}
        self.diffs_shown = False

    def learn(self, update: ToolUpdate) -> None:
        self.title = one_line(update.title or self.title, 200)
        self.kind = update.tool_kind or self.kind
        self.status = update.status or self.status
        self.content = update.content or self.content
        output = update.raw.get("rawOutput")
        self.raw_output = output if isinstance(output, dict) else self.raw_output

    @property
    def diffs(self) -> list[dict[str, Any]]:
        return [item for item in self.content if item.get("type") == "diff"]

    @property
    def lines(self) -> list[str]:
        """The lines of the text in its content."""
        blocks = [item.get("content") for item in self.content if item.get("type") == "content"]
        texts = [block.get("text") for block in blocks if isinstance(block, dict)]
        return clean("\n".join(text for text in texts if isinstance(text, str))).rstrip().split("\n")


class View(Protocol):
    """What a turn is shown to; `calls` are the tool calls that it has seen."""

    terminal: Terminal
    calls: dict[str, Call]

    def show(self, update: Update) -> None: ...
    def question(self, request: PermissionRequest, terminal: Terminal) -> None: ...
    def answered(self, option: Option | None, terminal: Terminal, by: str = "") -> None: ...
    def refused(self, request: PermissionRequest) -> None: ...
    def form(self, request: QuestionRequest, terminal: Terminal) -> None: ...
    def declined(self, request: QuestionRequest) -> None: ...
    def remark(self, text: str, style: str = "dim") -> None: ...
    def end(self, stop: str = "end_turn") -> None: ...


class TurnView:
    """Shows the updates of a prompt as they come. `calls` holds the tool calls shown so far, oldest first.

    On a live terminal the lines of calls that run stay open and are written over as the calls go on.
    """

    def __init__(self, terminal: Terminal, cwd: str) -> None:
        self.terminal = terminal
        self.calls: dict[str, Call] = {}
        self._cwd = cwd
        self._block = ""
        self._open = OpenLines(terminal)
        self._message: tuple[str, str | None] | None = None
        self._table: dict[type[Update], Callable[[Any], None]] = {
            MessageChunk: self._chunk,
            ToolUpdate: self._tool,
            PlanUpdate: self._plan,
        }

    def show(self, update: Update) -> None:
        """Show an update; kinds that mean nothing on a terminal show nothing."""
        function = self._table.get(type(update))
        if function is not None:
            function(update)

    def prompt(self, text: str) -> None:
        """What the person asks."""
        self._begin("prompt")
        self.terminal.line(f"{self.terminal.sign('›')} {clean(text).strip()}", "bold")

    def question(self, request: PermissionRequest, terminal: Terminal) -> None:
        """What the agent wants to do, and the answers on offer by number."""
        width = terminal.width
        self._ask(str(request.tool_call.get("toolCallId")), request.title, terminal)
        for line in ToolUpdate(request.tool_call).text.split("\n"):  # what title and diff do not say
            if line:
                terminal.line(f"    {visible(line)}", "dim")
        for number, option in enumerate(request.options, 1):
            terminal.line(fitted(f"    {number}  {one_line(option.name, 200)}", width))

    def answered(self, option: Option | None, terminal: Terminal, by: str = "") -> None:
        """Which answer was given."""
        name = one_line(option.name, 200) if option else "Reject"
        terminal.line(f"  {terminal.sign('→')} {name}{by}", "yellow")

    def refused(self, request: PermissionRequest) -> None:
        """A question that nobody was asked."""
        self._begin("tool")
        self.terminal.line(say("show_refused", title=one_line(request.title, 200)), "yellow")

    def form(self, request: QuestionRequest, terminal: Terminal) -> None:
        """What the agent wants to know."""
        self._ask(request.tool_call_id or "", request.message, terminal)

    def declined(self, request: QuestionRequest) -> None:
        """A form that nobody was shown."""
        self._begin("tool")
        about = one_line(request.message, 200)
        self.terminal.line(say("show_declined", title=about), "yellow")

    def _ask(self, call_id: str, question: str, terminal: Terminal) -> None:
        """A question, in the place of the line of the call that asks."""
        width, title = terminal.width, f"? {one_line(question, 200)}"
        if terminal is self.terminal and call_id in self._open and len(self._open) == 1:
            self._open.settle(call_id, terminal.paint(fitted(title, width), "yellow"))
        else:
            self._begin("tool")
            terminal.line(fitted(title, width), "yellow")
        if columns(title) > width:  # nobody should allow what they cannot see
            terminal.line(f"    {one_line(question, 2000)}", "dim")

    def remark(self, text: str, style: str = "dim") -> None:
        """Something that the command says itself."""
        self._begin("remark")
        self.terminal.say(text, style)
        self.terminal.line()

    def end(self, stop: str = "end_turn") -> None:
        """End what is being shown, and say why the turn stopped if that was before its end."""
        self._close_line()
        self.terminal.gap(0)
        if stop != "end_turn":
            self.remark(say(f"stop_{stop}") if stop in _STOPS else say("show_stopped", stop=stop), "yellow")

    # -- messages

    def _chunk(self, update: MessageChunk) -> None:
        text = clean(update.text)
        if update.role == "user" or not text:
            return
        style = "dim" if update.role == "thought" else None
        if self._message != (update.role, update.message_id):
            text = text.lstrip("\n")
            if not text.strip():
                return
            self._begin("text", (update.role, update.message_id))
            if style and not self.terminal.live:
                self.terminal.write(say("show_thought"))
        self.terminal.say(text, style)

    # -- tool calls

    def _tool(self, update: ToolUpdate) -> None:
        call = self.calls.setdefault(update.id, Call(update.id))
        shown = call.status in _FINAL and update.status is None
        call.learn(update)
        if shown:
            return  # what is told of a call that is over is for programs
        if call.kind == "think" and call.status != "failed":
            return  # what it brings is the plan, which is shown by itself
        if call.status in _FINAL:
            self._end(call)
        elif call.diffs and not call.diffs_shown:
            self._begin("tool")
            self.terminal.line(self._title(call))
            self._diffs(call)
        elif self.terminal.live:
            if not self._open:
                self._begin("tool")
            last = call.lines[-1].strip() if call.status == "in_progress" else ""
            self._open.put(call.id, self._title(call, last))

    def _end(self, call: Call) -> None:
        tells_more = call.kind == "execute" or call.status == "failed" or (call.diffs and not call.diffs_shown)
        if call.id in self._open and (len(self._open) == 1 or not tells_more):
            self._open.settle(call.id, self._title(call))
        else:
            self._begin("tool")
            self.terminal.line(self._title(call))
        if call.diffs and not call.diffs_shown:
            self._diffs(call)
        if call.kind == "execute" or call.status == "failed":
            self._output(call)
        self.terminal.pause(_LINE_SECONDS)

    def _title(self, call: Call, last: str = "") -> str:
        sign, style = _SIGNS.get(call.status, _SIGNS["pending"])
        width = self.terminal.width - 2
        title = fitted(call.title, width) if self.terminal.live else call.title
        if last:
            room = width - len(title) - 2
            last = f"  {fitted(last, room)}" if room > 10 else ""
        sign = self.terminal.paint(self.terminal.sign(sign), style)
        return f"{sign} {title}{self.terminal.paint(last, 'dim')}"

    def _diffs(self, call: Call) -> None:
        """What the call changes, told once: it is in every later report too."""
        call.diffs_shown = True
        for diff in call.diffs:
            old, new = diff.get("oldText"), diff.get("newText")
            lines = unified(old if isinstance(old, str) else None, new if isinstance(new, str) else "")
            if len(call.diffs) > 1:
                self.terminal.line(f"    {self._relative(str(diff.get('path', '')))}", "bold")
            for kind, text in lines[:DIFF_LINES]:
                shown = text if kind == "@" else f"{kind}{text}"
                self.terminal.line(self._cut(f"    {shown}"), _DIFF_STYLES[kind])
            if len(lines) > DIFF_LINES:
                self.terminal.line(f"    ({say('show_more', count=len(lines) - DIFF_LINES)})", "dim")
        self.terminal.pause(_BLOCK_SECONDS)

    def _output(self, call: Call) -> None:
        lines = call.lines
        bar = self.terminal.sign("│")
        if len(lines) > OUTPUT_LINES:
            self.terminal.line(f"  {bar} ({say('show_before', count=len(lines) - OUTPUT_LINES + 1)})", "dim")
            lines = lines[1 - OUTPUT_LINES :]
        for line in lines:
            if line or len(lines) > 1:
                self.terminal.line(self._cut(f"  {bar} {line}".rstrip()), "dim")

    # -- the plan

    def _plan(self, update: PlanUpdate) -> None:
        self._begin("plan")
        for entry in dicts_of(update.raw, "entries"):
            box, style = _BOXES.get(str(entry.get("status")), _BOXES["pending"])
            self.terminal.line(self._cut(f"  {box} {one_line(str(entry.get('content', '')), 200)}"), style)
        self.terminal.pause(_BLOCK_SECONDS)

    # -- lines and blocks

    def _begin(self, block: str, message: tuple[str, str | None] | None = None) -> None:
        """Start a line of a kind of block; an empty line parts it from another kind, or another message."""
        self._close_line()
        self.terminal.gap(0 if block == self._block and message is None else 1)
        self._block, self._message = block, message

    def _close_line(self) -> None:
        self.terminal.finish()
        self._open.close()
        self._message = None

    def _cut(self, line: str) -> str:
        line = line.expandtabs(4)
        return fitted(line, self.terminal.width) if self.terminal.live else line

    def _relative(self, path: str) -> str:
        return one_line(os.path.relpath(path, self._cwd) if path.startswith(self._cwd + "/") else path, 200)
