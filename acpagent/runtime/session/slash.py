"""The slash command that a prompt begins with."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from acpagent.core import catalogue
from acpagent.core.blocks import Block, first_text

_MARKS = ("'", '"')


@dataclass(frozen=True, slots=True)
class Slash:
    """`name` is what follows the `/`, as it was written, `words` what follows that. `place` is that of the block it
    begins. `indented`: something blank stands before it, so that it is for the model."""

    name: str
    words: str
    place: int
    indented: bool


def read(blocks: Sequence[Block]) -> Slash | None:
    """What the first text block begins with (CMD-04); other blocks may stand before it."""
    found = first_text(blocks)
    if found is None:
        return None
    place, text = found
    name, *rest = text.split(maxsplit=1) or [""]
    if not name.startswith("/"):
        return None
    return Slash(name[1:], rest[0].strip() if rest else "", place, text[0] != "/")


def split(words: str) -> list[str]:
    """The arguments of a command; what stands in quotes is one of them. Raises ValueError for a quote that never
    ends."""
    return [word.replace("\0", "\ufffd") for word in shlex.split(words)]  # no path can have it


def parted(words: str) -> tuple[str, str]:
    """The first argument, and the rest as it was written."""
    first, *rest = words.split(maxsplit=1) or [""]
    return unquoted(first), rest[0].strip() if rest else ""


def unquoted(words: str) -> str:
    """Words without the quotes around the whole of them, if there are any; of all others each letter stays."""
    words = words.strip()
    if len(words) < 2 or words[0] not in _MARKS or words[-1] not in _MARKS:
        return words
    try:
        inside = shlex.split(words)
    except ValueError:
        return words
    return inside[0] if len(inside) == 1 else words


def hint(name: str, language: str) -> str | None:
    """How a command of ours is used: what may follow its name."""
    return _said(f"{_code(name)}_usage", language)


def about(name: str, language: str) -> str:
    return catalogue.say(_code(name), {}, language)


def usage(name: str, language: str) -> str:
    """All that is to be said of how a command of ours is used."""
    follows, more = hint(name, language), _said(f"{_code(name)}_how", language)
    line = f"`/{name}{f' {follows}' if follows else ''}`: {about(name, language)}"
    return f"{line}\n\n{more}" if more else line


def _code(name: str) -> str:
    return f"command_{name.replace('-', '_')}"


def _said(code: str, language: str) -> str | None:
    return catalogue.say(code, {}, language) if catalogue.knows(code) else None
