"""Compaction: a conversation that comes near the end of the model's window goes on from a summary of itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from acpagent.core.events import CompactionChanged, Event, Notice, SummaryChunk, UsageChanged
from acpagent.core.history import Compacted, CompactionTrigger, Entry, HostSaid
from acpagent.core.model import Provider, UserMessage
from acpagent.core.scope import Cancelled, Scope
from acpagent.runtime.turn import cutting, summary
from acpagent.runtime.turn.conversation import Conversation, Piece, shortened, summary_piece
from acpagent.runtime.turn.cutting import Cut
from acpagent.runtime.turn.hooking import TurnHooks
from acpagent.runtime.turn.meter import Meter
from acpagent.runtime.turn.speaker import new_id
from acpagent.runtime.turn.spending import Spending
from acpagent.runtime.turn.summarise import Written, ask
from acpagent.runtime.turn.workrecord import WorkRecord

# Shares of the room for requests: what a summary may take, half of it for the model's words; what there must be to
# summarise, or it is not worth a new beginning, and where nothing else fits any more; and what a model is shown of it.
_SUMMARY, _LEAST, _LEAST_IN_NEED, _SHOWN = 0.16, 0.1, 0.05, 0.7
# What half a summary may take of what it is of; so many letters it always may, and if the person asked for it.
_OF_SUMMARISED, _ALWAYS, _ASKED_FOR = 0.3, 300, 2_000
# Shares of what is left of it beside a summary: for what is kept, and for what stands last, should that not fit.
_KEPT, _LAST = 0.6, 0.8
_MOST_SUMMARY_TOKENS = 16_000
# How much of a length that was too much is taken for what fits.
_BELOW_CEILING = 0.9
# A summary that leaves less than this share of the room free was in vain; after so many in a row the next one waits
# until nothing fits any more, or where that is so already, until a share of the window was added.
_FREE, _MOST_IN_VAIN, _GROWTH = 0.1, 2, 0.25
_SUMMARY_CHUNK_SECONDS = 0.1  # between two pieces of a summary that are shown while it is written


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Shares of the model's window: at which it is summarised, and of what is kept whole then. `seconds` is how long
    the model may take for it. `output` are the tokens that an answer needs."""

    at: float = 0.8
    keep: float = 0.3
    seconds: float = 60
    output: int = 0


@dataclass(frozen=True, slots=True)
class Memory:
    """What a session remembers by, in the hands of its turns: the model's view, the record beside it, what is known of
    their size, and what was spent. `told_mode` is the mode that the model knows of."""

    conversation: Conversation
    record: WorkRecord
    meter: Meter
    spending: Spending
    told_mode: Callable[[], str]


