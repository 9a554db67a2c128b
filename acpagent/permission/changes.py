"""Programs that change files, or run what the workspace holds: what they do, and how far a rule may let them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from acpagent.core.shellparse import Word
from acpagent.permission.cases import Case
from acpagent.permission.hazards import INTERPRETERS, PYTHON_MODULES, SHELLS

_DELETERS = frozenset({"rm", "rmdir", "unlink", "shred", "trash", "srm"})
_MAKERS = frozenset({"mkdir", "touch", "mkfifo"})
_OPEN_RIGHTS = re.compile(r"[0-7]*[2367]|.*[oa]?[+=][rwxX]*[wst].*|[4-7][0-7]{3}")
# Verbs of tools that build and test what the workspace holds; all their other verbs may fetch or publish.
_VERBS: Mapping[str, frozenset[str]] = {
    "npm": frozenset({"test", "t", "tst", "run", "run-script", "ls", "list", "why", "explain", "pkg", "prefix", "root"}),
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
}
# npm and its like install without these words being further examined only where nothing is named to be installed.
_LOCKED = frozenset({"ci", "install", "i"})
_MAKE_FLAGS = re.compile(r"-[kBnsSw]+|-j\d*|-l\d*|--(dry-run|silent|quiet|keep-going|always-make|jobs(=\d+)?)|\d+")
_MAKE_TARGET = re.compile(r"[\w.%-]+(/[\w.%-]+)*", re.ASCII)
_TAR_RUNS = re.compile(
    r"--?(to-c|checkpoint-a|use-c|rsh-c|rmt-c|info-s|new-vol|absolute|directory$|pgp|F$)|-[A-Za-z]*[IFP]|I|F"
)
_EXECUTES = re.compile(
    r"--?(exec|execute|command|cmd|eval|pre|post|plugin|config-settings|hook|shell|run-command|on-change|require)(=.*)?\Z"
)


def delete(case: Case) -> None:
    words = [word for word in case.args if not _is_option(word)]
    for word in words:
        case.write(word, "it deletes files")
    case.rise("acts", "it deletes files")


def make(case: Case) -> None:
    """mkdir, touch."""
    takes_file = False
    for word in case.args:
        if takes_file:
            case.read(word)
            takes_file = False
        elif _is_option(word):
            takes_file = case.name == "touch" and word.text in ("-r", "--reference")
            if "/" in word.text:
                case.touch(word)
        elif word.static and case.name == "mkdir" and re.fullmatch(r"[0-7]{3,4}", word.text):
            continue
        else:
            case.write(word)
    case.rise("acts", "it makes files")


def transfer(case: Case) -> None:
    """cp, mv, ln, install: all that is named may be changed where the program moves it, read where it does not."""
    words: list[Word] = []
    args = list(case.args)
    while args:
        word = args.pop(0)
        if word.static and word.text in ("-t", "--target-directory") and args:
            case.write(args.pop(0))
            words.append(Word(".", True, lead="."))
        elif _is_option(word):
            if re.match(r"-[A-Za-z]*[tS].|--(target|suffix|strip-program)", word.text):
                case.rise("reaches", f"it is not known what {word.text} does")
            case.touch(word)
        else:
            words.append(word)
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
    case.rise("acts", "it changes files")


def _is_here(case: Case, text: str) -> bool:
    return all(path in case.places.roots.all for path in case.places.resolve(text))


def rights(case: Case) -> None:
    """chmod, chown, chgrp."""
    words = [word for word in case.args if not (_is_option(word) and not re.match(r"-[rwxXst]+\Z", word.text))]
    for option in case.args:
        if _is_option(option) and ("R" in option.text or option.text.startswith("--re")):
            case.rise("reaches", "it changes the rights of everything below")
    if case.name != "chmod":
        case.rise("reaches", "it gives files to somebody else")
    elif words and (not words[0].static or _OPEN_RIGHTS.fullmatch(words[0].text)):
        case.rise("reaches", "it gives others rights to files")
    for word in words[1:]:
        case.write(word, "it changes rights of files")
    case.rise("acts", "it changes rights of files")


def tee(case: Case) -> None:
    for word in case.args:
        if not _is_option(word):
            case.write(word)
    case.rise("reads" if not case.args else "acts", "it changes files")


def pack(case: Case) -> None:
    """tar and its like: they make or overwrite files, as options say, and can run programs."""
    for index, word in enumerate(case.args):
        bundle = index == 0 and word.static and re.fullmatch(r"[A-Za-z]+", word.text)
        if not word.static:
            case.touch(word)
        elif word.text.startswith("-") or bundle:
            known = re.fullmatch(r"-?[cxtzjJvfkmprua]+|--(create|extract|list|gzip|bzip2|xz|verbose|file|strip-components"
                                 r"|exclude|auto-compress|zstd|totals|directory)(=.*)?|-[qorljndD0-9]+|-C", word.text)  # fmt: skip
            if not known or _TAR_RUNS.match(word.text):
                case.rise("reaches", f"{word.text} can make it run something or write elsewhere")
            if "=" in word.text:
                case.write(Word(word.text.partition("=")[2], True)) if "exclude" not in word.text else None
        elif word.text not in (".", "./"):
            case.write(word)
    case.rise("acts", "it packs or unpacks files")


def interpreter(case: Case, name: str) -> None:
    """An interpreter runs what it is told: a file of the workspace at best."""
    args = list(case.args)
    if args and args[0].static and args[0].text in ("--version", "--help") and len(args) == 1:
        return
    while args and args[0].static and args[0].text in INTERPRETERS[name]:
        args.pop(0)
    if args and args[0].static and args[0].text in ("-W", "-X") and name == "python":
        args = args[2:]
    case.rise("acts", "it runs a program of the workspace")
    if name == "python" and len(args) > 1 and args[0].text == "-m":
        module = args[1]
        if not module.static or module.text not in PYTHON_MODULES:
            case.rise("reaches", "it runs a module that is not known")
        unknown(case, args[2:])
        if case.static:
            case.finding.prefix = (case.name, "-m", module.text)
        return
    if name in ("deno", "bun"):
        tool(case, name)
        return
    if not args or args[0].text == "-" or args[0].text.startswith("/dev/"):
        if not (name == "node" and case.args and case.args[0].text == "--test"):
            case.rise("reaches", f"{case.name} runs what it is handed")
        return
    script = args[0]
    if not script.static or script.text.startswith(("-", "+")):
        case.rise("reaches", f"{case.name} runs what stands in the line itself, or takes other orders")
        for word in args:
            case.touch(word)
        return
    if name in SHELLS and "/" not in script.text and not _exists(case, script.text):
        case.rise("reaches", "it is not known what it runs")
    if name in ("sqlite3", "duckdb", "bc", "dc", "gnuplot", "node-gyp"):
        case.rise("reaches", f"{case.name} runs what it is handed")
    unknown(case, args)
    if case.static:
        case.finding.prefix = (case.name, script.text)


def _exists(case: Case, text: str) -> bool:
    import os

    return all(os.path.exists(path) for path in case.places.resolve(text))


def tool(case: Case, name: str) -> None:
    """Tools with verbs: npm, cargo, go. Their verbs that stay here run what the workspace says."""
    words = [word.text if word.static else "" for word in case.args]
    verb = words[0] if words else ""
    steering = _STEERS_TOOL.get(name)
    if verb not in _VERBS[name]:
        case.rise("reaches", "it may fetch, install or publish something")
    elif name in ("bundle", "gem", "rustup"):
        case.unwrap(case.args[1:], "acts")
    if steering and any(steering.fullmatch(word) for word in words):
        case.rise("reaches", "its options say what else runs, or where")
    if (
        name in ("npm", "yarn", "pnpm")
        and "run" in words[:1]
        and re.match(r"(dev|start|serve|deploy|publish)", "".join(words[1:2]))
    ):
        case.rise("reaches", "it serves or publishes something")
    case.rise("acts", "it runs what the workspace says")
    unknown(case, case.args)
    deep = 2 if verb in _RUN_VERBS and len(words) > 1 and not words[1].startswith("-") else 1
    if case.finding.level == "acts":
        case.finding.prefix = (case.name, *words[:deep]) if all(words[:deep]) else None
    elif name in ("npm", "pnpm", "yarn") and words[0:1] and verb in _LOCKED and len(words) == 1:
        case.finding.prefix = (case.name, verb)


def build(case: Case) -> None:
    """make and its like run what the workspace says, unless they are told something else."""
    for word in case.args:
        if not word.static or not (_MAKE_FLAGS.fullmatch(word.text) or _MAKE_TARGET.fullmatch(word.text)):
            case.rise("reaches", "it is told to run something else, or elsewhere")
    case.rise("acts", "it runs what the workspace says")
    unknown(case, case.args)
    targets = [word.text for word in case.args if not word.text.startswith("-") and not word.text.isdigit()]
    if case.finding.level == "acts":
        first = case.args[0].text if case.args else ""
        case.finding.prefix = (case.name, *((first,) if targets and first == targets[0] else ()))


def unknown(case: Case, args: list[Word]) -> None:
    """A program that is not known, or whose words are not: they must be static, and stay inside."""
    case.rise("acts", "it is not known what it does")
    for word in args:
        case.touch(word)
        if word.static and _EXECUTES.fullmatch(word.text):
            case.rise("reaches", f"{word.text} may say what else runs")


def _is_option(word: Word) -> bool:
    begins = word.text if word.static else word.lead
    return begins.startswith("-") and begins != "-"


HANDLERS = {
    **dict.fromkeys(_DELETERS, delete), **dict.fromkeys(_MAKERS, make),
    **dict.fromkeys(("cp", "mv", "ln", "install", "gcp", "gmv"), transfer),
    **dict.fromkeys(("chmod", "chown", "chgrp"), rights), "tee": tee, "truncate": delete, "sponge": tee,
    **dict.fromkeys(("tar", "gtar", "bsdtar", "unzip", "zip", "7z", "cpio", "pax", "ar", "unrar"), pack),
    **dict.fromkeys(("make", "gmake", "ninja", "just", "task", "bmake"), build),
}  # fmt: skip
TOOLS = frozenset(_VERBS)
NO_PREFIX = _DELETERS | {
    "cp",
    "mv",
    "ln",
    "install",
    "chmod",
    "chown",
    "chgrp",
    "truncate",
    "tar",
    "unzip",
    "zip",
    "tee",
}
