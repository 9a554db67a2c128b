"""The two tables of what is in flight. Not locked: `Peer` is their only user."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from typing import Any


def id_key(id: Any) -> Hashable:
    """A key under which ids of different JSON types differ: 1, "1" and 1.0 are three ids (CAN-19, RPC-02).

    Defined for every JSON value; what cannot be an id gets a key that no request has.
    """
    if id is None or isinstance(id, bool | int | float | str):
        return (type(id), id)
    return (type(id),)


class Answer:
    """What came of a call: `result`, or `error` ({code, message, data?}), or `lost` with neither."""

    __slots__ = ("error", "lost", "result")

    def __init__(self, result: Any = None, error: dict[str, Any] | None = None, lost: bool = False) -> None:
        self.result = result
        self.error = error
        self.lost = lost


class Call:
    """A request of ours whose answer somebody wants. Once abandoned, `on_answer` is for a late answer only."""

    __slots__ = ("abandoned", "id", "method", "on_answer")

    def __init__(self, id: int, method: str, on_answer: Callable[[Answer], None]) -> None:
        self.id = id
        self.method = method
        self.on_answer = on_answer
        self.abandoned = False


class Inbound:
    """The peer's requests that we owe an answer, with their methods."""

    __slots__ = ("_methods",)

    def __init__(self) -> None:
        self._methods: dict[Hashable, str] = {}

    def __len__(self) -> int:
        return len(self._methods)

    def begin(self, id: Any, method: str) -> bool:
        """False if this id is in flight already, which leaves the older request as it was (RPC-27)."""
        key = id_key(id)
        if key in self._methods:
            return False
        self._methods[key] = method
        return True

    def method(self, id: Any) -> str | None:
        """The method of the request in flight under `id`, or None."""
        return self._methods.get(id_key(id))

    def finish(self, id: Any) -> bool:
        """Take the id out; False if it was not in flight."""
        return self._methods.pop(id_key(id), None) is not None


class Outbound:
    """Our requests whose answers somebody wants. Ids count up and are never reused (RPC-19)."""

    __slots__ = ("_calls", "_last")

    def __init__(self) -> None:
        self._calls: dict[Hashable, Call] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._calls)

    def mint(self) -> int:
        """A fresh id."""
        self._last += 1
        return self._last

    def begin(self, call: Call) -> None:
        self._calls[id_key(call.id)] = call

    def method(self, id: Any) -> str | None:
        """The method of the call in flight under `id`, or None."""
        call = self._calls.get(id_key(id))
        return None if call is None else call.method

    def finish(self, id: Any) -> Call | None:
        """Take out the call that a response answers; None for an unknown, late or repeated id (RPC-18)."""
        return self._calls.pop(id_key(id), None)

    def abandon(self, id: int, late: Callable[[Answer], None] | None) -> bool:
        """Nobody waits any longer; a late answer goes to `late`. False if it is answered already. Without `late` the
        call is forgotten: peers that never answer what is withdrawn must not fill the table."""
        call = self._calls.get(id_key(id))
        if call is None:
            return False
        if late is None:
            del self._calls[id_key(id)]
        else:
            call.on_answer = late
            call.abandoned = True
        return True

    def take_all(self) -> list[Call]:
        """Empty the table, oldest call first."""
        calls, self._calls = list(self._calls.values()), {}
        return calls
