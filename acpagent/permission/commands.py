"""What a command line would do, as far as its text tells: one step per simple command and per writing redirection."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from acpagent.core.paths import Roots, within
from acpagent.core.shellparse import Command, Redirect, Script, Word
from acpagent.permission import builtins, changes, gitlines, options, searches, unpacking, wrappers
from acpagent.permission.cases import Case, is_pipe
from acpagent.permission.findings import Finding, Level
from acpagent.permission.hazards import INTERPRETERS, REACHING, SHELLS, UNPACKS, canonical
from acpagent.permission.options import Sorted
from acpagent.permission.places import Places, hosts_in
from acpagent.permission.programs import PROGRAMS, VERSIONED, Program

__all__ = ["Level", "Step", "weigh"]

_SYSTEM = frozenset({"/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"})
_DEEPEST = 12  # commands that run commands that run commands
_PARTS = re.compile(r"[\s=,:;|&()]+")
_VERB = re.compile(r"[a-z][a-z0-9:_-]*")
_LANGUAGES = {
    "find": searches.find, "gfind": searches.find, "sed": searches.sed, "gsed": searches.sed, "awk": searches.awk,
    "gawk": searches.awk, "mawk": searches.awk, "nawk": searches.awk, "test": searches.test, "[": searches.test,
    "[[": searches.test, "git": gitlines.judge, "fd": searches.fd, "fdfind": searches.fd,
}  # fmt: skip
_HANDLERS = {**_LANGUAGES, **builtins.HANDLERS, **unpacking.HANDLERS, **changes.HANDLERS}
_NO_PREFIX = changes.NO_PREFIX | unpacking.NO_PREFIX
# What the shell does itself, whatever is found on the way to programs.
_OWN = frozenset(builtins.HANDLERS) | {"test", "[", "[[", "echo", "true", "false", ":", "pwd", "type"}


@dataclass(frozen=True, slots=True)
class Step:
    """One thing a command line does.

    `level`: `reads` does nothing but read inside the roots; `acts` does things but, as far as static text tells, stays
    inside the roots and off the network; `reaches` is everything else. `reason` is why, in words for a person.
    `reads` and `writes` are resolved paths (a directory stands for all that is in it). `words` are the words of the
    command that is judged (of the inner one where a wrapper such as `timeout` is taken off), empty for redirections;
    words that are not static stand as written. `prefix` are the words of a rule `Bash(npm test:*)` that is safe to
    grant for it, None if none is: a prefix rule may only cover steps that have a `prefix`. `opaque`: a shell gets text
    that was not read, so that any command may be in it. `lost`: it uses files of which no word tells, such as those
    that `find` finds. `named` are resolved paths that a program which is not known may do anything with.
    """

    level: Level
    reason: str = ""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    prefix: tuple[str, ...] | None = None
    hosts: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    opaque: bool = False
    lost: bool = False
    named: tuple[str, ...] = ()


def weigh(script: Script, roots: Roots, cwd: str, home: str) -> tuple[Step, ...]:
    """The steps of a command line that would run in `cwd`. The worst of them says what the whole is.

    A doubt about what the line is counts as a step that reaches. Never raises.
    """
    scale = _Scale(Places(roots, cwd, home))
    feeder: Command | None = None
    for command in script.commands:
        feeds = feeder if feeder is not None and command.piped_from and feeder.within == command.within else None
        scale.command(command, feeds)
        feeder = command if command.piped_to and not command.piped_from else None
    for doubt in script.doubts:
        scale.add(Finding("reaches", f"it cannot be read for sure: {doubt}"))
    return tuple(scale.steps) or (Step("reads"),)


class _Scale:
    """Weighs the commands of one line in their order: `cd` and variables count for what comes after."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.steps: list[Step] = []
        self._known: set[str] = set()
        self._made: set[str] = set()  # what the line has written so far
        self._shadowing = [
            entry
            for entry in os.environ.get("PATH", "").split(os.pathsep)
            if not os.path.isabs(entry) or any(within(os.path.realpath(entry), root) for root in places.roots.all)
        ]

    def add(self, finding: Finding) -> None:
        self.steps.append(
            Step(
                finding.level,
                finding.reason,
                tuple(finding.reads),
                tuple(finding.writes),
                finding.prefix,
                tuple(finding.hosts),
                finding.words,
                finding.opaque,
                finding.lost,
                tuple(finding.named),
            )
        )

    def command(self, command: Command, feeder: Command | None) -> None:
        case = Case(self.places, command, command.words, frozenset(self._known), feeder)
        for name, value in command.assignments:
            wrappers.assigned(case, name, value, runs=bool(command.words))
            self._known.add(name)
        if command.words and command.words[0].text in ("read", "mapfile", "readarray", "export", "local", "declare"):
            self._known.update(word.text.partition("=")[0] for word in command.words[1:])
        case.made = self._made
        writing = [each for each in command.redirects if not self._reads(case, each)]
        self._weigh(case, command.words, 0)
        for redirect in writing:
            self._write(redirect)

    def _weigh(self, case: Case, words: Sequence[Word], depth: int) -> None:
        """One command, then those it runs. What it does by itself and its surroundings are in its case."""
        if words:
            self._judge(case, words[0])
        if case.command.assignments or case.name in _NO_PREFIX:
            case.finding.prefix = None
        self._made.update(case.finding.writes)
        self.add(case.finding)
        if depth >= _DEEPEST and case.inner:
            self.add(Finding("reaches", "too many commands inside one another"))
            return
        for inner, floor in case.inner:
            bare = Command(inner, within=case.command.within)
            following = Case(self.places, bare, inner, case.known, case.feeder)
            following.made = case.made
            found = [word for word in inner if not word.static and word not in case.command.words]
            following.finding.lost = case.finding.lost or bool(found)
            following.rise(floor, "it runs under another program")
            self._weigh(following, inner, depth + 1)

    def _judge(self, case: Case, first: Word) -> None:
        if not first.static or first.kinds or not first.text:
            case.rise("reaches", "it is not known what it runs")
            return
        if any(word.kinds & {"computed", "translated"} for word in case.args):
            case.rise("reaches", "an expansion in it may run code")
        case.finding.hosts.update(dict.fromkeys(host for word in case.args for host in hosts_in(word.text)))
        name = self._program(case, first.text)
        texts = [word.text for word in case.args]
        if texts == ["--version"] and name in VERSIONED and name == first.text:
            return
        case.name = name
        if name in PROGRAMS:
            self._reader(case)
        elif name in _HANDLERS:
            _HANDLERS[name](case)
        elif name in wrappers.NAMES:
            wrappers.unwrap(case)
        else:
            self._other(case, canonical(name))
        if any(os.path.lexists(os.path.join(entry, name)) for entry in self._shadowing) and name not in _OWN:
            case.rise("acts", f"the workspace has a program named {name}")

    def _program(self, case: Case, text: str) -> str:
        """The name of a program that is called by its path, where that is a place for programs of the system."""
        directory, _, name = text.rpartition("/")
        if not directory and text.startswith("/"):
            case.rise("reaches", "it is not known what it runs")
        if "/" not in text:
            return text
        if directory in _SYSTEM:
            return name
        case.rise("acts", "it runs a program of the workspace")
        case.places.touch(case.finding, text)
        if not self._made.isdisjoint(case.places.resolve(text)):
            case.rise("reaches", "it runs what was just written")
        reached = canonical(name)
        if reached in REACHING or reached in INTERPRETERS:
            return name
        return text

    def _reader(self, case: Case) -> None:
        program = PROGRAMS[case.name]
        found = options.sort(program, case.args)
        if found.never:
            case.rise("reaches", f"{found.never[0]} can make it run or read anything")
        if case.name == "jq" and any(re.search(r"\b(import|include)\b", word.text) for word in case.args):
            case.rise("reaches", "its program reads files of its own choice")
        for word in found.unknown:
            if not program.open:
                case.rise("acts", f"it is not known what {word.text} does")
            if not program.open or not word.static or set("/.=~") & set(word.text):
                case.touch(word)
        for words, meant in ((found.values, case.text), (found.files, case.read), (found.outputs, case.write)):
            for word in words:
                meant(word)
        self._operands(case, program, found)

    def _operands(self, case: Case, program: Program, found: Sorted) -> None:
        operands = found.operands
        if program.operands == "pattern" and not found.seen & set(program.needless) and operands:
            self._pattern(case, operands.pop(0))
        if program.operands == "none":
            self._operands_unwanted(case, operands)
        elif program.operands == "words":
            for word in operands:
                case.text(word)
        else:
            if program.operands == "from to":
                for word in operands[1:]:
                    case.write(word)
                del operands[1:]
                if operands and not operands[0].static:  # it may stand for two
                    case.write(operands[0])
            if case.name == "jq" and found.seen & {"f", "--from-file"}:
                case.rise("acts", "its program was not looked into")
            if self._follows(case, program, found):
                for word in operands or [Word(".", True)]:
                    if not is_pipe(word):
                        case.places.follow(case.finding, word.text if word.static else word.lead or ".")
            self._files(case, operands, program.open, program.here or "r" in found.seen or "R" in found.seen)

    def _follows(self, case: Case, program: Program, found: Sorted) -> bool:
        """Whether it goes through links below its operands; long options may be abbreviated."""
        if case.name == "diff":
            return True  # of a directory it compares whatever is in it
        return any(
            each == seen or (len(seen) > 3 and each.startswith(seen)) for each in program.follows for seen in found.seen
        )

    def _pattern(self, case: Case, word: Word) -> None:
        if not word.static and not word.lead and not word.text.startswith('"'):
            case.rise("reaches", "what it looks for is not known before it runs")
        if case.name == "jq" and re.search(r"env|ENV|input_filename|\$__", word.text):
            case.rise("acts", "its program may show the environment")
        case.text(word)

    def _operands_unwanted(self, case: Case, operands: Sequence[Word]) -> None:
        for word in operands:
            begins = word.text if word.static else word.lead
            if case.name != "date" or not begins.startswith("+"):
                case.rise("reaches", "it may change settings of the machine")
            case.text(word)

    def _files(self, case: Case, operands: Sequence[Word], is_open: bool, here: bool) -> None:
        for word in operands:
            free = not word.static and not word.lead and "glob" in word.kinds
            if free and (not is_open or case.places.begins_option(word)):
                case.rise("acts", "names that it finds may mean options to it")
            case.read(word)
        if here and not operands:
            case.places.read(case.finding, ".")

    def _other(self, case: Case, name: str) -> None:
        if name in REACHING:
            case.rise("reaches", REACHING[name])
            case.finding.lost = case.finding.lost or REACHING[name] == UNPACKS
            for word in case.args:
                case.touch(word)
        elif name in INTERPRETERS:
            changes.interpreter(case, name)
        elif name in changes.TOOLS:
            changes.tool(case, name)
            self._named_by(case, 2)  # what follows the verb and the name of a script is handed on
        else:
            changes.unknown(case, case.args)
            self._named_by(case)
            words = [word.text for word in case.args]
            verb = words[:1] if words and _VERB.fullmatch(words[0]) else []
            case.allow(case.name, *verb)

    def _named_by(self, case: Case, first: int = 0) -> None:
        """A program that is not known may run one that its words name, from the `first` on."""
        for place, word in enumerate(case.args):
            if place < first or not word.static or not word.text.strip("./"):  # `black .` names a directory
                continue
            named = [canonical(each.rpartition("/")[2]) for each in (word.text, *_PARTS.split(word.text))]
            if any(name in SHELLS for name in named):
                case.rise("reaches", "it may run a shell")
            if named[0] in REACHING or named[0] in INTERPRETERS or named[0] in wrappers.NAMES | _NO_PREFIX:
                case.unwrap(case.args[place:], "acts")
                return

    # Redirections

    def _reads(self, case: Case, redirect: Redirect) -> bool:
        """Judge a redirection that only reads; False if it is none."""
        target = redirect.target
        if target is None or (redirect.operator in ("<&", ">&") and _is_descriptor(target)):
            return True
        if redirect.operator == "<":
            case.finding.lost = case.finding.lost or not (target.static or target.kinds == {"glob"})
            case.read(target)
        elif redirect.operator == "<&":
            case.rise("reaches", "it is not known what it reads")
        return redirect.operator in ("<", "<&")

    def _write(self, redirect: Redirect) -> None:
        target = redirect.target
        assert target is not None
        finding = Finding()
        if not target.static:
            finding.lost = True
            finding.rise("reaches", "it is not known what it changes")
        elif target.text.startswith(("/dev/tcp/", "/dev/udp/")):
            finding.rise("reaches", "it opens a connection")
        else:
            self.places.write(finding, target.text)
        self._made.update(finding.writes)
        if finding.level != "reads" or finding.writes:
            self.add(finding)


def _is_descriptor(word: Word) -> bool:
    return word.static and re.fullmatch(r"\d+-?|-", word.text) is not None
