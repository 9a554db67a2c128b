"""Glob patterns for file names, as regular expressions."""

from __future__ import annotations

import re
from collections.abc import Callable

from acpagent.core.toolcalls import ToolRefusal

MAX_CHARACTERS = 500
_MAX_BRACES = 100

_ANY_DIRECTORIES = r"(?:[^/]+/)*"
_CLASS = re.compile(r"\[(!|\^)?(\]?[^\]/]*)\]")


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a relative path matches. `*` and `?` stay within a name, `**` spans directories, `{a,b}` means
    either; a pattern without `/` is tried on the name alone, at any depth. Raises `ToolRefusal`."""
    if not pattern or len(pattern) > MAX_CHARACTERS:
        raise ToolRefusal(f"A glob pattern must have 1 to {MAX_CHARACTERS} characters.")
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
        raise ToolRefusal("A glob pattern is relative to path; give the directory as path.")
    pattern = pattern.removeprefix("./").rstrip("/")
    choices = _braces(pattern)
    try:
        found = re.compile("|".join(_anchored(choice) for choice in choices))
    except re.error as fault:
        raise ToolRefusal(f"Not a usable glob pattern: {fault}.") from None
    return lambda path: found.fullmatch(path) is not None


def _anchored(pattern: str) -> str:
    return _translated(pattern if "/" in pattern else f"**/{pattern}")


def _translated(pattern: str) -> str:
    parts = pattern.split("/")
    out = ""
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            out += ".+" if last else _ANY_DIRECTORIES
        else:
            out += _name(part) + ("" if last else "/")
    return out


def _name(part: str) -> str:
    out, at = "", 0
    while at < len(part):
        letter = part[at]
        group = _CLASS.match(part, at) if letter == "[" else None
        if group and group[2]:
            inside = group[2].replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
            inside = re.sub(r"([&~|])", r"\\\1", inside)
            out += f"[{'^/' if group[1] else ''}{inside}]"
            at = group.end()
            continue
        if letter == "*":
            while part[at : at + 1] == "*":
                at += 1
            out += "[^/]*"
            continue
        if letter == "\\" and at + 1 < len(part):
            at += 1
            letter = part[at]
            out += re.escape(letter)
        else:
            out += "[^/]" if letter == "?" else re.escape(letter)
        at += 1
    return out


def _braces(pattern: str) -> list[str]:
    """`a{b,c}` as `ab` and `ac`, nested ones too."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        text = waiting.pop()
        group = re.search(r"\{([^{}]*,[^{}]*)\}", text)
        if group is None:
            done.append(text)
        else:
            waiting += [text[: group.start()] + choice + text[group.end() :] for choice in group[1].split(",")]
        if len(done) + len(waiting) > _MAX_BRACES:
            raise ToolRefusal("The glob pattern has too many choices in braces.")
    return done
