"""Programs that change files, or run what the workspace holds: what they do, and how far a rule may let them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from itertools import pairwise

from acpagent.core import shellparse
from acpagent.core.shellparse import Command, Word
from acpagent.permission.cases import Case, is_option
from acpagent.permission.hazards import INTERPRETERS, PYTHON_MODULES, SHELLS

_TALKERS = frozenset({"sqlite3", "duckdb", "bc", "dc", "gnuplot", "node-gyp"})  # they speak a language of their own
_DELETERS = frozenset({"rm", "rmdir", "unlink", "shred", "trash", "srm"})
_MAKERS = frozenset({"mkdir", "touch", "mkfifo"})
_OPEN_RIGHTS = re.compile(r"[0-7]*[2367]|.*[oa]?[+=][rwxX]*[wst].*|[4-7][0-7]{3}")
# Verbs of tools that build and test what the workspace holds; all their other verbs may fetch or publish.
_VERBS: Mapping[str, frozenset[str]] = {
    "npm": frozenset({"test", "t", "tst", "run", "run-script", "ls", "list", "why", "explain", "pkg", "root"}),
    "pnpm": frozenset({"test", "t", "run", "ls", "list", "why", "lint", "build"}),
    "yarn": frozenset({"test", "run", "list", "why", "lint", "build", "workspaces"}),
    "bun": frozenset({"test", "run"}), "deno": frozenset({"fmt", "lint", "check"}),
    "cargo": frozenset({"build", "b", "test", "t", "check", "c", "clippy", "fmt", "run", "r", "doc", "bench", "tree",
                        "metadata", "clean", "nextest", "rustc"}),
    "go": frozenset({"build", "test", "vet", "fmt", "run", "list", "version", "doc", "clean", "generate"}),
    "dotnet": frozenset({"build", "test", "run", "format", "clean"}), "swift": frozenset({"build", "test", "run"}),
    "mix": frozenset({"test", "compile", "format"}), "rake": frozenset({"test", "spec"}),
    "bundle": frozenset({"exec"}), "uv": frozenset({"version"}), "poetry": frozenset({"check", "version", "show"}),
    "pip": frozenset({"list", "show", "freeze", "check"}), "gem": frozenset({"list"}),
    "composer": frozenset({"validate", "show"}), "hg": frozenset({"status", "log", "diff"}),
    "svn": frozenset({"status", "diff", "info"}), "zig": frozenset({"build", "test", "fmt"}),
    "rustup": frozenset({"show"}), "dart": frozenset({"format", "analyze", "test"}),
    "flutter": frozenset({"analyze", "test"}), "mvn": frozenset(), "sbt": frozenset({"test", "compile"}),
}  # fmt: skip
# Tools whose second word says what runs.
_RUN_VERBS = frozenset({"run", "run-script", "exec"})
_STEERS_TOOL: Mapping[str, re.Pattern[str]] = {
    "go": re.compile(r"--?(exec|toolexec|vettool|overlay|modfile|C|ldflags|gcflags|o)(=.*)?|.*@.*"),
    "cargo": re.compile(r"--config(=.*)?|--manifest-path(=.*)?|--target-dir(=.*)?|-[CZ].*|\+.*"),
    "npm": re.compile(r"--(script-shell|prefix|userconfig|globalconfig|node-options|shell|global)(=.*)?|-[gC].*"),
    "pnpm": re.compile(r"--(script-shell|prefix|dir|config\..*|shell-emulator|global)(=.*)?|-[gC].*"),
    "yarn": re.compile(r"--(cwd|use-yarnrc|script-shell|global)(=.*)?"),
    "hg": re.compile(r"--(config|cwd|repository)(=.*)?|-R.*"),
    "svn": re.compile(r"--config-(option|dir)(=.*)?"),
}
_SERVES = re.compile("dev|start|serve|deploy|publish|release")
# npm and its like install without these words being further examined only where nothing is named to be installed.
_LOCKED = frozenset({"ci", "install", "i"})
_MAKE_FLAGS = re.compile(r"-[kBnsSw]+|-j\d*|-l\d*|--(dry-run|silent|quiet|keep-going|always-make|jobs(=\d+)?)|\d+")
_MAKE_TARGET = re.compile(r"[\w.%][\w.%-]*(/[\w.%-]+)*", re.ASCII)
_EXECUTES = re.compile(
    r"--?(?:[\w-]+-)?(exec|execute|command|cmd|eval|pre|post|plugin|config-settings|hook|shell|on-change|require|wrapper"
    r"|program|launcher)(=.*)?|--?filt\w*=.*\s.*",
    re.DOTALL,
)
# Options behind which programs expect a program, and the signs that one has.
_CODE_OPTION = re.compile(
    r"-(?:[ecExrpnF]|if|do)|--?(?:\w+-)*(?:eval|exec\w*|expr\w*|code|script|batch|call|do|each|print)(?:=|\Z)"
)
_CODE = re.compile(r"[(){};`$!|<>\\]")
_TEX_UNBOUND = re.compile(r"\\|shell-?escape|write18|^--?(?:pdf|xe|lua)?(?:la)?tex=|luaonly|^--?lua=")
_LINE_OPTION = re.compile(r"-[a-z]*c")  # of shells


def delete(case: Case) -> None:
    for word in case.operands():
        case.write(word, "it deletes files")
    case.rise("acts", "it deletes files")


def make(case: Case) -> None:
    """mkdir, touch."""
    for word in case.args:
        if is_option(word) and "/" in word.text:
            case.touch(word)
    for word in case.operands():
        case.write(word)
    case.rise("acts", "it makes files")


def transfer(case: Case) -> None:
    """cp, mv, ln, install: all that is named may be changed where the program moves it, read where it does not."""
    for word in case.args:
        if is_option(word):
            if re.match(r"-[A-Za-z]*[tS]|--[tas]", word.text):
                case.rise("reaches", f"it is not known what {word.text} does")
            if re.match(r"-[A-Za-z]*[LH]|--de", word.text):
                for each in case.operands():
                    case.places.follow(case.finding, each.text if each.static else each.lead or ".")
            case.touch(word)
    words = case.operands()
    sources, target = words[:-1], words[-1:]
    for word in sources:
        if case.name == "mv":
            case.write(word, "it moves files")
        else:
            case.read(word)
    for word in target:
        if not (word.static and _is_here(case, word.text) and sources):
            case.write(word)
        for source in sources:
            if source.static and word.static:  # what lands in a directory keeps its name
                name = source.text.rstrip("/").rpartition("/")[2]
                case.write(Word(f"{word.text}/{name}", True))
    _mistrust(case, sources)
    case.rise("acts", "it changes files")


def _mistrust(case: Case, sources: list[Word]) -> None:
    """Links come to lie where it writes: what is said of these places later in the line may be about others."""
    if case.name == "ln" or any(case.places.may_lead_out(word.text) for word in sources if word.static):
        case.places.doubt(path for path in case.finding.writes if path not in case.places.roots.all)


def _is_here(case: Case, text: str) -> bool:
    return all(path in case.places.roots.all for path in case.places.resolve(text))


def rights(case: Case) -> None:
    """chmod, chown, chgrp."""
    words = [word for word in case.args if not is_option(word) or re.match(r"-[rwxXst]+\Z", word.text)]
    words += [word for word in case.operands() if word not in words]
    for option in case.args:
        if is_option(option) and ("R" in option.text or option.text.startswith("--re")):
            case.rise("reaches", "it changes the rights of everything below")
    if case.name != "chmod":
        case.rise("reaches", "it gives files to somebody else")
    elif words and (not words[0].static or _OPEN_RIGHTS.fullmatch(words[0].text)):
        case.rise("reaches", "it gives others rights to files")
    mode = words[:1] and words[0].static and re.fullmatch(r"[0-7]{1,5}|[ugoa]*[-+=][rwxXstugo,+=-]*", words[0].text)
    for word in words[1 if mode else 0 :]:
        case.write(word, "it changes rights of files")
    case.rise("acts", "it changes rights of files")


def tee(case: Case) -> None:
    for word in case.operands():
        case.write(word)
    case.rise("reads" if not case.args else "acts", "it changes files")


def interpreter(case: Case, name: str) -> None:
    """An interpreter runs what it is told: a file of the workspace at best."""
    args = list(case.args)
    if [word.text for word in args] in (["--version"], ["--help"]):
        return
    while args and args[0].static and args[0].text in INTERPRETERS[name]:
        args.pop(0)
    case.rise("acts", "it runs a program of the workspace")
    unknown(case, args)
    if name in ("deno", "bun"):
        tool(case, name)
    elif name == "python" and len(args) > 1 and args[0].text == "-m":
        _module(case, args[1], args[2:] if args[1].text == "coverage" else [])
    elif name == "node" and not args and [word.text for word in case.args] == ["--test"]:
        case.allow("node", "--test")
    else:
        _script(case, name, args[0] if args else None)
        if name in SHELLS and not _is_file(args):
            _handed(case, args)


def _is_file(args: list[Word]) -> bool:
    """Whether an interpreter is told which file to run."""
    return bool(args) and args[0].static and not args[0].text.startswith(("-", "+", "/dev/"))


def _handed(case: Case, args: list[Word]) -> None:
    """What a shell is handed in the line itself is read as well, where it is plain; all else stays unread."""
    texts = args[1:2] if args and args[0].static and _LINE_OPTION.fullmatch(args[0].text) else []
    inner = shellparse.parse(texts[0].text, "/bin/bash") if texts and texts[0].static else None
    if inner is None or inner.doubts or not all(_is_plain(command) for command in inner.commands):
        case.finding.opaque = True
        return
    for command in inner.commands:
        case.unwrap(command.words)


def _is_plain(command: Command) -> bool:
    return not command.assignments and not command.redirects and all(word.static for word in command.words)


def _module(case: Case, module: Word, rest: list[Word]) -> None:
    modules = [module, *(word for before, word in pairwise(rest) if before.text == "-m")]
    if not all(each.static and each.text in PYTHON_MODULES for each in modules):
        case.rise("reaches", "it runs a module that is not known")
    case.allow(case.name, "-m", module.text)


def _script(case: Case, name: str, script: Word | None) -> None:
    if script is None or script.text in ("-", "") or name in _TALKERS or script.text.startswith("/dev/"):
        case.rise("reaches", f"{case.name} runs what it is handed")
    elif not script.static or script.text.startswith(("-", "+")):
        case.rise("reaches", f"{case.name} runs what stands in the line itself, or takes other orders")
    elif not any(os.path.exists(path) for path in case.places.resolve(script.text)):
        case.rise("reaches", "it is not known what it runs")  # nothing yet; shells look elsewhere, too
    elif not case.made.isdisjoint(case.places.resolve(script.text)):
        case.rise("reaches", "it runs what was just written")
    elif case.name == script.text:
        case.allow(case.name)
    else:
        case.allow(case.name, script.text)


def tool(case: Case, name: str) -> None:
    """Tools with verbs: npm, cargo, go. Their verbs that stay here run what the workspace says."""
    words = [word.text if word.static else "" for word in case.args]
    verb = words[0] if words else ""
    steering = _STEERS_TOOL.get(name)
    if verb not in _VERBS[name]:
        case.rise("reaches", "it may fetch, install or publish something")
    elif name == "bundle":
        case.unwrap(case.args[1:], "acts")
    if steering and any(steering.fullmatch(word) for word in words):
        case.rise("reaches", "its options say what else runs, or where")
    if verb in _RUN_VERBS and _SERVES.match("".join(words[1:2])):
        case.rise("reaches", "it serves or publishes something")
    case.rise("acts", "it runs what the workspace says")
    unknown(case, case.args)
    deep = 2 if verb in _RUN_VERBS and len(words) > 1 and not words[1].startswith("-") else 1
    case.allow(case.name, *words[:deep])
    if name in ("npm", "pnpm", "yarn") and verb in _LOCKED and len(words) == 1:
        case.finding.prefix = (case.name, verb)


def build(case: Case) -> None:
    """make and its like run what the workspace says, unless they are told something else."""
    for word in case.args:
        if not word.static or not (_MAKE_FLAGS.fullmatch(word.text) or _MAKE_TARGET.fullmatch(word.text)):
            case.rise("reaches", "it is told to run something else, or elsewhere")
    case.rise("acts", "it runs what the workspace says")
    unknown(case, case.args)
    targets = [word.text for word in case.args if not word.text.startswith("-") and not word.text.isdigit()]
    first = case.args[0].text if case.args else ""
    case.allow(case.name, *((first,) if targets and first == targets[0] else ()))


def unknown(case: Case, args: list[Word]) -> None:
    """A program that is not known, or whose words are not: they must be static, and stay inside."""
    case.rise("acts", "it is not known what it does")
    before = ""
    for word in args:
        case.touch(word)
        text = word.text if word.static else ""
        if _EXECUTES.fullmatch(text):
            case.rise("reaches", f"{text} may say what else runs")
        elif _is_code(before, text):
            case.rise("reaches", "it may run what stands in the line itself")
        elif text.startswith("@") and _holds_orders(case, text[1:]):
            case.rise("reaches", "it takes further words from a file")
        before = text


def _is_code(option: str, text: str) -> bool:
    """Whether a word looks like a program of its own: it has the signs of one, and stands behind an option for it."""
    glued = _CODE_OPTION.match(text)
    code = text if _CODE_OPTION.fullmatch(option) else text[glued.end() :] if glued else ""
    return _CODE.search(code) is not None


def _holds_orders(case: Case, text: str) -> bool:
    paths = case.places.resolve(text)
    return not case.made.isdisjoint(paths) or any(os.path.isfile(path) for path in paths)


def tex(case: Case) -> None:
    """TeX and its like run what a document says, within bounds; a document in the line, or without bounds, is more."""
    for word in case.args:
        if not word.static or _TEX_UNBOUND.search(word.text):
            case.rise("reaches", "it may run what stands in the line itself, or other programs")
    unknown(case, case.args)


def cmake(case: Case) -> None:
    if any(word.static and word.text == "-E" for word in case.args):
        case.rise("reaches", "it runs commands of its own")
    unknown(case, case.args)


HANDLERS = {
    **dict.fromkeys(_DELETERS, delete), **dict.fromkeys(_MAKERS, make),
    **dict.fromkeys(("cp", "mv", "ln", "install", "gcp", "gmv"), transfer),
    **dict.fromkeys(("chmod", "chown", "chgrp"), rights), "tee": tee, "truncate": delete, "sponge": tee,
    **dict.fromkeys(("make", "gmake", "ninja", "just", "task", "bmake"), build), "cmake": cmake,
    **dict.fromkeys(("tex", "etex", "pdftex", "luatex", "xetex", "latex", "pdflatex", "lualatex", "xelatex", "context",
                     "latexmk", "tectonic", "luahbtex", "eplain", "platex", "uplatex"), tex),
}  # fmt: skip
TOOLS = frozenset(_VERBS)
NO_PREFIX = _DELETERS | {"cp", "mv", "ln", "install", "chmod", "chown", "chgrp", "truncate", "tee"}
