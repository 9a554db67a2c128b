"""Programs with a language of their own: find, fd, sed, awk, and the tests of the shell."""

from __future__ import annotations

import re

from acpagent.core.shellparse import Word
from acpagent.permission.cases import Case, is_number
from acpagent.permission.programs import FIND_ALONE, FIND_FILES, FIND_TAKES
from acpagent.permission.tables import words

_RUN = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_PRINT = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
# sed: addresses, then one of the commands that neither write a file nor run anything.
_SED_MOST = 2000  # characters


def _upto(sign: str, *, regex: bool) -> str:
    """Text up to a sign. Brackets with the sign in them are read differently by different programs."""
    s = re.escape(sign)
    brackets = rf"|\[\^?\]?[^\]{s}\n]*\]" if regex else ""
    opening = r"\[" if regex else ""
    return rf"(?:[^{s}\\\n{opening}]|\\[^\n]{brackets})*{s}"


_ADDRESS = rf"(?:\d+(?:~\d+)?|\$|/{_upto('/', regex=True)}I?|\+\d+)"
_SUBSTITUTE = "|".join(rf"s{re.escape(s)}{_upto(s, regex=True)}{_upto(s, regex=False)}[gpiI\d]*" for s in "/|#,@:")
_COMMAND = rf"(?:[pdqQ=hHgGxnNDPl]|{_SUBSTITUTE}|y/{_upto('/', regex=False)}{_upto('/', regex=False)})"
_SED = re.compile(rf"\s*(?:(?:{_ADDRESS}(?:,{_ADDRESS})?)?[ ]?!?[ ]?{_COMMAND}[ \t]*(?:;|\n|\Z)[ \t]*)+")
_SED_FLAGS = re.compile(
    r"-[nErsuz]+|--quiet|--silent|--regexp-extended|--null-data|--posix|--unbuffered|--separate|--debug"
)
_AWK_ACTS = re.compile(
    r"system|getline|[|>]|@|ENVIRON|/inet|close|fflush|include|load|extension|PROCINFO|ARG[VC]|SYMTAB|FUNCTAB"
)
_AWK_COMPARES = re.compile(r"(?:[\w$)\]]+|\"[^\"]*\")\s*>=?\s*\d+")
_BINARY = words("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef =~")
_UNARY = words("-a -b -c -d -e -f -g -h -k -n -p -r -s -t -u -w -x -z -G -L -N -O -S -o")
_BEFORE = _BINARY | (_UNARY - {"-a", "-o"})
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_FD_RUNS = re.compile(r"-[A-Za-z0-9]*[xX]|--ex(ec|ec-batch)?(=|\Z)")


def find(case: Case) -> None:
    args = list(case.args)
    follows = False
    while args and args[0].static and re.fullmatch(r"-[PHEXxsd]|-O\d|-D", args[0].text):
        if args.pop(0).text == "-D":
            args = args[1:]
    if (args and args[0].static and args[0].text in ("-L", "-f")) or any(word.text == "-follow" for word in args):
        case.rise("acts", "it follows links")
        follows = True
        args = args[1:] if args[0].text == "-L" else args
    starts: list[Word] = []
    while args and not (args[0].static and (args[0].text.startswith("-") or args[0].text in ("!", "(", ","))):
        starts.append(args.pop(0))
    for start in starts or [Word(".", True)]:
        case.read(start)
        if follows:
            case.places.follow(case.finding, start.text if start.static else ".")
    plain = finds_files([word.text for word in args])
    while args:
        _find_word(case, args, starts, plain)


def finds_files(tests: list[str]) -> bool:
    """Whether find is told, first of all, to look at plain files alone."""
    choices = {"-o", "-or", "!", "-not", ",", "(", "-follow", "-L"}
    return tests[:2] == ["-type", "f"] and choices.isdisjoint(tests)


def _find_word(case: Case, args: list[Word], starts: list[Word], plain: bool) -> None:
    word = args.pop(0)
    if not word.static:
        case.rise("reaches", "some of its words are not known before it runs")
    elif word.text in _RUN:
        _find_runs(case, word.text, args, starts, plain)
    elif word.text == "-delete":
        for start in starts or [Word(".", True)]:
            case.write(start, "it deletes files")
    elif word.text in _PRINT and args:
        case.write(args.pop(0))
        if word.text == "-fprintf" and args:
            args.pop(0)
    elif word.text in FIND_FILES and args:
        case.read(args.pop(0))
    elif word.text in FIND_TAKES and args:
        value = args.pop(0)
        case.text(value)
        if "glob" in value.kinds:  # names that look like options
            case.rise("acts", "it is not known what the pattern becomes")
    elif word.text not in FIND_ALONE:
        _find_unknown(case, word)


def _find_unknown(case: Case, word: Word) -> None:
    case.rise("acts", f"it is not known what {word.text} does")
    if word.text.startswith("-files0"):
        case.rise("reaches", "it is not known where it looks")
    if not word.text.startswith("-"):
        case.read(word)


def _find_runs(case: Case, how: str, args: list[Word], starts: list[Word], plain: bool) -> None:
    """`-exec words ;` or `-exec words {} +`."""
    words: list[Word] = []
    while args:
        word = args.pop(0)
        if word.text == ";" or (word.text == "+" and words and words[-1].text == "{}"):
            break
        words.append(word)
    lead = starts[0].text if len(starts) == 1 and starts[0].static else "."
    found = Word("{}", False, frozenset({"inside" if plain and case.finding.level == "reads" else "names"}), lead)
    inner = [found if word.text == "{}" else _holding(word) for word in words]
    if inner and inner[0] is found:
        case.rise("reaches", "it runs what it finds")
        return
    case.unwrap(inner, "acts" if how in ("-execdir", "-ok", "-okdir") else "reads")


