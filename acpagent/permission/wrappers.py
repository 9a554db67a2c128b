"""Programs that run the command that follows them: it is judged in their place."""

from __future__ import annotations

import re
from collections.abc import Mapping

from acpagent.core import shellparse
from acpagent.core.shellparse import Word
from acpagent.permission.cases import Case
from acpagent.permission.findings import Level
from acpagent.permission.hazards import is_harmless, steers
from acpagent.permission.searches import finds_files

_TIMEOUT_VALUE = r"-[ks]|--signal|--kill-after"
_TIMEOUT_FLAG = r"--foreground|--preserve-status|-v|--verbose|-[ks].+|--(signal|kill-after)=.*"
# Options that take a value as the next word; those without; how many words come before the command.
_FORMS: Mapping[str, tuple[str, str, int]] = {
    "time": (r"-[fo]|--format|--output", r"-[pvaV]+|--portability|--verbose", 0),
    "nice": (r"-n|--adjustment", r"-\d+|-n-?\d+|--adjustment=.*", 0),
    "ionice": (r"-[cnpPu]", r"-[cn]\d+|-t", 0),
    "nohup": ("(?!)", "(?!)", 0),
    "stdbuf": (r"-[ioe]", r"-[ioe][0L]|--(input|output|error)=[0L]", 0),
    "timeout": (_TIMEOUT_VALUE, _TIMEOUT_FLAG, 1), "gtimeout": (_TIMEOUT_VALUE, _TIMEOUT_FLAG, 1),
    "chrt": ("(?!)", r"-[bfior]", 1), "taskset": ("(?!)", "-[ac]+", 1), "caffeinate": ("-[tw]", "-[dimsu]+", 0),
    "command": ("(?!)", "-p", 0), "builtin": ("(?!)", "(?!)", 0), "noglob": ("(?!)", "(?!)", 0),
    "nocorrect": ("(?!)", "(?!)", 0), "pipenv": ("(?!)", "(?!)", 0),
}  # fmt: skip
_SUDO = (r"-[ugpCDhRTU]|--(user|group|prompt|chdir|host)", r"-[AbEeHiKklnPSsVv]+|--.*", 0)
_AMOUNT = re.compile(r"(0x)?[\da-fA-F][\da-fA-F.,:-]*[smhd]?|inf(inity)?")
_XARGS_VALUE = re.compile(r"-[nLPsEdI]|--(max-args|max-procs|max-chars|delimiter)")  # `--replace` takes none behind it
_XARGS_FLAG = re.compile(
    r"-[0rtx]+|-[nLPsEd].+|-0?r?[nP]\d+|--(null|no-run-if-empty|verbose|exit|(max-\w+|delimiter)=.*)"
)
_ASSIGNS = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)
_LISTERS = frozenset({"-printf", "-fprintf", "-exec", "-execdir", "-ok", "-okdir", "-ls", "-L", "-follow"})
NAMES = frozenset(_FORMS) | {"env", "xargs", "watch", "sudo", "doas", "coproc"}


def unwrap(case: Case) -> None:
    """Find the command behind a wrapper."""
    name = case.name
    if name == "env":
        _env(case)
    elif name == "xargs":
        _xargs(case)
    elif name == "watch":
        _watch(case)
    elif name == "command" and case.args and case.args[0].text in ("-v", "-V"):
        for word in case.args[1:]:
            case.text(word)
    elif name in ("sudo", "doas"):
        case.rise("reaches", "it runs with the rights of somebody else")
        _plain(case, _SUDO)
    elif name == "coproc":
        case.rise("reaches", "it goes on beside the rest")
        case.unwrap(_pipeline(case, case.args))
    else:
        _plain(case, _FORMS[name])


def _plain(case: Case, form: tuple[str, str, int]) -> None:
    valued, alone, before = form
    args = list(case.args)
    while args and args[0].static and args[0].text.startswith("-") and args[0].text != "-":
        option = args.pop(0).text
        if option == "--":
            break
        if re.fullmatch(valued, option):
            if option in ("-o", "--output") and case.name == "time" and args:
                case.write(args[0])
            args = args[1:]
        elif not re.fullmatch(alone, option):
            case.rise("reaches", f"it is not known what {option} does")
    for word in args[:before]:
        if not word.static or not _AMOUNT.fullmatch(word.text):  # what is no amount may be the command
            case.rise("reaches", "it is not known what it runs")
    args = args[before:]
    if case.name in ("time", "coproc"):
        args = _pipeline(case, args)
    while case.name in ("sudo", "doas") and args and _ASSIGNS.match(args[0].text):
        args.pop(0)
    if not args and case.name != "time":
        case.rise("acts", "it runs nothing that is told")
    case.unwrap(args, "acts" if case.name in ("nohup", "pipenv") else "reads")


def _pipeline(case: Case, args: list[Word]) -> list[Word]:
    """What bash itself reads after `time`: a command with its variables, negations before it, no compound."""
    while args:
        assigns = _ASSIGNS.match(args[0].text)
        if assigns:
            assigned(case, assigns[1], args[0], runs=True)
        elif args[0].text in shellparse.COMPOUND - {"!", "[["}:
            case.rise("reaches", "it is not known what it runs")
        elif args[0].text != "!":
            break
        args = args[1:]
    return args


