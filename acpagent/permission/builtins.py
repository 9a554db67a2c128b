"""What the shell does itself: variables, directories, sums."""

from __future__ import annotations

import re

from acpagent.core.shellparse import Word
from acpagent.permission.cases import Case, is_number
from acpagent.permission.hazards import steers
from acpagent.permission.wrappers import assigned

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ASSIGNS = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.ASCII | re.DOTALL)
_SET_FLAGS = re.compile(r"[-+][euxvfCm]*o?")
_SET_NAMES = frozenset({"pipefail", "errexit", "nounset", "xtrace", "verbose", "noglob", "noclobber"})
_DECLARE_FLAGS = re.compile(r"-[rxaAlug]+")
_READ_FLAGS = re.compile(r"-[rs]+|-[rs]*[dnNtup].+")
_READ_VALUES = re.compile(r"-[rs]*[dnNtupi]")


def declare(case: Case) -> None:
    """export, declare, local, readonly, unset."""
    operands = 0
    for word in case.args:
        begins = word.text if word.static else word.lead
        assigns = _ASSIGNS.match(begins)
        if word.static and word.text.startswith("-"):
            if word.text == "-p":
                case.rise("acts", "it shows the environment")
            elif not (
                _DECLARE_FLAGS.fullmatch(word.text) or (case.name in ("export", "unset") and word.text in ("-n", "-v"))
            ):
                case.rise("reaches", f"it is not known what {word.text} does")
            continue
        operands += 1
        if assigns:
            value = Word(assigns[2], word.static, word.kinds, assigns[2], word.names)
            assigned(case, assigns[1], value, runs=case.name in ("export", "declare", "typeset"))
        elif not (word.static and _NAME.fullmatch(word.text)):
            case.rise("reaches", "it is not known what it declares")
        elif steers(word.text):
            case.rise("reaches", f"{word.text} changes what programs run or do")
    if not operands:
        case.rise("acts", "it shows the environment")


def read_line(case: Case) -> None:
    """read, mapfile, getopts: they fill variables, whose names must be plain."""
    args = list(case.args)
    while args:
        word = args.pop(0)
        if word.static and word.text.startswith("-"):
            if _READ_VALUES.fullmatch(word.text) and args and case.name == "read":
                case.text(args.pop(0))
            elif not (_READ_FLAGS.fullmatch(word.text) or word.text in ("-a", "-ra", "-t")):
                case.rise("reaches", f"it is not known what {word.text} does")
        elif not (word.static and _NAME.fullmatch(word.text)) or steers(word.text):
            case.rise("reaches", "it is not known what it fills")


def printf(case: Case) -> None:
    args = list(case.args)
    if args and not args[0].static and not args[0].lead.strip("-"):
        case.rise("reaches", "what it does is not known before it runs")
    if args and args[0].static and args[0].text.startswith("-v"):
        name = args[0].text[2:] or (args[1].text if len(args) > 1 and args[1].static else "")
        if not _NAME.fullmatch(name) or steers(name):
            case.rise("reaches", "it is not known what it fills")
    for word in args:
        case.text(word)


def set_flags(case: Case) -> None:
    args = list(case.args)
    if not args:
        case.rise("acts", "it shows the environment")
    while args:
        word = args.pop(0)
        if word.static and word.text == "--":
            for each in args:
                case.text(each)
            return
        flags = word.static and _SET_FLAGS.fullmatch(word.text)
        if not flags or (word.text.endswith("o") and not (args and args[0].static and args.pop(0).text in _SET_NAMES)):
            case.rise("reaches", "it changes how the shell reads the rest")


def directory(case: Case) -> None:
    """cd, pushd: what follows is said from there."""
    args = [word for word in case.args if not (word.static and word.text in ("-L", "-P", "-e", "-@", "--", "-n"))]
    looped = {"loop", "function", "unknown"} & set(case.command.within)
    if len(args) != 1 or not args[0].static or args[0].text.startswith(("-", "+")) or not args[0].text or looped:
        case.rise("reaches", "it is not known where it goes")
    elif not case.places.enter(args[0].text):
        case.rise("reaches", "it leaves the working directories")


def sums(case: Case) -> None:
    """let, (( )): a sum can run what stands in the values of variables."""
    for word in case.args:
        if not (word.static and re.fullmatch(r"[\d\s+*/%()<>=!&|^~?:,-]*", word.text)):
            case.rise("reaches", "a sum can run what stands in a variable")


def plain(case: Case) -> None:
    for word in case.args:
        case.text(word)
        if not is_number(word) and not (word.static and re.fullmatch(r"\d+|%\d+", word.text)):
            case.rise("reaches", "it is not known what it does")  # `jobs -x` runs something


HANDLERS = {
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly", "unset"), declare),
    **dict.fromkeys(("read", "mapfile", "readarray"), read_line), "printf": printf, "set": set_flags,
    **dict.fromkeys(("cd", "pushd"), directory), **dict.fromkeys(("let", "(("), sums),
    **dict.fromkeys(("exit", "return", "break", "continue", "shift", "wait", "jobs", "dirs", "popd", "times"), plain),
}  # fmt: skip