def _holding(word: Word) -> Word:
    if "{}" not in word.text:
        return word
    return Word(word.text, False, word.kinds | {"substitution"}, word.text.partition("{}")[0])


def fd(case: Case) -> None:
    """fd hands what it finds to the command behind -x or -X."""
    place = next((at for at, word in enumerate(case.args) if word.static and _FD_RUNS.match(word.text)), None)
    case.rise("acts", "it is not known what it does")
    before = case.args if place is None else case.args[:place]
    for word in before:
        case.touch(word)
    if place is None:
        case.allow(case.name)
        return
    case.rise("reaches", "it runs a command for what it finds")
    case.unwrap([*case.args[place + 1 :], Word("{}", False, frozenset({"names"}), ".")])


def sed(case: Case) -> None:
    scripts: list[Word] = []
    files: list[Word] = []
    in_place = False
    args = list(case.args)
    while args:
        word = args.pop(0)
        if not word.static or not word.text.startswith("-") or word.text == "-":
            files.append(word)
        elif (word.text == "--expression" or re.fullmatch(r"-[nErsuz]*e", word.text)) and args:
            scripts.append(args.pop(0))
        elif word.text.startswith("-i") or word.text.partition("=")[0] == "--in-place":
            in_place = True
            if "/" in word.text:
                case.rise("reaches", "it keeps copies elsewhere")
        elif not _SED_FLAGS.fullmatch(word.text):
            case.rise("reaches", f"it is not known what {word.text} does")
    if not scripts and files:
        scripts.append(files.pop(0))
    if in_place and scripts and scripts[-1].static and not scripts[-1].text and files:
        scripts.append(files.pop(0))  # BSD: -i ''
    for script in scripts:
        _sed_script(case, script)
    for file in files:
        (case.write if in_place else case.read)(file)


def _sed_script(case: Case, script: Word) -> None:
    if not script.static:
        case.rise("reaches", "what it does is not known before it runs")
    elif script.text and (len(script.text) > _SED_MOST or not _SED.fullmatch(script.text)):
        dangerous = re.search(r"[wWeErRF]", script.text) is not None
        case.rise("reaches" if dangerous else "acts", "what it does cannot be told")


def awk(case: Case) -> None:
    """Simple programs that only print read; the rest could do anything."""
    args = list(case.args)
    while args and args[0].static and args[0].text.startswith("-"):
        option = args.pop(0).text
        if option in ("-F", "-v") and args:
            value = args.pop(0)
            if not value.static:
                case.text(value)
        elif not option.startswith("-F"):
            case.rise("reaches", "what it does cannot be told")
            return
    if not args or not args[0].static:
        case.rise("reaches", "what it does is not known before it runs")
        return
    if _AWK_ACTS.search(_AWK_COMPARES.sub("", args[0].text)):
        case.rise("reaches", "its program may run commands or write files")
    case.rise("acts", "it runs a program that was not looked into")
    for word in args[1:]:
        if not (word.static and re.match(r"[A-Za-z_]\w*=", word.text)):
            case.read(word)
        elif "/" in word.text:
            case.touch(word)


def test(case: Case) -> None:
    """`test`, `[`, `[[`. Sums in `[[` and the variables of -v can run what stands in them."""
    double = case.name == "[["
    args = [word for word in case.args if not (word.static and word.text in ("]", "]]", "!", "(", ")", "&&", "||"))]
    for place, word in enumerate(args):
        before = args[place - 1].text if place else ""
        after = args[place + 1].text if place + 1 < len(args) else ""
        if word.static and (word.text in _BINARY or (word.text in _UNARY and len(args) > 1)):
            continue
        if word.static and re.search(r"\[.*[$`]", word.text, re.DOTALL):
            case.rise("reaches", "it can run what stands in a word")
        if (word.static and word.text in ("-v", "-R")) or before in ("-v", "-R"):
            if not (word.static and (word.text in ("-v", "-R") or _NAME.fullmatch(word.text))):
                case.rise("reaches", "it can run what stands in a variable")
        elif double and _is_sum(before, after):
            if not is_number(word) and not (word.static and re.fullmatch(r"-?\d+", word.text)):
                case.rise("reaches", "it can run what stands in a variable")
        elif not double and not word.static and not is_number(word):
            quoted = word.text.startswith('"') and word.text.endswith('"')
            if not quoted or (before not in _BEFORE and after not in _BINARY):
                case.rise("reaches", "what it tests is not known before it runs")
        if before in _UNARY - {"-n", "-z", "-o", "-t", "-a"} or before in ("-nt", "-ot", "-ef"):
            _tested(case, word)
        else:
            case.text(word if not double else _without_globs(word), shows=False)


def _without_globs(word: Word) -> Word:
    return Word(word.text, word.static, word.kinds - {"glob"}, word.lead, word.names)


def _is_sum(before: str, after: str) -> bool:
    sums = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}
    return before in sums or after in sums


def _tested(case: Case, word: Word) -> None:
    """Whether a file is there is no more than its name tells: where it lies does matter."""
    if word.static or word.kinds == {"glob"}:
        case.read(word)
    else:
        case.rise("acts", "it is not known what it looks for")
