"""Markdown with a head of YAML between `---` lines, as skills and command files are written."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from acpagent.config import document
from acpagent.config.document import Document
from acpagent.config.problems import ConfigError, ConfigProblem
from acpagent.core.bounds import one_line
from acpagent.core.catalogue import Phrase
from acpagent.extensions.problems import Part, Problem

MAX_BYTES = 256 * 1024  # of one file
MAX_HEAD = 16 * 1024  # letters of its head
MARK = "---"

# A plain value on the line of its key. What else YAML has for values begins with one of these.
_PLAIN = re.compile(r"(?P<key>[A-Za-z_][\w-]*:[ \t]+)(?P<value>[^\s\"'|>#].*)")


@dataclass(frozen=True, slots=True)
class Page:
    """A file's `head` (None where it has none) and the `body` after it, with line ends `\\n`. `remarks` are mistakes
    that could be read past."""

    file: str
    head: Document | None
    body: str
    remarks: tuple[Problem, ...] = ()

    def fields(self) -> dict[str, Any]:
        return {} if self.head is None else self.head.mapping()

    def line(self, key: str) -> int | None:
        """Where in the file a field stands."""
        return None if self.head is None else self.head.line((key,)) + 1


def read(part: Part, file: str, data: bytes) -> Page:
    """Read a page from the content of `file`. Raises `ConfigError` with the line in the file."""
    if len(data) > MAX_BYTES:
        raise _error(file, None, Phrase("what_large", size=MAX_BYTES // 1024), Phrase("remedy_move_out"))
    text = _decoded(file, data)
    lines = text.split("\n")
    if lines[0].rstrip() != MARK:
        return Page(file, None, text)
    end = next((place for place, line in enumerate(lines) if place and line.rstrip() == MARK), None)
    if end is None:
        raise _error(file, 1, Phrase("what_head_open"), Phrase("remedy_head_end", mark=MARK))
    written = "\n".join(lines[1:end])
    if len(written) > MAX_HEAD:
        raise _error(file, 1, Phrase("what_head_long", size=MAX_HEAD // 1024), Phrase("remedy_into_text"))
    head, remarks = _head(part, file, written)
    return Page(file, head, "\n".join(lines[end + 1 :]).strip("\n"), remarks)


def with_body(data: bytes, body: str) -> bytes:
    """A page that could be read, with another text below its head."""
    lines = data.decode("utf-8").replace("\r\n", "\n").split("\n")
    end = next(place for place, line in enumerate(lines) if place and line.rstrip() == MARK)
    return "\n".join([*lines[: end + 1], "", body.strip("\n"), ""]).encode("utf-8", "replace")


def unknown_fields(part: Part, page: Page, known: Collection[str]) -> Iterator[Problem]:
    """A remark for each field that nothing reads."""
    for key in page.fields():
        if key not in known:
            what = Phrase("what_unknown_field", name=one_line(key, 40))
            yield Problem(part, page.file, page.line(key), what, Phrase("remedy_check_name"), False)


def hint(fields: Mapping[str, Any]) -> str | None:
    """What may follow a name. `[message]` is a list in YAML, and what people mean by it is the text."""
    written = fields.get("argument-hint")
    if isinstance(written, list):
        written = f"[{', '.join(map(str, written))}]"
    return None if written is None else one_line(str(written), 120) or None


def error(page: Page, key: str, what: str, remedy: str) -> ConfigError:
    """A mistake in a field."""
    return _error(page.file, page.line(key), Phrase("problem_field", name=key, what=what), remedy)


def _decoded(file: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        raise _error(file, line, Phrase("what_not_utf8"), Phrase("remedy_utf8")) from None
    if "\0" in text:
        raise _error(file, text.count("\n", 0, text.index("\0")) + 1, Phrase("what_nul"), Phrase("remedy_character"))
    return text.replace("\r\n", "\n")


def _head(part: Part, file: str, written: str) -> tuple[Document, tuple[Problem, ...]]:
    """The fields. Other agents take `description: Use it so: like this`, which is no YAML, so it is read as meant."""
    try:
        return _parsed(file, written), ()
    except ConfigError as fault:
        quoted = "\n".join(map(_quoted, written.split("\n")))
        if quoted == written:
            raise _moved(fault) from None
        try:
            return _parsed(file, quoted), tuple(_read_past(part, _moved(fault)))
        except ConfigError:
            raise _moved(fault) from None


def _read_past(part: Part, fault: ConfigError) -> Iterator[Problem]:
    for one in fault.problems:
        what = Phrase("what_yaml_as_text")
        yield Problem(part, one.file, one.line, what, Phrase("remedy_quotes"), False)


def _parsed(file: str, written: str) -> Document:
    if "*" in written and _has_alias(written):  # a few of them can stand for more than any memory holds
        raise _error(file, None, Phrase("what_alias"), Phrase("remedy_value"))
    page = document.parse(file, written.encode())
    page.mapping()
    return page


def _has_alias(written: str) -> bool:
    try:
        return any(isinstance(token, yaml.AliasToken) for token in yaml.scan(written))
    except (yaml.YAMLError, RecursionError):
        return False  # told by who parses it


def _quoted(line: str) -> str:
    """A line whose plain value YAML would misread, with that in quotes."""
    found = _PLAIN.fullmatch(line.rstrip())
    if found is None or not _misread(found["value"]):
        return line
    value = found["value"].replace("'", "''")
    return f"{found['key']}'{value}'"


def _misread(value: str) -> bool:
    if value[0] in "[{":
        closed = value.count("[") == value.count("]") and value.count("{") == value.count("}")
        return (closed and value[-1] not in "]}") or "] [" in value
    return value[0] in "@`%*" or ": " in value or value.endswith(":")


def _moved(fault: ConfigError) -> ConfigError:
    """With lines counted in the file, of which the head begins in the second."""
    moved = (ConfigProblem(p.file, None if p.line is None else p.line + 1, p.what, p.remedy) for p in fault.problems)
    return ConfigError(*moved)


def _error(file: str, line: int | None, what: str, remedy: str) -> ConfigError:
    return ConfigError(ConfigProblem(file, line, what, remedy))
