"""Requests told apart by what they continue, and what is counted of each conversation."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from . import bodies
from .bodies import Prompt, Unreadable
from .pairs import Difference, common, difference, eligible

_ALIKE = 0.7  # the share of two openings that has to be the same for one to be the other rewritten


@dataclass
class Conversation:
    """`bytes` are those that models read (tools, system, messages), `eligible` those of them that a prefix cache can
    serve, `body_bytes` those of the bodies. `repeats` are pairs of the same request. `broken_at` counts requests of the
    conversation from 0."""

    opening: bytes
    last: Prompt
    requests: int = 1
    pairs: int = 0
    append_only: int = 0
    repeats: int = 0
    bytes: int = 0
    eligible: int = 0
    body_bytes: int = 0
    broken: Difference | None = None
    broken_at: int = 0
    models: set[bytes] = field(default_factory=set)
    systems: set[bytes] = field(default_factory=set)
    tools: set[bytes] = field(default_factory=set)

    @classmethod
    def begun(cls, prompt: Prompt) -> Conversation:
        made = cls(prompt.messages[-1] if prompt.messages else b"", prompt)
        made._count(prompt)
        return made

    def take(self, prompt: Prompt) -> None:
        differs = difference(self.last, prompt)
        if differs is None:
            self.append_only += 1
            self.repeats += prompt.listed == self.last.listed
        elif self.broken is None:
            self.broken, self.broken_at = differs, self.requests
        self.pairs += 1
        self.requests += 1
        self.eligible += eligible(self.last, prompt)
        self.last = prompt
        self._count(prompt)

    def _count(self, prompt: Prompt) -> None:
        self.bytes += len(prompt.text)
        self.body_bytes += prompt.size
        self.models.add(prompt.model)
        self.systems.add(prompt.system)
        self.tools.add(prompt.tools)


class Meter:
    """All conversations, in the order of their beginnings. One lock, a leaf, guards everything in it."""

    def __init__(self) -> None:
        self.conversations: list[Conversation] = []
        self.others = 0  # requests that are none to a model
        self._lock = threading.Lock()

    def take(self, body: bytes) -> None:
        """Count a request, in the order of arrival."""
        try:
            prompt = bodies.read(body)
        except Unreadable:
            self.pass_by()
            return
        with self._lock:
            home = self._home(prompt)
            if home is None:
                self.conversations.append(Conversation.begun(prompt))
            else:
                home.take(prompt)

    def pass_by(self) -> None:
        """Count a request that is none to a model."""
        with self._lock:
            self.others += 1

    def _home(self, prompt: Prompt) -> Conversation | None:
        """The conversation that it goes on with: of the nearest ones the latest."""
        ranked = [(kinship(one.last, prompt), place) for place, one in enumerate(self.conversations)]
        kin = max(((rank, place) for rank, place in ranked if rank is not None), default=None)
        return None if kin is None else self.conversations[kin[1]]


def kinship(last: Prompt, prompt: Prompt) -> tuple[int, int] | None:
    """How surely `prompt` goes on with the conversation of `last`: (3 it extends it, 2 it begins as it does, 1 most of
    it is still there; messages in common). None: it is another conversation."""
    shared = _shared(last.meanings, prompt.meanings)
    if shared < 2 and last.tools != prompt.tools and last.system != prompt.system:
        return None  # such as the request for a title, about the same words
    if shared and shared == len(last.messages):
        return 3, shared
    if last.replies(shared):  # openings alone may be the same in several conversations
        return 2, shared
    kept = len(set(last.meanings) & set(prompt.meanings))
    if kept * 2 >= len(last.messages) and prompt.replies(len(prompt.messages)):
        return 1, kept
    grown = len(prompt.messages) > len(last.messages) and not last.replies(len(last.messages))
    return (1, 0) if grown and _alike(last.messages[:1], prompt.messages[:1]) else None


def _shared(old: tuple[int, ...], new: tuple[int, ...]) -> int:
    """How many messages both begin with."""
    for place, (one, other) in enumerate(zip(old, new, strict=False)):
        if one != other:
            return place
    return min(len(old), len(new))


def _alike(old: tuple[bytes, ...], new: tuple[bytes, ...]) -> bool:
    if not old or not new:
        return False
    (one,), (other,) = old, new
    start = common(one, other)
    end = min(common(one[::-1], other[::-1]), min(len(one), len(other)) - start)
    return start + end >= _ALIKE * max(len(one), len(other))
