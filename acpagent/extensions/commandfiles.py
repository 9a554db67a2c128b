"""Command files: prompts in Markdown that a person calls by name, `git/commit.md` as `/git:commit`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from acpagent.config.problems import ConfigError
from acpagent.core.bounds import one_line
from acpagent.core.catalogue import Phrase
from acpagent.extensions import frontmatter
from acpagent.extensions.folders import Folder
from acpagent.extensions.problems import Problem, of_config
from acpagent.extensions.skills import Scope

MAX_DEPTH = 5
MAX_DESCRIPTION = 240
# One part of a name: no space, slash or colon, nothing that hides (CMD-03).
_PART = re.compile(r"[^\W_][\w.-]{0,63}")
_PLACE = re.compile(r"\$(\$|ARGUMENTS\b|[1-9][0-9]*)")
_FIELDS = frozenset(
    {"description", "argument-hint", "name"}
    # Other agents read these; nothing here is allowed or chosen by them.
    | {"allowed-tools", "model", "effort", "disable-model-invocation", "agent", "context", "when_to_use", "version"}
)


@dataclass(frozen=True, slots=True)
class CommandFile:
    """`name` has no slash before it; `hint` says what may follow. `path` is the file, absolute; `owner` names the
    plugin it came with."""

    name: str
    description: str
    hint: str | None
    body: str = field(repr=False)
    path: str = ""
    real: str = ""
    scope: Scope = "user"
    owner: str = ""


Found = tuple[tuple[CommandFile, ...], tuple[Problem, ...]]


def find(folder: Folder, scope: Scope, owner: str = "") -> Found:
    """The commands in a directory and all below, sorted by file, and what is wrong with others."""
    commands: list[CommandFile] = []
    problems: list[Problem] = []
    for file in _files(folder, "", problems):
        try:
            data = folder.read(file, frontmatter.MAX_BYTES)
            command, remarks = parse(f"{folder.path}/{file}", _name(folder, file, owner), data)
        except ConfigError as error:
            problems += of_config("command", error)
            continue
        commands.append(replace(command, real=folder.real(file), scope=scope, owner=owner))
        problems += remarks
    return tuple(commands), tuple(problems)


def _files(folder: Folder, inside: str, problems: list[Problem]) -> Iterator[str]:
    try:
        names = folder.names(inside)
    except ConfigError as error:
        problems += of_config("command", error)
        return
    for name, is_directory in names:
        path = f"{inside}/{name}" if inside else name
        if name.startswith("."):
            continue
        if is_directory and path.count("/") < MAX_DEPTH:
            yield from _files(folder, path, problems)
        elif is_directory:
            what = Phrase("what_deep", depth=MAX_DEPTH)
            problems.append(Problem("command", f"{folder.path}/{path}", None, what, Phrase("remedy_move_up")))
        elif name.endswith(".md"):
            yield path


def _name(folder: Folder, file: str, owner: str) -> str:
    """What a plugin brings has its name before it. Raises `ConfigError` for what cannot be called."""
    parts = file.removesuffix(".md").split("/")
    if not all(_PART.fullmatch(part) for part in parts):
        page = frontmatter.Page(f"{folder.path}/{file}", None, "")
        remedy = Phrase("remedy_command_name")
        raise frontmatter.error(page, "name", Phrase("what_no_command_name"), remedy)
    return ":".join([owner, *parts] if owner else parts)


@lru_cache(maxsize=512)
def parse(path: str, name: str, data: bytes) -> tuple[CommandFile, tuple[Problem, ...]]:
    """The command that a file's content describes. Raises `ConfigError` for one that cannot be used."""
    page = frontmatter.read("command", path, data)
    fields = page.fields()
    if not page.body.strip():
        raise frontmatter.error(page, "text", Phrase("what_missing"), Phrase("remedy_prompt"))
    remarks = (*page.remarks, *frontmatter.unknown_fields("command", page, _FIELDS))
    about = fields.get("description")
    if not isinstance(about, str) or not about.strip():
        about = next(line for line in page.body.split("\n") if line.strip()).lstrip("# ")
    description = one_line(about, MAX_DESCRIPTION) or Phrase("command_runs", name=name)
    return CommandFile(name, description, frontmatter.hint(fields), page.body, path, path), remarks


def expanded(command: CommandFile, arguments: str = "") -> str:
    """The prompt that a call stands for. `$1`, `$2` ... are the words after the name, quotes holding some together;
    `$ARGUMENTS` is all of them as written, and `$$` a dollar sign. Nothing in them is filled in a second time. Words
    that the prompt has no place for follow it."""
    words = split(arguments)
    used = False

    def fill(found: re.Match[str]) -> str:
        nonlocal used
        what = found[1]
        if what == "$":
            return "$"
        used = True
        if what == "ARGUMENTS":
            return arguments.strip()
        place = int(what) if len(what) < 6 else len(words) + 1
        return words[place - 1] if place <= len(words) else ""

    text = _PLACE.sub(fill, command.body)
    return text if used or not arguments.strip() else f"{text}\n\nArguments: {arguments.strip()}"


def split(arguments: str) -> list[str]:
    """Words apart by spaces; between a pair of quotes, single or double, spaces are part of a word. A quote that
    nothing closes, or that begins in the middle of a word, is a letter like others: `don't` is one word."""
    words = []
    for found in re.finditer(r"\"((?:[^\"\\]|\\.)*)\"(?=\s|$)|'([^']*)'(?=\s|$)|(\S+)", arguments):
        double, single, plain = found.groups()
        words.append(re.sub(r"\\([\"\\])", r"\1", double) if double is not None else single if plain is None else plain)
    return words
