"""What happens when the model stops: the host may have something to say to it, and the same prompt goes on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class FollowUp(Protocol):
    """One who is asked each time the model stops without a call and no guidance of the person waits."""

    def after(self, text: str) -> str | None:
        """The model stopped with this text: what the host says to it to go on in this same prompt, or None.

        Runs on the session worker, holding no lock, and may ask the person. Raises `Cancelled` to end the turn.
        """


def first_answer(follow_ups: Iterable[FollowUp], text: str) -> str | None:
    """What the first that has something to say says; those behind it are not asked."""
    for one in follow_ups:
        told = one.after(text)
        if told is not None:
            return told
    return None
