"""Words of the shell: what is left of them when the quotes are gone, and what in them is not known before they run.

Text is handled as Latin-1 here, one character for each byte, so that places in it are those of the syntax tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from acpagent.core.shellparse import Word

# What stands at a place in the text, beginning there: its kind, and where it ends. Whoever finds it also visits it.
Nested = Callable[[int], tuple[str, int] | None]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9*@#?$!-]")
_META = frozenset(" \t\n;&|<>()")
_GLOBS = frozenset("*?[")
_IN_QUOTES = frozenset('$`"\\')  # what a backslash takes its meaning from between double quotes
_ANSI: Mapping[str, str] = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ANSI_NUMBER = re.compile(r"x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})")


class Unreadable(Exception):
    """A word that bash may not read as it looks; the text says why."""


def variable_at(text: str, place: int, end: int) -> str:
    """The name of the variable that `$` at a place reads, or nothing."""
    found = _NAME.match(text, place + 1, end)
    return found[0] if found else ""


def utf8(latin: str) -> str:
    return latin.encode("latin-1").decode("utf-8", "surrogateescape")


class WordReader:
    """Reads one word of `text` from `start` to `end`; `nested` tells of what the tree knows to be substitutions.

    `pattern`: the word is one of `[[` or `case`, where parentheses, bars and signs mean no operators.
    """

    def __init__(self, text: str, start: int, end: int, nested: Nested, *, pattern: bool = False) -> None:
        self._text, self._at, self._start, self._end = text, start, start, end
        self._nested = nested
        self._pattern = pattern
        self._value: list[str] = []
        self._kinds: set[str] = set()
        self._names: list[str] = []
        self._lead: str | None = None
        self._braces = ""  # unquoted text since an opening brace

    def read(self) -> Word:
        """Raises `Unreadable`."""
        if self._text.startswith("#", self._start) and not self._pattern:
            raise Unreadable("a # where a comment may begin")
        while self._at < self._end:
            self._step()
        if len(self._braces) > 1 and ("," in self._braces or ".." in self._braces):
            self._kinds.add("brace")
        value = utf8("".join(self._value))
        if not self._kinds:
            return Word(value, True, lead=value)
        source = utf8(self._text[self._start : self._end])
        lead = value if self._lead is None else utf8(self._lead)
        if "brace" in self._kinds:
            lead = lead.partition("{")[0]
        return Word(source, False, frozenset(self._kinds), lead, tuple(self._names))

    def _step(self) -> None:
        char = self._text[self._at]
        if char in _SPECIAL:
            getattr(self, _SPECIAL[char])()
        elif char in _META and not self._pattern:
            raise Unreadable(f"a {char!r} inside a word")
        else:
            self._plain(char)

    def _plain(self, char: str) -> None:
        if char in _GLOBS:
            self._dynamic("glob")
        elif char == "~" and (self._at == self._start or self._text[self._at - 1] in "=:"):
            self._dynamic("tilde")
        if self._braces or char == "{":
            self._braces += char
        self._value.append(char)
        self._at += 1

    def _dynamic(self, kind: str) -> None:
        self._kinds.add(kind)
        if self._lead is None:
            self._lead = "".join(self._value)

    def _escape(self) -> None:
        if self._at + 1 >= self._end:
            raise Unreadable("a backslash at the end")
        following = self._text[self._at + 1]
        if following == "\n":
            raise Unreadable("a line that goes on inside a word")
        self._value.append(following)
        self._at += 2

    def _single(self) -> None:
        close = self._text.find("'", self._at + 1, self._end)
        if close < 0:
            raise Unreadable("a quote that does not end")
        self._value.append(self._text[self._at + 1 : close])
        self._at = close + 1

    def _double(self) -> None:
        self._at += 1
        while self._at < self._end:
            char = self._text[self._at]
            if char == '"':
                self._at += 1
                return
            if char == "\\":
                self._escape_in_quotes()
            elif char == "$":
                self._dollar(quoted=True)
            elif char == "`":
                self._substitution()
            else:
                self._value.append(char)
                self._at += 1
        raise Unreadable("a quote that does not end")

    def _escape_in_quotes(self) -> None:
        following = self._text[self._at + 1 : self._at + 2]
        if following == "\n":
            if self._names:  # it may be inside of a name
                raise Unreadable("a line that goes on after a variable")
        elif following in _IN_QUOTES:
            self._value.append(following)
        else:
            self._value.append("\\" + following)
        self._at += 2

    def _dollar(self, *, quoted: bool = False) -> None:
        following = self._text[self._at + 1 : self._at + 2] if self._at + 1 < self._end else ""
        name = variable_at(self._text, self._at, self._end)
        if following and following in "({[":
            self._substitution()
        elif name:
            self._dynamic("variable")
            self._names.append(name)
            self._at += 1 + len(name)
        elif following == "'" and not quoted:
            self._ansi()
        elif following == '"' and not quoted:
            self._dynamic("translated")
            self._at += 1
        elif following == "\\":
            raise Unreadable("a $ before a backslash")
        else:
            self._value.append("$")
            self._at += 1

    def _ansi(self) -> None:
        at = self._at + 2
        while at < self._end and self._text[at] != "'":
            if self._text[at] != "\\":
                self._value.append(self._text[at])
                at += 1
                continue
            value, at = _ansi_escape(self._text, at + 1)
            self._value.append(value)
        if at >= self._end:
            raise Unreadable("a quote that does not end")
        self._at = at + 1

    def _substitution(self) -> None:
        found = self._nested(self._at)
        if found is None:
            raise Unreadable("an expansion of an unknown kind")
        kind, end = found
        if not self._at < end <= self._end:
            raise Unreadable("an expansion that goes on past its word")
        for each in kind.split():
            if each.startswith("$"):
                self._names.append(each[1:])
            else:
                self._dynamic(each)
        self._at = end

    def _angle(self) -> None:
        if self._text.startswith("(", self._at + 1) and (found := self._nested(self._at)) is not None:
            self._dynamic(found[0])
            self._at = found[1]
        elif self._pattern:
            self._plain(self._text[self._at])
        else:
            raise Unreadable("a redirection inside a word")


_SPECIAL: Mapping[str, str] = {
    "\\": "_escape", "'": "_single", '"': "_double", "$": "_dollar", "`": "_substitution", "<": "_angle", ">": "_angle",
}  # fmt: skip


def _ansi_escape(text: str, at: int) -> tuple[str, int]:
    """What a backslash before `at` makes between `$'` and `'`, and where it ends."""
    char = text[at : at + 1]
    if char in _ANSI and char:
        return _ANSI[char], at + 1
    number = _ANSI_NUMBER.match(text, at)
    if number is None:
        if char == "c":
            raise Unreadable("a control character")
        return "\\" + char, at + 1
    code = int(number[1] or number[2] or number[3] or number[4], 8 if number[4] else 16)
    if code == 0:
        raise Unreadable("a NUL character")
    if number[1] or number[4]:
        return chr(code & 0xFF), number.end()
    if 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        raise Unreadable("a character that is none")
    return chr(code).encode("utf-8").decode("latin-1"), number.end()
