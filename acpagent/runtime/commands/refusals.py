"""Why a command does nothing, as something to say to the person; and words as a shell would split them."""

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
