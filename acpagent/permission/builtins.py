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
# Options with their value, and those whose value is the next word. A callback of mapfile is neither.
_READ_FLAGS = re.compile(r"-[rs]+|-[rs]*[dnNtup].+|-[rs]*a")
_READ_VALUES = re.compile(r"-[rs]*[dnNtupi]")
_MAP_FLAGS = re.compile(r"-t+|-t*[nOsu]\d+|-t*d.+", re.DOTALL)
_MAP_VALUES = re.compile(r"-t*[dnOsu]")
_LISTS = frozenset({"PIPESTATUS", "DIRSTACK", "GROUPS", "FUNCNAME", "MAPFILE"})  # that bash itself has
_COUNTS = re.compile(r"%(?:%|[-+ #0'*.\d]*[hlLjztq]*n)")  # what printf makes of `%n`: it fills a variable


def declare(case: Case) -> None:
    """export, declare, local, readonly, unset."""
    operands = 0
    arrays = any(word.static and re.fullmatch(r"-\w*[aA]\w*", word.text) for word in case.args)
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
            written = "array" in word.kinds  # as a list; any other that becomes one is read once more
            may_be_list = arrays or assigns[1] in case.known | _LISTS or "loop" in case.command.within
            if not written and (assigns[2].startswith("(") if word.static else may_be_list):
                case.rise("reaches", "it can run what stands in a list")
            assigned(case, assigns[1], value, runs=case.name in ("export", "declare", "typeset"))
        elif not (word.static and _NAME.fullmatch(word.text)):
            case.rise("reaches", "it is not known what it declares")
        elif steers(word.text):
            case.rise("reaches", f"{word.text} changes what programs run or do")
    if not operands:
        case.rise("acts", "it shows the environment")


def read_line(case: Case) -> None:
    """read, mapfile: they fill variables, whose names must be plain."""
    args = list(case.args)
    flags, values = (_READ_FLAGS, _READ_VALUES) if case.name == "read" else (_MAP_FLAGS, _MAP_VALUES)
    while args:
        word = args.pop(0)
        if word.static and word.text.startswith("-"):
            if values.fullmatch(word.text) and args:
                case.text(args.pop(0))
            elif not flags.fullmatch(word.text):
                case.finding.opaque = True
                case.rise("reaches", f"it is not known what {word.text} does")
        elif not (word.static and _NAME.fullmatch(word.text)) or steers(word.text):
            case.rise("reaches", "it is not known what it fills")


def printf(case: Case) -> None:
    args = list(case.args)
    for word in args:
        case.text(word)
    while args and args[0].static and args[0].text.startswith("-v"):
        name = args.pop(0).text[2:]
        if not name and args:
            name = args[0].text if args[0].static else ""
            args.pop(0)
        if not _NAME.fullmatch(name) or steers(name):
            case.rise("reaches", "it is not known what it fills")
    if args and args[0].static and args[0].text == "--":
        args.pop(0)
    if args and not args[0].static and not is_number(args[0]):
        case.rise("reaches", "what it does is not known before it runs")
    elif args and any("n" in found[0] for found in _COUNTS.finditer(args[0].text)):
        case.rise("reaches", "it is not known what it fills")


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
