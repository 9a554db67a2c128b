"""The searching part of grep, a program of its own that needs the standard library alone.

A regular expression can take for ever, and while it does no thread of its process gets a turn. So it runs in a
child that can be ended. Arguments: a JSON object {pattern, ignore_case, limit, file_bytes}. Input: paths, each
ended by NUL. Output: JSON lines, [number of the path, number of the line, text] for each match, then
{"skipped": n, "full": b}; or {"error": text} alone.
"""

from __future__ import annotations

import json
import os
import re
import sys
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

LINE_CHARACTERS = 300
_BEFORE = 80  # characters shown before a match that lies far out in a long line
_SNIFFED = 8192
_PIECE = 4 << 20
_LONGEST = 64 << 20
_UTF_8_BOM = b"\xef\xbb\xbf"
_BOMS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))

Match = tuple[int, int, str]


class Search:
    """`found` yields `limit` matches at most, and `full` says that there were more; `skipped` counts the files
    that are too large. Raises re.error, OverflowError or RecursionError for a pattern that is none."""

    def __init__(self, pattern: str, ignore_case: bool, limit: int, file_bytes: int) -> None:
        self.full = False
        self.skipped = 0
        self._limit = limit
        self._file_bytes = file_bytes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._regex = re.compile(pattern, re.IGNORECASE if ignore_case else 0)

    def found(self, paths: Iterable[bytes]) -> Iterator[Match]:
        count = 0
        for number, path in enumerate(paths):
            for line_number, line, at in self._matches(path):
                if count == self._limit:
                    self.full = True
                    return
                count += 1
                yield number, line_number, _shortened(line, at)

    def _matches(self, path: bytes) -> Iterator[tuple[int, str, int]]:
        before = 0
        for text in self._pieces(path):
            lines = text.split("\n")
            if lines[-1] == "":
                lines.pop()
            for number, line in enumerate(lines, before + 1):
                line = line.removesuffix("\r")
                match = self._regex.search(line)
                if match is not None:
                    yield number, line, match.start()
            before += len(lines)

    def _pieces(self, path: bytes) -> Iterator[str]:
        """The text of a file, in pieces that end with a line; none if it is binary, too large or gone."""
        try:
            with open(path, "rb") as stream:
                data = stream.read(_SNIFFED)
                if _is_binary(data):
                    return
                if os.fstat(stream.fileno()).st_size > self._file_bytes:
                    self.skipped += 1
                    return
                encoding = next((encoding for bom, encoding in _BOMS if data.startswith(bom)), None)
                if encoding is not None:
                    yield (data + stream.read()).decode(encoding, "replace").removeprefix("\ufeff")
                else:
                    yield from _whole_lines(data, stream)
        except OSError:
            return


def _is_binary(data: bytes) -> bool:
    return b"\0" in data and not data.startswith(tuple(bom for bom, _ in _BOMS))


def _whole_lines(data: bytes, stream: BinaryIO) -> Iterator[str]:
    """Text after `data`, which came first. A piece at a time, so that a log of any size takes no more room; a line
    that has no end in sight is cut."""
    data = data.removeprefix(_UTF_8_BOM)
    while piece := stream.read(_PIECE):
        end = piece.rfind(b"\n") + 1
        if not end and len(data) < _LONGEST:
            data += piece
            continue
        yield _decoded(data + piece[: end or len(piece)])
        data = piece[end:] if end else b""
    if data:
        yield _decoded(data)


def _decoded(data: bytes) -> str:
    """UTF-8, but for lines that are not: those are as read_file shows them."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "\n".join(map(_decoded_line, data.split(b"\n")))


def _decoded_line(line: bytes) -> str:
    for encoding in ("utf-8", "cp1252"):
        try:
            return line.decode(encoding)
        except UnicodeDecodeError:
            continue
    return line.decode("latin-1")


def _shortened(line: str, at: int) -> str:
    if len(line) <= LINE_CHARACTERS:
        return line
    start = max(0, min(at - _BEFORE, len(line) - LINE_CHARACTERS))
    end = start + LINE_CHARACTERS
    return ("..." if start else "") + line[start:end] + ("..." if end < len(line) else "")


def main() -> None:
    try:
        search = Search(**json.loads(sys.argv[1]))
    except (re.error, OverflowError, RecursionError) as fault:
        print(json.dumps({"error": str(fault)}), flush=True)
        return
    paths = sys.stdin.buffer.read().split(b"\0")[:-1]
    for match in search.found(paths):
        print(json.dumps(match), flush=True)
    print(json.dumps({"skipped": search.skipped, "full": search.full}), flush=True)


if __name__ == "__main__":
    main()
