"""What servers answer, as blocks of our own and in bounded size. The package's objects come in and stay behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.core import bounds
from acpagent.core.blocks import Block, Image, Link, Resource, Text

IMAGE_LETTERS = 4 << 20  # of base64: what every API takes
IMAGES = 8
STRUCTURED_LETTERS = 16_384  # kept as data; the model reads more of it as text


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a call: `text` is for the model and has at most so many bytes as were allowed; `others` are
    the images, links and resources beside it. `size` counts the letters that there were."""

    text: str
    others: tuple[Block, ...] = ()
    structured: Any = None
    failed: bool = False
    size: int = 0
    left_out: int = 0


def outcome(result: Any, limit: int) -> Outcome:
    """What came of a call, in `limit` bytes."""
    said = _Said()
    for block in result.content:
        said.take(block)
    structured = result.structured_content
    spelled = "" if structured is None else json.dumps(structured, ensure_ascii=False, default=str)
    if spelled and not said.texts:  # servers for older clients say it twice
        said.texts.append(spelled)
    whole = "\n".join(said.texts)
    excerpt = bounds.cut(whole, limit)
    return Outcome(
        text=excerpt.text or "(The server returned nothing.)",
        others=tuple(said.others),
        structured=structured if len(spelled) <= STRUCTURED_LETTERS else None,
        failed=result.is_error is True,
        size=len(whole),
        left_out=excerpt.left_out,
    )


def messages(result: Any, limit: int) -> tuple[Block, ...]:
    """The messages of a prompt as the blocks of one, in `limit` bytes of text."""
    said = _Said()
    for message in result.messages:
        said.take(message.content, "" if message.role == "user" else f"[{message.role}]\n")
    text = bounds.cut("\n\n".join(said.texts), limit).text
    return (*((Text(text),) if text else ()), *said.others)


def contents(result: Any, limit: int) -> Outcome:
    """What a resource holds, in `limit` bytes of text."""
    said = _Said()
    for item in result.contents:
        said.take_contents(item)
    excerpt = bounds.cut("\n".join(said.texts), limit)
    images = tuple(block for block in said.others if isinstance(block, Image))
    size = sum(map(len, said.texts))
    return Outcome(excerpt.text or "(It is empty.)", images, size=size, left_out=excerpt.left_out)


class _Said:
    """Blocks as they are taken in: text in order, with a line for each thing that is none."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.others: list[Block] = []
        self._images = 0

    def take(self, block: Any, before: str = "") -> None:
        taker = _TAKERS.get(block.type)
        if taker is None:
            self.texts.append(f"[Content of a kind that is not known here: {bounds.one_line(block.type, 40)}]")
            return
        count = len(self.texts)
        taker(self, block)
        if before and len(self.texts) > count:
            self.texts[count] = before + self.texts[count]

    def take_text(self, block: Any) -> None:
        if block.text:
            self.texts.append(bounds.clean(block.text))

    def take_image(self, block: Any) -> None:
        self._image(block.data, block.mime_type)

    def take_audio(self, block: Any) -> None:
        self.texts.append(f"[Audio ({_kind(block.mime_type)}) was left out: nobody here can hear it.]")

    def take_link(self, block: Any) -> None:
        name = bounds.one_line(block.title or block.name, 200)
        self.others.append(Link(block.uri, name, block.mime_type, block.size))
        self.texts.append(f"[Resource {name}: {bounds.one_line(block.uri, 500)}]")

    def take_embedded(self, block: Any) -> None:
        self.take_contents(block.resource)

    def take_contents(self, item: Any) -> None:
        """The contents of a resource, fenced: they are nobody's instructions."""
        uri, text = bounds.one_line(item.uri, 500), getattr(item, "text", None)
        if text is not None:
            self.texts.append(f"[Resource {uri}]\n{bounds.clean(text)}\n[End of {uri}]")
            self.others.append(Resource(item.uri, bounds.cut(bounds.clean(text), 65_536).text, None, item.mime_type))
        elif (item.mime_type or "").startswith("image/"):
            self._image(item.blob, item.mime_type)
        else:
            size = len(item.blob) * 3 // 4
            self.texts.append(f"[Resource {uri}: {_kind(item.mime_type)}, about {size} bytes, left out]")

    def _image(self, data: str, media_type: str) -> None:
        if len(data) > IMAGE_LETTERS or self._images >= IMAGES:
            self.texts.append(f"[An image ({_kind(media_type)}, about {len(data) * 3 // 4} bytes) was left out.]")
            return
        self._images += 1
        self.others.append(Image(data, media_type))
        self.texts.append(f"[Image: {_kind(media_type)}]")


_TAKERS: Mapping[str, Callable[[_Said, Any], None]] = {
    "text": _Said.take_text,
    "image": _Said.take_image,
    "audio": _Said.take_audio,
    "resource_link": _Said.take_link,
    "resource": _Said.take_embedded,
}


def _kind(media_type: str | None) -> str:
    return bounds.one_line(media_type or "unknown kind", 80)
