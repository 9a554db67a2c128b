"""What the model reads of a session: history entries folded into messages, spelled once in the provider's dialect.

Append-only: the fragments of one request are a prefix of the next one's, except after a tombstone, a compaction or a
new provider. A rewinding begins a new fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from acpagent.core import bounds
from acpagent.core.blocks import Image
from acpagent.core.history import (
    CallMade,
    CallSettled,
    Compacted,
    Entry,
    HostSaid,
    ReplyKept,
    Said,
    Tombstone,
    TurnOpened,
    UserSaid,
)
from acpagent.core.model import AssistantMessage, Message, ModelCall, Provider, ToolMessage, UserMessage

_Reply = Said | ReplyKept | CallMade | CallSettled
_REPLY = (Said, ReplyKept, CallMade, CallSettled)  # isinstance does not narrow by a name of a union

# Letters that an image and the wrapping of a message count for: near enough to tell how full the window is.
_IMAGE_LETTERS, _WRAPPING_LETTERS = 5_000, 40
SUMMARY_HEAD = (
    "[The conversation up to here no longer fits and was summarised. What follows is the record of it; go on from"
    " there. Files are as they are now: read them again before you change them.]"
)
INTERRUPTED = "The call was interrupted before it finished; nothing is known of its outcome."


@dataclass(frozen=True, slots=True)
class Piece:
    """A message and where it comes from. `anchor` names it among the entries, so that a conversation can be cut before
    it; what has none belongs to what stands before. `letters` is how long it is, roughly."""

    turn_id: str
    message: Message
    anchor: str = ""
    letters: int = 0
    is_summary: bool = False


@dataclass(frozen=True, slots=True)
class _Before:
    """What was there before the first compaction of a turn, should the turn leave no trace."""

    turn_id: str
    pieces: list[Piece]


class Conversation:
    """The fold, fed entry by entry. Owned by the session worker; needs no lock."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._pieces: list[Piece] = []
        self._fragments: list[str] = []
        self._spelled = 0
        self._open = _OpenReply()
        self._before: _Before | None = None
        self.letters = 0

    def feed(self, entries: Iterable[Entry]) -> None:
        """Take entries in the order they happened."""
        for entry in entries:
            if isinstance(entry, _REPLY):
                if self._open.ends_before(entry):
                    self._finish_reply()
                self._open.take(entry)
            elif isinstance(entry, UserSaid):
                self._finish_reply()
                images = tuple(block for block in entry.blocks if isinstance(block, Image))
                if entry.text or images:  # else it was for acpagent alone
                    self._add(_piece(entry.turn_id, UserMessage(entry.text, images), entry.message_id))
            elif isinstance(entry, HostSaid):
                self._finish_reply()
                self._add(_piece(entry.turn_id, UserMessage(entry.text)))
            elif isinstance(entry, TurnOpened):
                self._before = None
            elif isinstance(entry, Compacted):
                self._compact(entry)
            elif isinstance(entry, Tombstone):
                self._bury(entry.turn_id)

    def fragments(self) -> list[str]:
        """Every message so far as JSON fragments. Any call without a result gets one that says so (CAN-15)."""
        self._finish_reply()
        for piece in self._pieces[self._spelled :]:
            self._fragments.extend(self._provider.encode(piece.message))
        self._spelled = len(self._pieces)
        return self._fragments

    def messages(self) -> list[Message]:
        """The messages so far, in neutral form."""
        return [piece.message for piece in self.pieces()]

    def pieces(self) -> list[Piece]:
        """The messages so far, with where they come from."""
        self._finish_reply()
        return list(self._pieces)

    def rebind(self, provider: Provider) -> None:
        """Spell everything anew for another provider or model."""
        self._provider = provider
        self._spell_anew()

    def _spell_anew(self) -> None:
        self._fragments, self._spelled = [], 0

    def _finish_reply(self) -> None:
        for piece in self._open.close():
            self._add(piece)

    def _add(self, piece: Piece) -> None:
        self._pieces.append(piece)
        self.letters += piece.letters

    def _replace(self, pieces: list[Piece]) -> None:
        self._pieces, self.letters = pieces, sum(piece.letters for piece in pieces)
        self._spell_anew()

    def _compact(self, entry: Compacted) -> None:
        """The summary takes the place of what it is of. A message that is not there keeps nothing."""
        self._finish_reply()
        begin = next((at for at, piece in enumerate(self._pieces) if piece.anchor == entry.kept_from), None)
        kept = self._pieces[begin:] if entry.kept_from and begin is not None else []
        if entry.results:
            kept = [shortened(piece, entry.results) for piece in kept]
        # A turn in which the person asks for it leaves no trace but this one.
        if entry.trigger != "person" and (self._before is None or self._before.turn_id != entry.turn_id):
            self._before = _Before(entry.turn_id, self._pieces)
        self._replace([summary_piece(entry.summary), *kept])

    def _bury(self, turn_id: str) -> None:
        self._finish_reply()
        before = self._before
        pieces = before.pieces if before is not None and before.turn_id == turn_id else self._pieces
        kept = [piece for piece in pieces if piece.turn_id != turn_id]
        if pieces is not self._pieces or len(kept) != len(pieces):
            self._replace(kept)
        self._before = None


