"""What commands share: why one does nothing, its words as a shell would split them, and times to read."""

from __future__ import annotations

import shlex
from typing import Any


class Refused(Exception):
    """A code of the catalogue with its parameters."""

    def __init__(self, code: str, **params: Any) -> None:
        super().__init__(code)
        self.code = code
        self.params = params


def split(words: str) -> list[str]:
    """The arguments of a command; what stands in quotes is one of them. Raises `Refused` for a quote that never
    ends."""
    try:
        return shlex.split(words)
    except ValueError:
        raise Refused("command_quotes") from None


def minute(stamp: str) -> str:
    """A time of the store, to the minute."""
    return f"{stamp[:16].replace('T', ' ')} UTC"
