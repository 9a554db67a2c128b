"""Text made fit to show: control characters taken out, long text cut to head and tail, titles on one line."""

from __future__ import annotations

import re
from dataclasses import dataclass

# CSI, then OSC and the other strings (a line end stops an unterminated one), then two-character escapes.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_OVERSTRUCK = re.compile(r"[^\n\x08]\x08")
_OVERWRITTEN = re.compile(r"^[^\n]*\r(?=[^\n\r])", re.MULTILINE)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_MARK = "[... {} bytes left out ...]"
_MARK_ROOM = 64  # bytes kept free for the mark and the line ends around it
_NEAR = 4  # a cut moves to a line end if that costs less than this part of the piece


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Text of bounded size; `left_out` counts the bytes of the original that are not in it."""

    text: str
    left_out: int = 0


# Controls, marks that change the direction of text, and characters without a width of their own.
_HIDING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_UNFIT_IN_NAMES = re.compile(rf"[\t\n]|{_HIDING.pattern}")


def clean(text: str) -> str:
    """`text` as a terminal would leave it on screen, without escape sequences and control characters
    other than newline and tab (CONT-10). A carriage return starts its line over."""
    text = text.replace("\r\n", "\n")
    if "\x1b" in text or "\x9b" in text or _CONTROLS.search(text):
        text = _ESCAPES.sub("", text)
        text = _OVERWRITTEN.sub("", text)
        text = _OVERSTRUCK.sub("", text)
        text = _CONTROLS.sub("", text)
    return text


def visible(text: str) -> str:
    """`text` with what would hide or reorder the rest of it made visible, and nothing taken away: for what a person is
    asked to allow. Line feeds and tabs stay."""
    return _HIDING.sub(_named, text)


def _named(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else f"<U+{code:04X}>"


def asked_line(text: str, limit: int) -> str:
    """`one_line` for what a person is asked to allow: nothing is taken away, and line ends show as a sign of their
    own, for what follows a comment must not look like part of it."""
    return one_line(visible(text.strip()).replace("\n", " ⏎ "), limit)


def one_line(text: str, limit: int) -> str:
    """`text` on one line of at most `limit` characters, for a title (TOOL-15)."""
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def printable(name: str) -> str:
    """A file name that can be sent and fits a line: controls and bytes that are no UTF-8 become U+FFFD."""
    return _UNFIT_IN_NAMES.sub("\ufffd", name)


def cut(text: str, limit: int) -> Excerpt:
    """`text` in at most `limit` bytes of UTF-8: as it is, or head and tail with a line between that says how
    much was left out (CONT-09)."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return Excerpt(text)
    return _joined(data, data, len(data), limit)


def join(head: str, tail: str, left_out: int, limit: int) -> Excerpt:
    """Like `cut`, of a text known only by its head and tail with `left_out` bytes between them."""
    first, last = head.encode("utf-8", "replace"), tail.encode("utf-8", "replace")
    return _joined(first, last, len(first) + left_out + len(last), limit)


def _joined(head: bytes, tail: bytes, total: int, limit: int) -> Excerpt:
    room = max(limit - _MARK_ROOM, 0)
    first = _whole_lines_at_start(head[: room // 2])
    last = _whole_lines_at_end(tail[-(room - room // 2) :]) if room else b""
    left_out = total - len(first) - len(last)
    before, after = first.decode("utf-8", "ignore").rstrip("\n"), last.decode("utf-8", "ignore")
    text = "\n".join(part for part in (before, _MARK.format(left_out), after) if part)
    return Excerpt(text[: max(limit, 0)], left_out)


def _whole_lines_at_start(data: bytes) -> bytes:
    end = data.rfind(b"\n") + 1
    return data[:end] if len(data) - end < len(data) // _NEAR else data


def _whole_lines_at_end(data: bytes) -> bytes:
    start = data.find(b"\n") + 1
    return data[start:] if start < len(data) // _NEAR else data
