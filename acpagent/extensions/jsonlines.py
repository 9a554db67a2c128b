"""JSON that still knows its lines."""

from __future__ import annotations

import json
import re
from typing import Any

from acpagent.config.document import Document, Path
from acpagent.config.problems import ConfigError, ConfigProblem
from acpagent.core.bounds import one_line
from acpagent.core.catalogue import Phrase

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:\n]|[^\s{}\[\],:"]+')


def parse(file: str, data: bytes) -> Document:
    """The value that `data`, the content of `file`, holds. Stricter than JSON where it surprises people: a key may
    stand once. Raises `ConfigError` with the line of what is wrong."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(ConfigProblem(file, line, Phrase("what_not_utf8"), Phrase("remedy_utf8"))) from None
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        remedy = Phrase("remedy_json")
        raise ConfigError(ConfigProblem(file, error.lineno, Phrase("what_no_json", error=error.msg), remedy)) from None
    except _Repeated as key:
        what = Phrase("what_twice", key=one_line(str(key), 40))
        raise ConfigError(ConfigProblem(file, None, what, Phrase("remedy_keep_one"))) from None
    except (ValueError, RecursionError):
        raise ConfigError(
            ConfigProblem(file, None, Phrase("what_unreadable_json"), Phrase("remedy_nest_less"))
        ) from None
    return Document(file, value, _lines(text))


class _Repeated(Exception):
    """A key that stands twice would say one thing to a reader and another to a program."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Repeated(key)
        found[key] = value
    return found


def _lines(text: str) -> dict[Path, int]:
    """The line of each key and item of a text that is valid JSON."""
    lines: dict[Path, int] = {}
    path: list[str | int] = []  # of what is being read; a list's part of it is the place in it
    line, key_follows = 1, False
    for token in _TOKEN.findall(text):
        if token == "\n":
            line += 1
        elif token == "{":
            lines.setdefault(tuple(path), line)
            path.append("")
            key_follows = True
        elif token == "[":
            lines.setdefault(tuple(path), line)
            path.append(0)
        elif token in "}]":
            path.pop()
            key_follows = False
        elif token == "," and isinstance(path[-1], int):
            path[-1] += 1
        elif token == ",":
            key_follows = True
        elif token != ":" and key_follows:
            path[-1], key_follows = json.loads(token), False
            lines[tuple(path)] = line
        elif token != ":":
            lines.setdefault(tuple(path), line)
    return lines