def _env(case: Case) -> None:
    args = list(case.args)
    while args:
        word = args[0]
        assigns = _ASSIGNS.match(word.text if word.static else word.lead)
        if assigns:
            assigned(case, assigns[1], word, runs=True)
        elif word.static and word.text in ("-i", "--ignore-environment", "-", "-0", "--null"):
            pass
        elif word.static and word.text in ("-u", "--unset") and len(args) > 1:
            args.pop(0)
            if steers(args[0].text):
                case.rise("reaches", "it changes what programs run")
        elif word.static and word.text == "--":
            args.pop(0)
            break
        elif word.static and word.text.startswith("-"):
            case.finding.opaque = True  # -S splits a text into words
            case.rise("reaches", f"it is not known what {word.text} does")
        else:
            break
        args.pop(0)
    if not args:
        case.rise("acts", "it shows the environment")
    case.unwrap(args)


def assigned(case: Case, name: str, value: Word, *, runs: bool) -> None:
    """A variable that is set, for a command (`runs`) or for the rest of the line."""
    if value.kinds & {"computed", "translated"} or not name:
        case.rise("reaches", "an expansion in it may run code")
    if steers(name):
        case.rise("reaches", f"{name} changes what programs run or do")
    elif runs and not is_harmless(name):
        case.rise("acts", f"it is not known what {name} changes")
    case.text(Word(value.text, value.static, value.kinds - {"glob"}, value.lead, value.names))


def _xargs(case: Case) -> None:
    args = list(case.args)
    placed = ""
    null = from_file = False
    while args and args[0].static and args[0].text.startswith("-"):
        option = args.pop(0).text
        null = null or option in ("-0", "--null", "-0r", "-r0")
        if option in ("-a", "--arg-file") and args:
            case.read(args.pop(0))
            from_file = True
        elif _XARGS_VALUE.fullmatch(option) and args:
            value = args.pop(0)
            placed = value.text if option == "-I" else placed
        elif re.fullmatch(r"-I.+", option):
            placed = option[2:]
        elif re.fullmatch(r"--replace(=.+)?", option):
            placed = option.partition("=")[2] or "{}"
        elif option == "--":
            break
        elif not _XARGS_FLAG.fullmatch(option):
            case.rise("reaches", f"it is not known what {option} does")
    words = args or [Word("echo", True, lead="echo")]
    known, floor = _listed(case, null and not placed)
    known = "" if from_file else known
    kinds = frozenset({known}) if known else frozenset({"substitution"})
    added = Word("{}", False, kinds, _start(case))
    if placed:
        words = [
            Word(word.text, False, word.kinds | kinds, word.text.partition(placed)[0]) if placed in word.text else word
            for word in words
        ]
    else:
        words = [*words, added]
    case.unwrap(words, floor)


def _listed(case: Case, null: bool) -> tuple[str, Level]:
    """What kind of names come through the pipe: "inside" for plain files below where a search began, "names" for
    other names of the workspace, nothing for what could be anything. And what comes of it at least: unless NUL stands
    between names, one that is odd reads like several."""
    feeder = case.feeder
    if feeder is None or not all(word.static or word.kinds == {"glob"} for word in feeder.words):
        return "", "reads"
    texts = [word.text for word in feeder.words]
    files = found = False
    if texts[:1] == ["find"] and _LISTERS.isdisjoint(texts):
        found = True
        files = finds_files([text for text in texts[2:] if text not in ("-maxdepth",) and not text.isdigit()])
    found = found or texts[:2] in (["git", "ls-files"], ["rg", "-l"], ["rg", "--files"])
    apart = null and texts[-1] == "-print0"
    if not found or (not apart and case.places.has_odd_names(_start(case))):
        return "", "reads"
    return ("inside" if files else "names"), ("reads" if apart else "acts")


def _start(case: Case) -> str:
    words = case.feeder.words if case.feeder and case.feeder.words[0].text == "find" else ()
    return words[1].text if len(words) > 1 and words[1].static and not words[1].text.startswith("-") else "."


def _watch(case: Case) -> None:
    """`watch` hands its words to a shell."""
    args = list(case.args)
    while args and args[0].static and args[0].text.startswith("-"):
        option = args.pop(0).text
        if option in ("-n", "--interval") and args:
            args.pop(0)
        elif not re.fullmatch(r"-[bcdegtwx]+|-n[\d.]+|--(color|beep|errexit|chgexit|no-title|differences)", option):
            case.rise("reaches", f"it is not known what {option} does")
    if not all(word.static for word in args):
        case.finding.opaque = True
        case.rise("reaches", "it hands words to a shell that are not known")
        return
    script = shellparse.parse(" ".join(word.text for word in args), "/bin/bash")
    if script.doubts:
        case.rise("reaches", "it hands to a shell what cannot be read")
    case.rise("acts", "it goes on until it is ended")
    for command in script.commands:
        if command.assignments or command.redirects:
            case.rise("reaches", "it hands more than one command to a shell")
        case.unwrap(command.words)
