"""Archives and patches: which files they make or change stands in them, and not in the line."""

from __future__ import annotations

import re
from collections.abc import Mapping

from acpagent.core.shellparse import Word
from acpagent.permission.cases import Case
from acpagent.permission.tables import words

_KNOWN = re.compile(
    r"-?[cxtzjJvfkmprua]+|-[qorljndD0-9]+|-C|--(create|extract|list|gzip|bzip2|xz|verbose|file|strip-components"
    r"|exclude|auto-compress|zstd|totals|directory)(=.*)?"
)
_RUNS = re.compile(
    r"--?(to-c|checkpoint-a|use-c|rsh-c|rmt-c|info-s|new-vol|absolute|directory$|pgp|F$)|-[A-Za-z]*[IFP]|I|F"
)
# Of tar, what says that nothing is taken out of an archive; letters stand in one word, with a dash before it or not.
_LETTERS = re.compile(r"-?[A-Za-z]+")
_KEEPS = frozenset("ctruA")
_KEEPS_LONG = re.compile(r"--(create|list|append|update|catenate|concatenate)")
_TAKES_LONG = re.compile(r"--(ex(?!c)|g)\w*")
# Of others, the verbs or options of which the same holds.
_VERBS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("7z", "7za", "7zr", "7zz"), words("a u d l t h b i")),
    **dict.fromkeys(("rar", "unrar"), words("a l lb lt t v vb p")),
}
_SHOWS = words("-l -v -t -p -c -z -lv -Z -Z1")  # unzip
_AR = re.compile(r"-?[rcsqtpduvDU]+")


def archive(case: Case) -> None:
    """tar and its like: they make or overwrite files, as options say, and can run programs."""
    if case.name in ("zip", "7z"):  # they pack what links lead to
        for word in case.operands():
            case.places.follow(case.finding, word.text if word.static else ".")
    verbs = _VERBS.get(case.name)
    first = case.args[0].text if case.args and case.args[0].static else ""
    for index, word in enumerate(case.args):
        if index == 0 and ((verbs and first in verbs) or (case.name == "ar" and _AR.fullmatch(first))):
            continue
        _word(case, word, index == 0)
    case.finding.lost = case.finding.level == "reaches"
    case.rise("acts", "it packs or unpacks files")
    if _takes_out(case, first):
        case.unpack()  # at the end: what else it may do counts more


def _word(case: Case, word: Word, is_first: bool) -> None:
    bundle = is_first and word.static and re.fullmatch(r"[A-Za-z]+", word.text)
    if not word.static or ":" in word.text or word.text.startswith("@"):  # host:file is elsewhere, @file lists files
        case.rise("reaches", "it is not known what it packs or unpacks")
    elif word.text.startswith("-") or bundle:
        known = _KNOWN.fullmatch(word.text)
        if not known or _RUNS.match(word.text):
            case.rise("reaches", f"{word.text} can make it run something or write elsewhere")
        if "=" in word.text:
            case.write(Word(word.text.partition("=")[2], True)) if "exclude" not in word.text else None
    elif word.text not in (".", "./"):
        case.write(word)
    else:
        case.read(word)


def _takes_out(case: Case, first: str) -> bool:
    """Whether files come out of an archive; in doubt, yes."""
    if case.name == "zip":
        return False
    if case.name in _VERBS:
        return first not in _VERBS[case.name]
    if case.name == "unzip":
        return not any(word.static and word.text in _SHOWS for word in case.args)
    if case.name == "ar":
        return "x" in first or not _AR.fullmatch(first)
    said = [word.text for place, word in enumerate(case.args) if place == 0 or word.text.startswith("-")]
    letters = "".join(text for text in said if _LETTERS.fullmatch(text))
    if "x" in letters or any(_TAKES_LONG.fullmatch(text) for text in said):
        return True
    return _KEEPS.isdisjoint(letters) and not any(_KEEPS_LONG.match(text) for text in said)


def compressor(case: Case) -> None:
    """gzip and its like work on one file at a time; with a name that stands in it where they are told so."""
    case.rise("acts", "it packs or unpacks files")
    for word in case.args:
        case.touch(word)
        if word.static and re.match(r"-[A-Za-z]*N|--na|--file", word.text):
            case.unpack()


def patch(case: Case) -> None:
    case.rise("acts", "it changes files")
    for word in case.args:
        case.touch(word)
    if not any(word.static and word.text == "--dry-run" for word in case.args):
        case.unpack()


HANDLERS = {
    **dict.fromkeys(("tar", "gtar", "bsdtar", "jar", "unzip", "zip", "ar", *_VERBS), archive),
    **dict.fromkeys(words("gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lzma unlzma"), compressor),
    "patch": patch, "gpatch": patch,
}  # fmt: skip
NO_PREFIX = frozenset(HANDLERS)
