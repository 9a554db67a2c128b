"""Names of what servers offer, as models and people write them: `mcp__server__tool`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

LETTERS = 64  # what every provider takes
_SERVER_LETTERS = 24
_DIGEST_LETTERS = 8
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_BARS = re.compile(r"_{2,}")


def servers(names: Iterable[str]) -> dict[str, str]:
    """What each server is called in the names of its tools. It has no `__` in it, so that it is clear where it ends,
    and no two are the same; the first of two keeps its name whatever comes after it."""
    slugs: dict[str, str] = {}
    for name in dict.fromkeys(names):
        slug = _BARS.sub("_", _UNFIT.sub("_", name)).strip("_")
        slug = _shortened(slug, name, _SERVER_LETTERS) or _digest(name)
        slugs[name] = _apart(slug, name, _SERVER_LETTERS) if slug in slugs.values() else slug
    return slugs


def offered(server: str, names: Iterable[str]) -> dict[str, str]:
    """What each of a server's tools, or prompts, is called; `server` is its name from `servers`. The name of one does
    not depend on any other server. Those whose own name fits come first, so that they keep it."""
    prefix = f"mcp__{server}__"
    room = LETTERS - len(prefix)
    distinct = sorted(dict.fromkeys(names), key=lambda name: (_UNFIT.search(name) is not None, name))
    taken: dict[str, str] = {}
    for name in distinct:
        slug = _shortened(_UNFIT.sub("_", name), name, room) or _digest(name)
        taken[name] = _apart(slug, name, room) if slug in taken.values() else slug
    return {name: prefix + slug for name, slug in taken.items()}


def _shortened(slug: str, name: str, room: int) -> str:
    return slug if len(slug) <= room else _apart(slug, name, room)


def _apart(slug: str, name: str, room: int) -> str:
    """A slug that no other name has."""
    return f"{slug[: room - _DIGEST_LETTERS - 1]}_{_digest(name)}"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LETTERS]