def summary_piece(summary: str) -> Piece:
    """The message that a summary is for the model."""
    inner = summary.replace("</conversation-summary", "<\\/conversation-summary")
    text = f"{SUMMARY_HEAD}\n<conversation-summary>\n{inner}\n</conversation-summary>"
    message = UserMessage(text)
    return Piece("", message, letters=_letters(message), is_summary=True)


def shortened(piece: Piece, letters: int) -> Piece:
    """A piece with at most so many letters, if it is the result of a call: its beginning and its end."""
    message = piece.message
    if not isinstance(message, ToolMessage) or piece.letters <= letters:
        return piece
    shorter = replace(message, text=bounds.cut(message.text, max(letters - _WRAPPING_LETTERS, 0)).text)
    return replace(piece, message=shorter, letters=_letters(shorter))


def _piece(turn_id: str, message: Message, anchor: str = "") -> Piece:
    return Piece(turn_id, message, anchor, _letters(message))


def _letters(message: Message) -> int:
    if isinstance(message, UserMessage):
        said = len(message.text) + _IMAGE_LETTERS * len(message.images)
    elif isinstance(message, AssistantMessage):
        calls = sum(len(call.name) + len(call.arguments) for call in message.calls)
        said = len(message.text) + len(message.thought) + len(message.kept) + calls
    else:
        said = len(message.text)
    return said + _WRAPPING_LETTERS


class _OpenReply:
    """One model reply while its pieces come in: text, thought, what is kept of it, calls, and the calls' results."""

    def __init__(self) -> None:
        self._turn_id = self._anchor = ""
        self._kept: ReplyKept | None = None
        self._said: dict[str, list[str]] = {"assistant": [], "thought": []}
        self._calls: dict[str, CallMade] = {}
        self._results: dict[str, CallSettled] = {}

    def ends_before(self, entry: _Reply) -> bool:
        """Anything but one more result after a result belongs to the next reply, as does what is said after the
        keeping: that comes once all was said."""
        if self._kept is not None and isinstance(entry, Said | ReplyKept):
            return True
        return bool(self._results) and not isinstance(entry, CallSettled)

    def take(self, entry: _Reply) -> None:
        self._turn_id = entry.turn_id
        if isinstance(entry, Said):
            self._said[entry.role].append(entry.text)
            self._anchor = self._anchor or entry.message_id
        elif isinstance(entry, ReplyKept):
            self._kept = entry
        elif isinstance(entry, CallMade):
            self._calls[entry.call_id] = entry
            self._anchor = self._anchor or entry.call_id
        elif entry.call.id in self._calls:
            self._results[entry.call.id] = entry

    def _shown(self) -> Iterator[Message]:
        """The images among the results, behind all of them: most APIs take text alone as the result of a call."""
        for call_id, made in self._calls.items():
            content = self._results[call_id].call.content if call_id in self._results else ()
            images = tuple(item for item in content if isinstance(item, Image))
            if images:
                kinds = ", ".join(image.media_type for image in images)
                yield UserMessage(f"[Shown by {made.name}: {kinds}]", images)

    def close(self) -> list[Piece]:
        """The finished messages; results in the order of the calls, and the reply is empty again."""
        text, thought = ("".join(self._said[role]) for role in ("assistant", "thought"))
        if not (text or thought or self._calls or self._kept):
            return []
        calls = tuple(ModelCall(made.provider_id, made.name, made.arguments) for made in self._calls.values())
        kept = (self._kept.data, self._kept.model) if self._kept else ("", "")
        turn_id = self._turn_id
        pieces = [_piece(turn_id, AssistantMessage(text, thought, calls, *kept), self._anchor)]
        for call_id, made in self._calls.items():
            settled = self._results.get(call_id)
            words = settled.text if settled else INTERRUPTED
            failed = settled is None or settled.call.status == "failed"
            pieces.append(_piece(turn_id, ToolMessage(made.provider_id, made.name, words, failed)))
        pieces += [_piece(turn_id, message) for message in self._shown()]
        self._said, self._calls, self._results = {"assistant": [], "thought": []}, {}, {}
        self._kept, self._anchor = None, ""
        return pieces
