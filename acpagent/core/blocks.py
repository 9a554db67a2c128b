"""Content blocks: what a person, the model or a tool says, independent of any protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Text:
    """Plain or Markdown text."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image: base64 `data` and its media type."""

    data: str
    media_type: str
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A reference to something the agent may read by itself."""

    uri: str
    name: str
    media_type: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Resource:
    """Embedded content: either `text` or base64 `blob`."""

    uri: str
    text: str | None = None
    blob: str | None = None
    media_type: str | None = None


Block = Text | Image | Link | Resource

_KINDS: dict[str, type[Any]] = {"text": Text, "image": Image, "link": Link, "resource": Resource}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def first_text(blocks: Sequence[Block]) -> tuple[int, str] | None:
    """The place and the words of the first text among blocks."""
    return next(((place, block.text) for place, block in enumerate(blocks) if isinstance(block, Text)), None)


def to_data(block: Block) -> dict[str, Any]:
    """A block as plain data for the store; absent fields are left out."""
    fields = {key: value for key, value in asdict(block).items() if value is not None}
    return {"block": _NAMES[type(block)], **fields}


def from_data(data: dict[str, Any]) -> Block:
    """The inverse of `to_data`. Raises KeyError or TypeError on data that is no block."""
    fields = dict(data)
    block: Block = _KINDS[fields.pop("block")](**fields)
    return block
