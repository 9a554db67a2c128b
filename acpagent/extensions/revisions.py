"""Revisions of skills: the bytes of a skill's file as acpagent wrote, met or removed them. They are kept in its home,
and nothing of them lies where skills are looked for."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from acpagent.core import files
from acpagent.core.files import NotText

MOST = 20  # of one file
_MAX_BYTES = 32 * 1024 * 1024

# What made it; `found`: it stood there before it was changed.
Made = Literal["new", "edit", "promote", "rollback", "rm", "found"]
MADE: tuple[Made, ...] = ("new", "edit", "promote", "rollback", "rm", "found")


@dataclass(frozen=True, slots=True)
class Revision:
    """`at` is ISO 8601, UTC; `digest` the SHA-256 of `data`."""

    number: int
    at: str
    made: Made
    digest: str
    data: bytes


def read(home: str, path: str) -> tuple[Revision, ...]:
    """The revisions of the file at a resolved path, oldest first; one that is damaged is left out. Raises OSError."""
    try:
        kept = json.loads(files.read_bytes(_file(home, path), _MAX_BYTES))
    except (FileNotFoundError, NotText, ValueError, RecursionError):
        return ()
    listed = kept.get("revisions") if isinstance(kept, dict) and kept.get("path") == path else None
    return tuple(_usable(listed)) if isinstance(listed, list) else ()


def keep(home: str, path: str, data: bytes, made: Made) -> None:
    """Add a revision to those of the file at a resolved path, unless it was `found` as the last one left it. Raises
    OSError."""
    file = _file(home, path)
    os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
    file = os.path.realpath(file)
    with files.exclusive(file):
        kept = read(home, path)
        digest = files.digest(data)
        if made == "found" and kept and kept[-1].digest == digest:
            return
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        one = Revision(kept[-1].number + 1 if kept else 1, at, made, digest, data)
        listed = [_spelled(revision) for revision in (*kept, one)[-MOST:]]
        files.write_bytes(file, json.dumps({"path": path, "revisions": listed}).encode(), mode=0o600)


def _usable(listed: list[Any]) -> Iterator[Revision]:
    for one in listed:
        try:
            number, at, made = int(one["number"]), str(one["at"]), one["made"]
            data = base64.b64decode(one["data"], validate=True)
        except (KeyError, TypeError, ValueError):
            continue
        if made in MADE and files.digest(data) == one.get("digest"):
            yield Revision(number, at, made, one["digest"], data)


def _spelled(one: Revision) -> dict[str, Any]:
    data = base64.b64encode(one.data).decode()
    return {"number": one.number, "at": one.at, "made": one.made, "digest": one.digest, "data": data}


def _file(home: str, path: str) -> str:
    named = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
    return os.path.join(home, "skill-history", f"{named}.json")
