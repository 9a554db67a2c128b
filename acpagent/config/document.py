"""A YAML file as plain JSON-like values that still know their lines.

Stricter than YAML where YAML surprises people: a key given twice is an error instead of a silent loss, keys
are texts exactly as written (`4.5:` names a model), and only values that JSON has are accepted.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import yaml

from acpagent.config.problems import ConfigError, ConfigProblem
from acpagent.core.catalogue import Phrase
from acpagent.core.phrases import told

if TYPE_CHECKING:
    from collections.abc import Iterator

Path = tuple["str | int", ...]

# The parser quotes what it stumbled over. That may be part of a key; token names like '<scalar>' are not.
_QUOTED = re.compile(r" '(?!<)[^']{2,}'")


class Document:
    """A file's `value` (None for an empty one), and the line of everything in it."""

    __slots__ = ("_lines", "file", "value")

    def __init__(self, file: str, value: Any, lines: dict[Path, int]) -> None:
        self.file = file
        self.value = value
        self._lines = lines

    def line(self, path: Path) -> int:
        """The line (from 1) of the key or item at `path`, or of the nearest thing around it that is there."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def problem(self, path: Path, what: str, remedy: str) -> ConfigProblem:
        name = ".".join(str(part) for part in path)
        told = Phrase("problem_field", name=name, what=what) if name else what
        return ConfigProblem(self.file, self.line(path), told, remedy)

    def mapping(self) -> dict[str, Any]:
        """The value of a file that must hold keys and values. Raises `ConfigError` for anything else."""
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            remedy = Phrase("remedy_lines")
            raise ConfigError(self.problem((), Phrase("what_keys_and_values"), remedy))
        return self.value


def read(path: str) -> Document:
    """Read a YAML file. Raises `ConfigError` with the line of what is wrong, or `FileNotFoundError`."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigError(unreadable(path, error)) from None
    return parse(path, data)


def parse(file: str, data: bytes) -> Document:
    """The document that `data`, the content of `file`, holds. Raises `ConfigError`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(ConfigProblem(file, line, Phrase("what_not_utf8"), Phrase("remedy_utf8"))) from None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        reader = _Reader(file, loader)
        return Document(file, None if node is None else reader.value(node, ()), reader.lines)
    except yaml.YAMLError as error:
        raise ConfigError(_syntax_problem(file, text, error)) from None
    except RecursionError:
        raise ConfigError(ConfigProblem(file, None, Phrase("what_nested"), Phrase("remedy_nest_less"))) from None


def unreadable(path: str, error: OSError) -> ConfigProblem:
    return ConfigProblem(path, None, Phrase("what_unreadable", cause=told(error)), Phrase("remedy_readable_file"))


class _Loader(yaml.SafeLoader):
    """The safe loader, used only to compose nodes and to read scalars."""


class _Reader:
    """Turns nodes into values and notes the line of each. One document each."""

    def __init__(self, file: str, loader: _Loader) -> None:
        self.file = file
        self.loader = loader
        self.lines: dict[Path, int] = {}
        self.open: set[int] = set()  # nodes being read, to notice an alias of what contains it

    def value(self, node: yaml.Node, path: Path) -> Any:
        self.lines.setdefault(path, _line(node))
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node)
        if id(node) in self.open:
            raise self.fault(node, Phrase("what_contains_itself"), Phrase("remedy_no_alias"))
        self.open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self.mapping(node, path)
            return [self.value(item, (*path, place)) for place, item in enumerate(node.value)]
        finally:
            self.open.remove(id(node))

    def mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        seen: dict[str, int] = {}
        for key, _ in self.keys(node):
            if key.value in seen:
                remedy = Phrase("remedy_keep_first", line=seen[key.value])
                raise self.fault(key, Phrase("what_key_twice", key=key.value), remedy)
            seen[key.value] = _line(key)
        self.loader.flatten_mapping(node)
        result: dict[str, Any] = {}
        for key, item in self.keys(node):
            self.lines[*path, key.value] = _line(key)
            result[key.value] = self.value(item, (*path, key.value))
        return result

    def keys(self, node: yaml.MappingNode) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self.fault(key, Phrase("what_key_word"), Phrase("remedy_key_value"))
            yield key, item

    def scalar(self, node: yaml.ScalarNode) -> Any:
        try:
            value = self.loader.construct_object(node)
        except ValueError:
            raise self.fault(node, Phrase("what_looks_like"), Phrase("remedy_quotes")) from None
        if isinstance(value, float) and not math.isfinite(value):
            raise self.fault(node, Phrase("what_finite"), Phrase("remedy_number"))
        if value is None or isinstance(value, str | int | float):
            return value
        raise self.fault(node, Phrase("what_date"), Phrase("remedy_quotes"))

    def fault(self, node: yaml.Node, what: str, remedy: str) -> ConfigError:
        return ConfigError(ConfigProblem(self.file, _line(node), what, remedy))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _syntax_problem(file: str, text: str, error: yaml.YAMLError) -> ConfigProblem:
    if isinstance(error, yaml.reader.ReaderError):
        position = text.count("\n", 0, error.position) + 1
        return ConfigProblem(file, position, Phrase("what_control"), Phrase("remedy_character"))
    said, mark = getattr(error, "problem", None) or "", getattr(error, "problem_mark", None)
    if mark is not None and mark.index >= len(text.rstrip()):
        mark = getattr(error, "context_mark", None) or mark  # what is never closed is worth more than the end
    place = None if mark is None else mark.line + 1
    if "'\\t'" in said:
        return ConfigProblem(file, place, Phrase("what_tab"), Phrase("remedy_spaces"))
    if "single document" in (getattr(error, "context", None) or ""):
        return ConfigProblem(file, place, Phrase("what_second_document"), Phrase("remedy_one_document"))
    remedy = Phrase("remedy_yaml")
    return ConfigProblem(file, place, Phrase("what_no_yaml", said=_QUOTED.sub("", said)), remedy)
