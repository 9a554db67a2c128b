"""Tokens and what they cost.

In `Usage`, `cached` is the part of `input` that the provider had in its cache, and `thought` the part of
`output` that was reasoning; so `input + output` is what the call filled of the model's window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acpagent.core.events import Usage

if TYPE_CHECKING:
    from acpagent.config.settings import Price

_LETTERS_PER_TOKEN = 4


def cost(price: Price | None, usage: Usage) -> float | None:
    """What `usage` cost in the price's currency; None without a price."""
    if price is None:
        return None
    fresh = max(usage.input - usage.cached - usage.written, 0)
    written = price.input if price.written is None else price.written
    total = fresh * price.input + usage.cached * price.cached + usage.written * written + usage.output * price.output
    return total / price.per


def currency(price: Price | None) -> str:
    return "USD" if price is None else price.currency


def estimate(letters: int) -> int:
    """Roughly the tokens of a text of so many letters, for where nobody counts them."""
    return -(-letters // _LETTERS_PER_TOKEN)
