"""The tool runner: each call of a model reply through prepare, gate, question, apply, and its final snapshot."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from acpagent.core import bounds
from acpagent.core.blocks import Text
from acpagent.core.bounds import one_line
from acpagent.core.catalogue import Phrase
from acpagent.core.events import Event, Notice, PlanChanged, ToolChanged
from acpagent.core.faults import Fault
from acpagent.core.forms import Answer, Form
from acpagent.core.history import CallMade, CallSettled, Entry, PlanSet
from acpagent.core.host import Host
from acpagent.core.live import LiveOutput
from acpagent.core.model import ModelCall
from acpagent.core.phrases import told
from acpagent.core.scope import Cancelled, Scope
from acpagent.core.toolcalls import (
    Content,
    Effect,
    EffectKind,
    Proposal,
    Tool,
    ToolCall,
    ToolContext,
    ToolRefusal,
    ToolResult,
    moved,
)
from acpagent.runtime.evidence.contents import Changes
from acpagent.runtime.evidence.watch import Watch, Watched, with_changes
from acpagent.runtime.turn.hiding import without_secrets
from acpagent.runtime.turn.hooking import TurnHooks
from acpagent.runtime.turn.interception import Interception
from acpagent.runtime.turn.keeping import Kept
from acpagent.runtime.turn.permitting import BARRED, Gate, Permitting, Stricter, Verdict
from acpagent.runtime.turn.speaker import new_id

# Snapshots of live output per second: content replaces, so that forwarding every line would be quadratic (TOOL-07).
SNAPSHOT_SECONDS = 0.1
# How long a cancelled call may take to unwind before it is left behind.
UNWIND_SECONDS = 2.0
PARALLEL_CALLS = 8
READ_TOOL = "read_file"
TITLE_CHARACTERS = 120


@dataclass(slots=True)
class Desk:
    """What a runner needs of its session and turn, made once per turn. `objection` says why a call that may run has to
    wait all the same; `wait_for_store` waits until what is known of it is stored; `watch` looks before and after each
    call, and `changed` is told what it changed; `hide` takes out of what calls bring what nobody but acpagent is to
    know; `look_at_jobs` finds what jobs of the turn have changed by now."""

    turn_id: str
    scope: Scope
    host: Host
    gate: Gate
    find_tool: Callable[[str], Tool | None]
    tools: Collection[str]
    make_context: Callable[[Scope, LiveOutput], ToolContext]
    record: Callable[[Entry], None]
    emit: Callable[[Event], None]
    tell: Callable[[Notice], None]
    allow_everything: Callable[[], None]
    check_store: Callable[[], None] = lambda: None
    wait_for_store: Callable[[], None] = lambda: None
    objection: Callable[[str, Proposal], str | None] = lambda tool_name, proposal: None
    hooks: TurnHooks = field(default_factory=TurnHooks)
    watch: Watch | None = None
    changed: Callable[[str, Changes], None] = lambda call_id, changes: None
    plugins: Interception = field(default_factory=Interception)
    keep_files: Callable[[Proposal, ToolContext], Kept] | None = None
    hide: Callable[[str], str] = lambda text: text
    look_at_jobs: Callable[[], None] = lambda: None


@dataclass(eq=False, slots=True)
class Running:
    """One call while it is worked on. `result` and `dirty` are handed over under the turn's lock. `closed`: the person
    closed its question, which ends the turn once the call is settled. `asked`: the person allowed it. `beside` is what
    hooks say, for the model alone."""

    call: ToolCall
    made: CallMade
    tool: Tool | None = None
    proposal: Proposal | None = None
    context: ToolContext | None = None
    started: float = field(default_factory=time.monotonic)
    result: ToolResult | None = None
    dirty: bool = False
    to_show: tuple[Content, ...] | None = None
    sent_at: float = 0.0
    closed: bool = False
    asked: bool = False
    watched: Watched | None = None
    changes: Changes | None = None
    kept: Kept | None = None
    beside: list[str] = field(default_factory=list)


class ToolRunner:
    """Runs on the session worker; only `apply` is on helper threads, which hand their result to the turn."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._open: list[Running] = []
        self._unannounced: list[CallMade] = []
        self._permitting = Permitting(
            desk.turn_id, desk.scope, desk.host, desk.gate, desk.record, desk.tell, desk.allow_everything
        )

    def run(self, calls: Sequence[ModelCall], round_number: int) -> None:
        """Settle every call of a reply, in order; neighbours that only read run side by side.

        Whatever is raised, `Cancelled` or a `Fault`, every call is settled first (CAN-05, TOOL-06).
        """
        desk = self._desk
        made = [
            CallMade(desk.turn_id, new_id("call"), call.provider_id, call.name, call.arguments, round_number)
            for call in calls
        ]
        for entry in made:
            desk.record(entry)
        self._unannounced = list(made)
        try:
            for batch in self._batches(made):
                desk.check_store()
                self._run_batch(batch)
        except BaseException:
            self._unwind()
            raise

    def _batches(self, made: Sequence[CallMade]) -> list[list[CallMade]]:
        batches: list[list[CallMade]] = []
        previous_reads = False
        for entry in made:
            tool = self._desk.find_tool(entry.name)
            reads = tool is not None and tool.reads_only
            if reads and previous_reads and len(batches[-1]) < PARALLEL_CALLS:
                batches[-1].append(entry)
            else:
                batches.append([entry])
            previous_reads = reads
        return batches

    def _run_batch(self, batch: Sequence[CallMade]) -> None:
        for made in batch:
            self._desk.scope.check()
            running = self._announce(made)
            if running.proposal is not None and self._permitted(running) and self._unhindered(running):
                self._start(running)
        self._wait()

    def _announce(self, made: CallMade) -> Running:
        """Tell the person of the call before anything runs (TOOL-01), with what it would do."""
        arguments, problem = parse_arguments(made.arguments)
        running = self._present(made, arguments)
        if running.tool is None:
            problem = (
                f"There is no tool named {one_line(made.name, 80)!r}. The tools are: {', '.join(self._desk.tools)}."
            )
        if problem is None:
            arguments, problem = self._desk.plugins.before_call(made.name, arguments)
            running.call = replace(running.call, raw_input=arguments)
        if problem is None:
            problem = self._prepare(running, arguments)
        self._emit(running)
        if problem is not None:
            self._settle(running, ToolResult(problem, failed=True))
        return running

    def _present(self, made: CallMade, arguments: Any) -> Running:
        """The call as one that is worked on, and that must be settled."""
        tool = self._desk.find_tool(made.name)
        kind = tool.kind if tool is not None else "other"
        call = ToolCall(made.call_id, made.name, made.name or Phrase("title_unknown"), kind, "pending", arguments)
        running = Running(call, made, tool)
        live = LiveOutput(lambda: self._mark_dirty(running))
        running.context = self._desk.make_context(self._desk.scope, live)
        running.context.show = lambda content: self._show(running, content)
        running.context.veto = lambda path: self._veto(running, path)
        running.context.judge = lambda effect: self._judge(running, effect).action
        running.context.question = lambda form: self._question(running, form)
        self._unannounced.remove(made)
        self._open.append(running)
        return running

    def _prepare(self, running: Running, arguments: Mapping[str, Any]) -> str | None:
        assert running.tool is not None
        assert running.context is not None
        try:
            proposal = running.tool.prepare(arguments, running.context)
        except ToolRefusal as refusal:
            return self._tellable(running.context, told(refusal))
        except Cancelled:
            raise
        except Exception as error:
            return _broke(running.tool.name, error)
        running.proposal = proposal
        running.call = replace(
            running.call,
            title=proposal.title,
            kind=proposal.kind,
            locations=proposal.locations,
            content=_shown(proposal),
            facts=dict(proposal.facts),
        )
        return None

    def _veto(self, running: Running, path: str) -> None:
        """What a rule forbids is not even looked at while a call is prepared, through the editor least of all."""
        kind: EffectKind = "read" if running.tool is not None and running.tool.reads_only else "write"
        verdict = self._judge(running, Effect(kind, path))
        if verdict.action == "deny":
            assert running.context is not None
            denied = self._permitting.denied(running.call, path, verdict)
            title = bounds.one_line(f"{running.made.name} {running.context.roots.relative(path)}", TITLE_CHARACTERS)
            running.call = replace(running.call, title=title, facts=denied.facts)
            raise ToolRefusal(denied.text)

    def _judge(self, running: Running, effect: Effect) -> Verdict:
        return self._desk.gate.judge(running.made.name, Proposal("", "other", (effect,)))

    def _tellable(self, context: ToolContext, refusal: str) -> str:
        """Why a call cannot be prepared says what is in a file: only what may be read without a question is told."""
        for path in context.seen:
            verdict = self._desk.gate.judge(READ_TOOL, Proposal("", "read", (Effect("read", path),)))
            if verdict.action != "allow":
                return f"The call does not fit what is in {path}, which may not be told without asking. Read it first."
        return refusal

    def _permitted(self, running: Running) -> bool:
        """Ask the gate, and the person if it says so."""
        assert running.proposal is not None
        assert running.context is not None
        verdict = self._desk.gate.judge(running.made.name, running.proposal)
        objection = None if verdict.action == "deny" else self._desk.objection(running.made.name, running.proposal)
        if objection is not None:
            self._settle(running, ToolResult(objection, failed=True))
            return False
        verdict = self._desk.plugins.judged(running.call, verdict)
        if verdict.action == "allow":
            return True
        subject = running.proposal.subject or running.proposal.title
        refusal: ToolResult | None
        if verdict.action == "deny":
            refusal = self._permitting.denied(running.call, subject, verdict)
        else:
            refusal = self._asked(running, verdict)
        if refusal is not None:
            self._settle(running, refusal)
        return refusal is None

    def _asked(self, running: Running, verdict: Verdict) -> ToolResult | None:
        """Put a call to the person, unless a hook refuses it."""
        assert running.proposal is not None
        assert running.context is not None
        self._wait()  # an answer may take minutes: nothing runs meanwhile, or looks as if it did
        subject = running.proposal.subject or running.proposal.title
        reason = self._desk.hooks.before_question(running.call)
        if reason is not None:
            return self._permitting.stopped(running.call, subject, reason)
        running.asked = True
        before = self._desk.gate.judge(running.made.name, running.proposal)
        refusal = self._permitting.ask(running.call, subject, verdict, running.context.roots.cwd)
        if refusal is not None:
            return refusal
        after = self._desk.gate.judge(running.made.name, running.proposal)
        return self._permitting.overtaken(running.call, subject, before, after)

    def _unhindered(self, running: Running) -> bool:
        """Ask the hooks about a call that is allowed: they can refuse it, or have the person asked."""
        assert running.proposal is not None
        answer = self._desk.hooks.before_call(running.call)
        refusal: ToolResult | None = None
        if answer.context:
            running.beside.append(answer.context)
        if answer.refusal is not None:
            subject = running.proposal.subject or running.proposal.title
            refusal = self._permitting.stopped(running.call, subject, answer.refusal)
        elif answer.question is not None and not running.asked:
            verdict = self._desk.gate.judge(running.made.name, running.proposal)
            refusal = self._asked(running, Stricter(answer.question, verdict.argv))
        if refusal is not None:
            self._settle(running, refusal)
        return refusal is None

    def _start(self, running: Running) -> None:
        running.call = moved(running.call, "in_progress")
        running.started = time.monotonic()
        self._emit(running)
        self._desk.plugins.tell("tool.start", tool=running.made.name, callId=running.call.id)
        threading.Thread(
            target=self._apply, args=(running,), name=f"acpagent-tool-{running.made.name}", daemon=True
        ).start()

    def _apply(self, running: Running) -> None:
        """Body of a tool helper thread."""
        try:
            result = self._acted(running)
        except Exception as error:  # our own mistake: nobody must wait for this call for ever
            result = ToolResult(_broke(running.made.name, error), failed=True)
        with self._desk.scope.lock:
            running.result = result
            self._desk.scope.changed.notify_all()

    def _acted(self, running: Running) -> ToolResult:
        assert running.tool is not None
        assert running.proposal is not None
        assert running.context is not None
        try:
            barred = self._desk.gate.barred(running.tool, running.proposal)  # the mode may have changed since
        except Exception as error:
            return ToolResult(_broke(running.made.name, error), failed=True)
        if barred:
            return ToolResult(barred, failed=True, facts={BARRED: True})
        if self._desk.watch is not None:
            through_editor = running.context.files is not None
            running.watched = self._desk.watch.begin(running.tool, running.proposal, through_editor)
            if running.watched is not None:  # however this process ends, what it began is on record
                try:
                    self._desk.wait_for_store()
                except Fault as fault:
                    return ToolResult(fault.message, failed=True)
        result = self._applied(running)
        if running.watched is None:
            return result
        running.changes = running.watched.end(result.failed)
        if self._desk.watch is not None and "job_id" in result.facts:
            self._desk.watch.follow(result.facts["job_id"], running.call.id, running.watched)
        return with_changes(result, running.changes)

    def _applied(self, running: Running) -> ToolResult:
        assert running.tool is not None
        assert running.proposal is not None
        assert running.context is not None
        try:
            if self._desk.keep_files is not None:
                running.kept = self._desk.keep_files(running.proposal, running.context)
            result = running.tool.apply(running.proposal, running.context)
        except ToolRefusal as refusal:
            result = ToolResult(told(refusal), failed=True)
        except Cancelled:
            return ToolResult(Phrase("call_cut_short"), failed=True)
        except Exception as error:
            result = ToolResult(_broke(running.made.name, error), failed=True)
        try:
            running.beside.append(self._desk.hooks.after_call(running.call, result))
            result = self._desk.plugins.after_call(running.call, result)
        except Cancelled:  # while hooks ran; what the call did is done
            pass
        return result

    def _question(self, running: Running, form: Form) -> Answer:
        """On a helper thread: ask the person, on the real call. Raises `Cancelled`."""
        answer = self._desk.host.question(replace(form, call=running.call), self._desk.scope)
        if answer.kind == "closed":
            running.closed = True
            raise Cancelled
        return answer

    def _show(self, running: Running, content: tuple[Content, ...]) -> None:
        """On a helper thread: hand content to the worker and wait until it was sent."""
        scope = self._desk.scope
        with scope.open():
            running.to_show = content
            scope.changed.notify_all()
        scope.wait_for(lambda: running.to_show is None)

    def _mark_dirty(self, running: Running) -> None:
        with self._desk.scope.lock:
            running.dirty = True
            self._desk.scope.changed.notify_all()

    def _wait(self) -> None:
        """Until everything that runs has ended and is settled."""
        scope = self._desk.scope
        waiting = [running for running in self._open if running.call.status == "in_progress"]
        while waiting:
            scope.wait_for(lambda: any(r.result or r.dirty or r.to_show for r in waiting), self._snapshot_due(waiting))
            for running in [r for r in waiting if r.result is not None]:
                waiting.remove(running)
                assert running.result is not None
                if BARRED in running.result.facts:
                    self._permitting.barred(running.call, running.call.title, running.result.text)
                self._settle(running, running.result)
                if running.closed:
                    raise Cancelled  # as for a permission closed unanswered (PERM-05)
            for running in waiting:
                self._show_content(running)
                self._show_live(running)
            self._desk.host.wait_room(scope)

    def _snapshot_due(self, waiting: Sequence[Running]) -> float | None:
        held_back = [r.sent_at for r in waiting if r.context is not None and r.context.live.dirty]
        return max(0.0, min(held_back) + SNAPSHOT_SECONDS - time.monotonic()) if held_back else None

    def _show_content(self, running: Running) -> None:
        with self._desk.scope.lock:
            if running.to_show is None:
                return
            running.call = replace(running.call, content=running.to_show)
            self._emit(running)
            running.to_show = None
            self._desk.scope.changed.notify_all()

    def _show_live(self, running: Running) -> None:
        with self._desk.scope.lock:
            running.dirty = False
        live = running.context.live if running.context else None
        if live is None or not live.dirty or time.monotonic() < running.sent_at + SNAPSHOT_SECONDS:
            return
        running.sent_at = time.monotonic()
        running.call = replace(running.call, content=(Text(self._desk.hide(live.snapshot())),))
        self._emit(running)

    def _settle(self, running: Running, result: ToolResult) -> None:
        """The final snapshot: to the person, and to the journal with what the model reads."""
        result = without_secrets(result, self._desk.hide)
        if running.watched is not None:
            self._desk.changed(running.call.id, running.changes or Changes(complete=False))
        elif "job_id" in result.facts:
            self._desk.look_at_jobs()
        took = round((time.monotonic() - running.started) * 1000)
        proposal, facts = running.proposal, {**running.call.facts, **result.facts, "duration_ms": took}
        content = result.content or ((proposal.diff,) if proposal and proposal.diff and not result.failed else ())
        if not content or result.failed:
            content = (*content, Text(result.text)) if result.text else content
        running.call = moved(
            running.call,
            "failed" if result.failed else "completed",
            title=result.title or running.call.title,
            content=content,
            locations=running.call.locations if result.locations is None else result.locations,
            raw_output=dict(result.raw) or {"text": result.text[:2000]},
            facts=facts,
        )
        self._open.remove(running)
        self._desk.plugins.tell(
            "tool.end", tool=running.made.name, callId=running.call.id, failed=result.failed, text=result.text
        )
        for entry in running.kept.changed(running.changes) if running.kept is not None else ():
            self._desk.record(entry)
        beside = (self._desk.hide(part) for part in running.beside)
        heard = "\n\n".join(part for part in (result.text, *beside) if part)
        self._desk.record(CallSettled(self._desk.turn_id, running.call, heard))
        self._emit(running)
        self._desk.hooks.tell_unheard()
        if result.plan is not None:
            self._desk.record(PlanSet(self._desk.turn_id, result.plan))
            self._desk.emit(PlanChanged(result.plan))

    def _unwind(self) -> None:
        """Give what runs a moment to stop, then settle every open call. A call that did finish counts as it ended."""
        scope = self._desk.scope
        left = list(self._open)
        deadline = time.monotonic() + UNWIND_SECONDS
        with scope.lock:
            while any(r.call.status == "in_progress" and r.result is None for r in left):
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    break
                scope.changed.wait(remaining)
        for running in left:
            result = running.result or ToolResult(Phrase("call_cut_short"), failed=True)
            self._settle(running, result)
        for made in list(self._unannounced):
            running = self._present(made, parse_arguments(made.arguments)[0])
            self._settle(running, ToolResult(Phrase("call_not_started"), failed=True))

    def _emit(self, running: Running) -> None:
        self._desk.emit(ToolChanged(running.call))


def _shown(proposal: Proposal) -> tuple[Content, ...]:
    """What the person sees of a proposal."""
    diff = (proposal.diff,) if proposal.diff else ()
    return (*diff, Text(proposal.note)) if proposal.note else diff


def _broke(tool: str, error: Exception) -> str:
    """What the model is told of a tool that failed in a way it did not foresee: the turn goes on (TOOL-13)."""
    if isinstance(error, OSError):
        return f"{tool} failed: {error.strerror or error}"
    return f"{tool} broke: {type(error).__name__}: {error}"


def parse_arguments(text: str) -> tuple[Any, str | None]:
    """The arguments as an object, or what is wrong with them. No text at all means no arguments."""
    if not text.strip():
        return {}, None
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        return None, "The arguments are not valid JSON; send the call again with one JSON object."
    if not isinstance(arguments, dict):
        return arguments, "The arguments must be one JSON object."
    return arguments, None
