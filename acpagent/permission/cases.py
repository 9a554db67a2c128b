"""One command while it is judged: its words, what is found out about it, and the commands it would run in turn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product

from acpagent.core.shellparse import Command, Word
from acpagent.permission.findings import Finding, Level
from acpagent.permission.hazards import UNPACKS
from acpagent.permission.places import Places

_BRACES = re.compile(r"\{([\w.,-]*)\}", re.ASCII)
_BRACED = re.compile(r"[\w./,{}-]+", re.ASCII)
_MOST_WORDS = 200
# A pattern that begins with a name, and cannot find what is hidden.
_FREE_ENOUGH = re.compile(r"(?:\./)?\w(?:(?!/\.|['\"\\]).)*\Z", re.DOTALL)
# Variables that tell nothing secret, and those that are numbers.
_NUMBERS = frozenset({"#", "?", "$", "!"})
_OPEN_NAMES = frozenset({
    "HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "PATH", "SHELL", "LANG", "TERM", "HOSTNAME", "UID", "EUID", "PPID",
    "RANDOM", "SECONDS", "LINENO", "BASHPID", "BASH_VERSION", "IFS", "COLUMNS", "LINES", "OSTYPE", "MACHTYPE",
    "HOSTTYPE", "SHLVL", "PIPESTATUS", "TMPDIR", "EDITOR", "VIRTUAL_ENV", "NODE_ENV", "CI", "REPLY", "-", "@", "*",
    "EPOCHSECONDS",
})  # fmt: skip


class Case:
    """`args` are the words after the name. Two kinds of words are made here, for what another command finds: "inside"
    are plain files below `lead`, "names" any other names of the workspace."""

    def __init__(
        self,
        places: Places,
        command: Command,
        words: Sequence[Word],
        known: frozenset[str],
        feeder: Command | None = None,
    ) -> None:
        self.places = places
        self.command = command
        self.known = known  # variables that the line itself sets
        self.feeder = feeder  # the command whose output it gets, where that is one alone
        self.finding = Finding(words=tuple(word.text for word in words))
        self.name = words[0].text if words else ""
        self.args = [each for word in words[1:] for each in braced(word)]
        self.made: set[str] = set()  # files that the line has written before
        self.inner: list[tuple[tuple[Word, ...], Level]] = []

    @property
    def static(self) -> bool:
        return all(word.static for word in self.args)

    def rise(self, level: Level, reason: str) -> None:
        self.finding.rise(level, reason)

    def unwrap(self, words: Sequence[Word], floor: Level = "reads") -> None:
        """It runs this command."""
        if words:
            self.inner.append((tuple(words), floor))

    def unpack(self) -> None:
        """It changes files that are named in what it reads."""
        self.finding.lost = True
        self.rise("reaches", UNPACKS)

    def allow(self, *prefix: str) -> None:
        """What a rule may be granted for, as long as it stays inside."""
        if self.finding.level == "acts" and self.static:
            self.finding.prefix = prefix

    def operands(self) -> list[Word]:
        """The words that are no options."""
        ends = next((place for place, word in enumerate(self.args) if word.static and word.text == "--"), None)
        before = self.args if ends is None else self.args[:ends]
        return [word for word in before if not is_option(word)] + ([] if ends is None else self.args[ends + 1 :])

    def text(self, word: Word, *, shows: bool = True) -> None:
        """A word that stands for itself and is not looked up anywhere; the command `shows` it."""
        if word.kinds & {"computed", "translated"}:
            self.rise("reaches", "an expansion in it may run code")
        if "glob" in word.kinds:
            self._match(word)
        secret = set(word.names) - _OPEN_NAMES - _NUMBERS - self.known
        if shows and any(not name.isdigit() for name in secret):
            self.rise("acts", "it shows a variable of the environment")

    def read(self, word: Word) -> None:
        """A word that names a file or directory to be read."""
        if word.static:
            if word.text != "-":
                self.places.read(self.finding, word.text)
        elif word.kinds == {"glob"}:
            self._match(word)
        elif not is_number(word) and not is_pipe(word) and word.kinds != {"inside"}:
            inside = word.kinds == {"names"} and not self.places.may_lead_out(word.lead or ".")
            self.rise("acts" if inside else "reaches", "it is not known what it reads")

    def write(self, word: Word, reason: str = "it changes files") -> None:
        """A word that names a file or directory to be made, changed or removed."""
        if word.static:
            self.places.write(self.finding, word.text, reason)
        elif word.kinds == {"inside"}:
            self.places.write(self.finding, word.lead or ".", reason)
        elif word.kinds == {"glob"} and _FREE_ENOUGH.match(word.text):
            self._match(word)
            self.rise("acts", reason)
            head = word.lead.rpartition("/")[0]
            if head:
                self.places.write(self.finding, head, reason)
        else:
            self.rise("reaches", "it is not known what it changes")

    def touch(self, word: Word) -> None:
        """A word of a program that is not known."""
        if word.static:
            self.places.touch(self.finding, word.text)
        elif word.kinds == {"glob"}:
            self._match(word)
            self.places.touch(self.finding, word.lead)
        elif word.kinds == {"inside"}:
            self.rise("acts", "")
        elif not is_number(word):
            self.rise("reaches", "some of its words are not known before it runs")

    def _match(self, word: Word) -> None:
        self.places.match(self.finding, word)


def is_option(word: Word) -> bool:
    begins = word.text if word.static else word.lead
    return begins.startswith("-") and begins != "-"


def is_number(word: Word) -> bool:
    """Whether a word can become nothing but a number."""
    return word.kinds <= {"arithmetic", "variable"} and not word.static and _NUMBERS.issuperset(word.names)


def is_pipe(word: Word) -> bool:
    """Whether a word is `<(...)`, which stands for what another command prints."""
    return word.kinds == {"process"} and word.text.startswith("<(") and word.lead == ""


def braced(word: Word) -> list[Word]:
    """The words that `a{b,c}` stands for where that is plain to see."""
    if word.kinds != {"brace"} or not _BRACED.fullmatch(word.text) or ".." in word.text:
        return [word]
    parts = _BRACES.split(word.text)  # text, inside of braces, text, ...
    if any("{" in part or "}" in part for part in parts):
        return [word]
    choices = [part.split(",") if index % 2 and "," in part else [f"{{{part}}}" if index % 2 else part]
               for index, part in enumerate(parts)]  # fmt: skip
    total = 1
    for each in choices:
        total *= len(each)
        if total > _MOST_WORDS:
            return [word]
    texts = ["".join(chosen) for chosen in product(*choices)]
    return [Word(text, True, word.kinds, text) for text in texts if text]
