"""The terminal a command writes to: colour, wrapping and pacing where a person looks, plain text elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import time
import unicodedata
from collections.abc import Mapping
from typing import TextIO

from acpagent.core.bounds import one_line

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_PIECES = re.compile(r"\S+|\n|[^\S\n]+")
_WORD_SECONDS = 0.025
_NARROWEST = 20

# What stands for a sign where the encoding cannot spell it.
_PLAIN = {"✓": "+", "✗": "x", "…": "~", "·": "-", "│": "|", "›": ">", "→": "->"}


class Terminal:
    """One output stream. Not for several threads at once.

    `live`: a person watches, so lines may be written over. `pace` stretches every pause; 0 means none, as
    anywhere but on a terminal. Colour is only for terminals, and not with NO_COLOR set.
    """

    def __init__(self, stream: TextIO, pace: float = 0.0, environ: Mapping[str, str] = os.environ) -> None:
        self._stream = stream
        self.live = stream.isatty() and environ.get("TERM") != "dumb"
        self._colour = self.live and not environ.get("NO_COLOR")
        self._pace = pace if self.live else 0.0
        self._encoding = stream.encoding or "ascii"
        self._column = 0
        self._newlines = 2  # at the end of what was written; a fresh terminal needs no gap
        self._held = ""  # spaces and the last word of `say`, which may still grow
        self._style: str | None = None  # of what is held

    @property
    def width(self) -> int:
        """Columns, one of them kept free: a cursor behind the last one wraps in some terminals."""
        return max(_NARROWEST, shutil.get_terminal_size().columns - 1)

    def sign(self, sign: str) -> str:
        """A sign such as a check mark, or what stands for it in this encoding."""
        try:
            sign.encode(self._encoding)
        except UnicodeEncodeError:
            return _PLAIN[sign]
        return sign

    def paint(self, text: str, style: str | None) -> str:
        """The text in a style; two are joined by a space (`bold red`)."""
        if not style or not self._colour or not text:
            return text
        codes = ";".join(_CODES[name] for name in style.split())
        return f"\x1b[{codes}m{text}\x1b[0m"

    def write(self, text: str, style: str | None = None) -> None:
        """Write text as it is. It must be fit for a terminal already."""
        self.finish()
        self._put(text, style)

    def line(self, text: str = "", style: str | None = None) -> None:
        """Write the rest of a line."""
        self.write(text, style)
        self._put("\n", None)

    def say(self, text: str, style: str | None = None) -> None:
        """Write text that comes in pieces: on a terminal word by word, and no word is broken."""
        if not self.live:
            self._put(text, style)
            return
        pieces = _PIECES.findall(self._held + text)
        self._held, self._style = "", style
        if pieces and pieces[-1] != "\n":
            self._held = pieces.pop()
        space = ""
        for piece in pieces:
            if piece == "\n":
                self._put(piece, None)
            elif not piece.isspace():
                self._say_word(space, piece)
            space = piece if piece.isspace() and piece != "\n" else ""
        self._held = space + self._held

    def finish(self) -> None:
        """Write what `say` held back."""
        held, self._held = self._held, ""
        if held.strip():
            word = held.lstrip()
            self._say_word(held[: len(held) - len(word)], word)

    def gap(self, lines: int) -> None:
        """End the line, and leave at least `lines` empty ones below it."""
        self.finish()
        self._put("\n" * (lines + 1 - self._newlines), None)

    def rewrite(self, above: int, text: str) -> None:
        """Write over the line `above` rows over the cursor, which then is where it was, or at the end of `text`
        for 0. Only for a live terminal."""
        up, down = (f"\x1b[{above}A", f"\x1b[{above}B") if above else ("", "")
        self._send(f"{up}\r\x1b[K{text}{down}")

    def entered(self) -> None:
        """The person hit Enter: the cursor is at the start of a line."""
        self._column, self._newlines = 0, 1

    def pause(self, seconds: float) -> None:
        """Give the person time to read."""
        if self._pace:
            time.sleep(seconds * self._pace)

    def _say_word(self, space: str, word: str) -> None:
        if self._column and self._column + columns(space + word) > self.width:
            space = "\n"
        self._put(space, None)
        self._put(word, self._style)
        self.pause(_WORD_SECONDS)

    def _put(self, text: str, style: str | None) -> None:
        if not text:
            return
        self._send(self.paint(text, style) if text != "\n" else text)
        body = text.rstrip("\n")
        self._newlines = len(text) - len(body) + (0 if body else self._newlines)
        self._column = columns(text.rpartition("\n")[2]) + (0 if "\n" in text else self._column)

    def _send(self, text: str) -> None:
        self._stream.write(text.encode(self._encoding, "replace").decode(self._encoding))
        self._stream.flush()


def columns(text: str) -> int:
    """How many columns text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(letter) for letter in text)


def fitted(text: str, width: int) -> str:
    """Text cut to a number of columns."""
    if columns(text) <= width:
        return text
    kept, used = [], 1
    for letter in text:
        used += _columns_of(letter)
        if used > width:
            break
        kept.append(letter)
    return "".join(kept).rstrip() + "…"


def short_path(path: str) -> str:
    """A path as people here write it: on one line, `~` for their home."""
    home = os.path.expanduser("~")
    return one_line("~" + path[len(home) :] if path == home or path.startswith(home + "/") else path, 200)


def _columns_of(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
