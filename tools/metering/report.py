"""What was metered, as data and as text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from .conversations import Conversation, Meter

_WORDS = 60  # letters shown of an opening


def figures(meter: Meter) -> dict[str, Any]:
    """All as plain data. Shares are of 1, and null where there is nothing to share out."""
    known = meter.conversations
    return {
        "requests": sum(one.requests for one in known),
        "other_requests": meter.others,
        **_distinct(known),
        **_shares(known),
        "conversations": [_conversation(one) for one in known],
    }


def _conversation(one: Conversation) -> dict[str, Any]:
    broken = None if one.broken is None else {"request": one.broken_at, **dataclasses.asdict(one.broken)}
    opening = one.opening.decode("utf-8", "replace")
    return {"opening": opening, "requests": one.requests, **_distinct([one]), **_shares([one]), "first_break": broken}


def _distinct(several: Iterable[Conversation]) -> dict[str, int]:
    several = list(several)
    return {
        "models": len({model for one in several for model in one.models}),
        "system_messages": len({system for one in several for system in one.systems}),
        "tool_lists": len({tools for one in several for tools in one.tools}),
    }


def _shares(several: Iterable[Conversation]) -> dict[str, Any]:
    sums = {
        name: sum(getattr(one, field) for one in several)
        for name, field in (
            ("pairs", "pairs"),
            ("append_only_pairs", "append_only"),
            ("repeats", "repeats"),
            ("body_bytes", "body_bytes"),
            ("prompt_bytes", "bytes"),
            ("cache_eligible_bytes", "eligible"),
        )
    }
    return {
        **sums,
        "append_only_share": _share(sums["append_only_pairs"], sums["pairs"]),
        "cache_eligible_share": _share(sums["cache_eligible_bytes"], sums["prompt_bytes"]),
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def text(told: dict[str, Any]) -> str:
    """The same for people: what `figures` gave."""
    lines = [f"requests to a model: {told['requests']}, conversations: {len(told['conversations'])}"]
    if told["other_requests"]:
        lines.append(f"other requests, only passed on: {told['other_requests']}")
    for number, one in enumerate(told["conversations"], 1):
        opening = one["opening"]
        lines += ["", f"{number}. {opening[:_WORDS]}{'...' if len(opening) > _WORDS else ''}", *_rows(one)]
        if one["first_break"]:
            lines += _broken(one["first_break"])
    if len(told["conversations"]) > 1:
        lines += ["", "all", *_rows(told)]
    return "\n".join(lines)


def _rows(one: dict[str, Any]) -> list[str]:
    rows = (
        ("requests", f"{one['requests']} ({one['repeats']} of them the one before again)"),
        ("models", str(one["models"])),
        ("system messages", str(one["system_messages"])),
        ("tool lists", str(one["tool_lists"])),
        ("append-only pairs", f"{one['append_only_pairs']} of {one['pairs']}{_percent(one['append_only_share'])}"),
        (
            "cache-eligible bytes",
            f"{one['cache_eligible_bytes']} of {one['prompt_bytes']}{_percent(one['cache_eligible_share'])}",
        ),
    )
    return [f"   {title:<21} {value}" for title, value in rows]


def _percent(share: float | None) -> str:
    return "" if share is None else f" ({share:.2%})"


def _broken(broken: dict[str, Any]) -> list[str]:
    place = "" if broken["message"] is None else f", message {broken['message']}"
    what = f"{broken['part']}{place} {broken['how']} at byte {broken['at']}"
    return [
        f"   first break: request {broken['request']}, {what}",
        f"      before {broken['before']!r}",
        f"      after  {broken['after']!r}",
    ]
