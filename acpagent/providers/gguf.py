"""The little that must be known of a GGUF file before the model in it is loaded."""

from __future__ import annotations

import struct
from typing import BinaryIO

_MAGIC = b"GGUF"
_STRING, _ARRAY = 8, 9
# Type of a value -> how it is packed.
_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_LONGEST = 1 << 24  # bytes of a text; anything longer is damage
_MOST = 1 << 20  # keys


class NotGguf(Exception):
    """The file is none, or is damaged."""


def context_length(path: str) -> int:
    """The tokens that the model in the file was made for. Raises `NotGguf`, or OSError."""
    with open(path, "rb") as file:
        try:
            return _find(file)
        except (struct.error, UnicodeDecodeError, KeyError):
            raise NotGguf from None


def _find(file: BinaryIO) -> int:
    if file.read(4) != _MAGIC or _number(file, "I") < 2:
        raise NotGguf
    _number(file, "Q")  # tensors
    for _ in range(min(_number(file, "Q"), _MOST)):
        key = _text(file)
        kind = _number(file, "I")
        if key.endswith(".context_length") and kind in _FORMATS:
            return _number(file, _FORMATS[kind])
        _skip(file, kind)
    raise NotGguf


def _skip(file: BinaryIO, kind: int) -> None:
    if kind == _STRING:
        _text(file)
    elif kind != _ARRAY:
        file.seek(struct.calcsize("<" + _FORMATS[kind]), 1)
    else:
        inner, count = _number(file, "I"), _number(file, "Q")
        if inner in _FORMATS:
            file.seek(struct.calcsize("<" + _FORMATS[inner]) * count, 1)
            return
        for _ in range(count):
            _skip(file, inner)


def _number(file: BinaryIO, form: str) -> int:
    packed = "<" + form
    return int(struct.unpack(packed, file.read(struct.calcsize(packed)))[0])


def _text(file: BinaryIO) -> str:
    size = _number(file, "Q")
    if size > _LONGEST:
        raise NotGguf
    return file.read(size).decode()
