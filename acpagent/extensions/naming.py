"""Which files the lines of hooks and servers name, and which of those only take data in.

What a line names may run: its program, a script behind an interpreter, what `-m`, `-r` or `--require=` loads, or
whatever else a program makes of its words, which nobody can know. So every file that a word could name counts, but for
two kinds that say themselves that they are written: the target of a redirection or of `tee`, and the value of an option
or a variable whose name says so (`--log-file server.log`, `MEMORY_FILE_PATH`), if the file's own name says it as well.
One that is named somewhere else, too, counts all the same; and so does one that could be run as it lies there.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from acpagent.core import shellparse
from acpagent.core.shellparse import Command, Word

_MAX_LINE = 10_000  # letters that are taken apart as a shell would
_DEEPEST = 4  # lines within words of lines
_LONGEST = 1024
_VARIABLES = ("$", "${")
_SIGNS = re.compile(r"[\s;&|()<>`'\"{}=,@:!]+")
_LINE = re.compile(r"[\s;&|<>]")  # a word that may be a line for another shell
_GLUED = re.compile(r"-[A-Za-z]")
_MODULE = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
# What programs add to a name by themselves.
_ENDINGS = (".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".sh", "/__main__.py", "/__init__.py", "/index.js")
_WRITES = re.compile(r">|\btee\b")
_WRITING = frozenset({">", ">>", ">|", "&>", "&>>", ">&"})
_PARTS = re.compile(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])")
_DATA_OPTIONS = frozenset(
    {"log", "logs", "logfile", "output", "outfile", "db", "dbfile", "database", "data", "datafile", "cache", "history"}
    | {"state", "pid", "pidfile", "lock", "lockfile", "report", "trace", "memory", "storage"}
)
_CODE_OPTIONS = frozenset(
    {"config", "conf", "cfg", "script", "plugin", "module", "hook", "exec", "command", "cmd", "handler", "class"}
    | {"format", "init", "load", "require", "import", "run", "app"}
)
_DATA = re.compile(r"\.(log|out|err|txt|db3?|sqlite3?|csv|tsv|json|jsonl|ndjson|pid|lock|cache|tmp|trace|xml|html)\Z")
_CODE = re.compile(
    r"\.(sh|bash|zsh|fish|command|py|pyw|pyz|pyc|js|mjs|cjs|jsx|ts|mts|cts|tsx|rb|pl|pm|php|lua|tcl|r|jl|exs?|erl|go|rs"
    r"|java|jar|class|kts?|groovy|scala|clj|hs|ml|awk|sed|mk|mak|ps1|psm1|bat|cmd|exe|so|dylib|dll|node|wasm|sql|nix)\Z"
)


@dataclass(frozen=True, slots=True)
class Name:
    """What a line names: a path as seen from one of the line's folders. `data`: it is said to be written there."""

    path: str
    data: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One text of a file: the `folder` that its object says it runs in, and what it names."""

    folder: str
    names: tuple[Name, ...]


def lines(data: bytes) -> Iterator[Line]:
    """The lines in a JSON file; none where it cannot be read, for nothing runs then."""
    try:
        yield from _of_value(json.loads(data), "", "")
    except (ValueError, RecursionError):
        return


def is_code(path: str, mode: int, begins: bytes) -> bool:
    """Whether a file could be run as it lies there: by its mode, how it begins, or what it is called."""
    return bool(mode & 0o111) or begins[:2] == b"#!" or _CODE.search(path.lower()) is not None


def endings(name: Name) -> Iterator[str]:
    """Further paths that may be meant where there is no file of that name."""
    if not name.data:
        yield from (name.path.rstrip("/") + ending for ending in _ENDINGS)


def _of_value(value: Any, folder: str, called: str) -> Iterator[Line]:
    if isinstance(value, dict):
        inner = value.get("cwd")
        folder = _without_variable(inner) if isinstance(inner, str) else folder
        for key, item in value.items():
            yield from _of_value(item, folder, key)
    elif isinstance(value, list):
        before = ""
        for item in value:
            yield from _of_value(item, folder, before)
            before = _as_option(item)
    elif isinstance(value, str):
        if called == "contextFile":
            yield Line(folder, tuple(Name(name.path, True) for name in _of_word(value, "")))
        else:
            yield Line(folder, tuple(_of_line(value, called, 0)))


def _of_line(text: str, called: str, depth: int) -> Iterator[Name]:
    words, written = _apart(text)
    for target in written:
        yield from (Name(name.path, True) for name in _of_word(target, ""))
    before = called
    for word in words:
        if depth < _DEEPEST and word != text and _LINE.search(word):
            yield from _of_line(word, before, depth + 1)
        else:
            yield from _of_word(word, before)
        before = _as_option(word)
    if text not in words and not _says_data(called):
        yield from _names([text], False)  # a path with spaces


def _apart(text: str) -> tuple[list[str], list[str]]:
    """The words of a line, and those that it only writes to. All of them are words where it is not plain."""
    everything = _split(text), list[str]()
    if len(text) > _MAX_LINE or not _WRITES.search(text):
        return everything
    script = shellparse.parse(text, "/bin/bash")
    if script.doubts or not all(_is_plain(command) for command in script.commands):
        return everything
    words, written = list[str](), list[str]()
    for command in script.commands:
        said = [word.text for word in command.words]
        if said and os.path.basename(said[0]) == "tee":
            written += said[1:]
        else:
            words += said
        words += (f"{name}={value.text}" for name, value in command.assignments)
        for redirect in command.redirects:
            if redirect.target is not None:
                (written if redirect.operator in _WRITING else words).append(redirect.target.text)
    return words, written


def _is_plain(command: Command) -> bool:
    """Whether all words of a command are there to be read. The text of `<<` is none of them."""
    targets = [redirect.target for redirect in command.redirects if redirect.target is not None]
    values = [value for _, value in command.assignments]
    return all(_is_readable(word) for word in (*command.words, *values, *targets)) and not any(
        redirect.operator.startswith("<<") for redirect in command.redirects
    )


def _is_readable(word: Word) -> bool:
    return word.static or word.kinds == {"variable"}


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text) if len(text) <= _MAX_LINE else text.split()
    except ValueError:
        return text.split()


def _of_word(word: str, before: str) -> Iterator[Name]:
    """What a word could name: all of it, what an option is given, and what stands between signs."""
    option, given, value = word.partition("=")
    if given and _says_data(option) and _DATA.search(value.lower()):
        yield from _names([value], True)
        return
    if _says_data(before) and _DATA.search(word.lower()) and not _SIGNS.search(word):
        yield from _names([word], True)
        return
    pieces = [word, *_SIGNS.split(word)]
    pieces += [word[2:]] if _GLUED.match(word) else []
    pieces += [word.replace(".", "/")] if before == "-m" and _MODULE.fullmatch(word) else []
    yield from _names(pieces, False)


def _names(pieces: list[str], data: bool) -> Iterator[Name]:
    for piece in dict.fromkeys(map(_without_variable, pieces)):
        if 0 < len(piece) < _LONGEST and "\0" not in piece and not piece.startswith("-"):
            yield Name(piece, data)


def _as_option(word: Any) -> str:
    return word if isinstance(word, str) and word.startswith("-") else ""


def _says_data(option: str) -> bool:
    """Whether the name of an option or a variable says that data is kept where it points to."""
    parts = {part.lower() for part in _PARTS.split(option)}
    named = option.startswith("--") or re.fullmatch(r"[A-Za-z_]\w*", option) is not None
    return named and not _DATA_OPTIONS.isdisjoint(parts) and _CODE_OPTIONS.isdisjoint(parts)


def _without_variable(word: str) -> str:
    head, slash, rest = word.partition("/")
    return rest if slash and head.startswith(_VARIABLES) else word
