"""Phrases as plain data for the store, and what the system says of a file or a connection as a phrase."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from functools import reduce
from typing import Any

from acpagent.core.bounds import one_line
from acpagent.core.catalogue import Phrase, knows

_SYSTEM = {
    errno.ENOENT: "system_missing",
    errno.EACCES: "system_denied",
    errno.EPERM: "system_denied",
    errno.EEXIST: "system_exists",
    errno.ENOTDIR: "system_no_folder",
    errno.EISDIR: "system_folder",
    errno.ENOTEMPTY: "system_not_empty",
    errno.ENOSPC: "system_full",
    errno.EROFS: "system_read_only",
    errno.ELOOP: "system_loop",
    errno.ENAMETOOLONG: "system_long_name",
    errno.ENOEXEC: "system_no_program",
}


def titled(code: str, limit: int, what: str, **others: Any) -> Phrase:
    """The title of a call by what it is about, which is cut so that the title has at most `limit` characters."""
    room = limit - len(Phrase(code, what="", **others))
    return Phrase(code, what=one_line(what, max(room, 20)), **others)


def joined(code: str, parts: Sequence[str]) -> str:
    """Texts behind each other, by a phrase that joins a `first` and a `second`."""
    return reduce(lambda first, second: Phrase(code, first=first, second=second), parts) if parts else ""


def why(error: OSError) -> str:
    """What went wrong, in a few words and without the path: a phrase for what happens every day, else the system's
    own words."""
    known = _SYSTEM.get(error.errno or 0)
    return Phrase(known) if known else error.strerror or str(error)


def told(error: BaseException) -> str:
    """What an exception says to a person: the phrase that it was raised with, or its text."""
    first = error.args[0] if error.args else None
    if isinstance(first, Phrase):
        return first
    return why(error) if isinstance(error, OSError) else str(error)


def to_data(value: Any) -> Any:
    """Plain data in which phrases keep their codes."""
    if isinstance(value, Phrase):
        return {"say": value.code, "with": to_data(value.params), "as": str(value)}
    if isinstance(value, dict):
        return {name: to_data(one) for name, one in value.items()}
    return [to_data(one) for one in value] if isinstance(value, (list, tuple)) else value


def from_data(data: Any) -> Any:
    """The inverse of `to_data`. A phrase that this build cannot say is the text that it was."""
    if isinstance(data, dict):
        if data.keys() == {"say", "with", "as"}:
            return _phrase(data)
        return {name: from_data(one) for name, one in data.items()}
    return [from_data(one) for one in data] if isinstance(data, list) else data


def _phrase(data: dict[str, Any]) -> str:
    try:
        return Phrase(data["say"], **from_data(data["with"])) if knows(data["say"]) else str(data["as"])
    except (KeyError, TypeError, ValueError, IndexError):
        return str(data["as"])
