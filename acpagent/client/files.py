"""Files that an agent reads and writes through the program: an editor's buffers, for one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from acpagent.client.updates import text_of
from acpagent.core.faults import Fault
from acpagent.wire.codes import INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND

ReadText = Callable[[str], str]
WriteText = Callable[[str, str], object]
Handler = Callable[[dict[str, Any]], Any]


class Files:
    """`read(path)` gives the text of a file, unsaved changes included, and `write(path, text)` replaces it; paths are
    absolute. Each may be left out, and the agent then uses the disk for that.

    Both run on a thread of their own for each request. FileNotFoundError tells the agent that there is no such file,
    any other OSError that it was refused and why.
    """

    __slots__ = ("read", "write")

    def __init__(self, read: ReadText | None = None, write: WriteText | None = None) -> None:
        self.read = read
        self.write = write

    def capabilities(self) -> dict[str, bool]:
        return {"readTextFile": self.read is not None, "writeTextFile": self.write is not None}

    def handlers(self) -> Mapping[str, Handler]:
        """What answers the agent."""
        offered: dict[str, Handler] = {}
        if self.read is not None:
            offered["fs/read_text_file"] = self._answer_read
        if self.write is not None:
            offered["fs/write_text_file"] = self._answer_write
        return offered

    def _answer_read(self, params: dict[str, Any]) -> dict[str, Any]:
        assert self.read is not None
        path, first, count = _path(params), _number(params, "line", 1), _number(params, "limit", 0)
        try:
            text = self.read(path)
        except OSError as error:
            raise _fault(error) from None
        if not isinstance(text, str):
            raise Fault(INTERNAL_ERROR, "the client's read gave no text")
        return {"content": _part(text, first, count)}

    def _answer_write(self, params: dict[str, Any]) -> dict[str, Any]:
        assert self.write is not None
        path, content = _path(params), params.get("content")
        if not isinstance(content, str):
            raise Fault(INVALID_PARAMS, "params.content: must be a string")
        try:
            self.write(path, content)
        except OSError as error:
            raise _fault(error) from None
        return {}


def _path(params: dict[str, Any]) -> str:
    path = text_of(params, "path")
    if path is None or not path.startswith("/"):
        raise Fault(INVALID_PARAMS, "params.path: must be an absolute path")
    return path


def _number(params: dict[str, Any], name: str, least: int) -> int | None:
    value = params.get(name)
    if value is not None and (type(value) is not int or value < least):
        raise Fault(INVALID_PARAMS, f"params.{name}: must be a whole number of at least {least}")
    return value


def _part(text: str, first: int | None, count: int | None) -> str:
    """`count` lines from the 1-based `first` on, with the ends they have (FS-03)."""
    if first is None and count is None:
        return text
    start = (first or 1) - 1
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    return "".join(ended[start:] if count is None else ended[start : start + count])


def _fault(error: OSError) -> Fault:
    if isinstance(error, FileNotFoundError):
        return Fault(NOT_FOUND, "no such file")
    return Fault(INTERNAL_ERROR, error.strerror or str(error) or type(error).__name__)
