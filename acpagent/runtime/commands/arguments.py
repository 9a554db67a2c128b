"""What commands share: why one does nothing, its words as a shell would split them, and times to read."""

from __future__ import annotations

from typing import Any

from acpagent.runtime.session import slash


class Refused(Exception):
    """A code of the catalogue with its parameters."""

    def __init__(self, code: str, **params: Any) -> None:
        super().__init__(code)
        self.code = code
        self.params = params


def split(words: str) -> list[str]:
    """The arguments of a command, as `slash.split` has it. Raises `Refused` for a quote that never ends."""
    try:
        return slash.split(words)
    except ValueError:
        raise Refused("command_quotes") from None


def no_arguments(words: str, command: str) -> None:
    """Raises `Refused` if there are any arguments."""
    if words:
        raise Refused("command_no_arguments", command=command)


def minute(stamp: str) -> str:
    """A time of the store, to the minute."""
    return f"{stamp[:16].replace('T', ' ')} UTC"
