"""The two kinds of fault that reach a peer: theirs (a bad request) and ours (we broke).

Plain classes: this file is on the path to the `initialize` answer.
"""

from __future__ import annotations


class Fault(Exception):
    """Something a request is answered with instead of a result.

    `code` is a JSON-RPC error code (`wire.codes`), `message` one sentence for a person,
    `data` extra fields a program may read. Never holds a secret or a value from the peer.
    """

    def __init__(self, code: int, message: str, data: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class TheirFault(Fault):
    """The peer asked for something that cannot be: the code says what is wrong with the request."""


class OurFault(Fault):
    """We failed at something legitimate. Always -32603 (RPC-17)."""

    def __init__(self, message: str, data: dict[str, object] | None = None) -> None:
        super().__init__(-32603, message, data)
