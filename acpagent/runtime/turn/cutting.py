"""Where a conversation is cut when it is summarised: what is kept begins with a message that can stand first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acpagent.core.model import ToolMessage, UserMessage
from acpagent.runtime.turn.conversation import Piece

_LEAST_RESULT = 400  # letters of a result below which the model is not helped by it


@dataclass(frozen=True, slots=True)
class Cut:
    """`begin` is the index of the first piece that is kept, or the number of pieces where none is. `results` are the
    letters that each result among them may have, 0 where they fit as they are."""

    begin: int
    results: int = 0


def cut(pieces: Sequence[Piece], room: int, most: int) -> Cut | None:
    """Where to cut; None where nothing can be made shorter.

    The newest pieces are kept as far as they fit `room` letters, whole turns where that is possible. What stands last
    is kept even so if it fits `most` letters, if it does once results are cut, or if it is what the person says: the
    model has not read it yet. Calls are never split from their results, for only pieces with an anchor can be first.
    """
    begin, results = _first_that_fits(pieces, room), 0
    if begin == len(pieces):
        last = max((at for at, piece in enumerate(pieces) if piece.anchor), default=len(pieces))
        stays = last < len(pieces) and isinstance(pieces[last].message, UserMessage)
        stays = stays or sum(piece.letters for piece in pieces[last:]) <= most
        results = 0 if stays else _letters_of_results(pieces[last:], most)
        if stays or results:
            begin = last
    summarised = [piece for piece in pieces[:begin] if not piece.is_summary]
    return Cut(begin, results) if summarised or results else None


def _first_that_fits(pieces: Sequence[Piece], room: int) -> int:
    """The earliest beginning within the room: of a turn, or else of any message."""
    begin = turn = len(pieces)
    letters = 0
    for at in range(len(pieces) - 1, -1, -1):
        piece = pieces[at]
        letters += piece.letters
        if letters > room or piece.is_summary:
            break
        if piece.anchor:
            begin = at
            if at == 0 or pieces[at - 1].turn_id != piece.turn_id:
                turn = at
    return turn if turn < len(pieces) else begin


def _letters_of_results(pieces: Sequence[Piece], most: int) -> int:
    """What each result may have so that all of it fits: short ones stay whole, and leave their room to the others. 0
    where that would leave nothing of them."""
    lengths = sorted(piece.letters for piece in pieces if isinstance(piece.message, ToolMessage))
    room = most - sum(piece.letters for piece in pieces) + sum(lengths)
    for number, length in enumerate(lengths):
        share = room // (len(lengths) - number)
        if length > share:
            return share if share >= _LEAST_RESULT else 0
        room -= length
    return 0
