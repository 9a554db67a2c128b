"""Where a conversation is cut when it is summarised: what is kept begins with a message that can stand first."""

from __future__ import annotations

from collections.abc import Sequence

from acpagent.core.model import UserMessage
from acpagent.runtime.turn.conversation import Piece


def cut(pieces: Sequence[Piece], room: int, most: int) -> int | None:
    """The index of the first piece that is kept; `len(pieces)` where nothing is, None where nothing can be summarised.

    The newest pieces are kept as far as they fit `room` letters, whole turns where that is possible. What stands last
    is kept even so if it fits `most` letters, or is what the person says: the model has not read it yet. Calls are
    never split from their results, for only pieces with an anchor can be first.
    """
    begin = _first_that_fits(pieces, room)
    if begin == len(pieces):
        last = max((at for at, piece in enumerate(pieces) if piece.anchor), default=len(pieces))
        is_prompt = last < len(pieces) and isinstance(pieces[last].message, UserMessage)
        if is_prompt or sum(piece.letters for piece in pieces[last:]) <= most:
            begin = last
    summarised = [piece for piece in pieces[:begin] if not piece.is_summary]
    return begin if summarised else None


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
