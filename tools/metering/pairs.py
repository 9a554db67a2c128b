"""One request beside the one before it: how much they have in common, and where they first differ."""

from __future__ import annotations

from dataclasses import dataclass

from .bodies import Prompt

_SHOWN = 40  # bytes on either side of a difference


@dataclass(frozen=True, slots=True)
class Difference:
    """`part`: model, tools, system or messages. `how`: changed, rewritten, dropped, or respaced (what stands between
    messages). `message` counts from 0, after the ones that instruct. `at` is the first byte that differs, within the
    part or the message; `before` and `after` show what is there."""

    part: str
    how: str
    message: int | None
    at: int
    before: str
    after: str


def difference(before: Prompt, after: Prompt) -> Difference | None:
    """The first thing of `after` that does not extend `before`, in the order in which models read."""
    for part in ("model", "tools", "system"):
        old, new = getattr(before, part), getattr(after, part)
        if old != new:
            return _differ(part, "changed", None, old, new)
    if after.listed.startswith(before.listed) and len(after.messages) >= len(before.messages):
        return None
    for place, (old, new) in enumerate(zip(before.messages, after.messages, strict=False)):
        if old != new:
            how = "dropped" if new in before.messages[place + 1 :] else "rewritten"
            return _differ("messages", how, place, old, new)
    if len(after.messages) < len(before.messages):
        return _differ("messages", "dropped", len(after.messages), before.messages[len(after.messages)], b"")
    return _differ("messages", "respaced", None, before.listed, after.listed)


def _differ(part: str, how: str, message: int | None, old: bytes, new: bytes) -> Difference:
    at = common(old, new)
    return Difference(part, how, message, at, _around(old, at), _around(new, at))


def _around(data: bytes, at: int) -> str:
    return data[max(0, at - _SHOWN) : at + _SHOWN].decode("utf-8", "replace")


def common(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while low < high:  # `one[:low]` is in common, `one[:high + 1]` is not
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def eligible(before: Prompt, after: Prompt) -> int:
    """The bytes of `after` that a server which has just read `before` need not read again."""
    return common(before.text, after.text) if before.model == after.model else 0
