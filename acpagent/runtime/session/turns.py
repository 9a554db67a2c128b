"""Running a turn: everything around the loop, from the journal's first entry to the committed last one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from acpagent.core import memory
from acpagent.core.blocks import Block, Text, first_text
from acpagent.core.catalogue import Phrase, spoken
from acpagent.core.events import Chunk, Controls, Notice, TitleChanged, TurnEnded, TurnStarted
from acpagent.core.faults import Fault, OurFault
from acpagent.core.history import Entry, Said, Tombstone, TurnClosed, TurnOpened, UsageSet, UserSaid
from acpagent.core.host import Host
from acpagent.core.live import LiveOutput
from acpagent.core.phrases import told
from acpagent.core.repositories import repository_of
from acpagent.core.scope import Cancelled, Scope
from acpagent.core.toolcalls import ToolContext
from acpagent.extensions.hookrun import Place
from acpagent.runtime.evidence.contents import Changes
from acpagent.runtime.session import capsules
from acpagent.runtime.session.handoff import hand_off, look_at_jobs
from acpagent.runtime.session.keep import Keep
from acpagent.runtime.session.model_commands import CommandFault, Meant, Use
from acpagent.runtime.session.neighbours import Neighbours
from acpagent.runtime.session.opening import preface
from acpagent.runtime.session.services import CommandDesk, LocalAnswer, Services, Stats
from acpagent.runtime.session.upkeep import SessionUpkeep, compactor
from acpagent.runtime.session.works import Turn, TurnOutcome
from acpagent.runtime.turn import attached, keeping, mode
from acpagent.runtime.turn.delivery import Delivery
from acpagent.runtime.turn.followup import FollowUp
from acpagent.runtime.turn.hooking import Entered, TurnHooks
from acpagent.runtime.turn.hostcall import HostCalls
from acpagent.runtime.turn.interception import Interception
from acpagent.runtime.turn.loop import Ended, Steering, TurnLoop, tell_unused, words_of
from acpagent.runtime.turn.mode import Mode
from acpagent.runtime.turn.notifying import NotifyingHost
from acpagent.runtime.turn.plan import PlanApproval
from acpagent.runtime.turn.prompt import PromptReader
from acpagent.runtime.turn.pursuit import Bounds, Pursuit, Spent
from acpagent.runtime.turn.speaker import Speaker, new_id
from acpagent.runtime.turn.spending import Spending
from acpagent.runtime.turn.stop import STOPS, leaves_no_trace
from acpagent.runtime.turn.toolrun import Desk, ToolRunner
from acpagent.store import entries, sessions
from acpagent.toolbox import jobs, sources
from acpagent.toolbox.buffers import has_unsaved, unsaved
from acpagent.wire import codes

TITLE_LENGTH = 80
_STORE_SECONDS = 5.0  # that a call waits until it is on record


@dataclass(slots=True)
class TurnRunner:
    """Runs the turns of one session on its worker. `set_controls` changes mode or approval; `connect` asks for the
    tools of a source, False if the session has asked before; `reload` has everything found and read anew behind the
    turn; `requested`, `configure` and `neighbours` are for commands; `connected` are the sources that the turn asked
    for."""

    services: Services
    keep: Keep
    host: Host
    set_controls: Callable[[Mapping[str, str]], None]
    connect: Callable[[str], bool]
    reload: Callable[[], None]
    requested: Callable[[], Controls]
    configure: Callable[[str, str], None]
    neighbours: Neighbours
    connected: list[str] = field(default_factory=list)

    def run(self, turn: Turn) -> TurnOutcome:
        """The whole turn. Its last entry is committed before this returns, so before it is answered."""
        turn_id, blocks = new_id("turn"), turn.request.blocks
        self.host.emit(TurnStarted(turn_id))
        local = self.services.commands.find(blocks, self.keep.loadout.commands.find(blocks) is not None)
        named = self._note_prompt("" if local else _title(blocks))
        self.keep.record(TurnOpened(turn_id))
        self._plugins(turn).tell("turn.start", turn=turn_id)
        ended, closed = self._answer(turn_id, blocks, local, turn) if local else self._converse(turn_id, turn)
        fault = self._finish(turn_id, ended, closed, local is not None)
        if named:
            self.host.emit(TitleChanged(self.keep.row.title, self.keep.row.updated_at))
        self._plugins(turn).tell("turn.end", turn=turn_id, stop=closed.stop or "error")
        self.host.emit(TurnEnded(turn_id, closed.stop, closed.usage, fault.message if fault else None))
        return TurnOutcome(closed.stop or "end_turn", closed.usage, fault)

    def _note_prompt(self, name: str) -> bool:
        """Count the prompt, and name the session after its first one for the model. Whether it was named."""
        writer, stamp = self.keep.writer, sessions.now()
        before, title = writer.row.title, writer.row.title or name or None
        if writer.stored:
            self.services.store.submit(sessions.touch(writer.row.id, title, stamp, 1))
        writer.change(title=title, updated_at=stamp, prompts=writer.row.prompts + 1)
        return title != before

    def _answer(
        self, turn_id: str, blocks: tuple[Block, ...], local: LocalAnswer, turn: Turn
    ) -> tuple[Ended, TurnClosed]:
        """A local command: born sealed, answered without the model, and nothing of it reaches the model later."""
        keep, message_id, asked = self.keep, new_id("msg"), Spending()
        keep.record(UserSaid(turn_id, new_id("msg"), self.services.commands.kept(blocks), ""))

        def tell(words: str) -> None:
            keep.record(Said(turn_id, message_id, "assistant", words))
            self.host.emit(Chunk(message_id, "assistant", Text(words)))

        try:
            tell(local(self._command_desk(turn_id, turn, lambda words: tell(f"{words}\n\n"), asked)))
        except Cancelled:
            pass
        ended = Ended("cancelled" if turn.scope.cancelled else "finished")
        return ended, TurnClosed(turn_id, STOPS[ended.end], asked.turn)

    def _command_desk(self, turn_id: str, turn: Turn, tell: Callable[[str], None], asked: Spending) -> CommandDesk:
        keep, services = self.keep, self.services
        hooks = self._hooks(turn, Speaker(turn_id, self.host.emit, keep.record))
        return CommandDesk(
            session_id=keep.row.id,
            gate=keep.gate,
            controls=keep.controls,
            set_controls=self.set_controls,
            cwd=keep.row.cwd,
            home=services.home,
            approvals=services.approvals,
            extensions=keep.equipment.kit.found.extensions,
            servers=keep.equipment.pool,
            commands=keep.loadout.commands.listed(),
            reload=self.reload,
            tell=tell,
            scope=turn.scope,
            requested=self.requested,
            configure=self.configure,
            neighbours=self.neighbours,
            stats=self._stats,
            past=self._past,
            set_aside=keep.equipment.kit.set_aside,
            settings=services.settings,
            knowledge=lambda: capsules.knowledge(keep.conversation.pieces(), keep.work, keep.controls["mode"]),
            hide=services.hide,
            memory=services.memory,
            upkeep=SessionUpkeep(services.store, keep, self.host, turn_id, turn.scope, hooks, self._has_unsaved, asked),
        )

    def _has_unsaved(self, path: str, scope: Scope) -> bool:
        """Raises `Cancelled`."""
        return has_unsaved(path, self._context(scope, LiveOutput()))

    def _past(self, session_id: str) -> list[tuple[str, Entry]]:
        """Raises `Fault`."""
        if session_id == self.keep.row.id:
            self.keep.journal.commit()
        return entries.read_timed(self.services.store, session_id)

    def _stats(self) -> Stats:
        """Raises `Fault`."""
        keep = self.keep
        past = entries.read(self.services.store, keep.row.id)
        used = [entry for entry in past if isinstance(entry, UsageSet)]
        currency = used[-1].currency if used else "USD"
        running = sum(job.running for job in keep.jobs.all())
        return Stats(keep.row, len(past), keep.tokens, running, keep.cost, currency)

    def _converse(self, turn_id: str, turn: Turn) -> tuple[Ended, TurnClosed]:
        speaker = Speaker(turn_id, self.host.emit, self.keep.record)
        hooks = self._hooks(turn, speaker)
        if hooks.hooks.hooks:
            self.host = NotifyingHost(self.host, hooks.notify)
        entered = hooks.enter(words_of(turn.request.blocks))
        if entered.cancelled or entered.refusal is not None:
            return self._turn_away(turn_id, turn, speaker, entered)
        try:
            meant = self._work_out(turn)
            meant, refusal = self._heard(turn, meant)
        except Cancelled:
            return self._turn_away(turn_id, turn, speaker, Entered(cancelled=True))
        if refusal is not None:
            return self._turn_away(turn_id, turn, speaker, Entered(refusal=refusal))
        if meant.said:
            return self._say(turn_id, turn, speaker, meant.said)
        spending = Spending(self.keep.cost, self.keep.tokens)
        pursuit = self._pursuit(turn_id, turn, speaker, spending)
        loop = self._loop(turn_id, turn, speaker, spending, pursuit, hooks, entered)
        try:
            ended = loop.run(turn.request.blocks, meant.blocks)
        except Exception as error:  # our own mistake: the turn still ends in good order
            self.services.report("a turn", error)
            ended = Ended("finished", OurFault(Phrase("internal_error", kind=type(error).__name__)))
        pursuit.close(ended.end, ended.fault)
        hooks.close(ended.end, ended.fault)
        self._tell_of_sources(speaker)
        closed = loop.close(ended, _seal(turn))
        try:
            hand_off(self.keep, self.services.home, closed.usage, speaker, self.host.emit)
        except Exception as error:  # what was done is done, and the turn ends all the same
            self.services.report("the evidence of a turn", error)
        self.keep.cost, self.keep.tokens = spending.cost, spending.tokens
        if not leaves_no_trace(closed.stop, ended.fault):
            self.keep.spoken, self.keep.hooks.unsaid = True, ""
            self.keep.told_context = self.keep.context
        self.services.credentials.rejected = ended.fault is not None and ended.fault.code == codes.AUTH_REQUIRED
        return ended, closed

    def _turn_away(self, turn_id: str, turn: Turn, speaker: Speaker, entered: Entered) -> tuple[Ended, TurnClosed]:
        """A prompt that does not come to the model, by a hook's will or by a cancel; the latter leaves the person's
        words."""
        words = words_of(turn.request.blocks)
        self.keep.record(UserSaid(turn_id, new_id("msg"), turn.request.blocks, words if entered.cancelled else ""))
        ended = Ended("cancelled") if entered.cancelled else Ended("finished", unheard=True)
        if entered.refusal is not None:
            speaker.tell(Notice("warning", "prompt_refused", {"reason": entered.refusal}))
        tell_unused(speaker, _seal(turn))
        return ended, TurnClosed(turn_id, STOPS[ended.end], Spending().turn)

    def _work_out(self, turn: Turn) -> Meant:
        """What a prompt stands for that is a command of an extension; any other is what it says. Raises `Cancelled`."""
        blocks, scope = turn.request.blocks, turn.scope
        work_out = self.keep.loadout.commands.find(blocks)
        if work_out is None:
            return Meant(blocks)
        try:
            bytes_shown = self.keep.loadout.output_bytes
            use = Use(
                scope,
                bytes_shown,
                lambda form: self.host.question(form, scope),
                self.host.language,
                self.services.home,
                self.keep.row.cwd,
            )
            return work_out(use)
        except CommandFault as fault:
            return Meant(said=spoken(told(fault), self.host.language))

    def _plugins(self, turn: Turn) -> Interception:
        return Interception(self.keep.equipment.kit.plugins, turn.scope)

    def _heard(self, turn: Turn, meant: Meant) -> tuple[Meant, str | None]:
        """What plugins make of the first words of a prompt, and why it must not be heard. Raises `Cancelled`."""
        first = first_text(meant.blocks)
        if first is None:
            return meant, None
        place, written = first
        words, refusal = self._plugins(turn).heard(written)
        blocks = (*meant.blocks[:place], Text(words), *meant.blocks[place + 1 :])
        return replace(meant, blocks=blocks), refusal

    def _say(self, turn_id: str, turn: Turn, speaker: Speaker, words: str) -> tuple[Ended, TurnClosed]:
        """A command that had something to say to the person, and nothing to the model."""
        self.keep.record(UserSaid(turn_id, new_id("msg"), turn.request.blocks, ""))
        message_id = new_id("msg")
        self.keep.record(Said(turn_id, message_id, "assistant", words))
        self.host.emit(Chunk(message_id, "assistant", Text(words)))
        tell_unused(speaker, _seal(turn))
        ended = Ended("cancelled" if turn.scope.cancelled else "finished", unheard=True)
        return ended, TurnClosed(turn_id, STOPS[ended.end], Spending().turn)

    def _hooks(self, turn: Turn, speaker: Speaker) -> TurnHooks:
        keep = self.keep
        return TurnHooks(
            hooks=keep.loadout.hooks,
            session_id=keep.row.id,
            place=Place(keep.roots.cwd, self.services.hidden_env),
            turn=keep.row.prompts,
            scope=turn.scope,
            tell=speaker.tell,
            memory=keep.hooks,
        )

    def _tell_of_sources(self, speaker: Speaker) -> None:
        for source in self.connected:
            found = sources.SOURCES[source]
            tools = ", ".join(found.tools) or found.about
            speaker.tell(Notice("info", "source_connected", {"source": source, "tools": tools}))

    def _connect(self, source: str) -> bool:
        """On a tool's helper thread."""
        added = self.connect(source)
        if added:
            self.connected.append(source)
        return added

    def _pursuit(self, turn_id: str, turn: Turn, speaker: Speaker, spending: Spending) -> Pursuit:
        keep, limits, ceiling = self.keep, self.keep.loadout.limits, self.keep.ceiling
        return Pursuit(
            turn_id=turn_id,
            goals=keep.goals,
            mode=Mode(turn.scope.lock, lambda: keep.controls["mode"], lambda value: self.set_controls({"mode": value})),
            approval=lambda: keep.controls["tool_approval"],
            calls=HostCalls(turn_id, turn.scope, self.host, keep.record),
            record=keep.record,
            tell=speaker.tell,
            spent=lambda: Spent(spending.calls, spending.tokens),
            bounds=Bounds(limits.turn_requests, limits.goal_rounds, ceiling.tokens),
            spent_up=lambda: ceiling.passed(spending, keep.loadout.provider.currency),
        )

    def _reader(self, blocks: tuple[Block, ...], pursuit: Pursuit, context: str) -> PromptReader:
        """Reads the prompt, and has the facts of the day and the marker of the mode before it."""
        keep = self.keep
        context_now = keep.context
        news_of_context = context_now if context_now != keep.told_context else ""
        first = [] if keep.spoken else [preface(keep.row.cwd), self._notes()]
        facts = [*first, jobs.news(keep.jobs), news_of_context]
        marker, news = pursuit.begin(_words(blocks))
        marker = marker or mode.marker(keep.controls["mode"], keep.told_mode.mode)
        first_words = "\n\n".join(part for part in ("\n".join(fact for fact in facts if fact), marker) if part)
        open_text = attached.opener(lambda scope: self._context(scope, LiveOutput()))
        return PromptReader(keep.roots, keep.loadout.provider.sees_images, open_text, first_words, news, context)

    def _notes(self) -> str:
        """What earlier sessions kept of the repository. That they cannot be read is no reason not to work."""
        cwd = self.keep.row.cwd
        try:
            return memory.preface(self.services.memory.notes(repository_of(cwd)), memory.top(cwd))
        except Fault as fault:
            self.services.report("reading what was kept of a repository", fault)
            return ""

    def _loop(
        self,
        turn_id: str,
        turn: Turn,
        speaker: Speaker,
        spending: Spending,
        pursuit: Pursuit,
        hooks: TurnHooks,
        entered: Entered,
    ) -> TurnLoop:
        keep, loadout = self.keep, self.keep.loadout
        desk = self._desk(turn_id, turn.scope, speaker, pursuit)
        desk.hooks = hooks
        desk.plugins = self._plugins(turn)
        follow_ups: list[FollowUp] = [PlanApproval(pursuit.mode, pursuit.calls, speaker.tell), pursuit, hooks]
        if loadout.delivers:
            delivery = Delivery(keep.ledger, keep.roots, speaker.tell, lambda: keep.gate.read_only)
            desk.objection = delivery.objection
            follow_ups.insert(0, delivery)
        return TurnLoop(
            turn_id=turn_id,
            scope=turn.scope,
            host=self.host,
            compactor=compactor(keep, turn_id, turn.scope, self.host, hooks, spending, self._notes, speaker.tell),
            record=keep.record,
            provider=loadout.provider,
            prefix=(loadout.system, loadout.tool_list),
            tools=ToolRunner(desk),
            speaker=speaker,
            reader=self._reader(turn.request.blocks, pursuit, entered.context),
            steering=Steering(turn.take, turn.take_or_seal),
            limit=loadout.limits.turn_requests,
            ceiling=keep.ceiling,
            hooks=hooks,
            follow_ups=follow_ups,
            settle=keep.journal.settle,
        )

    def _desk(self, turn_id: str, scope: Scope, speaker: Speaker, pursuit: Pursuit) -> Desk:
        keep = self.keep
        keep.witness.watch.hidden_env = self.services.hidden_env

        def make_context(scope: Scope, live: LiveOutput) -> ToolContext:
            made = self._context(scope, live)
            return replace(made, report_goal=pursuit.report, connect=self._connect, turn_id=turn_id)

        def changed(call_id: str, changes: Changes) -> None:
            keep.witness.account.changed(call_id, changes)
            for entry in keeping.by_commands(turn_id, changes, keep.contents.put):
                keep.record(entry)

        return Desk(
            turn_id=turn_id,
            scope=scope,
            host=self.host,
            gate=keep.gate,
            find_tool=keep.loadout.tools.get,
            tools=keep.loadout.tools.keys(),
            make_context=make_context,
            record=keep.record,
            emit=self.host.emit,
            tell=speaker.tell,
            allow_everything=lambda: self.set_controls({"tool_approval": "yolo"}),
            check_store=keep.journal.check,
            wait_for_store=lambda: keep.journal.wait(_STORE_SECONDS),
            watch=keep.witness.watch,
            changed=changed,
            hide=self.services.hide_own,
            look_at_jobs=lambda: look_at_jobs(keep, turn_id),
            keep_files=lambda proposal, ctx: keeping.before(turn_id, proposal, unsaved(ctx), keep.contents.put),
        )

    def _context(self, scope: Scope, live: LiveOutput) -> ToolContext:
        limits = self.keep.loadout.limits
        return ToolContext(
            session_id=self.keep.row.id,
            roots=self.keep.roots,
            scope=scope,
            live=live,
            command_seconds=limits.command_seconds,
            output_bytes=self.keep.loadout.output_bytes,
            hidden_env=self.services.hidden_env,
            files=self.host.files,
            shell=self.host.shell,
            jobs=self.keep.jobs,
        )

    def _finish(self, turn_id: str, ended: Ended, closed: TurnClosed, local: bool) -> Fault | None:
        """Commit, so that what is answered is stored. A store that fails makes the turn fail, after the fact."""
        keep = self.keep
        leaves_none = local or ended.unheard or leaves_no_trace(closed.stop, ended.fault)
        keep.record(closed, *([Tombstone(turn_id)] if leaves_none else []))
        try:
            keep.journal.commit()
        except Fault as fault:
            return fault
        return ended.fault


def _seal(turn: Turn) -> list[tuple[Block, ...]]:
    """End admission of steers; returns those nobody took."""
    with turn.scope.lock:
        left = turn.take()
        turn.sealed = True
        return left


def _words(blocks: tuple[Block, ...]) -> str:
    """What the person wrote, attachments aside."""
    return "\n\n".join(block.text for block in blocks if isinstance(block, Text)) or "(see what is attached)"


def _title(blocks: tuple[Block, ...]) -> str:
    """A session's name: its first words on one line, cut to a length a list can show."""
    words = " ".join(" ".join(block.text.split()) for block in blocks if isinstance(block, Text))
    return (words if len(words) <= TITLE_LENGTH else words[: TITLE_LENGTH - 3] + "...") or "Untitled"
