"""Changes to a YAML file that leave all the rest of it as the person wrote it: comments, order, quotes, line ends.

A YAML library would read values and write them anew, and lose what is not a value. So values are put into the text at
the places that the parser names, and the result is read again: it must say what it said before plus the change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from acpagent.config import document
from acpagent.config.problems import ConfigError
from acpagent.core.catalogue import Phrase

_WORD = re.compile(r"[A-Za-z][\w./-]*(:[\w.-]+)*", re.ASCII)
_STEP = 2  # columns that one mapping inside another is indented by


class Unchangeable(Exception):
    """The file is written in a way that cannot be changed safely, such as with aliases. The text says where."""


def merge(text: str, changes: Mapping[str, Any]) -> str:
    """`text` with the values of `changes` in it: mappings are merged, everything else replaces what was there.

    `text` must be valid. Raises `Unchangeable`.
    """
    old = _value(text)
    wanted = merged(old, changes)
    try:
        for path, value in _leaves(changes):
            if not _holds(old, path, value):
                text = _put(text, path, value)
        done = _value(text) == wanted
    except (yaml.YAMLError, ConfigError):
        done = False
    if not done:
        raise Unchangeable(Phrase("edit_unextendable"))
    return text


def merged(old: Any, changes: Mapping[str, Any]) -> dict[str, Any]:
    """What a value becomes by changes."""
    result = dict(old) if isinstance(old, Mapping) else {}
    for key, value in changes.items():
        result[key] = merged(result.get(key), value) if isinstance(value, Mapping) else value
    return result


def _value(text: str) -> Any:
    return document.parse(Phrase("edit_file"), text.encode("utf-8", "surrogatepass")).value


def _leaves(changes: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every change that is no mapping with something in it, and its place."""
    for key, value in changes.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key), value


def _holds(value: Any, path: tuple[str, ...], wanted: Any) -> bool:
    """Whether a place says already what it is to say, however that is written."""
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return False
        value = value[key]
    return isinstance(value, Mapping) if isinstance(wanted, Mapping) else bool(value == wanted)


def _put(text: str, path: tuple[str, ...], value: Any) -> str:
    """Put one value at its place, with the mappings around it that are missing."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if node is None:
        return _with_line_end(text) + _block(path, value, 0, _newline(text))
    for depth, key in enumerate(path):
        if not isinstance(node, yaml.MappingNode):
            raise Unchangeable(Phrase("edit_other", place=".".join(path[:depth])))
        found = next(((name, item) for name, item in node.value if name.value == key), None)
        if found is None:
            return _insert(text, node, path[depth:], value)
        name, item = found
        if item.start_mark.index < name.end_mark.index:
            raise Unchangeable(Phrase("edit_alias", place=key))
        rest = path[depth + 1 :]
        if rest and _is_empty(item):
            return _replace_empty(text, node, name, item, rest, value)
        node = item
    if not isinstance(node, yaml.ScalarNode):
        raise Unchangeable(Phrase("edit_other", place=".".join(path)))
    space = " " if node.start_mark.index and text[node.start_mark.index - 1] == ":" else ""
    said = json.dumps(value, ensure_ascii=False) if node.style == '"' else _plain(value)
    return text[: node.start_mark.index] + space + said + text[node.end_mark.index :]


def _insert(text: str, node: yaml.MappingNode, path: tuple[str, ...], value: Any) -> str:
    """Add a key that is not there to a mapping, behind all that it holds."""
    if node.flow_style:
        return _insert_in_flow(text, node, path, value)
    column = node.value[0][0].start_mark.column
    return _insert_line(text, _end(node), _block(path, value, column, _newline(text)))


def _insert_in_flow(text: str, node: yaml.MappingNode, path: tuple[str, ...], value: Any) -> str:
    item = json.dumps(_nested(path, value), ensure_ascii=False)[1:-1]
    if not node.value:
        place = node.end_mark.index - 1
        return text[:place] + item + text[place:]
    name, _ = node.value[-1]
    place = _end(node.value[-1][1])
    own_line = name.start_mark.line != node.start_mark.line
    space = _newline(text) + " " * name.start_mark.column if own_line else " "
    return f"{text[:place]},{space}{item}{text[place:]}"


def _replace_empty(
    text: str, node: yaml.MappingNode, name: yaml.Node, item: yaml.Node, rest: tuple[str, ...], value: Any
) -> str:
    """Fill `key:` or `key: {}`, which hold nothing, with a mapping."""
    before, after = text[: item.start_mark.index], text[item.end_mark.index :]
    if node.flow_style:
        return f"{before.rstrip()} {json.dumps(_nested(rest, value), ensure_ascii=False)}{after}"
    bare = before.rstrip(" ") + after
    block = _block(rest, value, name.start_mark.column + _STEP, _newline(text))
    return _insert_line(bare, len(before.rstrip(" ")), block)


def _insert_line(text: str, after: int, block: str) -> str:
    """Put whole lines below the line that ends at or holds the position."""
    if after and text[after - 1] == "\n":  # as behind a text block
        return text[:after] + block + text[after:]
    end = text.find("\n", after) + 1
    if end == 0:
        return _with_line_end(text) + block
    return text[:end] + block + text[end:]


def _end(node: yaml.Node) -> int:
    """The position behind the last thing in a node. The end that the parser names for a block is where the next
    one begins, behind comments."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        name, item = last if isinstance(last, tuple) else (node, last)
        return max(_end(item), int(name.end_mark.index) if isinstance(last, tuple) else 0)
    return int(node.end_mark.index)


def _is_empty(node: yaml.Node) -> bool:
    if isinstance(node, yaml.MappingNode):
        return not node.value
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def _nested(path: tuple[str, ...], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _block(path: tuple[str, ...], value: Any, column: int, newline: str) -> str:
    """Lines of their own for a value at a path, indented to a column."""
    said = yaml.safe_dump(
        _nested(path, value), default_flow_style=False, sort_keys=False, allow_unicode=True, width=1000, indent=_STEP
    )
    return "".join(" " * column + line + newline for line in said.splitlines())


def _plain(value: Any) -> str:
    """A value on one line, without quotes where YAML needs none."""
    if isinstance(value, str) and _WORD.fullmatch(value) and yaml.safe_load(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _with_line_end(text: str) -> str:
    return text if not text or text.endswith("\n") else text + _newline(text)
