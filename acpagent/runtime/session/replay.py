"""Replay: stored entries as the events they once were, through the same renderer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from acpagent.core.blocks import Image, Text
from acpagent.core.catalogue import Phrase
from acpagent.core.events import Chunk, Event, EvidenceReady, Notice, PlanChanged, ToolChanged, Usage, UsageChanged
from acpagent.core.history import (
    CallMade,
    CallSettled,
    Compacted,
    Entry,
    EvidenceSet,
    PlanSet,
    Rewound,
    Said,
    Told,
    Tombstone,
    TurnClosed,
    TurnOpened,
    UsageSet,
    UserSaid,
)
from acpagent.core.toolcalls import TerminalRef, ToolCall
from acpagent.runtime.turn import compaction
from acpagent.runtime.turn.branches import live
from acpagent.runtime.turn.toolrun import parse_arguments

# The fact by which a call is known of which acpagent did not live to see the end.
ABANDONED = "abandoned"


def mend(stored: Iterable[Entry]) -> list[Entry]:
    """What a killed process left undone: each call without an end gets one (LOAD-04), an open turn is closed. What was
    for acpagent alone, such as a local command, leaves the model no trace, nor does its answer."""
    open_calls: dict[str, CallMade] = {}
    open_turn, is_local = "", False
    for entry in stored:
        if isinstance(entry, TurnOpened):
            open_turn, is_local = entry.turn_id, False
        elif isinstance(entry, UserSaid) and not entry.steer:
            is_local = not entry.text and not any(isinstance(block, Image) for block in entry.blocks)
        elif isinstance(entry, TurnClosed):
            open_turn = ""
        elif isinstance(entry, CallMade):
            open_calls[entry.call_id] = entry
        elif isinstance(entry, CallSettled):
            open_calls.pop(entry.call.id, None)
    words = Phrase("call_abandoned")
    mended: list[Entry] = [CallSettled(made.turn_id, _abandoned(made, words), words) for made in open_calls.values()]
    if open_turn and is_local:
        mended += [TurnClosed(open_turn, "cancelled", Usage()), Tombstone(open_turn)]
    elif open_turn:
        mended.append(TurnClosed(open_turn, None, Usage(), "acpagent stopped during this turn"))
    return mended


def _abandoned(made: CallMade, words: Phrase) -> ToolCall:
    arguments, _ = parse_arguments(made.arguments)
    title = made.name or Phrase("title_unknown")
    call = ToolCall(made.call_id, made.name, title, "other", "failed", arguments, None, (), (Text(words),))
    return replace(call, facts={ABANDONED: True})


def events(stored: Iterable[Entry]) -> Iterator[Event]:
    """The events of stored entries, in order, without branches that were left. Pieces of one message are joined; only
    what is the person's or the agent's is shown, nothing that acpagent added for the model."""
    entries, pieces = live(stored), list[Said]()
    unsent = _unsent(entries)
    for entry in entries:
        if entry.turn_id in unsent:
            continue
        if pieces and not (isinstance(entry, Said) and entry.message_id == pieces[0].message_id):
            yield _joined(pieces)
            pieces = []
        if isinstance(entry, Said):
            pieces.append(entry)
        else:
            yield from _event(entry)
    if pieces:
        yield _joined(pieces)


def _unsent(stored: list[Entry]) -> set[str]:
    """Turns that failed and were tombstoned: prompts that clients send again after signing in, and would otherwise
    show twice (AUTH-18)."""
    failed = {entry.turn_id for entry in stored if isinstance(entry, TurnClosed) and entry.stop is None}
    return failed & {entry.turn_id for entry in stored if isinstance(entry, Tombstone)}


def _joined(pieces: list[Said]) -> Event:
    first = pieces[0]
    return Chunk(first.message_id, first.role, Text("".join(piece.text for piece in pieces)))


def _without_terminals(entry: CallSettled) -> ToolCall:
    """The call with words in place of terminals, which are gone and may never have been this client's."""
    call = entry.call
    content = tuple(item for item in call.content if not isinstance(item, TerminalRef))
    if len(content) == len(call.content):
        return call
    return replace(call, content=content or (Text(entry.text),))


def _event(entry: Entry) -> Iterator[Event]:
    if isinstance(entry, UserSaid):
        for block in entry.blocks:
            yield Chunk(entry.message_id, "user", block)
    elif isinstance(entry, CallSettled):
        yield ToolChanged(_without_terminals(entry))
    elif isinstance(entry, PlanSet):
        yield PlanChanged(entry.entries)
    elif isinstance(entry, UsageSet):
        yield UsageChanged(entry.used, entry.size, entry.cost, entry.currency, entry.estimated)
    elif isinstance(entry, Compacted):
        yield from compaction.events(entry)
    elif isinstance(entry, Rewound):
        yield usage(entry)
    elif isinstance(entry, Told):
        yield Notice(entry.level, entry.code, dict(entry.params), entry.message_id)
    elif isinstance(entry, EvidenceSet):
        yield EvidenceReady(entry.bundle, entry.message_id, entry.seal)


def usage(entry: Rewound) -> UsageChanged:
    """How full the window is where a session was rewound to; what was spent stays spent (USE-03)."""
    return UsageChanged(entry.used, entry.size, entry.cost, entry.currency, True)
