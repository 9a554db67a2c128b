"""Thoughts that Anthropic signs, kept so that a reply can be said again word for word.

The API wants the thoughts of a reply back, unchanged and where they were among its texts and calls. Kept is that
layout: thoughts in full, of a text its length, of a call its place; texts and calls are in the history already.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acpagent.providers.anthropic_reader import Block


def write(blocks: Sequence[Block]) -> str:
    """The layout of a reply; empty if there is no signed thought in it."""
    layout = [item for block in blocks if (item := _item(block)) is not None]
    if not any(item[0] in ("thinking", "redacted") for item in layout):
        return ""
    return json.dumps(layout, separators=(",", ":"))


def _item(block: Block) -> list[Any] | None:
    if block.kind == "text":
        return ["text", sum(map(len, block.text))]
    if block.kind == "call":
        return ["call"]
    if not block.signature:
        return None  # cut off before it was signed
    return [block.kind, "".join(block.text), block.signature]


def read(kept: str, text: str, calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """The blocks of the reply, from what was kept, its text and its spelled calls. None if they do not fit."""
    try:
        blocks = list(_blocks(json.loads(kept), text, calls))
    except (ValueError, TypeError, LookupError):
        return None
    while blocks and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
        blocks.pop()  # no message may end so; the calls that it led to were cut off
    return blocks


def _blocks(layout: Any, text: str, calls: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    start, made = 0, iter(calls)
    for kind, *what in layout:
        if kind == "thinking":
            yield {"type": "thinking", "thinking": what[0], "signature": what[1]}
        elif kind == "redacted":
            yield {"type": "redacted_thinking", "data": what[1]}
        elif kind == "call":
            call = next(made, None)
            if call is not None:
                yield call
        else:
            end = start + what[0]
            if text[start:end].strip():
                yield {"type": "text", "text": text[start:end]}
            start = end
    if start != len(text) or next(made, None) is not None:
        raise ValueError
