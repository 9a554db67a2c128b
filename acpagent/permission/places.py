"""Where the words of a command line lead, and what may be done there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Literal

from acpagent.core.paths import Roots, within
from acpagent.core.shellparse import Word
from acpagent.permission import protected
from acpagent.permission.findings import Finding

# Devices that neither keep nor tell anything, and those of the command's own.
_HARMLESS = re.compile(r"/dev/(null|zero|full|urandom|random|stdin|stdout|stderr|tty|fd/\d+)")
_WRITABLE = re.compile(r"/dev/(null|stdout|stderr|fd/[012])")
_NETWORK = re.compile(r"/dev/(tcp|udp)(/|\Z)")
_SEPARATORS = re.compile(r"[:=,;@'\"()\[\]{}<>|&\s]+")
_HOST = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,31}://(?:[^/@\s]*@)?([A-Za-z0-9._-]+)")
_REMOTE = re.compile(r"(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+|\w+@[\w.-]+):(?!\d+\Z)[^\s]*")
_ODD = re.compile(r"[\s'\"\\]")
_SHORT_VALUE = re.compile(r"-[A-Za-z]")
_ABOVE = (os.curdir, os.pardir)  # `.*` finds these, too, in some versions of bash
_NAMES = 20_000  # entries of directories that are looked at for the patterns of one line
_LONGEST = 4096  # characters of a path


class Places:
    """The paths of one command line. `cwds` are all the directories it may be in when a command of it runs."""

    def __init__(self, roots: Roots, cwd: str, home: str) -> None:
        self.roots = roots
        self.cwds: tuple[str, ...] = (cwd,)
        self.home = home
        self._left = _NAMES
        self._unsure: set[str] = set()  # what the line makes before, and may lead out of the roots then
        self._matched: dict[tuple[str, str], bool] = {}
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {}

    def resolve(self, text: str) -> tuple[str, ...]:
        """What a static word names, from each directory it may be said in. Empty where it can name nothing."""
        if len(text) > _LONGEST:
            return ()
        key = (text, *self.cwds)
        if key not in self._known:
            try:
                self._known[key] = tuple(dict.fromkeys(os.path.realpath(os.path.join(cwd, text)) for cwd in self.cwds))
            except (ValueError, OSError):
                self._known[key] = ()
        return self._known[key]

    def enter(self, text: str) -> bool:
        """Follow `cd`. False where it may lead out of the roots."""
        logical = [os.path.normpath(os.path.join(cwd, text)) for cwd in self.cwds]
        reached = [*logical, *self.resolve(text)]
        cwds = tuple(dict.fromkeys((*self.cwds, *reached)))
        if len(cwds) > 8 or not all(self.roots.contains(os.path.realpath(path)) for path in reached):
            return False
        self.cwds = cwds
        return True

    # What is done to a place

    def read(self, finding: Finding, text: str) -> None:
        """Note that a file or directory is read."""
        if _NETWORK.match(text):
            finding.rise("reaches", "it opens a connection")
            return
        if _HARMLESS.fullmatch(text):
            return
        paths = self.resolve(text)
        self._mistrust(finding, paths)
        finding.reads.update(dict.fromkeys(paths))
        if not paths or not all(self.roots.contains(path) for path in paths):
            finding.rise("reaches", "it reads outside the working directories")

    def write(self, finding: Finding, text: str, reason: str = "it changes files") -> None:
        """Note that a file or directory is made, changed or removed."""
        if _WRITABLE.fullmatch(text):
            return
        paths = self.resolve(text)
        self._mistrust(finding, paths)
        finding.writes.update(dict.fromkeys(paths))
        finding.rise("acts", reason)
        if text.startswith("/dev/"):
            finding.rise("reaches", "it writes to a device")
        if not paths:
            finding.rise("reaches", "it does not say where it writes")
        for path in paths:
            why = self.why_not_write(path)
            if why:
                finding.rise("reaches", why)

    def why_not_write(self, path: str) -> str:
        """Why a resolved path is not one to be written to without a question, or nothing."""
        if not self.roots.contains(path):
            return "it changes what is outside the working directories"
        if any(within(root, path) for root in self.roots.all) or any(within(cwd, path) for cwd in self.cwds):
            return "it changes the working directory itself"
        if any(part.startswith(".") for part in self._below(path)):
            return "it changes hidden files, which can make other programs run something"
        below = "/".join(self._below(path))
        return protected.REASON if protected.is_protected(path, below) or protected.holds_protected(path) else ""

    def touch(self, finding: Finding, text: str) -> None:
        """Note what a word of a program that is not known may be about: it may read it, or change it."""
        for host in hosts_in(text):
            finding.hosts[host] = None
            finding.rise("reaches", "it names a host")
        for piece in pieces(text):
            if _HARMLESS.fullmatch(piece):
                continue
            paths = self.resolve(piece)
            self._mistrust(finding, paths)
            finding.named.update(dict.fromkeys(paths))
            if not paths or not all(self.roots.contains(path) for path in paths):
                finding.rise("reaches", "it names something outside the working directories")
            if any(protected.is_protected(path, "/".join(self._below(path))) for path in paths):
                finding.rise("reaches", "it names files that can make other programs run something")

    def match(self, finding: Finding, word: Word) -> None:
        """Note that what a pattern names is read. Links that lead out of the roots are looked for."""
        head = word.lead.rpartition("/")[0]
        if word.lead.startswith("/") and not head:
            head = "/"
        self.read(finding, head or ".")
        rest = word.text[len(head) :] if word.text.startswith(head) else word.text
        if ".." in rest or word.kinds != {"glob"}:
            finding.rise("reaches", "it is not known what it reads")
        elif not all(self.roots.contains(path) for path in self.resolve(head or ".")):
            return
        elif not all(self._leads_in(os.path.join(cwd, head), rest.lstrip("/")) for cwd in self.cwds):
            finding.rise("reaches", "a link that it may follow leads out of the working directories")

    def doubt(self, paths: Iterable[str]) -> None:
        """Note that what is below resolved paths from now on may lie elsewhere."""
        self._unsure.update(paths)

    def _mistrust(self, finding: Finding, paths: Iterable[str]) -> None:
        if any(within(path, place) for path in paths for place in self._unsure):
            finding.rise("reaches", "it goes through a link that the line makes itself")

    def follow(self, finding: Finding, text: str) -> None:
        """Note that links below a directory are followed, too."""
        leads = self._leads_below(text)
        if leads == "out":
            finding.rise("reaches", "a link that it may follow leads out of the working directories")
        elif leads == "unknown":
            finding.rise("acts", "it follows links")

    def may_lead_out(self, text: str) -> bool:
        """Whether links below a directory may lead out of the roots."""
        return self._leads_below(text) != "in"

    def has_odd_names(self, text: str) -> bool:
        """Whether a name below a directory may be taken for several by who reads them line by line."""
        return any(path is None or _ODD.search(os.path.basename(path)) for path in self._all_below(text))

    def _leads_below(self, text: str) -> Literal["in", "out", "unknown"]:
        for path in self._all_below(text):
            if path is None:
                return "unknown"
            if os.path.islink(path) and not self.roots.contains(os.path.realpath(path)):
                return "out"
        return "in"

    def _all_below(self, text: str) -> Iterator[str | None]:
        """Every path below a directory, through no link; None, at the end, where they are too many."""
        waiting = [path for path in self.resolve(text) if os.path.isdir(path)]
        while waiting:
            place = waiting.pop()
            for name in _entries(place):
                self._left -= 1
                if self._left < 0:
                    yield None
                    return
                path = os.path.join(place, name)
                yield path
                if os.path.isdir(path) and not os.path.islink(path):
                    waiting.append(path)

    def begins_option(self, word: Word) -> bool:
        """Whether a pattern finds names that look like options."""
        pattern = word.text
        return any(
            name.startswith("-") and ("[" in pattern or fnmatchcase(name, pattern))
            for cwd in self.cwds
            for name in _entries(cwd)
        )

    def _leads_in(self, directory: str, pattern: str) -> bool:
        """Whether no link that a pattern can match leads out of the roots."""
        key = (directory, pattern)
        if key not in self._matched:
            self._matched[key] = self._look(directory, pattern)
        return self._matched[key]

    def _look(self, directory: str, pattern: str) -> bool:
        plain = not any(letter in pattern for letter in "\\'\"$`[")
        parts = pattern.split("/")
        level = [directory]
        for part in parts:
            following = []
            for place in level:
                for name in [*_entries(place), *_ABOVE * part.startswith(".")]:
                    self._left -= 1
                    if self._left < 0:
                        return False
                    if plain and not fnmatchcase(name, part):
                        continue
                    path = os.path.join(place, name)
                    if (name == os.pardir or os.path.islink(path)) and not self.roots.contains(os.path.realpath(path)):
                        return False
                    following.append(path)
            level = following
        return True

    def _below(self, path: str) -> list[str]:
        """The names on the way from the outermost root down to a path."""
        around = [root for root in self.roots.all if within(path, root)]
        if not around:
            return path.split("/")
        return path[len(min(around, key=len)) :].strip("/").split("/")


def _entries(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def hosts_in(text: str) -> list[str]:
    """The hosts that a word names, as far as it shows."""
    found = _HOST.findall(text)
    remote = _REMOTE.fullmatch(text)
    if remote and not found:
        found = [remote[1].rpartition("@")[2]]
    return [host.lower() for host in found]


def pieces(text: str) -> Iterator[str]:
    """What in a word could be a path: all of it, what an option is given, and what stands between signs."""
    if len(text) > _LONGEST:
        yield text
        return
    found = dict.fromkeys([text] if text and not text.startswith("-") else [])
    if _SHORT_VALUE.match(text) and len(text) > 2:
        found[text[2:]] = None
    for piece in _SEPARATORS.split(text):
        if piece and not piece.startswith("-"):
            found[piece] = None
    for piece in list(found):
        if "~" in piece:
            found["/" if piece.startswith("~") else piece] = None
        at = piece.find("/")
        if at > 0 and not piece[:at].strip("-"):
            found[piece[at:]] = None
    yield from (piece for piece in found if "\0" not in piece)