@dataclass(slots=True)
class Compactor:
    """Made for each turn; runs on the session worker. `prefix` are the letters of system prompt and tool list. `again`
    is what the model must be told anew once it is no longer in what it reads. `automatic`: the person lets it happen by
    itself before it must. `may_ask`: the model may be asked for a summary, by the session's budget."""

    turn_id: str
    scope: Scope
    provider: Provider
    memory: Memory
    prefix: int
    thresholds: Thresholds
    record: Callable[[Entry], None]
    emit: Callable[[Event], None]
    hooks: TurnHooks
    automatic: Callable[[], bool]
    again: Callable[[], tuple[str, ...]]
    tell: Callable[[Notice], None] = lambda notice: None
    may_ask: Callable[[], bool] = lambda: True
    _recovered: bool = False
    _refused: bool = False
    _asked: int = 0
    _in_vain: int = 0
    _left: int = 0
    _told: bool = False

    @property
    def room(self) -> int:
        """Tokens that a request may take, so that an answer still fits."""
        window = self.provider.context_window
        room = max(window - self.thresholds.output, window // 2)
        ceiling = self.memory.meter.ceiling
        return room if ceiling is None else min(room, int(ceiling * _BELOW_CEILING))

    def used(self) -> int:
        """Tokens that the next request takes, roughly."""
        return self.memory.meter.tokens(self._letters())

    def make_room(self) -> None:
        """Before a call of the model, when every call of a tool is settled: summarise if it is time. Raises
        `Cancelled`."""
        window = self.provider.context_window
        if window <= 0:
            return
        used, room = self.used(), self.room
        soft = min(self.thresholds.at * window, room) if self.automatic() and not self._refused else room
        if used >= soft and not self._waits(used):
            done = self.compact("threshold", least=_LEAST_IN_NEED if used >= room else _LEAST)
            self._weigh(done is not None, soft)
        if (used := self.used()) >= room and not self._refused:
            self._tell_tight(used)
        self._asked = self._letters()

    def _waits(self, used: int) -> bool:
        """Whether summaries brought nothing, and too little came since for another one to bring more."""
        window, free = self.provider.context_window, self.room - self._left
        growth = max(free, _FREE * window) if free > 0 else _GROWTH * window
        return self._in_vain >= _MOST_IN_VAIN and used - self._left < growth

    def _weigh(self, done: bool, limit: float) -> None:
        """Note how much room a summary made."""
        used = self.used()
        if used <= limit * (1 - _FREE):
            self._in_vain = 0
        elif done:
            self._in_vain, self._left = self._in_vain + 1, used

    def _tell_tight(self, used: int) -> None:
        """Once in a turn."""
        if self._told:
            return
        self._told = True
        own = round(self.prefix * self.memory.meter.ratio)
        self.tell(Notice("warning", "window_tight", {"used": used, "size": self.provider.context_window, "own": own}))

    def note(self, tokens: int) -> None:
        """The request was counted."""
        self.memory.meter.note(tokens, self._asked)

    def recover(self) -> bool:
        """The model's server says that the conversation is too long for it: whether it was summarised, once a turn, and
        only if the model has not begun to answer. Raises `Cancelled`."""
        if self._recovered or self._letters() != self._asked:
            return False
        self._recovered = True
        if self.memory.conversation.letters > self.prefix:  # else it tells more of the server than of its window
            self.memory.meter.note_overflow(self._letters())
        done = self.compact("overflow") is not None
        self._asked = self._letters()
        return done

    def compact(self, trigger: CompactionTrigger, instructions: str = "", least: float = 0.0) -> Compacted | None:
        """Summarise what is not kept; None where there is nothing, or less than the share `least` of the room, to
        summarise, or where a hook has something against it. Raises `Cancelled`, and then nothing has changed."""
        pieces = [piece for piece in self.memory.conversation.pieces() if not self._is_own(piece, trigger)]
        cut = self._cut(pieces, trigger)
        if cut is None or (not cut.results and self._tokens(pieces[: cut.begin]) < least * self.room):
            return None
        refusal = self.hooks.before_compaction("manual" if trigger == "person" else "auto", instructions)
        if refusal is not None and trigger != "overflow":
            self._refused = True  # a hook is not asked again before it must be
            return None
        compaction_id = new_id("compaction")
        self.emit(CompactionChanged(compaction_id, "in_progress", trigger))
        try:
            written = self._write(compaction_id, pieces[: cut.begin], instructions)
            self.scope.check()
        except Cancelled:
            self.emit(CompactionChanged(compaction_id, "cancelled", trigger))
            raise
        except Exception as error:
            self.emit(CompactionChanged(compaction_id, "failed", trigger, error=type(error).__name__))
            raise
        return self._settle(compaction_id, trigger, pieces, cut, written)

    def _is_own(self, piece: Piece, trigger: CompactionTrigger) -> bool:
        """The command that asks for it is none of what it is of."""
        return trigger == "person" and piece.turn_id == self.turn_id

    def _cut(self, pieces: list[Piece], trigger: CompactionTrigger) -> Cut | None:
        """What does not fit must become shorter, however much there seems to be room."""
        meter, room = self.memory.meter, self.room
        left = max(0.0, room - self.prefix * meter.ratio - self._summary_tokens())
        keep = min(self.thresholds.keep * self.provider.context_window, _KEPT * left)
        if trigger == "overflow":
            there = self._tokens(pieces)
            keep, left = min(keep, _KEPT * there), min(left, there)
        return cutting.cut(pieces, meter.letters(keep), meter.letters(_LAST * left))

    def _write(self, compaction_id: str, pieces: list[Piece], instructions: str) -> Written:
        if not self.may_ask():
            return Written("")
        tokens = self._summary_tokens() // 2
        shown = self.memory.meter.letters(_SHOWN * self.room)
        told = summary.request(pieces, instructions, shown)
        system = summary.SYSTEM.format(words=summary.words_for(tokens))
        shown_words = _Shown(compaction_id, self.emit)
        written = ask(self.provider, system, told, self.scope, self.thresholds.seconds, shown_words.hear)
        if written.usage is not None:
            self.memory.spending.add(self.provider, written.usage)
        return written

    def _settle(
        self, compaction_id: str, trigger: CompactionTrigger, pieces: list[Piece], cut: Cut, written: Written
    ) -> Compacted:
        """Make it part of the history. What the model needs to know whatever it reads, it is told again."""
        old, kept = pieces[: cut.begin], pieces[cut.begin :]
        memory, half = self.memory, self._half(trigger, old)
        by_model = summary.is_useful(written.text)
        narrative = written.text if by_model else summary.without_model(old, half)
        prompt = self._unread_prompt(kept) if trigger != "person" else ""
        record = summary.recorded(memory.record, memory.told_mode(), prompt, half)
        text = summary.whole(summary.bounded(narrative.strip(), half), record)
        kept_from = kept[0].anchor if kept else ""
        if cut.results:
            kept = [shortened(piece, cut.results) for piece in kept]
        usage = written.usage.usage if written.usage is not None else None
        before = self.used()
        memory.meter.forget()
        left = summary_piece(text).letters + sum(piece.letters for piece in kept)
        entry = Compacted(
            turn_id=self.turn_id,
            compaction_id=compaction_id,
            summary=text,
            kept_from=kept_from,
            before=before,
            after=memory.meter.tokens(self.prefix + left),
            size=self.provider.context_window,
            trigger=trigger,
            by_model=by_model,
            tokens=usage.input + usage.output if usage is not None else 0,
            cost=memory.spending.cost,
            currency=self.provider.currency,
            results=cut.results,
        )
        self.record(entry)
        for event in events(entry):
            self.emit(event)
        if trigger != "person":
            self._tell_again()
        return entry

    def _half(self, trigger: CompactionTrigger, summarised: list[Piece]) -> int:
        """Letters that each half of a summary may take: it has to be shorter than what it is of."""
        share = int(_OF_SUMMARISED * sum(piece.letters for piece in summarised))
        least = _ASKED_FOR if trigger == "person" else _ALWAYS
        return min(self.memory.meter.letters(self._summary_tokens() // 2), max(share, least))

    def _unread_prompt(self, kept: list[Piece]) -> str:
        """The prompt of this turn, if it is not among what is kept."""
        record = self.memory.record
        return "" if any(piece.anchor == record.prompt_id for piece in kept) else record.prompt

    def _tell_again(self) -> None:
        heard = [message.text for message in self.memory.conversation.messages() if isinstance(message, UserMessage)]
        missing = [part for part in self.again() if part and not any(part in text for text in heard)]
        if missing:
            self.record(HostSaid(self.turn_id, "\n\n".join(missing)))

    def _summary_tokens(self) -> int:
        return min(int(_SUMMARY * self.room), _MOST_SUMMARY_TOKENS)

    def _letters(self) -> int:
        self.memory.conversation.pieces()
        return self.prefix + self.memory.conversation.letters

    def _tokens(self, pieces: list[Piece]) -> int:
        return round(sum(piece.letters for piece in pieces) * self.memory.meter.ratio)


@dataclass(slots=True)
class _Shown:
    """A summary while it is written, for those who watch: pieces at a bounded rate. What is not shown by the end is in
    the whole summary."""

    compaction_id: str
    emit: Callable[[Event], None]
    _waiting: list[str] = field(default_factory=list)
    _due: float = 0.0

    def hear(self, words: str) -> None:
        self._waiting.append(words)
        now = time.monotonic()
        if now >= self._due:
            self.emit(SummaryChunk(self.compaction_id, "".join(self._waiting)))
            self._waiting, self._due = [], now + _SUMMARY_CHUNK_SECONDS


def events(entry: Compacted) -> tuple[Event, ...]:
    """What a compaction is to the outside, as it happens and when it is replayed."""
    changed = CompactionChanged(
        entry.compaction_id, "completed", entry.trigger, entry.before, entry.after, entry.summary, entry.by_model
    )
    return changed, UsageChanged(min(entry.after, entry.size), entry.size, entry.cost, entry.currency, True)
