"""The work modes by name, and what else people call them. This file lies on the path to `initialize`: no imports."""

from __future__ import annotations

ECONOMY, BALANCED, DELIVERY = NAMES = ("economy", "balanced", "delivery")

# Another word for a mode -> its name. The empty word is somebody who leaves the choice to us.
ALIASES: dict[str, str] = {
    **dict.fromkeys(("eco", "lite", "save", "saving", "low", "minimal", "light"), ECONOMY),
    **dict.fromkeys(("full", "standard", "normal", ""), BALANCED),
    **dict.fromkeys(("deliver", "quality"), DELIVERY),
}


def named(word: str) -> str | None:
    """The name of the work mode that `word` means, in any case; None if it means none."""
    word = word.strip().lower()
    return word if word in NAMES else ALIASES.get(word)
