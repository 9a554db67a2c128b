"""How full the model's window is before the model is asked: what its server counted last, and what came since."""

from __future__ import annotations

from dataclasses import dataclass

# Where no server has counted yet; a little more than prose in Latin letters takes, for there is code as well.
_TOKENS_PER_LETTER = 0.3
_LEAST, _MOST = 0.1, 1.5


@dataclass(slots=True)
class Meter:
    """One of a session and its model. Owned by the session worker.

    `ceiling`: tokens that the model was found not to take, whatever its settings say of its window.
    """

    ratio: float = _TOKENS_PER_LETTER
    ceiling: int | None = None
    _counted: tuple[int, int] | None = None  # tokens and letters of the last request

    def note(self, tokens: int, letters: int) -> None:
        """A request of so many letters was counted as so many tokens."""
        if tokens > 0 and letters > 0:
            self.ratio = min(max(tokens / letters, _LEAST), _MOST)
            self._counted = (tokens, letters)

    def recall(self, tokens: int, letters: int) -> None:
        """About the same, of an earlier process; what was counted was not exactly this."""
        self.note(tokens, letters)
        self._counted = None

    def note_overflow(self, letters: int) -> None:
        """So much does not fit."""
        self.ceiling = min(self.ceiling or self.tokens(letters), self.tokens(letters))

    def forget(self) -> None:
        """The next request is not the last one with something behind it."""
        self._counted = None

    def tokens(self, letters: int) -> int:
        """What a request of so many letters takes, roughly."""
        if self._counted is None:
            return round(letters * self.ratio)
        tokens, known = self._counted
        return max(0, round(tokens + (letters - known) * self.ratio))

    def letters(self, tokens: float) -> int:
        """The letters that fit so many tokens, roughly."""
        return max(0, int(tokens / self.ratio))
