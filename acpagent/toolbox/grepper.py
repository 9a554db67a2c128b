"""The searching part of grep, a program of its own that needs the standard library alone.

A regular expression can take for ever, and while it does no thread of its process gets a turn. So it runs in a
child that can be ended. Arguments: a JSON object {pattern, ignore_case, limit, file_bytes}. Input: paths, each
ended by NUL. Output: JSON lines, [number of the path, number of the line, text] for each match, then
{"skipped": n, "full": b}; or {"error": text} alone.
"""

from __future__ import annotations

import json
import re
import sys
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LINE_CHARACTERS = 300
_BEFORE = 80  # characters shown before a match that lies far out in a long line
_SNIFFED = 8192
_WIDE = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))

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
            for line_number, line, at in self._lines(self._text(path)):
                if count == self._limit:
                    self.full = True
                    return
                count += 1
                yield number, line_number, _shortened(line, at)

    def _lines(self, text: str) -> Iterator[tuple[int, str, int]]:
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        for number, line in enumerate(lines, 1):
            line = line.removesuffix("\r")
            match = self._regex.search(line)
            if match is not None:
                yield number, line, match.start()

    def _text(self, path: bytes) -> str:
        """The text of a file; none if it is binary, too large or gone."""
        try:
            with open(path, "rb") as stream:
                data = stream.read(_SNIFFED)
                if _is_binary(data):
                    return ""
                data += stream.read(self._file_bytes + 1 - len(data))
        except OSError:
            return ""
        if len(data) > self._file_bytes:
            self.skipped += 1
            return ""
        return _decoded(data)


def _is_binary(data: bytes) -> bool:
    return b"\0" in data and not data.startswith(tuple(bom for bom, _ in _WIDE))


def _decoded(data: bytes) -> str:
    for bom, encoding in _WIDE:
        if data.startswith(bom):
            return data[2:].decode(encoding, "replace")
    return data.decode("utf-8-sig", "replace")


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
